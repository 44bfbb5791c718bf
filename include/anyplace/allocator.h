// SPDX-License-Identifier: Apache-2.0
//
// Allocators: where Buffers get their memory. By default each device has one caching allocator of the library's; an
// application can configure it, wrap it, give a scope a pool of its own, or put in an allocator of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device.h"
#include "export.h"

namespace anyplace {

class StreamView;

/// How memory is reserved from a device.
enum class SegmentKind {
  automatic,  ///< virtual where the device has virtual memory
  /// Addresses apart from the memory behind them, so that a segment can grow; classic where the device has none.
  virtual_memory,
  classic,  ///< segments of fixed size
};

/// How the caching allocator works. The comment of each member begins with its key. Booleans are true or false, and the
/// value of a key that ends in _mb is a whole number of MiB. ANYPLACE_ALLOCATOR=key:value,key:value sets the keys that
/// it names, for every device.
struct ANYPLACE_API AllocatorConfig {
  bool caching = true;                                   ///< caching; false: each Buffer is the device's own allocation
  SegmentKind segments = SegmentKind::automatic;         ///< segments:automatic|virtual|classic
  std::optional<std::uint64_t> max_split_bytes = {};     ///< max_split_size_mb: larger blocks aren't split (classic)
  std::optional<std::uint64_t> limit_bytes = {};         ///< limit_mb: the most bytes that each device reserves
  std::optional<std::uint64_t> pinned_limit_bytes = {};  ///< pinned_limit_mb: the most bytes of HostBuffers
  bool bins = true;  ///< bins: threads keep blocks of small and of repeated sizes, and take them without a lock
  /// cross_stream_reuse: a free block may serve another stream than the one that it was freed on.
  bool cross_stream_reuse = true;
  bool history = false;  ///< history: memory history is recorded from the start

  /// Reads key:value,... on top of `base`. Spaces around keys and values are ignored, and so are empty entries. Throws
  /// invalid_argument for an unknown key (and lists the known ones), for a key that is named twice, and for a bad
  /// value.
  static AllocatorConfig parse(std::string_view text, const AllocatorConfig& base);
  /// As above, on top of the defaults.
  static AllocatorConfig parse(std::string_view text);
  /// Every key that has a value, as parse reads it; sizes are rounded up to whole MiB.
  std::string to_string() const;

  friend bool operator==(const AllocatorConfig&, const AllocatorConfig&) = default;
};

/// Replaces what ANYPLACE_ALLOCATOR and the defaults say for this device. Must be called before the first use of the
/// device's allocator; throws not_permitted after it.
ANYPLACE_API void configure_allocator(const Device& device, const AllocatorConfig& config);
/// The configuration of the device's allocator; before its first use, the one that it would get. Throws
/// invalid_argument for a bad ANYPLACE_ALLOCATOR.
ANYPLACE_API AllocatorConfig allocator_config(const Device& device);

/// Gives out device memory in the order of streams. Derive from it to give Buffers memory of your own. Any thread may
/// call it, several at once.
class ANYPLACE_API Allocator {
 public:
  virtual ~Allocator();
  /// Returns memory that work submitted to `stream` from now on may use, aligned to 256 bytes or more. 0 bytes gives 0.
  /// Throws out_of_memory with the figures.
  virtual std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) = 0;
  /// Takes back memory that allocate returned for that stream and size. It waits for nothing: work submitted to the
  /// stream before may still use the memory, and the stream may have been destroyed meanwhile. Throws invalid_argument
  /// for an address that it didn't give or that it took back already, for one inside an allocation, and for another
  /// size or stream; then it has taken nothing.
  virtual void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) = 0;
};

/// The device's caching allocator. It caches even if AllocatorConfig::caching is false, which concerns Buffers only.
ANYPLACE_API std::shared_ptr<Allocator> caching_allocator(const Device& device);
/// An allocator whose every allocation is one of the device's own.
ANYPLACE_API std::shared_ptr<Allocator> raw_allocator(const Device& device);

/// Sets the allocator from which Buffers of the device get their memory from now on. Managed memory doesn't come from
/// it, and existing Buffers return their memory to the allocator that it came from. Null stands for the default.
/// Returns what current_allocator did before. An exception of allocate reaches the code that makes the Buffer; one of
/// deallocate goes to the error handler.
ANYPLACE_API std::shared_ptr<Allocator> set_allocator(const Device& device, std::shared_ptr<Allocator> allocator);
/// The allocator from which Buffers of the device get their memory. Never null: the default is the device's caching
/// allocator or, with caching off, its own allocations.
ANYPLACE_API std::shared_ptr<Allocator> current_allocator(const Device& device);

// -- Adaptors: each passes calls on to an allocator below it and can be put on any other. A null one below throws
// invalid_argument.

/// Throws out_of_memory for an allocation that would make it hold more than `limit` bytes at once. Sizes count as asked
/// for, not rounded.
ANYPLACE_API std::shared_ptr<Allocator> limit_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t limit);
/// Passes a line for each call to `sink`: "allocate,<thread>,<stream>,<address>,<bytes>" or "free,...". An allocate
/// that threw becomes "failed,...,0,<bytes>", and a deallocate that threw "refused,...". The line of a free comes
/// before the call, so that in the order of the lines no address is given out twice. `sink` is called from any thread,
/// by several at once; what it throws goes to the error handler and changes no call.
ANYPLACE_API std::shared_ptr<Allocator> logging_allocator(std::shared_ptr<Allocator> upstream,
                                                          std::function<void(std::string_view)> sink);
