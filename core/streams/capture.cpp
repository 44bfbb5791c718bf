// SPDX-License-Identifier: Apache-2.0
// Beginning and ending captures, and how calls with captured streams and events behave. One lock guards all of it:
// captures are made once and replayed often, so making them needn't be fast.
#include "streams/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/no_destructor.h"
#include "runtime/room_behind.h"
#include "streams/event_state.h"

namespace anyplace::detail {

namespace {

NoDestructor<Captures> all_captures;

constexpr const char* see_captures = "docs/graphs.md";

/// Why a call is refused. It is found under the lock and thrown after unlocking.
struct Refusal {
  ErrorCode code = ErrorCode::capturing;
  std::string text;
};

/// The text of a Refusal in three lines: what is wrong, what would be right, where to look.
std::string parts(const std::string& problem, const std::string& remedy) {
  return problem + "\n" + remedy + "\nsee " + see_captures;
}

[[noreturn]] void throw_refusal(const Refusal& refusal, const DeviceState& device, const char* operation) {
  fail(refusal.code, device.place, operation, refusal.text);
}

// ---- Under captures().mutex ----------------------------------------------------------------------------------------

void invalidate(Capture& capture, const char* operation, const std::string& why) {
  if (capture.state != Capture::State::active || capture.origin == 0) return;
  capture.state = Capture::State::invalidated;
  capture.reason = fmt::format("{}: {}", operation, why);
}

Refusal invalidated(const Capture& capture) {
  return {ErrorCode::capture_invalidated,
          parts("the capture was invalidated by " + capture.reason, "call end_capture() and capture again")};
}

/// Refuses the call and invalidates the capture. If the capture was invalidated before, that is the reason that the
/// Refusal gives.
Refusal refuse(Capture& capture, const char* operation, const std::string& problem, const std::string& remedy) {
  if (capture.state == Capture::State::invalidated) return invalidated(capture);
  invalidate(capture, operation, problem);
  return {ErrorCode::capturing, parts(problem, remedy)};
}

/// A capture of a blocking stream of that device, or null. Work of the null stream would have to wait for captured
/// work, which doesn't run.
std::shared_ptr<Capture> blocking_capture_of(const DeviceState& device) {
  for (const std::shared_ptr<Capture>& capture : captures().active) {
    for (const Pin<StreamState>& stream : capture->streams) {
      if (stream->is_blocking && stream->device == &device) return capture;
    }
  }
  return nullptr;
}

/// Refuses the use of a null stream while a blocking stream of its device is captured. Any other stream is allowed.
std::optional<Refusal> refuse_null_stream(const StreamState& stream, const char* operation) {
  if (stream.captured_blocking == 0) return std::nullopt;
  const std::shared_ptr<Capture> blocking = blocking_capture_of(*stream.device);
  if (blocking == nullptr) return std::nullopt;
  return refuse(*blocking, operation, "the null stream is used while a stream is captured that synchronises with it",
                "use other streams meanwhile, or capture a stream that isn't blocking");
}

void mark_null_stream(const DeviceState& device, bool captured) noexcept {
  const std::uint64_t id = device.default_stream_id.load(std::memory_order_acquire);
  const Pin<StreamState> null_stream = streams().try_pin(id);
  if (!null_stream) return;
  null_stream->captured_blocking += captured ? 1 : -1;
  streams().set_careful_for(id, null_stream->care_for, care_for_null_stream, null_stream->captured_blocking != 0);
}

void attach(StreamState& stream, const std::shared_ptr<Capture>& capture) {
  capture->streams.push_back(streams().pin_again(stream.id, "Stream::begin_capture"));
  stream.capture = capture;
  stream.captured.store(true, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_capture, true);
  if (stream.is_blocking) mark_null_stream(*stream.device, true);
}

void detach(StreamState& stream) noexcept {
  stream.captured.store(false, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_capture, false);
  stream.capture.reset();
  stream.front.clear();
  if (stream.is_blocking) mark_null_stream(*stream.device, false);
}

/// Takes the capture's streams out of it. The caller drops their pins after unlocking.
std::vector<Pin<StreamState>> finish(const std::shared_ptr<Capture>& capture) noexcept {
  for (const Pin<StreamState>& stream : capture->streams) detach(*stream);
  std::erase(captures().active, capture);
  careful_memory.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(capture->streams, {});
}

/// The contents of a capture that ended without a graph. They are destroyed outside the lock, because nodes own
/// functions of the user's.
struct Leftovers {
  NodeList list;
  std::vector<std::pair<DeviceState*, std::shared_ptr<GraphPoolState>>> pools;
  BufferState* freed = nullptr;
  void (*dispose)(BufferState* freed) noexcept = nullptr;

