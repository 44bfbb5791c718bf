// SPDX-License-Identifier: Apache-2.0
//
// Graph pools: the memory of Buffers that are allocated while their stream is captured. A graph's nodes name addresses,
// so what was allocated for them has to stay where it is for as long as the graph may run, whether or not the Buffer
// is still there.
//
// A pool has regions, each an allocation of its own from a MemoryPool apart. A Buffer that is made in a capture takes a
// region, and gives it back when it goes: its streams' places in the capture are noted, its own stream's and those that
// record_stream named. In the capture of those places the next Buffer may have the region if its stream comes after all
// of them. In a later capture with the same pool any Buffer may, because graphs that share a pool are launched in the
// order in which they were captured. Work outside of captures isn't ordered with launches: where a Buffer's streams may
// have some, the region is free once that is done (deferred_free.h). Nothing leaves the pool before it ends: with the
// last graph, capture, Buffer or GraphPool that holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/memory_state.h"
#include "runtime/service.h"
#include "streams/capture.h"

namespace anyplace::detail {

/// Where a stream was in its capture when a Buffer that it used went.
struct RegionUse {
  std::weak_ptr<const Capture> capture;
  std::uint64_t stream_id = 0;
  std::vector<std::uint32_t> front;
};

struct GraphRegion {
  std::shared_ptr<GraphPoolState> pool;  ///< set while a Buffer has it, so that neither ends before
  std::unique_ptr<BufferState> memory;
  // -- Guarded by captures().mutex.
  bool taken = false;
  std::weak_ptr<const Capture> capture;  ///< in which the Buffer that has it was made
  std::vector<RegionUse> uses;           ///< by the Buffers before
  bool spoiled = false;                  ///< one of them is missing: no other Buffer gets the region
};

struct GraphPoolState {
  DeviceState* device = nullptr;
  const std::uint64_t resets;                         ///< of the device, when the pool was made
  std::uint64_t memory_pool = 0;                      ///< as MemoryPool::id
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

/// A buffer, or a HostBuffer's memory, that a graph uses, kept until the graph and its launches are done.
class HeldBuffer {
 public:
  explicit HeldBuffer(Pin<BufferState> pinned) noexcept : pin_(std::move(pinned)), device_(pin_->device) {}
  /// Of one that was freed already.
  explicit HeldBuffer(std::unique_ptr<BufferState> freed) noexcept : freed_(freed.release()), device_(freed_->device) {}
  /// Of nothing yet: hold_host_buffer().
  explicit HeldBuffer(DeviceState& device) noexcept : device_(&device) {}
  HeldBuffer(const HeldBuffer&) = delete;  // it is kept once
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer();

  const DeviceState& device() const noexcept { return *device_; }

 private:
  friend std::shared_ptr<HeldBuffer> hold_host_buffer(anyplace_address address);

  Pin<BufferState> pin_;
  BufferState* freed_ = nullptr;
  anyplace_address host_ = 0;  ///< as HostPool::hold() has it
  DeviceState* device_;
};

/// The HostBuffer that has the address; null if none has. Throws bad_alloc.
std::shared_ptr<HeldBuffer> hold_host_buffer(anyplace_address address);

/// The buffers and HostBuffers in which the addresses are, each once: those that are there, and those in the list
/// `freed`, of which the others are disposed of. Takes the list. Memory of graph pools isn't among them. Throws
/// bad_alloc, and has then taken the list all the same.
std::vector<std::shared_ptr<HeldBuffer>> hold_buffers(const std::vector<anyplace_address>& addresses,
                                                      BufferState* freed);

}  // namespace anyplace::detail
