// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "error.h"
#include "variable.h"

namespace anyplace::levelzero {

Context::Context(ze_driver_handle_t driver, ze_api_version_t version)
    : driver_(driver), version_(version), in_order_(version >= first_version_with_in_order_lists) {
  static_cast<void>(
      // The variable is checked here, because virtual_memory.cpp reads it where nothing may fail.
      switch_variable("ANYPLACE_LEVELZERO_VIRTUAL_MEMORY"));
  if (const std::optional<bool> wish = switch_variable("ANYPLACE_LEVELZERO_IN_ORDER")) {
    insists_ = *wish;
    in_order_ = insists_;
  }
}

bool Context::has_extension(const char* name) const {
  std::uint32_t count = 0;
  if (api().DriverGetExtensionProperties(driver_, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return false;
  std::vector<ze_driver_extension_properties_t> all(count);
  if (api().DriverGetExtensionProperties(driver_, &count, all.data()) != ZE_RESULT_SUCCESS) return false;
  all.resize(std::min<std::size_t>(all.size(), count));
  return std::any_of(all.begin(), all.end(),
                     [name](const auto& one) { return std::strncmp(one.name, name, sizeof(one.name)) == 0; });
}

bool Context::give_up_in_order_lists() noexcept {
  if (insists_) return false;
  in_order_.store(false, std::memory_order_relaxed);
  return true;
}

ze_context_handle_t Context::make() {
  const std::lock_guard lock(mutex_);
  if (const ze_context_handle_t made = get_or_null()) return made;
  ze_context_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ze_context_handle_t made = nullptr;
  Results::check(api().ContextCreate(driver_, &desc, &made), "zeContextCreate");
  check_made(made, "zeContextCreate");
  native_.store(made, std::memory_order_release);
  return made;
}

void Context::close(FirstFailure& failure) noexcept {
  if (const ze_context_handle_t made = native_.exchange(nullptr, std::memory_order_acq_rel)) {
    failure.add(api().ContextDestroy(made), "zeContextDestroy");
  }
}

}  // namespace anyplace::levelzero
