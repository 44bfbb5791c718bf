// SPDX-License-Identifier: Apache-2.0
//
// anyplace::Error as Python's exceptions. The classes are Python's own (anyplace/_errors.py): errors are rare, and
// there they read as any other exceptions do.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <optional>
#include <string>

#include "host_calls.h"
#include "objects.h"

namespace anyplace::python {
namespace {

nb::object optional_number(const std::optional<std::uint64_t>& number) {
  return number ? nb::object(nb::int_(*number)) : nb::object(nb::none());
}

nb::object figures_of(const Error& error) {
  if (!error.memory()) return nb::none();
  const MemoryFigures& memory = *error.memory();
  nb::dict figures;
  figures["requested"] = nb::int_(memory.requested);
  figures["free"] = optional_number(memory.free);
  figures["cached"] = nb::int_(memory.cached);
  figures["in_use"] = nb::int_(memory.in_use);
  figures["limit"] = optional_number(memory.limit);
  return figures;
}

void set_error(const Error& error) {
  const nb::object make = nb::module_::import_("anyplace._errors").attr("make");
  nb::dict details;
  details["code"] = to_string(error.code());
  details["place"] = error.place();
  details["operation"] = error.operation();
  details["problem"] = std::string(error.problem());
  details["remedy"] = error.remedy();
  details["see"] = error.see();
  details["vendor_code"] = error.vendor_code();
  details["vendor_name"] = error.vendor_name();
  details["vendor_text"] = error.vendor_text();
  details["memory"] = figures_of(error);
  const nb::object cause =
      error.code() == ErrorCode::host_function_failed ? exception_of(error.text()) : nb::object(nb::none());
  const nb::object made = make(error.what(), details, cause);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

void set_python_error(const Error& error) noexcept {
  try {
    set_error(error);
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

void bind_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_python_error(error);
    }
  });
}

}  // namespace anyplace::python
