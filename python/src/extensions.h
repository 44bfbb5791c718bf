// SPDX-License-Identifier: Apache-2.0
//
// What is added to the classes after they are bound: a function for each file. Their Python parts are modules of the
// package, which are imported when they are first used.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace anyplace::python {

namespace nb = nanobind;

/// Calls a function of a module of the package: call_package("anyplace._arithmetic", "binary", ...).
template <class... Args>
nb::object call_package(const char* module, const char* function, Args&&... args) {
  return nb::module_::import_(module).attr(function)(std::forward<Args>(args)...);
}

void bind_arithmetic();
void bind_awaiting();
void bind_dlpack(nb::module_& module);
void bind_foreign_streams();
void bind_protocols(nb::module_& module);
void bind_sharing(nb::module_& module);
void bind_comm(nb::module_& module);
void bind_communicators(nb::module_& module);
void bind_layers(nb::module_& module);

/// All of them; the classes have to be bound before.
void bind_extensions(nb::module_& module);

}  // namespace anyplace::python
