// SPDX-License-Identifier: Apache-2.0
//
// Communicator: collective operations between processes, each of which has one device of its own: a rank.
//
//   anyplace::Device device("auto");
//   anyplace::Communicator all(device);                          // started by mpirun or torchrun
//   anyplace::Stream stream(device);
//   all.all_reduce(stream, gradients.as<float>(), gradients.as<float>());
//   stream.synchronize();                                        // the sum is there, or the Error is
//
// An operation is work of the stream: it begins when the stream's earlier work is done, and later work waits for it. It
// is done by an engine that is installed beside anyplace and opened at run time: NCCL for cuda, RCCL for hip, MPI for
// cpu_sim and, through pinned host memory, for every other backend. docs/ranks.md has the table, what each engine
// needs, and which types and reductions it has.
//
// All ranks call the same operations of a communicator in the same order, with the same counts, types, reductions and
// roots. Different communicators have no order between them. With ANYPLACE_COMMUNICATOR_CHECK=1 ranks that differ get
// an Error that names both calls. Without it the result is undefined, or the operation runs into its timeout.
//
// A rank that is killed, or never calls, gives the others an Error when the timeout is over. The stream's synchronize
// and query throw it once, as any fault of a stream; the communicator has failed then, and its own members throw it
// from then on. The engine may still write the memory that the operation names, until the process ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "address.h"
#include "device.h"
#include "dtype.h"
#include "error.h"
#include "export.h"
#include "memory.h"
#include "stream.h"

namespace anyplace {

namespace detail {
struct BootstrapPlan;
struct CommunicatorState;
}  // namespace detail

/// How elements of all ranks become one. Complex numbers have sum, prod and avg, booleans min (all of them) and max
/// (any of them), and integers have no avg. Integers wrap around. min and max of a NaN depend on the engine: over MPI
/// the result is NaN, over NCCL and RCCL the number (docs/ranks.md). Either way every rank gets the same bits.
enum class Reduction : std::uint8_t {
  sum,   ///< all are added
  prod,  ///< all are multiplied
  min,   ///< the least
  max,   ///< the greatest
  avg,   ///< the sum divided by the number of ranks
};

/// "sum" and so on; "unknown" for any other value.
ANYPLACE_API const char* to_string(Reduction reduction) noexcept;

/// How the ranks find each other. It is a value: one that was moved from still says the same.
class ANYPLACE_API Bootstrap {
 public:
  Bootstrap(const Bootstrap&) noexcept = default;
  Bootstrap& operator=(const Bootstrap&) noexcept = default;

  /// Asks mpirun, if it started the process, else reads the environment as environment() does.
  static Bootstrap automatic();
  /// MPI's launcher counts the ranks. The engine may be another one: then MPI tells its ranks how to meet.
  static Bootstrap mpi();
  /// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them. Rank 0 listens on that port or, where
  /// torchrun's own store has it (TORCHELASTIC_USE_AGENT_STORE), on the next one.
  static Bootstrap environment();
  /// What environment() reads, given here: rank 0 listens at `address` and `port`.
  static Bootstrap tcp(int rank, int size, std::string address, std::uint16_t port);
  /// The ranks meet over a file that doesn't exist yet, in a folder that all ranks see. It is removed once all have
  /// met.
  static Bootstrap file(int rank, int size, std::string path);
  /// One rank alone. It has no engine unless one is named.
  static Bootstrap alone();

  /// This is for anyplace's own use.
  const detail::BootstrapPlan& plan() const noexcept { return *plan_; }

 private:
  explicit Bootstrap(std::shared_ptr<const detail::BootstrapPlan> plan) noexcept : plan_(std::move(plan)) {}
  std::shared_ptr<const detail::BootstrapPlan> plan_;
};

/// How ranks wait for each other, and by what they are connected.
struct CommunicatorOptions {
  /// How long a rank waits for the others: when the communicator is made, and for each operation from the moment when
  /// it could begin here. More than 0.
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  /// "nccl", "rccl", "mpi", or "" for that of the device's backend.
  std::string engine = {};
};

/// A group of ranks. Movable; destroying the last owner waits for nothing, and pending operations complete. Every
/// member may be called from any thread. Operations of several threads at the same time have no order, which the ranks
/// need, so callers see to that themselves.
///
/// Every member but is_null() throws invalid_handle for a null communicator. After abort() every member throws
/// invalid_handle, and after the communicator has failed its error; exceptions are is_null(), async_error() and
/// abort(). All throw forked, shut_down, device_lost and not_permitted as a Device does.
///
/// Operations throw invalid_argument for a stream of another device, a null address, a buffer that is smaller than the
/// counts say, a root or peer that is no rank, an unknown Reduction, and a type without that reduction; capturing on a
/// stream that is captured; unsupported for what the engine lacks.
class ANYPLACE_API Communicator {
 public:
  Communicator() noexcept = default;
  /// Waits for the others, at most the timeout. Throws timeout if they don't come; invalid_argument for ranks, sizes
  /// and addresses that are unset, malformed, out of range or given twice; library_missing for an engine that isn't
  /// installed or is too old, naming the package.
  explicit Communicator(const Device& device, CommunicatorOptions options = {})
      : Communicator(device, Bootstrap::automatic(), std::move(options)) {}
  /// As above, with ranks that find each other as `bootstrap` says.
  Communicator(const Device& device, const Bootstrap& bootstrap, CommunicatorOptions options = {});
  Communicator(Communicator&& other) noexcept = default;
  Communicator& operator=(Communicator&& other) noexcept = default;
  Communicator(const Communicator&) = delete;  // an order of operations has one owner
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  /// Whether it is no communicator: made without a device, moved from, or the result of a split with a negative color.
  bool is_null() const noexcept { return state_ == nullptr; }
  /// The number of this rank, from 0.
  int rank() const;
  /// How many ranks there are.
  int size() const;
  /// The device of this rank.
  Device device() const;
  /// "nccl", "rccl" or "mpi"; "none" for one rank alone.
  std::string engine() const;

