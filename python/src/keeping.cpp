// SPDX-License-Identifier: Apache-2.0
//
// Memory that others own stays until the work that uses it is done. The library doesn't keep it, so it is kept here:
// with an event behind the work, or, in a capture, with the graph, whose launches use it.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "exchange.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

/// Guards kept() and captures(): other libraries let memory go with the GIL and without it.
std::mutex mutex;

/// Memory that work uses, with the event behind that. The event is null if the memory was let go in a host function,
/// where none can be recorded: it is recorded later then.
struct Kept {
  StreamView stream;
  Event done;
  std::shared_ptr<const void> memory;
};
std::deque<Kept>& kept() {
  static auto* const memory = new std::deque<Kept>();  // work that is pending at exit may still use it
  return *memory;
}

/// The captures that began, and what the graph of each will keep.
struct Capture {
  StreamView stream;
  std::shared_ptr<KeptMemory> memory;
};
std::vector<Capture>& captures() {
  static auto* const all = new std::vector<Capture>();  // one may be open when the interpreter ends
  return *all;
}

bool is_open(const Capture& capture) noexcept {
  try {
    return capture.stream.is_capturing();
  } catch (const Error&) {
    return false;  // its stream was destroyed
  }
}

void keep(Kept later) {
  const std::lock_guard lock(mutex);
  kept().push_back(std::move(later));
}

/// False also for a stream with a fault, and in a host function, which may not ask.
template <class Work>
bool is_surely_done(const Work& work) noexcept {
  try {
    return work.query();
  } catch (const Error&) {
    return false;
  }
}

/// Keeps the memory until the work that `stream` was given up to now is done. Needs no GIL.
void keep_until_done(const StreamView& stream, const std::shared_ptr<const void>& memory) noexcept {
  try {
    if (stream.is_capturing()) return keep_with_captures(memory);
    if (is_surely_done(stream)) return;
    keep({stream, stream.record_event(), memory});
  } catch (const Error& error) {
    // If it isn't for a host function, the device is lost or was reset, and nothing uses the memory any more.
    if (error.code() == ErrorCode::not_permitted) keep({stream, {}, memory});
  } catch (const std::bad_alloc&) {
    // The owner gets its memory back at once.
  }
}

bool is_finished(Kept& memory) {
  try {
    if (!memory.done) memory.done = memory.stream.record_event();
    return memory.done.query();
  } catch (const Error& error) {
    // Of a device that is lost or was reset nothing uses the memory any more, nor of a stream that was destroyed since.
    return error.code() == ErrorCode::device_lost || error.code() == ErrorCode::invalid_handle;
  }
}

}  // namespace

void begin_keeping(const StreamView& stream) {
  std::vector<Capture> ended;  // what they keep may run code of Python's at its end, so that comes after the lock's
  const std::lock_guard lock(mutex);
  const auto first_ended = std::partition(captures().begin(), captures().end(), is_open);
  std::move(first_ended, captures().end(), std::back_inserter(ended));
  captures().erase(first_ended, captures().end());
  captures().push_back({stream, std::make_shared<KeptMemory>()});
}

std::shared_ptr<const KeptMemory> end_keeping(const StreamView& stream) {
  std::shared_ptr<const KeptMemory> memory;
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(captures().begin(), captures().end(),
                                  [&](const Capture& capture) { return capture.stream == stream; });
  if (found == captures().end()) return nullptr;
  if (!found->memory->empty()) memory = std::move(found->memory);
  captures().erase(found);
  return memory;
}

void keep_with_captures(const std::shared_ptr<const void>& memory) {
  const std::lock_guard lock(mutex);
  for (const Capture& capture : captures()) capture.memory->push_back(memory);
}

void keep_until(Event done, std::shared_ptr<const void> memory) noexcept {
  if (!done || memory == nullptr || is_surely_done(done)) return;
  try {
    keep({{}, std::move(done), std::move(memory)});
  } catch (const std::bad_alloc&) {
    // The owner gets its memory back at once.
  }
}

UsedMemory::~UsedMemory() {
  if (memory_.empty()) return;
  const auto memory = std::make_shared<const KeptMemory>(std::move(memory_));  // its end needs the GIL
  {
    const Submission submission;
    keep_until_done(stream_, memory);
  }
  release_finished();
}

void UsedMemory::add(const Array& array) {
  if (array.buffer()) return;  // the library's own
  // On a device kept_in_order() sees to the work of the array's stream, but not to launches of a graph.
  if (array.is_on_host() || stream_.is_capturing()) add(std::make_shared<Array>(array));
}

Array kept_in_order(const Array& array) {
  release_finished();
  if (array.is_on_host() || !array.stream()) return array;
  const auto give_back = [](const Array* foreign) noexcept {
    keep_until_done(foreign->stream(), std::shared_ptr<const void>(foreign));
  };
  return Array::share(array, array.stream(), std::shared_ptr<const Array>(new Array(array), give_back));
}

void release_finished() {
  for (;;) {
    std::optional<Kept> finished;  // its end may run code of Python's, so it comes after the lock's
    const std::lock_guard lock(mutex);
    if (kept().empty() || !is_finished(kept().front())) return;
    finished.emplace(std::move(kept().front()));
    kept().pop_front();
  }
}

}  // namespace anyplace::python