  Leftovers() = default;
  Leftovers(const Leftovers&) = delete;  // it owns what was freed
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers() {
    if (freed != nullptr) dispose(freed);
  }
  /// Takes the contents away, because events that were recorded in the capture keep it alive and must keep nothing
  /// else.
  void take(Capture& capture) noexcept {
    list = std::move(capture.list);
    pools.swap(capture.pools);
    freed = std::exchange(capture.freed, nullptr);
    dispose = capture.dispose_freed;
  }
};

/// A stream with nodes that the origin doesn't wait for, if there is one.
const StreamState* unjoined(const Capture& capture) {
  const std::vector<bool> before = reached(capture.list, capture.streams.front()->front);
  for (const Pin<StreamState>& stream : capture.streams) {
    const auto is_open = [&](std::uint32_t node) { return !before[node]; };
    if (std::any_of(stream->front.begin(), stream->front.end(), is_open)) return stream.get();
  }
  return nullptr;
}

}  // namespace

Captures& captures() noexcept { return all_captures.value; }

std::uint32_t NodeList::add(Work&& work, DeviceState& device, const std::vector<std::uint32_t>& after) {
  // Growing moves every node, which costs as much as making one, so the vector grows by a factor larger than its own.
  constexpr std::size_t first_room = 64;
  constexpr std::size_t growth = 4;
  if (nodes.size() == nodes.capacity()) nodes.reserve(std::max(first_room, nodes.size() * growth));
  const auto first = static_cast<std::uint32_t>(dependencies.size());
  dependencies.insert(dependencies.end(), after.begin(), after.end());
  try {
    nodes.emplace_back(std::move(work), device, first, after.size());
  } catch (...) {
    dependencies.resize(first);
    throw;
  }
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

bool NodeChunk::keeps(std::uint64_t handle) const noexcept {
  constexpr std::size_t most = 8;  // how many it looks at
  for (std::size_t i = kept.size(), last = i > most ? i - most : 0; i-- > last;) {
    if (kept[i].first == handle) return true;
  }
  return false;
}

std::byte* NodeRoom::take(std::size_t bytes) {
  constexpr std::size_t align = alignof(std::max_align_t);
  constexpr std::size_t smallest = 1024;
  constexpr std::size_t largest = 32 * 1024;
  bytes = (bytes + align - 1) / align * align;
  if (chunk_ == nullptr || chunk_->size - chunk_->used < bytes) [[unlikely]] {
    const std::size_t grown = chunk_ == nullptr ? smallest : std::min(chunk_->size * 2, largest);
    const std::size_t size = std::max(grown, bytes);
    chunk_ = std::allocate_shared<NodeChunk>(WithRoomBehind<NodeChunk>(size), size);
  }
  std::byte* const piece = reinterpret_cast<std::byte*>(chunk_.get() + 1) + chunk_->used;
  chunk_->used += bytes;
  return piece;
}

void join_fronts(std::vector<std::uint32_t>& front, const std::vector<std::uint32_t>& more) {
  for (const std::uint32_t node : more) {
    if (std::find(front.begin(), front.end(), node) == front.end()) front.push_back(node);
  }
}

std::vector<bool> reached(const NodeList& list, const std::vector<std::uint32_t>& front) {
  std::vector<bool> before(list.nodes.size());
  for (const std::uint32_t node : front) before[node] = true;
  for (std::size_t i = list.nodes.size(); i-- > 0;) {
    if (!before[i]) continue;
    const Node& node = list.nodes[i];
    for (std::uint32_t d = 0; d < node.dependency_count; ++d)
      before[list.dependencies[node.first_dependency + d]] = true;
  }
  return before;
}

// ---- Beginning and ending ------------------------------------------------------------------------------------------

std::shared_ptr<Capture> begin_capture(StreamState& stream, CaptureMode mode, std::shared_ptr<GraphPoolState> pool,
                                       const char* operation) {
  DeviceState& device = *stream.device;
  require_usable(device, operation);
  if (stream.is_default) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         parts("the null stream can't be captured", "capture a stream of your own"));
  }
  // The null stream has to exist, so that it can be marked.
  if (stream.is_blocking) static_cast<void>(default_stream_of(device, operation));
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = stream.id;
  capture->device = &device;
  if (pool != nullptr) capture->pools.emplace_back(&device, std::move(pool));