  // -- Operations: submitted, not done. Counts are of elements. Addresses are of the stream's device or, with MPI, of
  // the host. An operation is in place where source and destination are the same, at all ranks or at none; else they
  // don't overlap. reduce_scatter and all_to_all aren't done in place.
  /// Reduces `count` elements of all ranks, and gives the result to all.
  void all_reduce(const StreamView& stream, Address destination, Address source, std::uint64_t count, DType type,
                  Reduction reduction = Reduction::sum) const;
  /// Reduces `count` elements of all ranks, and gives the result to `root` alone. Elsewhere the destination isn't used,
  /// and may be null.
  void reduce(const StreamView& stream, Address destination, Address source, std::uint64_t count, DType type, int root,
              Reduction reduction = Reduction::sum) const;
  /// Gives the root's elements to all ranks, in place.
  void broadcast(const StreamView& stream, Address data, std::uint64_t count, DType type, int root) const;
  /// Gives `count` elements of each rank to all, in the order of ranks: the destination has size() * count elements. In
  /// place, a rank's source is where its part of the destination is.
  void all_gather(const StreamView& stream, Address destination, Address source, std::uint64_t count, DType type) const;
  /// Reduces size() * count elements of all ranks; rank i gets the i-th `count` of them. It isn't done in place, nor
  /// with the destination at the rank's part of the source, which NCCL calls in place.
  void reduce_scatter(const StreamView& stream, Address destination, Address source, std::uint64_t count, DType type,
                      Reduction reduction = Reduction::sum) const;
  /// Sends the i-th `count` elements to rank i, and receives rank i's as the i-th: both sides have size() * count. Not
  /// in place.
  void all_to_all(const StreamView& stream, Address destination, Address source, std::uint64_t count, DType type) const;
  /// Sends elements to `peer`, which calls recv with the same count and type. Ranks that both send and receive do so in
  /// a group; otherwise each would wait for the other.
  void send(const StreamView& stream, Address source, std::uint64_t count, DType type, int peer) const;
  /// Receives elements that `peer` sends by a send of the same count and type.
  void recv(const StreamView& stream, Address destination, std::uint64_t count, DType type, int peer) const;
  /// Submits work that is done when all ranks have come to it.
  void barrier(const StreamView& stream) const;

  // -- Operations on elements of buffers, which are kept until the operation is done.
  /// Reduces the elements of `source` at all ranks into `destination`, which has at least as many.
  template <class T>
  void all_reduce(const StreamView& stream, BufferSpan<T> destination, BufferSpan<T> source,
                  Reduction reduction = Reduction::sum) const {
    require(destination, source.size_bytes());
    all_reduce(stream, used(destination, stream), used(source, stream), source.size(), dtype_of<T>, reduction);
  }
  /// Reduces the elements of `source` at all ranks into the root's `destination`, which has at least as many.
  template <class T>
  void reduce(const StreamView& stream, BufferSpan<T> destination, BufferSpan<T> source, int root,
              Reduction reduction = Reduction::sum) const {
    if (rank() == root) require(destination, source.size_bytes());
    reduce(stream, used(destination, stream), used(source, stream), source.size(), dtype_of<T>, root, reduction);
  }
  /// Gives the root's elements of `data` to all ranks, in place.
  template <class T>
  void broadcast(const StreamView& stream, BufferSpan<T> data, int root) const {
    broadcast(stream, used(data, stream), data.size(), dtype_of<T>, root);
  }
  /// Gives the elements of each rank's `source` to all: `destination` has at least size() times as many.
  template <class T>
  void all_gather(const StreamView& stream, BufferSpan<T> destination, BufferSpan<T> source) const {
    require(destination, source.size_bytes() * static_cast<std::uint64_t>(size()));
    all_gather(stream, used(destination, stream), used(source, stream), source.size(), dtype_of<T>);
  }
  /// Reduces into `destination` this rank's part of `source`, which has at least size() times as many elements.
  template <class T>
  void reduce_scatter(const StreamView& stream, BufferSpan<T> destination, BufferSpan<T> source,
                      Reduction reduction = Reduction::sum) const {
    require(source, destination.size_bytes() * static_cast<std::uint64_t>(size()));
    reduce_scatter(stream, used(destination, stream), used(source, stream), destination.size(), dtype_of<T>, reduction);
  }
  /// Exchanges equal parts of `source`, whose elements size() divides: `destination` has at least as many.
  template <class T>
  void all_to_all(const StreamView& stream, BufferSpan<T> destination, BufferSpan<T> source) const {
    require(destination, source.size_bytes());
    all_to_all(stream, used(destination, stream), used(source, stream), part_of(source.size()), dtype_of<T>);
  }
  /// Sends all elements of `source` to `peer`.
  template <class T>
  void send(const StreamView& stream, BufferSpan<T> source, int peer) const {
    send(stream, used(source, stream), source.size(), dtype_of<T>, peer);
  }
  /// Receives as many elements as `destination` has from `peer`.
  template <class T>
  void recv(const StreamView& stream, BufferSpan<T> destination, int peer) const {
    recv(stream, used(destination, stream), destination.size(), dtype_of<T>, peer);
  }

