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
  virtual_memory,
  classic,  ///< segments of fixed size
};

/// Says how the caching allocator works; the names of the keys are beside the members. Booleans are true or false, and
/// what ends in _mb is a whole number of MiB. ANYPLACE_ALLOCATOR=key:value,key:value sets what it names, for every
/// device.
struct ANYPLACE_API AllocatorConfig {
  bool caching = true;                                   ///< caching; false: each Buffer is the device's own allocation
  SegmentKind segments = SegmentKind::automatic;         ///< segments:automatic|virtual|classic
  std::optional<std::uint64_t> max_split_bytes = {};     ///< max_split_size_mb: larger blocks aren't split (classic)
  std::optional<std::uint64_t> limit_bytes = {};         ///< limit_mb: reserved at most, of each device
  std::optional<std::uint64_t> pinned_limit_bytes = {};  ///< pinned_limit_mb: of HostBuffers, in use and kept, at most
  bool bins = true;                                      ///< bins: small sizes and repeats without a lock
  bool cross_stream_reuse = true;                        ///< cross_stream_reuse
  bool history = false;                                  ///< history: from the start

  /// Reads key:value,... on top of `base`. Spaces around keys and values and empty entries are let pass. Throws
  /// invalid_argument for an unknown key (and lists the known ones), one that is named twice, and a value that isn't
  /// one.
  static AllocatorConfig parse(std::string_view text, const AllocatorConfig& base);
  static AllocatorConfig parse(std::string_view text);
  /// Every key that has a value, as parse reads it; sizes are rounded up to whole MiB.
  std::string to_string() const;

  friend bool operator==(const AllocatorConfig&, const AllocatorConfig&) = default;
};

/// Takes the place of what ANYPLACE_ALLOCATOR and the defaults say for this device. Before its allocator's first use;
/// not_permitted after.
ANYPLACE_API void configure_allocator(const Device& device, const AllocatorConfig& config);
/// What holds for the device; before its first use, what would. Throws invalid_argument for a bad ANYPLACE_ALLOCATOR.
ANYPLACE_API AllocatorConfig allocator_config(const Device& device);

/// Something that gives out device memory in the order of streams. Derive from it to give Buffers memory of your own.
/// Any thread may call it, several at once.
class ANYPLACE_API Allocator {
 public:
  virtual ~Allocator();
  /// Memory that work submitted to `stream` from now on may use, aligned to 256 bytes or more. 0 bytes gives 0. Throws
  /// out_of_memory with the figures.
  virtual std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) = 0;
  /// Takes back what allocate gave for that stream and size. Work submitted to the stream before may still use it; it
  /// waits for nothing. The stream may have been destroyed meanwhile. Throws invalid_argument for what it didn't give,
  /// took back already, or an address inside, another size or another stream; then it has taken nothing.
  virtual void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) = 0;
};

/// The device's caching allocator. It caches also where the configuration has caching off: that is about Buffers.
ANYPLACE_API std::shared_ptr<Allocator> caching_allocator(const Device& device);
/// The device's own allocations, one for one.
ANYPLACE_API std::shared_ptr<Allocator> raw_allocator(const Device& device);

/// What Buffers of the device get their memory from, from now on, but for managed memory; those that exist return
/// theirs to where it came from. Null stands for the default. Returns what current_allocator did before. What the
/// allocator throws from allocate reaches who makes the Buffer; what it throws from deallocate goes to the error
/// handler.
ANYPLACE_API std::shared_ptr<Allocator> set_allocator(const Device& device, std::shared_ptr<Allocator> allocator);
/// Never null: the default is the device's caching allocator or, with caching off, its own allocations.
ANYPLACE_API std::shared_ptr<Allocator> current_allocator(const Device& device);

// -- Adaptors: each passes on to the one below (null is an invalid_argument) and can be put on any other.

/// Refuses what would take it beyond `limit` bytes at once (as asked for, not rounded): out_of_memory.
ANYPLACE_API std::shared_ptr<Allocator> limit_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t limit);
/// Tells `sink` a line of each call: "allocate,<thread>,<stream>,<address>,<bytes>", or "free,..." in its place, or
/// "failed,...,0,<bytes>" for an allocate and "refused,..." for a deallocate that threw. Of a free the line comes
/// before the call, so that in the order of the lines no address is given out twice. It is called from any thread,
/// several at once, and has no say: what it throws goes to the error handler.
ANYPLACE_API std::shared_ptr<Allocator> logging_allocator(std::shared_ptr<Allocator> upstream,
                                                          std::function<void(std::string_view)> sink);