  std::vector<Pin<StreamState>> released;
  std::unique_lock lock(captures().mutex);
  if (stream.captured.load(std::memory_order_relaxed)) {
    lock.unlock();
    fail(ErrorCode::capturing, device.place, operation,
         parts("the stream is being captured already", "end that capture first, or capture another stream"));
  }
  captures().active.push_back(capture);
  try {
    attach(stream, capture);
  } catch (...) {
    captures().active.pop_back();
    throw;
  }
  careful_memory.fetch_add(1, std::memory_order_relaxed);
  // The thread that closes the stream's handle takes the lock after that. So either it finds this capture, or the
  // handle is found closed here.
  if (!streams().try_pin(stream.id)) {
    released = finish(capture);
    lock.unlock();
    fail(ErrorCode::invalid_handle, device.place, operation, "the stream was destroyed meanwhile");
  }
  return capture;
}

std::shared_ptr<Capture> end_capture(StreamState& stream, const char* operation) {
  std::optional<Refusal> refusal;
  std::shared_ptr<Capture> capture;
  std::vector<Pin<StreamState>> released;
  Leftovers leftovers;
  {
    const std::lock_guard lock(captures().mutex);
    capture = stream.capture;
    if (capture == nullptr || capture->origin == 0) {
      refusal = Refusal{ErrorCode::capturing, parts("the stream isn't being captured", "call begin_capture() first")};
    } else if (capture->origin != stream.id) {
      refusal =
          refuse(*capture, operation, "the capture began on another stream", "end it on the stream that it began on");
    } else if (capture->mode != CaptureMode::relaxed && capture->owner != std::this_thread::get_id()) {
      refusal = refuse(*capture, operation, "the capture began on another thread",
                       "end it on that thread, or begin it with CaptureMode::relaxed");
    } else {
      if (const StreamState* const open = unjoined(*capture)) {
        invalidate(*capture, operation,
                   fmt::format("stream {} has work that the stream of the capture doesn't wait for", open->id));
      }
      if (capture->state == Capture::State::invalidated) refusal = invalidated(*capture);
      released = finish(capture);
      if (refusal) {
        leftovers.take(*capture);
      } else {
        capture->state = Capture::State::ended;
      }
    }
  }
  if (refusal) throw_refusal(*refusal, *stream.device, operation);
  return capture;
}

CaptureStatus capture_status(const StreamState& stream) noexcept {
  const std::lock_guard lock(captures().mutex);
  if (stream.capture == nullptr) return CaptureStatus::none;
  return stream.capture->state == Capture::State::active ? CaptureStatus::active : CaptureStatus::invalidated;
}

bool captures_here(const std::string& backend, int index) noexcept {
  if (!any_capture()) return false;
  const std::lock_guard lock(captures().mutex);
  const auto is_it = [&](const std::shared_ptr<Capture>& capture) {
    return capture->owner == std::this_thread::get_id() && capture->device->backend->name == backend &&
           (index < 0 || capture->device->index == index);
  };
  return std::any_of(captures().active.begin(), captures().active.end(), is_it);
}

void note_closed_while_captured(StreamState& stream) noexcept {
  std::vector<Pin<StreamState>> released;
  std::shared_ptr<Capture> capture;
  Leftovers leftovers;
  const std::lock_guard lock(captures().mutex);
  capture = stream.capture;
  if (capture == nullptr || capture->origin != stream.id) return;
  try {
    invalidate(*capture, "Stream::~Stream", "the stream that the capture began on was destroyed");
  } catch (const std::bad_alloc&) {  // it is invalidated all the same, with a shorter reason
    capture->state = Capture::State::invalidated;
  }
  released = finish(capture);
  leftovers.take(*capture);
}

// -- Calls with captured streams and events --------------------------------------------------------------------------

namespace {
thread_local bool uncaptured = false;
}  // namespace

