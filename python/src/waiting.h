// SPDX-License-Identifier: Apache-2.0
//
// When the GIL is released. A call that can wait releases it, and nothing else does, because releasing costs as much as
// a short call.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "host_calls.h"

namespace anyplace::python {

namespace nb = nanobind;

/// Waits in slices, between which Python handles signals, so that Ctrl-C ends a wait within `slice`; the work goes on.
/// `wait` takes the nanoseconds and returns whether the work is done. Returns false if `timeout` ran out first.
template <class Wait>
bool wait_interruptibly(std::optional<std::chrono::nanoseconds> timeout, Wait wait) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(50);
  const clock::time_point start = clock::now();
  for (;;) {
    std::chrono::nanoseconds now = slice;
    if (timeout) now = std::clamp(*timeout - (clock::now() - start), std::chrono::nanoseconds(0), slice);
    {
      const nb::gil_scoped_release release;
      if (wait(now)) return true;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (timeout && clock::now() - start >= *timeout) return false;
  }
}

/// For calls that submit work. A vendor's queue may be full, and then the call waits for work; if that work includes a
/// Python function, it needs the GIL. So the GIL is released where there are such functions.
class Submission {
 public:
  Submission() : state_(host_functions_exist() ? PyEval_SaveThread() : nullptr) {}
  Submission(const Submission&) = delete;  // bound to its scope
  Submission& operator=(const Submission&) = delete;
  ~Submission() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

}  // namespace anyplace::python
