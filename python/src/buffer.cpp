// SPDX-License-Identifier: Apache-2.0
//
// Buffer and HostBuffer. Memory that the host reaches is lent without a copy: by the buffer protocol and by NumPy's
// __array_interface__. That is all of HostBuffer, and of Buffer the memory of cpu_sim, as long as it isn't protected.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

BufferOptions options_of(const std::string& kind, std::uint64_t alignment, bool shareable) {
  if (kind != "device" && kind != "managed") throw nb::value_error("kind: it is 'device' or 'managed'");
  return {kind == "managed" ? MemoryKind::managed : MemoryKind::device, alignment, shareable};
}

/// Allocating may wait for memory whose free is pending.
template <class Where>
void construct(BufferObject* self, const Where& where, std::uint64_t bytes, const BufferOptions& options) {
  const nb::gil_scoped_release release;
  auto owner = std::make_shared<Buffer>(where, bytes, options);
  new (self) BufferObject{owner->view(), owner};
}

/// The host's pointer to the memory. Raises BufferError where the host doesn't reach it.
void* host_pointer(const BufferObject& buffer) {
  if (buffer.view.size_bytes() == 0) return nullptr;
  if (buffer.view.device().backend() == "cpu_sim") return reinterpret_cast<void*>(buffer.view.address());
  const PointerAttributes known = pointer_attributes(buffer.view.address());
  if (known.kind == AddressKind::managed) return reinterpret_cast<void*>(buffer.view.address());
  throw nb::buffer_error(("memory of " + buffer.view.device().to_string() +
                          " isn't reached by the host: copy it with Stream.copy to a HostBuffer, or to an array")
                             .c_str());
}

/// What NumPy takes without a copy: `bytes` elements of uint8.
nb::dict array_interface(const void* data, std::uint64_t bytes) {
  nb::dict interface;
  interface["shape"] = nb::make_tuple(bytes);
  interface["typestr"] = "|u1";
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data), false);
  interface["version"] = 3;
  return interface;
}

/// Fills what PyObject_GetBuffer was asked for. Counts what is lent.
template <class Object, class Data>
int lend(PyObject* self, Py_buffer* view, int flags, Data data) {
  if (!nb::inst_ready(self)) {  // made by __new__ alone
    PyErr_SetString(PyExc_BufferError, "the object has no memory");
    view->obj = nullptr;
    return -1;
  }
  auto& object = *nb::inst_ptr<Object>(self);
  const nb::ft_object_guard guard(self);  // of `lent`, beside close()
  try {
    const HostSpan span = data(object);
    static char nothing;  // memoryviews of no bytes have an address, too
    void* const first = span.data() == nullptr ? &nothing : span.data();
    if (PyBuffer_FillInfo(view, self, first, static_cast<Py_ssize_t>(span.size_bytes()), 0, flags) != 0) return -1;
    ++object.lent;
    return 0;
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  view->obj = nullptr;
  return -1;
}

template <class Object>
void take_back(PyObject* self, Py_buffer*) {
  const nb::ft_object_guard guard(self);
  --nb::inst_ptr<Object>(nb::handle(self))->lent;
}

int lend_buffer(PyObject* self, Py_buffer* view, int flags) {
  return lend<BufferObject>(self, view, flags, [](const BufferObject& buffer) {
    return HostSpan(host_pointer(buffer), buffer.view.size_bytes());
  });
}

const HostBuffer& open_memory(const HostBufferObject& buffer) {
  if (!buffer.memory) throw nb::value_error("the HostBuffer is closed");
  return *buffer.memory;
}

int lend_host_buffer(PyObject* self, Py_buffer* view, int flags) {
  return lend<HostBufferObject>(self, view, flags, [](const HostBufferObject& buffer) {
    const HostBuffer& memory = open_memory(buffer);
    return HostSpan(memory.data(), memory.size_bytes());
  });
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(lend_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(take_back<BufferObject>)},
                              {0, nullptr}};
PyType_Slot host_buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(lend_host_buffer)},
                                   {Py_bf_releasebuffer, reinterpret_cast<void*>(take_back<HostBufferObject>)},
                                   {0, nullptr}};

template <class Object>
void close(Object& object) {
  if (object.lent != 0) throw nb::buffer_error("the memory is lent to memoryviews or arrays, which have to go before");
  object = {};
}

/// The bytes that a slice names, as a buffer that shares the ownership.
BufferObject part_of(const BufferObject& buffer, const nb::slice& slice) {
  const auto [start, stop, step, length] = slice.compute(buffer.view.size_bytes());
  static_cast<void>(stop);
  if (step != 1) throw nb::value_error("slice: a part of a buffer has step 1");
  return {buffer.view.sub(static_cast<std::uint64_t>(start), length), buffer.owner};
}

