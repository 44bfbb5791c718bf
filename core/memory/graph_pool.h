// SPDX-License-Identifier: Apache-2.0
//
// Graph pools: the memory of Buffers that are allocated while their stream is captured. A graph's nodes contain
// addresses, so memory that was allocated for them has to stay in place as long as the graph may run, whether or not
// the Buffer still exists.
//
// A pool has regions, each a separate allocation from the pool's own MemoryPool. A Buffer that is made in a capture
// takes a region and returns it when it is freed; then the positions of its streams in the capture are noted, its own
// stream's and those that record_stream named. Within that capture another Buffer may take the region if its stream
// comes after all these positions. In a later capture with the same pool any Buffer may, because graphs that share a
// pool are launched in the order in which they were captured. Work outside of captures isn't ordered with launches: if
// a Buffer's streams may have such work, the region is free once that is done (deferred_free.h). Memory leaves the pool
// only when it ends, with the last graph, capture, Buffer or GraphPool that holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/memory_state.h"
#include "runtime/service.h"
#include "streams/capture.h"

namespace anyplace::detail {

/// The position of a stream in its capture when a Buffer that it used was freed.
struct RegionUse {
  std::weak_ptr<const Capture> capture;
  std::uint64_t stream_id = 0;
  std::vector<std::uint32_t> front;
};

struct GraphRegion {
  std::shared_ptr<GraphPoolState> pool;  ///< set while a Buffer has the region, so that neither ends before
  std::unique_ptr<BufferState> memory;
  // -- Guarded by captures().mutex.
  bool taken = false;
  std::weak_ptr<const Capture> capture;  ///< in which the Buffer that has the region was made
  std::vector<RegionUse> uses;           ///< by earlier Buffers
  bool spoiled = false;                  ///< one of the uses is missing, so no other Buffer gets the region
};

struct GraphPoolState {
  DeviceState* device = nullptr;
  const std::uint64_t resets;                         ///< the device's count of resets when the pool was made
  std::uint64_t memory_pool = 0;                      ///< a MemoryPool::id
  std::vector<std::shared_ptr<GraphRegion>> regions;  // guarded by captures().mutex
  ServiceRoom room{"GraphPool"};                      ///< its end may be handed over to the service thread

  explicit GraphPoolState(DeviceState& of);
  GraphPoolState(const GraphPoolState&) = delete;  // it owns the memory
  GraphPoolState& operator=(const GraphPoolState&) = delete;
  ~GraphPoolState();
};

/// While anything is captured: a stream that is captured gets the buffer's memory from its capture's pool, another one
/// what the allocator has at hand. False, and nothing is done, if that isn't enough for the latter and no capture
/// forbids to ask the device for memory. Throws capturing, or as allocate_for().
bool allocate_in_capture(BufferState& buffer, StreamState& stream, const BufferOptions& options, const char* operation);

/// A buffer, or a HostBuffer's memory, that a graph uses. It is kept until the graph and its launches are done.
class HeldBuffer {
 public:
  explicit HeldBuffer(Pin<BufferState> pinned) noexcept : pin_(std::move(pinned)), device_(pin_->device) {}
  /// Holds a buffer that was freed already.
  explicit HeldBuffer(std::unique_ptr<BufferState> freed) noexcept : freed_(freed.release()), device_(freed_->device) {}
  /// Holds nothing yet; hold_host_buffer() fills it.
  explicit HeldBuffer(DeviceState& device) noexcept : device_(&device) {}
  HeldBuffer(const HeldBuffer&) = delete;  // it is kept once
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer();

  const DeviceState& device() const noexcept { return *device_; }

 private:
  friend std::shared_ptr<HeldBuffer> hold_host_buffer(anyplace_address address);

  Pin<BufferState> pin_;
  BufferState* freed_ = nullptr;
  anyplace_address host_ = 0;  ///< the address for HostPool::drop_hold(), or 0
  DeviceState* device_;
};

/// Holds the HostBuffer that contains the address; null if none does. Throws bad_alloc.
std::shared_ptr<HeldBuffer> hold_host_buffer(anyplace_address address);

/// Holds the buffers and HostBuffers that contain the addresses, each once, whether they exist or are in the list
/// `freed`. The other buffers of that list are freed; the function takes the list, also if it throws. Memory of graph
/// pools isn't held. Throws bad_alloc.
std::vector<std::shared_ptr<HeldBuffer>> hold_buffers(const std::vector<anyplace_address>& addresses,
                                                      BufferState* freed);

}  // namespace anyplace::detail
