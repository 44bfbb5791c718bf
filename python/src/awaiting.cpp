// SPDX-License-Identifier: Apache-2.0
//
// `await event` and `await stream`, which anyplace/_waiting.py carries out; also bind_extensions.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include "extensions.h"
#include "objects.h"

namespace anyplace::python {

void bind_awaiting() {
  const auto signature = "def __await__(self) -> collections.abc.Generator[typing.Any, None, None]";
  nb::borrow<nb::class_<EventObject>>(nb::type<EventObject>())
      .def(
          "__await__", [](nb::handle self) { return call_package("anyplace._waiting", "of_event", self); },
          nb::sig(signature), "Waits for the most recent record without blocking the loop of asyncio.");
  nb::borrow<nb::class_<StreamObject>>(nb::type<StreamObject>())
      .def(
          "__await__", [](nb::handle self) { return call_package("anyplace._waiting", "of_stream", self); },
          nb::sig(signature),
          "Waits for the work submitted so far without blocking the loop of asyncio. Raises the stream's fault.");
}

void bind_extensions(nb::module_& module) {
  bind_dlpack(module);
  bind_protocols(module);
  bind_arithmetic();
  bind_awaiting();
  bind_foreign_streams();
  bind_sharing(module);
  bind_comm(module);
  bind_communicators(module);
  bind_layers(module);
}

}  // namespace anyplace::python
