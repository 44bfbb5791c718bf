// SPDX-License-Identifier: Apache-2.0
//
// The extension module anyplace._core. The package anyplace (python/anyplace) gives its names to users.
#include <anyplace/anyplace.h>
#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "extensions.h"
#include "host_calls.h"
#include "objects.h"

namespace {

/// The loader takes a libanyplace that the process has loaded before for this package's own, whatever its version.
void require_own_version() {
  const std::string_view found = anyplace::version();
  if (found == ANYPLACE_VERSION) return;
  Dl_info file{};
  dladdr(reinterpret_cast<const void*>(&anyplace::version), &file);
  const std::string where = file.dli_fname != nullptr ? file.dli_fname : "a file that isn't known";
  throw nanobind::import_error(
      ("this package is of anyplace " ANYPLACE_VERSION ", and the process has loaded anyplace " + std::string(found) +
       " before it, " + where + ": import anyplace first, or give both the same version")
          .c_str());
}

/// The library's devices, current streams and host functions are the process's; from 3.12 on Python refuses by itself.
void require_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return;
  throw nanobind::import_error(
      "anyplace can't be imported in a subinterpreter: its devices and streams are the process's. Import it in the "
      "main interpreter, or use multiprocessing");
}

}  // namespace

NB_MODULE(_core, module) {
  require_main_interpreter();
  require_own_version();
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
