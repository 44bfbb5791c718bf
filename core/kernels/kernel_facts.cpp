// SPDX-License-Identifier: Apache-2.0
// Queries of modules and kernels that the vendor answers: their attributes, variables and handles.
#include <fmt/format.h>

#include <string>

#include "anyplace/kernel.h"
#include "kernels/kernel_state.h"
#include "plugins/device_properties.h"

namespace anyplace {
namespace detail {
namespace {

template <class Entry>
void require_entry(const Entry entry, const DeviceState& device, const char* what, const char* operation) {
  if (entry != nullptr) return;
  fail(ErrorCode::unsupported, device.place, operation,
       fmt::format("the backend {} doesn't tell {}", device.backend->name, what));
}

std::optional<std::uint32_t> told(std::uint32_t count) {
  return count == UINT32_MAX ? std::nullopt : std::optional<std::uint32_t>(count);
}
std::optional<std::uint64_t> told(std::uint64_t bytes) {
  return bytes == ANYPLACE_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

}  // namespace
}  // namespace detail

KernelAttributes KernelView::attributes() const {
  using namespace detail;
  constexpr const char* operation = "KernelView::attributes";
  enter(operation);
  const Pin<KernelState> kernel = kernels().pin(id_, operation);
  DeviceState& device = *kernel->device;
  require_usable(device, operation);
  anyplace_kernel_attributes from{};
  from.struct_size = sizeof(from);
  from.max_threads_per_block = kernel->max_threads_per_block;
  from.registers = from.sub_group_size = UINT32_MAX;
  from.shared_bytes = from.local_bytes = from.constant_bytes = ANYPLACE_UNKNOWN;
  if (device.table->kernel_attributes != nullptr) {
    check(device.table->kernel_attributes(device.self, kernel->handle, &from), device, operation);
  }
  KernelAttributes to;
  to.max_threads_per_block = from.max_threads_per_block;
  to.registers = told(from.registers);
  to.sub_group_size = told(from.sub_group_size);
  to.shared_bytes = told(from.shared_bytes);
  to.local_bytes = told(from.local_bytes);
  to.constant_bytes = told(from.constant_bytes);
  return to;
}

std::uint32_t KernelView::max_active_blocks(std::uint32_t threads, std::uint64_t shared_bytes) const {
  using namespace detail;
  constexpr const char* operation = "KernelView::max_active_blocks";
  enter(operation);
  const Pin<KernelState> kernel = kernels().pin(id_, operation);
  DeviceState& device = *kernel->device;
  require_usable(device, operation);
  if (threads == 0 || threads > kernel->max_threads_per_block || shared_bytes > kernel->max_shared_bytes) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("blocks of {} threads with {} bytes of shared memory are beyond the device's limits\na block has "
                     "1 to {} threads and at most {} bytes",
                     threads, shared_bytes, kernel->max_threads_per_block, kernel->max_shared_bytes));
  }
  require_entry(device.table->kernel_occupancy, device, "how many blocks run at the same time", operation);
  std::uint32_t blocks = 0;
  check(device.table->kernel_occupancy(device.self, kernel->handle, threads, shared_bytes, &blocks), device, operation);
  return blocks;
}

std::uint64_t KernelView::native_handle() const {
  using namespace detail;
  constexpr const char* operation = "KernelView::native_handle";
  enter(operation);
  const Pin<KernelState> kernel = kernels().pin(id_, operation);
  DeviceState& device = *kernel->device;
  require_usable(device, operation);
  if (!kernel->module) {
    fail(ErrorCode::unsupported, device.place, operation, "a kernel that is a callable has no handle of the vendor's");
  }
  require_entry(device.table->kernel_native, device, "its kernels' handles", operation);
  std::uint64_t native = 0;
  check(device.table->kernel_native(device.self, kernel->handle, &native), device, operation);
  return native;
}

std::uint64_t Module::native_handle() const {
  using namespace detail;
  constexpr const char* operation = "Module::native_handle";
  enter(operation);
  const Pin<ModuleState> module = modules().pin(id_, operation);
  DeviceState& device = *module->device;
  require_usable(device, operation);
  require_entry(device.table->module_native, device, "its modules' handles", operation);
  std::uint64_t native = 0;
  check(device.table->module_native(device.self, module->handle, &native), device, operation);
  return native;
}

ModuleGlobal Module::global(std::string_view name) const {
  using namespace detail;
  constexpr const char* operation = "Module::global";
  enter(operation);
  const Pin<ModuleState> module = modules().pin(id_, operation);
  DeviceState& device = *module->device;
  require_usable(device, operation);
  if (name.empty() || name.size() > max_name_length || name.find('\0') != std::string_view::npos) {
    fail(ErrorCode::no_such_global, device.place, operation,
         "no variable has such a name\na name is not empty, has no NUL in it and is not longer than 65536 bytes");
  }
  require_entry(device.table->module_global, device, "where the variables of modules are", operation);
  anyplace_global found{};
  found.struct_size = sizeof(found);
  check(device.table->module_global(device.self, module->handle, std::string(name).c_str(), &found), device, operation);
  if (found.address == 0) {
    fail(ErrorCode::backend_failed, device.place, operation,
         "the backend said it found the variable, and gave address 0");
  }
  return {found.address, found.bytes};
}

}  // namespace anyplace