UncapturedScope::UncapturedScope() noexcept { uncaptured = true; }
UncapturedScope::~UncapturedScope() { uncaptured = false; }

bool capture_work(StreamState& stream, Work& work, const char* operation) {
  const auto take = [](NodeList&, void* given) { return std::move(*static_cast<Work*>(given)); };
  return capture_made(stream, take, &work, operation);
}

bool capture_made(StreamState& stream, MakeNode make, void* context, const char* operation) {
  if (uncaptured) return false;
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture.get();
    if (capture == nullptr) {
      refusal = refuse_null_stream(stream, operation);
      if (!refusal) return false;
    } else if (capture->state == Capture::State::invalidated) {
      refusal = invalidated(*capture);
    } else {
      stream.front.reserve(1);  // so that nothing throws once the node is in the graph
      const std::uint32_t added = capture->list.add(make(capture->list, context), *stream.device, stream.front);
      stream.front.assign(1, added);
    }
  }
  if (refusal) throw_refusal(*refusal, *stream.device, operation);
  return true;
}

bool capture_record(EventState& event, StreamState& stream, const char* operation) {
  if (uncaptured) return false;
  std::optional<Refusal> refusal;
  std::shared_ptr<Capture> older;
  {
    const std::lock_guard lock(captures().mutex);
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr) {
      refusal = refuse_null_stream(stream, operation);
      if (!refusal) return false;
    } else if (capture->state == Capture::State::invalidated) {
      refusal = invalidated(*capture);
    } else {
      event.front = stream.front;
      older = std::exchange(event.capture, capture);
      event.record_is_captured.store(true, std::memory_order_seq_cst);
      events().set_careful_for(event.id, event.care_for, care_for_captured_record, true);
    }
  }
  if (refusal) throw_refusal(*refusal, *stream.device, operation);
  return true;
}

void forget_captured_record(EventState& event) noexcept {
  std::shared_ptr<Capture> old;
  const std::lock_guard lock(captures().mutex);
  event.record_is_captured.store(false, std::memory_order_relaxed);
  old.swap(event.capture);
  event.front.clear();
  events().set_careful_for(event.id, event.care_for, care_for_captured_record, false);
}

namespace {

/// Makes a captured stream wait for the event. Called under the lock.
std::optional<Refusal> wait_in_capture(StreamState& stream, EventState& event, const char* operation) {
  Capture& capture = *stream.capture;
  if (capture.state == Capture::State::invalidated) return invalidated(capture);
  if (event.capture == stream.capture) {
    join_fronts(stream.front, event.front);
    return std::nullopt;
  }
  if (event.capture == nullptr) {
    if (!event.recorded.load(std::memory_order_acquire)) return std::nullopt;  // it has nothing to wait for
    return refuse(
        capture, operation, "a captured stream waits for an event that was recorded outside of the capture",
        "record it on a stream of the capture, wait for it before begin_capture(), or make a node of the wait "
        "with wait_external_event()");
  }
  if (event.capture->state != Capture::State::active) {
    return refuse(capture, operation, "the event's most recent record was in a capture that has ended",
                  "record it on a stream of this capture");
  }
  Refusal both = refuse(capture, operation, "the event was recorded in another capture",
                        "two captures can't be joined: capture both streams in one");
  invalidate(*event.capture, operation, "a stream of another capture waited for its event");
  return both;
}

/// Makes a stream that isn't captured wait for a record that is: the stream joins the capture. Called under the lock.
std::optional<Refusal> join_capture(StreamState& stream, EventState& event, const char* operation) {
  const std::shared_ptr<Capture> capture = event.capture;
  if (capture->state == Capture::State::ended) {
    return Refusal{ErrorCode::capturing, parts("the event's most recent record was in a capture, and never runs",
                                               "record the event again, outside of the capture")};
  }
  if (capture->state == Capture::State::invalidated) return invalidated(*capture);
  if (stream.is_default) {
    return refuse(*capture, operation, "the null stream waits for an event of a capture",
                  "the null stream can't be captured: use a stream of your own");
  }
  if (stream.device->backend != capture->device->backend) {
    return refuse(*capture, operation, "a stream of another backend waits for an event of the capture",
                  "a graph's devices are of one backend");
  }
  std::vector<std::uint32_t> front = event.front;
  attach(stream, capture);
  stream.front.swap(front);
  return std::nullopt;
}

}  // namespace

