// SPDX-License-Identifier: Apache-2.0
//
// Stream.copy, between any two of: memory of a device, pinned memory, and memory that an object of Python's lends.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

/// One side of a copy: an array, a buffer, or memory of the host.
struct Side {
  std::optional<ArrayView> array;
  std::optional<BufferView> buffer;
  HostSpan host;
};

Side side_of(nb::handle object, bool writable, const char* name, UsedMemory& used) {
  Side side;
  if (nb::isinstance<BufferObject>(object)) {
    side.buffer = nb::cast<const BufferObject&>(object).view;
  } else if (nb::isinstance<Array>(object)) {
    const Array& array = nb::cast<const Array&>(object);
    side.array = array;
    used.add(array);
  } else if (nb::isinstance<HostBufferObject>(object)) {
    const auto& pinned = nb::cast<const HostBufferObject&>(object).memory;
    if (!pinned) throw nb::value_error((std::string(name) + ": the HostBuffer is closed").c_str());
    side.host = HostSpan(pinned->data(), pinned->size_bytes());
  } else {
    const auto lent = std::make_shared<LentMemory>(object, writable, name);
    side.host = lent->span();
    used.add(lent);
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
  UsedMemory used(stream.view);
  const Side to = side_of(destination, true, "destination", used);
  const Side from = side_of(source, false, "source", used);
  const nb::gil_scoped_release release;  // memory that isn't pinned may make the call wait
  submit(stream.view, to, from);
}

}  // namespace anyplace::python
