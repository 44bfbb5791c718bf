// SPDX-License-Identifier: Apache-2.0
//
// Engine: the order of everything that the process submitted, and the accesses to memory that it compares by it.
//
// Each stream is a component of vector clocks, and the host's threads together are one. An operation happens after what
// its stream did, after what the host knew to be done when it submitted it, and after what the stream waits for. Two
// accesses of the same bytes, one of which writes, are a race if neither happens before the other. So a race is found
// from the submissions alone, whether or not it happened.
//
// One Engine is the process's, for all backends. All members are called under its mutex, which the layer takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meetings.h"
#include "objects.h"
#include "report.h"
#include "shadow.h"
#include "site.h"

namespace anyplace::validate {

using StreamPointer = std::shared_ptr<Stream>;

class Engine {
 public:
  static Engine& only();
  Engine(const Engine&) = delete;  // there is one
  Engine& operator=(const Engine&) = delete;

  std::mutex mutex;  // guards all members; a leaf, but for the files and standard error that reports go to
  Reports reports;
  Sites sites;

  // -- Objects.
  Device& device(const void* backend, std::string_view backend_name, std::int32_t index);
  StreamPointer make_stream(Device& device, std::uint64_t cookie, std::uint32_t flags, bool is_default);
  StreamPointer stream_of(std::uint64_t cookie) const;
  /// The stream has another number, too: both wrap one stream of the vendor's.
  void add_cookie(std::uint64_t cookie, const StreamPointer& stream) { by_cookie_[cookie] = stream; }
  void end_stream(const StreamPointer& stream);

  // -- Order.
  /// Brings the stream's clock up to everything that its next operation has to wait for.
  void catch_up(Stream& stream);
  /// Begins an operation of the stream, which happens after all that.
  void begin(Stream& stream);
  /// Begins a further node of the graph whose launch was begun.
  void begin_node(Stream& stream) { stream.clock.set(stream.component, ++stream.number); }
  void wait(Stream& stream, const Clock& clock);
  /// The host knows that everything of the clock is done.
  void host_saw(const Clock& clock);
  const Clock& host() const noexcept { return host_; }
  /// An event that other processes may wait for was recorded.
  void record_shared(const Clock& clock) { shared_.join(clock); }
  /// What may come before a record that another process made: all that it could have waited for.
  const Clock& shared() const noexcept { return shared_; }
  /// The clock of all work of the device.
  Clock clock_of(const Device& device) const;
  /// The operation that was begun on the stream is a part of the meetings; `before` is what comes before it. Returns
  /// the reports that were put off until now.
  std::vector<Report> meet(Stream& stream, std::span<const anyplace_layer_meeting> meetings, const Clock& before);
  /// Returns the reports that are still put off, because ranks never came.
  std::vector<Report> take_put_off() { return meetings_.take_decided(true); }

  // -- Operations.
  std::uint32_t operation(std::string_view name, const Stream* stream, const Sites::Frames& frames,
                          bool by_graph = false);
  const Operation& operation_of(std::uint32_t number) const { return operations_[number]; }
  /// Forgets operations of streams that no remembered access names, once there are many. Called before an operation is
  /// begun, since it takes the numbers of those that aren't remembered yet.
  void forget_operations_if_many();

  // -- Accesses. Those that find something add to `found`; the others are remembered.
  /// Compares the accesses of an operation that has begun on `stream`, or that the host makes if it is null.
  std::vector<Report> check(const std::vector<Touch>& touches, Stream* stream, std::uint32_t operation);
  void remember(const std::vector<Touch>& touches, Stream* stream, std::uint32_t operation);
  /// Forgets the accesses of operations that weren't submitted after all: those with the numbers `first` to `last`.
  void undo(const std::vector<Touch>& touches, const Stream& stream, std::uint64_t first, std::uint64_t last);
  /// Checks and remembers what a host function does, at the time at which it runs: `at` is its stream as it was at the
  /// submission. Later work of the stream, and of those that wait for it, may have been submitted already.
  std::vector<Report> host_function_accesses(const std::vector<Touch>& touches, Stream& at, std::uint32_t operation);

