// SPDX-License-Identifier: Apache-2.0
//
// The extension module anyplace._core. The package anyplace (python/anyplace) gives its names to users.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include "extensions.h"
#include "host_calls.h"
#include "objects.h"

NB_MODULE(_core, module) {
  // Work that is pending at exit keeps what it uses, on purpose.
  nanobind::set_leak_warnings(false);
  module.attr("version") = ANYPLACE_VERSION;
  anyplace::python::bind_errors();
  anyplace::python::bind_devices(module);
  anyplace::python::bind_events(module);
  anyplace::python::bind_streams(module);
  anyplace::python::bind_memory(module);
  anyplace::python::bind_kernels(module);
  anyplace::python::bind_graphs(module);
  anyplace::python::bind_arrays(module);
  anyplace::python::bind_raw(module);
  anyplace::python::bind_extensions(module);
  anyplace::python::bind_allocator(module);
  anyplace::python::bind_random(module);
  anyplace::python::bind_services(module);
  anyplace::python::close_host_calls_at_exit();
}
