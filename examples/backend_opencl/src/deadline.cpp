// SPDX-License-Identifier: Apache-2.0
#include "deadline.h"

#include <algorithm>
#include <thread>

namespace opencl_backend {

bool wait_for_event(const EventRef& event, const Deadline& deadline) {
  if (deadline.forever()) {
    const cl_event raw = event.get();
    const cl_int code = api().WaitForEvents(1, &raw);
    // That the command failed is the stream's business: here it only says that it is over.
    if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) check(code, "clWaitForEvents");
    return true;
  }
  constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(1);
  std::chrono::nanoseconds pause = std::chrono::microseconds(5);
  while (status_of(event) > CL_COMPLETE) {
    const std::chrono::nanoseconds left = deadline.left();
    if (left.count() == 0) return false;
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(pause * 2, longest);
  }
  return true;
}

}  // namespace opencl_backend