  // -- Memory.
  void take(Device& device, const anyplace_layer_memory& memory, std::uint32_t operation);
  std::vector<Report> give_back(Device& device, const anyplace_layer_memory& memory, std::uint32_t operation);
  void register_host(Device& device, const Range& range, std::uint32_t operation);
  std::vector<Report> unregister_host(std::uint64_t address, std::uint32_t operation);
  void reset(const Device& device, std::uint32_t operation);
  /// Memory that was allocated by the core for itself as long as nobody was given it.
  void add_raw(std::uint64_t begin, std::uint64_t bytes);
  void remove_raw(Space space, std::uint64_t begin);
  /// The backend got the memory back.
  void give_up(Space space, const Range& range);
  /// The allocation that has the address, or had it last; null if none is known.
  Allocation* allocation_at(Space space, std::uint64_t address);
  /// The space of an address that `device` was given.
  Space space_of(const Device& device, std::uint64_t address);
  /// A copy's side in host memory. False if the memory is the core's own.
  bool host_touch(const Device& device, const Range& range, bool writes, std::vector<Touch>& out);
  /// Reports of the memory that nobody has given back.
  std::vector<Report> leaks(const void* backend);
  /// Whether memory that was had in the stream's order was never given back.
  bool has_memory_of(const Stream& stream) const;
  /// That of a stream or an event that nobody destroyed. `made` is the operation.
  Report leak_of_handle(const Device& device, std::string_view what, std::uint32_t made);

  /// How much is remembered, as JSON.
  std::string statistics() const;

  /// Adds reports. In the mode throw returns the first message, else an empty text.
  std::string publish(std::vector<Report> found);
  Side side(std::uint32_t operation, std::string_view what, const Range& range, Space space);

 private:
  Engine() { operations_.emplace_back(); }
  Report race(const Conflict& conflict, const Touch& touch, const Stream* stream, std::uint32_t operation);
  /// Whether the report of the conflict was put off: a rank of a communicator may come to order the two. `number` is
  /// that of the second operation.
  bool put_off(const Report& report, const Access& first, const Stream* second, std::uint64_t number);
  void check_life(const Touch& touch, const Stream* stream, std::uint32_t operation, std::vector<Report>& found);
  Access access_of(const Touch& touch, const Stream* stream, std::uint32_t operation);
  void sweep_if_large();
  Shadow& shadow(Space space) { return shadows_[space]; }
  std::string place_of(const Stream* stream, const Touch& touch);
  std::map<std::uint64_t, Allocation>& allocations(Space space) { return allocations_[space]; }

  Clock host_;
  Meetings meetings_;
  Clock shared_;  ///< of the records of events that other processes may wait for
  std::uint64_t host_version_ = 1;
  std::uint64_t host_number_ = 0;
  std::uint64_t submissions_ = 0;
  Component components_ = 1;
  struct FreeComponent {
    Component component;
    std::uint64_t number;
  };
  std::vector<FreeComponent> free_components_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<StreamPointer> streams_;  ///< those that aren't gone
  std::unordered_map<std::uint64_t, StreamPointer> by_cookie_;
  std::map<const Device*, std::uint32_t> streams_made_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_operations_;
  std::size_t forget_operations_at_ = 16384;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_operations_;
  std::map<Space, Shadow> shadows_;
  std::map<Space, std::map<std::uint64_t, Allocation>> allocations_;
  std::map<std::uint64_t, std::uint64_t> raw_;
  std::uint32_t last_allocation_ = 0;
  std::map<std::uint32_t, std::uint32_t> names_;  ///< how many allocations of each kind were named
  std::size_t sweep_at_ = 4096;                   ///< accesses
  std::size_t drop_dead_at_ = 20000;              ///< allocations of one space
  bool has_forgotten_ = false;
};

}  // namespace anyplace::validate
