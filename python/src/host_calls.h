// SPDX-License-Identifier: Apache-2.0
//
// Python callables as host functions. The library calls them on threads of its own, which attach to the interpreter for
// the call. Once the interpreter ends, none begins any more.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string>

namespace anyplace::python {

namespace nb = nanobind;

/// Whether a host function of Python's may be called, now or later.
bool host_functions_exist() noexcept;

/// A host function that calls `callable(*args)`. What the callable raises is thrown as its text, and kept for
/// exception_of().
std::function<void()> host_function(nb::object callable, nb::tuple args);

/// The exception whose text is in `text`, if a host function raised it lately; else None.
nb::object exception_of(const std::string& text);

/// From the end of the interpreter on, no host function of Python's begins.
void close_host_calls_at_exit();

/// Drops a reference on whatever thread, with or without the GIL: the interpreter drops it soon after.
void drop_reference(PyObject* object) noexcept;

}  // namespace anyplace::python