void bind_buffer(nb::module_& module) {
  nb::class_<BufferObject>(module, "Buffer", nb::type_slots(buffer_slots),
                           "Memory of a device, not cleared. It frees itself in the order of the stream that it was "
                           "made on; work of other streams is named with record_stream. Slices share it.")
      .def(
          "__init__",
          [](BufferObject* self, const StreamObject& stream, const Whole& nbytes, const std::string& kind,
             const Whole& alignment, bool shareable) {
            construct(self, stream.view, unsigned_of(nbytes, "nbytes"),
                      options_of(kind, unsigned_of(alignment, "alignment"), shareable));
          },
          "stream"_a, "nbytes"_a, nb::kw_only(), "kind"_a = "device", "alignment"_a = 0, "shareable"_a = false,
          "Raises OutOfMemoryError with the figures. `kind` is \"device\" or \"managed\".")
      .def(
          "__init__",
          [](BufferObject* self, const DeviceArgument& device, const Whole& nbytes, const std::string& kind,
             const Whole& alignment, bool shareable) {
            construct(self, device.get(), unsigned_of(nbytes, "nbytes"),
                      options_of(kind, unsigned_of(alignment, "alignment"), shareable));
          },
          "device"_a, "nbytes"_a, nb::kw_only(), "kind"_a = "device", "alignment"_a = 0, "shareable"_a = false,
          "Allocates on the calling thread's current stream of the device.")
      .def_prop_ro("nbytes", [](const BufferObject& buffer) { return buffer.view.size_bytes(); })
      .def("__len__", [](const BufferObject& buffer) { return buffer.view.size_bytes(); })
      .def_prop_ro("address", [](const BufferObject& buffer) { return buffer.view.address(); })
      .def_prop_ro("device", [](const BufferObject& buffer) { return buffer.view.device(); })
      .def("__getitem__", &part_of, "bytes"_a, "The bytes of a slice, without a copy.")
      .def(
          "record_stream",
          [](const BufferObject& buffer, const StreamObject& stream) { buffer.view.record_stream(stream.view); },
          "stream"_a, "Says that work on `stream`, submitted until the memory is freed, uses it.")
      .def("close", &close<BufferObject>, nb::lock_self(), "Gives the memory up, which never waits; slices keep it.")
      .def_prop_ro(
          "__array_interface__",
          [](const BufferObject& buffer) {
            try {
              return array_interface(host_pointer(buffer), buffer.view.size_bytes());
            } catch (const nb::builtin_exception& error) {
              throw nb::attribute_error(error.what());
            }
          },
          nb::sig("def __array_interface__(self) -> dict[str, object]"))
      .def("__repr__", [](const BufferObject& buffer) -> nb::str {
        if (!buffer.view) return nb::str("<Buffer, closed or of 0 bytes>");
        return nb::str("<Buffer of {} bytes on {}>").format(buffer.view.size_bytes(), buffer.view.device().to_string());
      });
}

void bind_host_buffer(nb::module_& module) {
  nb::class_<HostBufferObject>(module, "HostBuffer", nb::type_slots(host_buffer_slots),
                               "Memory of the host that a device reads and writes directly (pinned), not cleared.")
      .def(
          "__init__",
          [](HostBufferObject* self, const DeviceArgument& device, const Whole& nbytes) {
            const std::uint64_t bytes = unsigned_of(nbytes, "nbytes");
            const Device where = device.get();
            const nb::gil_scoped_release release;
            new (self) HostBufferObject{std::make_shared<HostBuffer>(where, bytes)};
          },
          "device"_a, "nbytes"_a)
      .def_prop_ro("nbytes", [](const HostBufferObject& buffer) { return open_memory(buffer).size_bytes(); })
      .def("__len__", [](const HostBufferObject& buffer) { return open_memory(buffer).size_bytes(); })
      .def_prop_ro(
          "address",
          [](const HostBufferObject& buffer) { return reinterpret_cast<std::uintptr_t>(open_memory(buffer).data()); })
      .def(
          "record_stream",
          [](const HostBufferObject& buffer, const StreamObject& stream) {
            open_memory(buffer).record_stream(stream.view);
          },
          "stream"_a)
      .def("close", &close<HostBufferObject>, nb::lock_self(), "Gives the memory up, which never waits.")
      .def_prop_ro(
          "__array_interface__",
          [](const HostBufferObject& buffer) {
            return array_interface(open_memory(buffer).data(), open_memory(buffer).size_bytes());
          },
          nb::sig("def __array_interface__(self) -> dict[str, object]"))
      .def("__repr__", [](const HostBufferObject& buffer) -> nb::str {
        if (!buffer.memory) return nb::str("<HostBuffer, closed>");
        return nb::str("<HostBuffer of {} bytes>").format(buffer.memory->size_bytes());
      });
}

}  // namespace

void bind_memory(nb::module_& module) {
  bind_buffer(module);
  bind_host_buffer(module);
}

}  // namespace anyplace::python