bool capture_wait(StreamState& stream, EventState& event, const char* operation) {
  if (uncaptured) return false;
  std::optional<Refusal> refusal;
  {
    std::unique_lock lock(captures().mutex);
    if (stream.is_blocking && stream.capture == nullptr && event.capture != nullptr) {
      // The null stream of the stream's device has to exist, so that it can be marked.
      lock.unlock();
      static_cast<void>(default_stream_of(*stream.device, operation));
      lock.lock();
    }
    if (stream.capture != nullptr) {
      refusal = wait_in_capture(stream, event, operation);
    } else if (event.capture != nullptr) {
      refusal = join_capture(stream, event, operation);
    } else {
      return false;
    }
  }
  if (refusal) throw_refusal(*refusal, *stream.device, operation);
  return true;
}

void refuse_if_captured(StreamState& stream, const char* operation) {
  if (stream.care_for.load(std::memory_order_acquire) <= care_for_hold) return;
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(captures().mutex);
    if (stream.capture != nullptr) {
      refusal = refuse(*stream.capture, operation, "the stream is being captured: its work doesn't run now",
                       "call it after end_capture(), on the stream that the graph is launched on");
    } else {
      refusal = refuse_null_stream(stream, operation);
    }
  }
  if (refusal) throw_refusal(*refusal, *stream.device, operation);
}

void refuse_if_captured(EventState& event, const char* operation) {
  if (!event.record_is_captured.load(std::memory_order_acquire)) return;
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(captures().mutex);
    if (event.capture == nullptr) return;
    if (event.capture->state == Capture::State::ended) {
      refusal = Refusal{ErrorCode::capturing, parts("the event's most recent record was in a capture, and never runs",
                                                    "record the event again, outside of the capture")};
    } else {
      refusal = refuse(*event.capture, operation, "the event's most recent record is in a capture, and never runs",
                       "ask for an event that the launched graph records (record_external_event), or for its stream");
    }
  }
  if (refusal) throw_refusal(*refusal, *event.device, operation);
}

void refuse_unsafe_call(const DeviceState& device, const char* operation) {
  if (!any_capture()) return;
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(captures().mutex);
    for (const std::shared_ptr<Capture>& capture : captures().active) {
      const bool own = capture->owner == std::this_thread::get_id();
      const bool forbids = capture->mode == CaptureMode::global || (own && capture->mode == CaptureMode::thread_local_);
      if (!forbids || capture->state != Capture::State::active) continue;
      refusal = refuse(*capture, operation, "the call acts on a whole device while a stream is captured",
                       "make it before begin_capture() or after end_capture(), or capture with CaptureMode::relaxed");
    }
  }
  if (refusal) throw_refusal(*refusal, device, operation);
}

void refuse_captures(const DeviceState& device, const char* operation) {
  refuse_unsafe_call(device, operation);
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(captures().mutex);
    for (const std::shared_ptr<Capture>& capture : captures().active) {
      const auto is_its = [&](const Pin<StreamState>& stream) { return stream->device == &device; };
      if (std::none_of(capture->streams.begin(), capture->streams.end(), is_its)) continue;
      refusal = refuse(*capture, operation, "the device's streams would end while one of them is captured",
                       "do it before begin_capture() or after end_capture()");
    }
  }
  if (refusal) throw_refusal(*refusal, device, operation);
}

// ---- Building ------------------------------------------------------------------------------------------------------

void attach_builder(StreamState& stream, std::shared_ptr<Capture> capture) noexcept {
  const std::lock_guard lock(captures().mutex);
  stream.capture = std::move(capture);
  stream.captured.store(true, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_capture, true);
}

void set_builder_front(StreamState& stream, std::vector<std::uint32_t> front) {
  const std::lock_guard lock(captures().mutex);
  stream.front = std::move(front);
}

std::vector<std::uint32_t> take_builder_front(StreamState& stream) {
  const std::lock_guard lock(captures().mutex);
  return std::exchange(stream.front, {});
}

void detach_builder(StreamState& stream) noexcept {
  std::shared_ptr<Capture> old;
  const std::lock_guard lock(captures().mutex);
  stream.captured.store(false, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_capture, false);
  old.swap(stream.capture);
  stream.front.clear();
}

}  // namespace anyplace::detail
