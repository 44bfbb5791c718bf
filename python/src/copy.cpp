// SPDX-License-Identifier: Apache-2.0
//
// Stream.copy, between any two of: memory of a device, pinned memory, and memory that an object of Python's lends. The
// library doesn't keep memory that others own, so it is kept here until the work that uses it is done.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "exchange.h"
#include "objects.h"

namespace anyplace::python {
namespace {

/// Guards kept() and captures(): other libraries let memory go with the GIL and without it.
std::mutex mutex;

/// Memory that work uses, with the event behind that.
struct Kept {
  Event done;
  std::shared_ptr<const void> memory;
};
std::deque<Kept>& kept() {
  static auto* const memory = new std::deque<Kept>();  // work that is pending at exit may still use it
  return *memory;
}

/// The graphs that are being captured.
std::vector<GraphObject*>& captures() {
  static std::vector<GraphObject*> graphs;
  return graphs;
}

/// One side of a copy: an array, a buffer, or memory of the host.
struct Side {
  std::optional<ArrayView> array;
  std::optional<BufferView> buffer;
  HostSpan host;
  std::shared_ptr<const void> kept;  ///< the owner of memory of the host, unless that is a HostBuffer
};

Side side_of(nb::handle object, bool writable, const char* name) {
  Side side;
  if (nb::isinstance<BufferObject>(object)) {
    side.buffer = nb::cast<const BufferObject&>(object).view;
  } else if (nb::isinstance<Array>(object)) {
    const Array& array = nb::cast<const Array&>(object);
    side.array = array;
    if (array.is_on_host()) side.kept = std::make_shared<Array>(array);
  } else if (nb::isinstance<HostBufferObject>(object)) {
    const auto& pinned = nb::cast<const HostBufferObject&>(object).memory;
    if (!pinned) throw nb::value_error((std::string(name) + ": the HostBuffer is closed").c_str());
    side.host = HostSpan(pinned->data(), pinned->size_bytes());
  } else {
    const auto lent = std::make_shared<LentMemory>(object, writable, name);
    side.host = lent->span();
    side.kept = lent;
  }
  return side;
}

/// The array of a side, which is as the other one's array where the side is memory without a type.
ArrayView array_of(const Side& side, const ArrayView& other) {
  if (side.array) return *side.array;
  if (side.buffer) return ArrayView(*side.buffer, other.dtype(), other.shape());
  return ArrayView::on_host(side.host, other.dtype(), other.shape());
}

void submit(const StreamView& stream, const Side& to, const Side& from) {
  if (to.array || from.array) {
    return copy(stream, array_of(to, from.array ? *from.array : *to.array),
                array_of(from, to.array ? *to.array : *from.array));
  }
  if (to.buffer && from.buffer) return stream.copy(*to.buffer, *from.buffer);
  if (to.buffer) return stream.copy(*to.buffer, ConstHostSpan(from.host));
  if (from.buffer) return stream.copy(to.host, *from.buffer);
  stream.copy(to.host, ConstHostSpan(from.host));
}

}  // namespace

void copy_between(const StreamObject& stream, const nb::object& destination, const nb::object& source) {
  Side to = side_of(destination, true, "destination");
  Side from = side_of(source, false, "source");
  {
    const nb::gil_scoped_release release;  // memory that isn't pinned may make the call wait
    submit(stream.view, to, from);
  }
  if (to.kept || from.kept) release_finished();
  if (to.kept) keep_until_done(stream.view, std::move(to.kept));
  if (from.kept) keep_until_done(stream.view, std::move(from.kept));
}

void add_capture(GraphObject* graph) {
  const std::lock_guard lock(mutex);
  captures().push_back(graph);
}

void remove_capture(GraphObject* graph) {
  const std::lock_guard lock(mutex);
  std::erase(captures(), graph);
}

void keep_until_done(const StreamView& stream, std::shared_ptr<const void> memory) {
  if (stream.is_capturing()) {
    const std::lock_guard lock(mutex);
    for (GraphObject* graph : captures()) graph->kept.push_back(memory);
    return;
  }
  Kept later{stream.record_event(), std::move(memory)};
  const std::lock_guard lock(mutex);
  kept().push_back(std::move(later));
}

Array kept_in_order(const Array& array) {
  release_finished();
  if (array.is_on_host() || !array.stream()) return array;
  const auto give_back = [](const Array* foreign) noexcept {
    const std::shared_ptr<const void> memory(foreign);
    try {
      const StreamView stream = foreign->stream();
      if (stream.is_capturing() || !stream.query()) keep_until_done(stream, memory);
    } catch (const std::exception&) {
      // The stream's device is lost or was reset, and nothing uses the memory any more; or there is no memory for a
      // note, and the owner gets its memory back at once.
    }
  };
  return Array::share(array, array.stream(), std::shared_ptr<const Array>(new Array(array), give_back));
}

void release_finished() {
  for (;;) {
    std::optional<Kept> finished;  // its end may run code of Python's, so it comes after the lock's
    const std::lock_guard lock(mutex);
    if (kept().empty()) return;
    try {
      if (!kept().front().done.query()) return;
    } catch (const Error&) {
      // The device is lost or was reset, and nothing uses the memory any more.
    }
    finished.emplace(std::move(kept().front()));
    kept().pop_front();
  }
}

}  // namespace anyplace::python
