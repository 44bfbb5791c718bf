// SPDX-License-Identifier: Apache-2.0
//
// Work: one submission as a value. A held stream keeps it for later (hold.h), and a stream that is being captured makes
// a graph's node of it (capture.h). A submission that goes to the backend at once is never made into a Work.
//
// Invariant: a Work owns everything that it points to, or shares it with its copies: argument values, the pin of a
// kernel, the user's function. It owns no memory of buffers, whose addresses are numbers here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "anyplace/backend/abi.h"
#include "streams/event_state.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

struct GraphContent;
struct RandomDraw;

/// A kernel's launch. `launch` shares its owner with the copies of the argument values and the kernel's pin.
struct LaunchWork {
  anyplace_kernel kernel = 0;
  std::shared_ptr<const anyplace_launch> launch;
  const std::string* name = nullptr;  ///< the kernel's name, empty for a callable; lives as long as `launch`
  /// The draw of a kernel that draws random numbers (random/draw.h), else null.
  std::shared_ptr<const RandomDraw> draw;
};
/// A copy on one device or, where the device numbers differ, a copy of one piece between two peers.
struct CopyWork {
  anyplace_copy_2d copy{};
  std::int32_t destination_device = 0;
  std::int32_t source_device = 0;

  bool is_peer() const noexcept { return destination_device != source_device; }
};
struct FillWork {
  anyplace_address address = 0;
  std::uint64_t count = 0;
  std::uint32_t value = 0;
  std::uint32_t width = 0;
};
struct HostWork {
  std::shared_ptr<const std::function<void()>> function;
  HostDeed deed;  ///< null for the application's function
};

// -- These are in graphs alone.
struct EmptyWork {};
struct RecordWork {
  std::shared_ptr<const Pin<EventState>> event;
};
struct WaitWork {
  std::shared_ptr<const Pin<EventState>> event;
};
struct ChildWork {
  std::shared_ptr<const GraphContent> content;
};
/// A copy that goes through the host's memory (memory/copy_staged.cpp). `submit` is copy_staged(), which is in a higher
/// room.
struct StagedWork {
  struct Copy {
    DeviceState* destination = nullptr;
    DeviceState* source = nullptr;
    anyplace_copy_2d copy{};
    void (*submit)(StreamState& stream, DeviceState& destination, DeviceState& source, const anyplace_copy_2d& copy,
                   const char* operation) = nullptr;
  };
  std::shared_ptr<const Copy> what;  ///< behind a pointer, so that other nodes don't become larger
};

using Work =
    std::variant<EmptyWork, LaunchWork, CopyWork, FillWork, HostWork, RecordWork, WaitWork, ChildWork, StagedWork>;

/// The ANYPLACE_GRAPH_NODE_* of the work.
std::uint32_t kind_of(const Work& work) noexcept;

/// Submits the work to the backend's stream and returns the entry's status. It isn't for the kinds of work that are in
/// graphs alone.
anyplace_status submit_to_backend(const Work& work, const StreamState& stream);
/// Submits any work but a child graph in the stream's order, also to a held stream. Throws.
void submit_work(const Work& work, StreamState& stream, const char* operation);

/// Calls the user's function as a host function of the stream: what it throws becomes the stream's fault.
void run_host_function(const std::function<void()>& function, std::uint64_t stream_id,
                       const DeviceState& device) noexcept;
/// Submits the function once. (host_function.cpp)
anyplace_status submit_host_work(const HostWork& work, const StreamState& stream);

/// Takes the submission of a stream that is captured or held; if it is neither any more, submits it. Throws.
void divert(StreamState& stream, Work work, const char* operation);

}  // namespace anyplace::detail
