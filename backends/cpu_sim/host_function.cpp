// SPDX-License-Identifier: Apache-2.0
#include "host_function.h"

#include <exception>

#include "operation.h"
#include "stream.h"

namespace anyplace::cpu_sim {

Progress HostFunction::execute(Stream& stream) noexcept {
  stream.device().host_thread().post(*this);
  return Progress::elsewhere;
}

void HostFunction::describe(Operation& out) const {
  out.kind = Operation::Kind::host_function;
  out.what = "host function";
  out.touches_all = true;
}

HostWork* HostFunction::call() noexcept {
  // The core catches what its users throw; this is for hosts that don't.
  try {
    function_(user_, ANYPLACE_STATUS_OK);
  } catch (const std::exception& exception) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, exception.what());
  } catch (...) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, "it threw something that is no std::exception");
  }
  return stream_.finish_host_function();
}

}  // namespace anyplace::cpu_sim
