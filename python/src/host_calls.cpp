// SPDX-License-Identifier: Apache-2.0
#include "host_calls.h"

#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace anyplace::python {
namespace {

std::atomic<int> existing = 0;

/// References that threads without the GIL gave up.
std::mutex dropped_mutex;
std::vector<PyObject*>& dropped() {
  static auto* const objects = new std::vector<PyObject*>();  // threads may give up references while statics end
  return *objects;
}

int drop_all(void*) noexcept {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(dropped_mutex);
    objects.swap(dropped());
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

/// Which calls may begin, and how many have. A thread that asks for the GIL after the interpreter has ended is stopped
/// for good, so the end of the interpreter waits for those that have begun.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> closed = false;
  int running = 0;

  bool enter() {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    ++running;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex);
    --running;
    changed.notify_all();
  }
};
Gate& gate() {
  static auto* const one = new Gate();  // the library's threads use it while statics end
  return *one;
}

struct GateScope {
  GateScope() = default;
  GateScope(const GateScope&) = delete;
  GateScope& operator=(const GateScope&) = delete;
  ~GateScope() { gate().leave(); }
};

/// Exceptions that host functions raised, with their texts, the latest first.
nb::ft_mutex raised_mutex;  // guards raised() where there is no GIL
struct Raised {
  std::string text;
  nb::object exception;
};
std::deque<Raised>& raised() {
  static auto* const exceptions = new std::deque<Raised>();  // their references end with the interpreter
  return *exceptions;
}
constexpr std::size_t raised_limit = 16;

/// The callable with its arguments. It may be destroyed on any thread.
struct Call {
  PyObject* callable;
  PyObject* args;

  Call(nb::object function, nb::tuple arguments) : callable(function.release().ptr()), args(arguments.release().ptr()) {
    existing.fetch_add(1, std::memory_order_relaxed);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    existing.fetch_sub(1, std::memory_order_relaxed);
    drop_reference(callable);
    drop_reference(args);
  }

  void run() const {
    if (!gate().enter()) return;
    const GateScope scope;
    std::string text;
    {
      const nb::gil_scoped_acquire acquire;
      if (!acquire.is_valid()) return;
      PyObject* const result = PyObject_CallObject(callable, args);
      Py_XDECREF(result);
      if (result != nullptr) return;
      nb::python_error error;
      text = describe(error);
      Raised oldest;  // its end may run code of Python's, so it comes after the lock's
      const nb::ft_lock_guard lock(raised_mutex);
      raised().push_front({text, nb::borrow(error.value())});
      if (raised().size() > raised_limit) {
        oldest = std::move(raised().back());
        raised().pop_back();
      }
    }
    throw std::runtime_error(text);
  }

  /// "ZeroDivisionError: division by zero (app.py, line 12)", where the last frame is.
  static std::string describe(const nb::python_error& error) {
    std::string text = nb::cast<std::string>(nb::type_name(error.type()));
    const std::string message = nb::cast<std::string>(nb::str(error.value()));
    if (!message.empty()) text += ": " + message;
    nb::object trace = nb::borrow(error.traceback());
    if (!trace.is_valid() || trace.is_none()) return text;
    while (!trace.attr("tb_next").is_none()) trace = trace.attr("tb_next");
    return text + " (" + nb::cast<std::string>(trace.attr("tb_frame").attr("f_code").attr("co_filename")) + ", line " +
           std::to_string(nb::cast<int>(trace.attr("tb_lineno"))) + ")";
  }
};

/// Lets no further call begin, and waits a moment for those that have.
void close_gate() {
  const nb::gil_scoped_release release;
  std::unique_lock lock(gate().mutex);
  gate().closed = true;
  gate().changed.wait_for(lock, std::chrono::seconds(2), [] { return gate().running == 0; });
}

}  // namespace

bool host_functions_exist() noexcept { return existing.load(std::memory_order_relaxed) != 0; }

std::function<void()> host_function(nb::object callable, nb::tuple args) {
  drop_all(nullptr);
  return [call = std::make_shared<const Call>(std::move(callable), std::move(args))] { call->run(); };
}

nb::object exception_of(const std::string& text) {
  const nb::ft_lock_guard lock(raised_mutex);
  for (const Raised& each : raised()) {
    if (text.find(each.text) != std::string::npos) return each.exception;
  }
  return nb::none();
}

void drop_reference(PyObject* object) noexcept {
  const std::lock_guard lock(dropped_mutex);
  try {
    dropped().push_back(object);
  } catch (const std::bad_alloc&) {
    return;  // a reference that nobody drops is harmless
  }
  if (!gate().closed) Py_AddPendingCall(drop_all, nullptr);  // if it has no place, the next host function drops them
}

void close_host_calls_at_exit() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(close_gate)); }

}  // namespace anyplace::python
