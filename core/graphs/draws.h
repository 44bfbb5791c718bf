// SPDX-License-Identifier: Apache-2.0
//
// GraphDraws: the random numbers of an executable graph. Its kernels that draw read seed and offset from memory of the
// graph's own, which each launch of the graph writes ahead of them, while it moves the offsets of the generators behind
// all that the graph draws. So a launch draws what the same fills would have drawn one by one.
//
// Invariant: launches of one graph are ordered one behind the other, so the memory isn't written while a launch reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/content.h"
#include "memory/memory_state.h"
#include "random/draw.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {

class GraphDraws {
 public:
  explicit GraphDraws(DeviceState& launch_device) noexcept : device_(launch_device) {}

  /// Makes a kernel launch that reads seed and offset from this object's memory. It draws the numbers behind those of
  /// the launches that were added before.
  LaunchWork add(const LaunchWork& work, DeviceState& on, const char* operation);
  bool empty() const noexcept { return sources_.empty(); }

  /// Takes the numbers of one launch from the generators, and writes them in the stream's order. The stream isn't
  /// captured, and the launch before is ordered ahead of it. Throws.
  void submit(StreamState& stream, const char* operation);

 private:
  struct EndMemory {
    void operator()(BufferState* memory) const noexcept { BufferState::dispose(memory); }
  };
  /// A generator, and the memory of its device that has seed and offset.
  struct Source {
    std::shared_ptr<GeneratorState> generator;
    DeviceState* device = nullptr;
    std::unique_ptr<BufferState, EndMemory> memory;
    std::uint64_t words = 0;  ///< how many words a whole launch draws
    // -- Set if the device is another one than the graph is launched on.
    HelperStream helper;
    std::unique_ptr<EventState> before, behind;
  };

  Source& source_of(const RandomDraw& draw, DeviceState& on, const char* operation);
  void submit_elsewhere(Source& source, GeneratorState::Numbers numbers, StreamState& stream, const char* operation);

  DeviceState& device_;
  std::vector<Source> sources_;
};

/// flatten() for an executable graph: kernels that draw read the numbers of GraphDraws. Throws.
std::shared_ptr<const GraphContent> flatten_for_launch(const GraphContent& content, const char* operation);

}  // namespace anyplace::detail
