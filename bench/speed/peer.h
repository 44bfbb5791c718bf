// SPDX-License-Identifier: Apache-2.0
//
// What the benches ask of anyplace and of each library beside it: streams whose operations run in order on the
// library's own threads, and what holds one stream back until another has come to a point. Each is written as that
// library is meant to be used; what one has no notion of is left out, and said (`lacks`).
//
// Calls come in numbers, so that what lies between a bench and a library is paid once for many operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "work.h"

namespace bench {

enum class Body { empty, microsecond, checked, three_arguments };

/// What an operation is given: memory of the stream's, a float and an int; or the eight of a kernel from an image.
enum class Arguments { three, eight };

/// What a library may lack.
enum class Feature {
  events,          ///< a point in a stream that can be asked about
  live_hops,       ///< waiting for another stream, submitted while it runs
  ahead_hops,      ///< the same, submitted before any of it runs
  graphs,          ///< operations that wait for two others
  launches,        ///< such a graph, made once and run again and again
  copies,          ///< between host memory and a device's
  image,           ///< operations that were compiled apart and are found by name
  grids,           ///< one operation of many equal parts
  host_functions,  ///< functions of the host in a stream's order
  small_copies,    ///< 64 bytes, with or without a source
  buffers,         ///< memory that is made for an operation and freed behind it
  event_objects,   ///< events that come and go
};

/// Some streams of one library, made together. Destroyed when they are idle.
class Streams {
 public:
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  virtual ~Streams() = default;

  // -- Operations. May be called by several threads at once.
  virtual void submit(std::size_t stream, std::size_t operations) = 0;
  /// One for each stream in turn, beginning with the first.
  virtual void submit_in_turn(std::size_t operations) = 0;

  // -- By one thread.
  virtual void synchronize_all() = 0;
  virtual void submit_one_and_synchronize(std::size_t stream) = 0;
  /// Nothing submitted to the stream from now on runs before unblock(). Returns once that is so.
  virtual void block(std::size_t stream) = 0;
  virtual void unblock(std::size_t stream) = 0;

  // -- Order between streams. Only where it isn't lacking.
  /// Records one event on the stream again and again.
  virtual void record(std::size_t, std::size_t) {}
  /// How many of so many questions say that the event, which is complete, is complete.
  virtual std::size_t query(std::size_t) { return 0; }
  /// Operations in two streams, each after the one before it, which is in the other stream: submits them.
  virtual void submit_hops(std::size_t) {}
  /// The same between block(0) and unblock(0); where a graph is made before it is started, no more than makes it.
  virtual void submit_hops_ahead(std::size_t hops) { submit_hops(hops); }
  /// Submits all steps; `check` is for Body::checked.
  virtual void submit_plan(const std::vector<Step>&, Body, OrderCheck*) {}

  /// Makes a graph of all steps, without running it; in place of the one before.
  virtual void make_graph(const std::vector<Step>&, Body, OrderCheck*) {}
  /// Runs all of it, and waits for its end.
  virtual void run_graph() {}

  // -- What users do beside that. Each only where it isn't lacking.
  /// Operations with arguments.
  virtual void submit_with(std::size_t, std::size_t, Arguments) {}
  virtual void submit_one_with_and_synchronize(std::size_t) {}
  /// One operation of so many parts on stream 0, each of which counts as one, and waits for it.
  virtual void run_grid(std::uint32_t, Body) {}
  virtual void submit_host_functions(std::size_t, std::size_t) {}
  virtual void submit_host_function_and_synchronize(std::size_t) {}
  /// So many fills, or copies, of 64 bytes each on stream 0.
  virtual void submit_fills(std::size_t) {}
  virtual void submit_copies(std::size_t) {}
  /// For each of so many: makes memory of 4 KiB, copies to it on stream 0, and frees it. All live until the last copy.
  virtual void use_buffers(std::size_t) {}
  /// For each of so many: makes an event, records it on stream 0, has stream 1 wait for it, and destroys it.
  virtual void use_events(std::size_t) {}

  /// Lets go of what work that is done has left. Not timed.
  virtual void forget() {}
  /// Operations that have run so far. Exact when the streams are idle; only differences mean something.
  virtual std::uint64_t ran() { return operations_run(); }
};

class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  virtual std::string name() const = 0;
  /// Why it can't do that; empty where it can.
  virtual std::string lacks(Feature) const { return {}; }
  virtual std::size_t most_streams() const { return SIZE_MAX; }
  virtual bool checks_order() const { return true; }
  /// Benches that would take minutes give it so many times less to do.
  virtual std::size_t slowness() const { return 1; }
  virtual std::unique_ptr<Streams> make_streams(std::size_t count) = 0;
  /// For what has arguments and the like, where those are other streams.
  virtual std::unique_ptr<Streams> make_user_streams(std::size_t count) { return make_streams(count); }

  /// Copies so many bytes of host memory to the device's again and again, and waits for each; the bytes are those of
  /// the last copy's source. Only where it isn't lacking.
  class Copy {
   public:
    virtual ~Copy() = default;
    virtual void run() = 0;
    /// Whether the device has what the host had.
    virtual bool arrived() = 0;
  };
  virtual std::unique_ptr<Copy> make_copy(std::size_t) { return nullptr; }
};

/// Each starts its threads with the first use. Throws std::runtime_error, saying why, where it can't be used.
std::unique_ptr<Peer> make_anyplace(const std::string& place);
std::unique_ptr<Peer> make_naive();
std::unique_ptr<Peer> make_tbb();
std::unique_ptr<Peer> make_asio();
std::unique_ptr<Peer> make_opencl();

struct LeftOut {
  std::string name, why;
};
/// anyplace first. Those that this program was built without, and those that can't be used, are in `left_out`.
std::vector<std::unique_ptr<Peer>> make_peers(const std::string& place, std::vector<LeftOut>& left_out);

}  // namespace bench
