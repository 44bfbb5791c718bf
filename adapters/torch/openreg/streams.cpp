// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. OpenReg has two priorities, 0 and 1, of which 1 goes first; in anyplace the lower number does.
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime.h"

struct orStream {
  anyplace::Stream stream;
  int device;
  int priority;
};

struct orEvent {
  anyplace::Event event;
  int device;
};

namespace openreg_anyplace {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = 1;

}  // namespace

anyplace::StreamView view_of(orStream_t stream) { return stream->stream; }

}  // namespace openreg_anyplace

using namespace openreg_anyplace;

orError_t orDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least == nullptr || greatest == nullptr) return orErrorUnknown;
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return orSuccess;
}

orError_t orStreamCreateWithPriority(orStream_t* stream, unsigned int, int priority) {
  return guarded([&] {
    if (stream == nullptr || priority < kLeastPriority || priority > kGreatestPriority) return orErrorUnknown;
    const int index = current_device();
    const int ours = priority == kGreatestPriority ? device(index).priority_range().greatest : 0;
    *stream = new orStream{anyplace::Stream(device(index), {.priority = ours}), index, priority};
    return orSuccess;
  });
}

orError_t orStreamCreate(orStream_t* stream) { return orStreamCreateWithPriority(stream, 0, kLeastPriority); }

orError_t orStreamGetPriority(orStream_t stream, int* priority) {
  if (stream == nullptr || priority == nullptr) return orErrorUnknown;
  *priority = stream->priority;
  return orSuccess;
}

orError_t orStreamDestroy(orStream_t stream) {
  return guarded([&] {
    if (stream == nullptr) return orErrorUnknown;
    const std::unique_ptr<orStream> owned(stream);
    // OpenReg's returns when the stream's tasks have run: what they use may end after it.
    owned->stream.synchronize();
    return orSuccess;
  });
}

orError_t orStreamQuery(orStream_t stream) {
  return guarded([&] {
    if (stream == nullptr) return orErrorUnknown;
    return stream->stream.query() ? orSuccess : orErrorNotReady;
  });
}

orError_t orStreamSynchronize(orStream_t stream) {
  return guarded([&] {
    if (stream == nullptr) return orErrorUnknown;
    stream->stream.synchronize();
    return orSuccess;
  });
}

orError_t orStreamWaitEvent(orStream_t stream, orEvent_t event, unsigned int) {
  return guarded([&] {
    if (stream == nullptr || event == nullptr) return orErrorUnknown;
    stream->stream.wait_event(event->event);
    return orSuccess;
  });
}

orError_t orEventCreateWithFlags(orEvent_t* event, unsigned int flags) {
  return guarded([&] {
    if (event == nullptr) return orErrorUnknown;
    const int index = current_device();
    const bool timing = (flags & orEventEnableTiming) != 0;
    *event = new orEvent{anyplace::Event(device(index), {.timing = timing}), index};
    return orSuccess;
  });
}

orError_t orEventCreate(orEvent_t* event) { return orEventCreateWithFlags(event, orEventDisableTiming); }

orError_t orEventDestroy(orEvent_t event) {
  if (event == nullptr) return orErrorUnknown;
  delete event;
  return orSuccess;
}

orError_t orEventRecord(orEvent_t event, orStream_t stream) {
  return guarded([&] {
    if (event == nullptr || stream == nullptr || event->device != stream->device) return orErrorUnknown;
    event->event.record(stream->stream);
    return orSuccess;
  });
}

orError_t orEventSynchronize(orEvent_t event) {
  return guarded([&] {
    if (event == nullptr) return orErrorUnknown;
    event->event.synchronize();
    return orSuccess;
  });
}

orError_t orEventQuery(orEvent_t event) {
  return guarded([&] {
    if (event == nullptr) return orErrorUnknown;
    return event->event.query() ? orSuccess : orErrorNotReady;
  });
}

orError_t orEventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end) {
  return guarded([&] {
    if (milliseconds == nullptr || start == nullptr || end == nullptr || start->device != end->device)
      return orErrorUnknown;
    *milliseconds = static_cast<float>(anyplace::elapsed_time(start->event, end->event));
    return orSuccess;
  });
}

orError_t openreg::addTaskToStream(orStream* stream, std::function<void()> task) {
  return guarded([&] {
    if (stream == nullptr || task == nullptr) return orErrorUnknown;
    stream->stream.launch_host_func(std::move(task));
    return orSuccess;
  });
}