  // -- Groups: the operations between group_start and group_end begin together at group_end, as one piece of work of
  // one stream. Groups nest. A group belongs to one thread and one communicator: calls of other threads aren't in it,
  // and if its thread ends before group_end, it is never submitted. GroupGuard does both calls for a scope, also when
  // an exception passes.
  /// Begins a group on the calling thread, or another one within it.
  void group_start() const;
  /// Throws invalid_argument if this thread has not called group_start before.
  void group_end() const;

  /// Makes a communicator of all ranks that give the same `color`, in the order of `key` and then of rank(). All ranks
  /// call it; a negative color gives a null communicator. Waits for the others, at most the timeout.
  Communicator split(int color, int key) const;

  // -- The state.
  /// Whether all operations submitted so far are done. Throws what synchronize() does.
  [[nodiscard]] bool query() const;
  /// Returns when all operations submitted so far are done. Throws the Error that the communicator failed with:
  /// timeout, if a rank didn't come in time; peer_gone, if the engine says that one has ended; invalid_argument, if the
  /// ranks called different operations.
  void synchronize() const;
  /// Waits as above, but at most `timeout`: returns false if it ran out first, and the operations go on.
  [[nodiscard]] bool synchronize(std::chrono::nanoseconds timeout) const;
  /// The Error that the communicator has failed with, without waiting.
  std::optional<Error> async_error() const;
  /// Ends all pending operations of this rank: their streams go on, with an invalid_handle as their fault. Never waits
  /// for other ranks; those notice by their timeout, or as soon as their engine tells. From then on every other member
  /// throws invalid_handle, but async_error() returns it. A second call does nothing.
  void abort() const;

 private:
  /// Throws invalid_argument unless the buffer has that many bytes.
  void require(const BufferView& buffer, std::uint64_t bytes) const;
  /// The buffer's address. The buffer is kept for the stream's work.
  Address used(const BufferView& buffer, const StreamView& stream) const;
  /// `elements` divided by size(). Throws invalid_argument if there is a remainder.
  std::uint64_t part_of(std::uint64_t elements) const;

  friend class GroupGuard;
  std::shared_ptr<detail::CommunicatorState> state_;
};

/// A group for a scope: calls group_start, and group_end at its end, which throws what that does. When an exception
/// leaves the scope, the group is dropped instead and never begins: the other ranks notice by their timeout, unless the
/// communicator is aborted. A guard lives and dies on one thread.
class ANYPLACE_API GroupGuard {
 public:
  /// Begins a group of `communicator` on the calling thread. Throws what group_start does.
  [[nodiscard]] explicit GroupGuard(const Communicator& communicator);
  GroupGuard(const GroupGuard&) = delete;  // bound to its scope
  GroupGuard& operator=(const GroupGuard&) = delete;
  ~GroupGuard() noexcept(false);

 private:
  std::shared_ptr<detail::CommunicatorState> state_;
  int exceptions_;  ///< how many exceptions were under way at its beginning
};

/// An engine of communicators, with the reason if it can't be used.
struct CommunicatorEngine {
  std::string name;     ///< "nccl"
  std::string serves;   ///< the backends that it is chosen for: "cuda"
  std::string library;  ///< the file, or the name that was looked for
  bool usable = false;  ///< whether a communicator can be made with it here
  std::string version;  ///< as the engine tells it; "" if it isn't usable
  std::string reason;   ///< why it isn't usable, and which package has it; "" if it is
  std::string plugin;   ///< the file of its plugin, which is found as a backend's is (plugins.h)
};

/// All plugins of engines that are found, those that name all backends that they serve before the others, with the
/// libraries that they open. Starts none of them. An engine whose plugin is refused serves "" and says why.
ANYPLACE_API std::vector<CommunicatorEngine> communicator_engines();

}  // namespace anyplace