/// Throws out_of_memory at the n-th allocate, and with `for_good` at all after it. Counting begins at 1 and leaves out
/// allocations of 0 bytes.
ANYPLACE_API std::shared_ptr<Allocator> failing_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t nth,
                                                          bool for_good = false);

/// Remembers each allocation that wasn't given back, to find leaks. Refuses to take back memory that it didn't give,
/// whatever the allocator below would say.
class ANYPLACE_API TrackingAllocator : public Allocator {
 public:
  /// Tracks what is allocated from `upstream`, of which it shares the ownership. Throws invalid_argument for null.
  explicit TrackingAllocator(std::shared_ptr<Allocator> upstream);
  ~TrackingAllocator() override;
  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override;
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override;

  /// The bytes that are allocated now, as asked for.
  std::uint64_t outstanding_bytes() const;
  /// How many allocations weren't given back yet.
  std::uint64_t outstanding_allocations() const;
  /// The most bytes that were allocated at once.
  std::uint64_t peak_bytes() const;
  /// A line for each, the oldest first: "address 0x7f0000000000, 4096 bytes, stream 1073741825, allocation 17".
  std::string report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// -- Pressure.

/// Called when the device's memory is short: cached memory was given up already, and out_of_memory would be thrown
/// next. It isn't called for a size that the device or a limit could never hold. It gets the bytes that are asked for,
/// and returns whether it freed something. It runs on the allocating thread, with no lock held; it may free buffers and
/// allocate host memory, and must not allocate from that device. What it throws goes to the error handler and counts as
/// false.
using PressureCallback = std::function<bool(const Device& device, std::uint64_t bytes)>;

/// Registers a callback for as long as it lives. Callbacks run in the order of their registration, until one has freed
/// enough. When the destructor returns, the callback isn't running any more, with two exceptions: a callback may
/// destroy its own registration, and a host function may wait for nothing.
class ANYPLACE_API PressureRegistration {
 public:
  PressureRegistration() noexcept = default;
  /// Throws invalid_argument for an empty callback.
  [[nodiscard]] PressureRegistration(const Device& device, PressureCallback callback);
  PressureRegistration(PressureRegistration&& other) noexcept;
  PressureRegistration& operator=(PressureRegistration&& other) noexcept;
  PressureRegistration(const PressureRegistration&) = delete;  // unregistered once
  PressureRegistration& operator=(const PressureRegistration&) = delete;
  ~PressureRegistration();

 private:
  void release() noexcept;

  detail::DeviceState* device_ = nullptr;
  std::uint64_t id_ = 0;
};

// -- Pools.

namespace detail {
struct PoolState;

/// A MemoryPoolGuard as its thread sees it: an element of a chain that begins with the innermost guard.
struct PoolScope {
  const DeviceState* device = nullptr;
  std::uint64_t pool = 0;
  PoolScope* outer = nullptr;
};
}  // namespace detail

/// What a pool may use.
struct MemoryPoolOptions {
  /// The most bytes that are reserved; beyond them out_of_memory is thrown, with this limit.
  std::optional<std::uint64_t> limit_bytes;
};

/// Memory apart from the common pool: a segment serves one pool only. Destroying the pool leaves its buffers alone; its
/// cached memory goes back when the last of them and the last guard have gone. With caching off a pool has no effect on
/// Buffers. A null pool, such as one that was moved from, throws invalid_handle.
class ANYPLACE_API MemoryPool {
 public:
  MemoryPool() noexcept = default;
  /// Makes an empty pool, which reserves nothing yet.
  explicit MemoryPool(const Device& device, MemoryPoolOptions options = {});
  MemoryPool(MemoryPool&& other) noexcept = default;
  MemoryPool& operator=(MemoryPool&& other) noexcept = default;
  MemoryPool(const MemoryPool&) = delete;  // it owns its memory
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  /// The number by which a snapshot names it; 0 for a null pool.
  std::uint64_t id() const noexcept;
  /// Whether there is a pool: false for one that was made without a device, and for one that was moved from.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The bytes that the pool got from the device, used or not.
  std::uint64_t reserved_bytes() const;
  /// The bytes of the buffers that it gave out and that still exist.
  std::uint64_t allocated_bytes() const;
  /// Gives the pool's free memory back to the device.
  void release_free();

 private:
  friend class MemoryPoolGuard;
  std::shared_ptr<detail::PoolState> state_;
};

/// While it lives, memory that the calling thread allocates on the pool's device comes from the pool, also if the
/// MemoryPool is destroyed or moved meanwhile. Scopes nest. A guard lives and dies on one thread.
class ANYPLACE_API MemoryPoolGuard {
 public:
  /// Makes `pool` the calling thread's pool of its device. Throws invalid_handle for a null pool.
  [[nodiscard]] explicit MemoryPoolGuard(const MemoryPool& pool);
  /// A null pointer leaves everything as it is.
  [[nodiscard]] explicit MemoryPoolGuard(const MemoryPool* pool);
  MemoryPoolGuard(const MemoryPoolGuard&) = delete;  // bound to its scope
  MemoryPoolGuard& operator=(const MemoryPoolGuard&) = delete;
  ~MemoryPoolGuard();

 private:
  std::shared_ptr<detail::PoolState> pool_;
  detail::PoolScope scope_;
};

}  // namespace anyplace