/// Fails the n-th allocate (from 1, those of 0 bytes not counted), once, or that and all after it, with out_of_memory.
ANYPLACE_API std::shared_ptr<Allocator> failing_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t nth,
                                                          bool for_good = false);

/// Knows what is out: for leaks. Refuses to take back what isn't, whatever the one below would say of it.
class ANYPLACE_API TrackingAllocator : public Allocator {
 public:
  explicit TrackingAllocator(std::shared_ptr<Allocator> upstream);
  ~TrackingAllocator() override;
  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override;
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override;

  std::uint64_t outstanding_bytes() const;
  std::uint64_t outstanding_allocations() const;
  std::uint64_t peak_bytes() const;
  /// A line for each, the oldest first: "address 0x7f0000000000, 4096 bytes, stream 1073741825, allocation 17".
  std::string report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// -- Pressure.

/// Called when the device's memory is short, after what is cached was given up and before out_of_memory is thrown, but
/// not for what the device or a limit could never hold: with the bytes that are asked for; returns whether it freed
/// something. On the allocating thread, with no lock held; it may free buffers and allocate host memory, and must not
/// allocate from that device. What it throws goes to the error handler and counts as false.
using PressureCallback = std::function<bool(const Device& device, std::uint64_t bytes)>;

/// Registers a callback for as long as it lives. Callbacks run in the order of their registration, until one has
/// freed enough. When the destructor returns the callback isn't running (unless it destroys its own registration, or
/// this happens inside a host function: there nothing may be waited for).
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

/// A MemoryPoolGuard as its thread sees it: one of a chain, the innermost first.
struct PoolScope {
  const DeviceState* device = nullptr;
  std::uint64_t pool = 0;
  PoolScope* outer = nullptr;
};
}  // namespace detail

struct MemoryPoolOptions {
  std::optional<std::uint64_t> limit_bytes;  ///< reserved at most; beyond is out_of_memory with this limit
};

/// Memory apart from the common pool's: what is allocated from it is never mixed with others'. Destroying it leaves the
/// buffers from it alone; what is cached goes back when the last of them and the last guard have gone. With caching off
/// it has no effect on Buffers. A null one, which is one that was moved from, throws invalid_handle.
class ANYPLACE_API MemoryPool {
 public:
  MemoryPool() noexcept = default;
  explicit MemoryPool(const Device& device, MemoryPoolOptions options = {});
  MemoryPool(MemoryPool&& other) noexcept = default;
  MemoryPool& operator=(MemoryPool&& other) noexcept = default;
  MemoryPool(const MemoryPool&) = delete;  // it owns its memory
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  /// As a snapshot names it; 0 for a null one.
  std::uint64_t id() const noexcept;
  explicit operator bool() const noexcept { return state_ != nullptr; }
  std::uint64_t reserved_bytes() const;
  std::uint64_t allocated_bytes() const;
  /// Gives what is free in it back to the device.
  void release_free();

 private:
  friend class MemoryPoolGuard;
  std::shared_ptr<detail::PoolState> state_;
};

/// While it lives, what the calling thread allocates on the pool's device comes from the pool, also if the MemoryPool
/// is destroyed or moved meanwhile. Scopes nest. A guard lives and dies on one thread.
class ANYPLACE_API MemoryPoolGuard {
 public:
  [[nodiscard]] explicit MemoryPoolGuard(const MemoryPool& pool);
  /// Null leaves everything as it is.
  [[nodiscard]] explicit MemoryPoolGuard(const MemoryPool* pool);
  MemoryPoolGuard(const MemoryPoolGuard&) = delete;  // a scope
  MemoryPoolGuard& operator=(const MemoryPoolGuard&) = delete;
  ~MemoryPoolGuard();

 private:
  std::shared_ptr<detail::PoolState> pool_;
  detail::PoolScope scope_;
};

}  // namespace anyplace
