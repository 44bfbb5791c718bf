// SPDX-License-Identifier: Apache-2.0
//
// Kernel and KernelView: kernels that are made of callables, and the queries of all kernels. Launches are in
// launch.cpp.
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "anyplace/kernel.h"
#include "kernels/description.h"
#include "kernels/kernel_state.h"
#include "plugins/device_properties.h"
#include "runtime/service.h"

namespace anyplace {

namespace detail {

constinit NoDestructor<SlotTable<KernelState>> kernel_table("kernel");

void KernelState::dispose(KernelState* kernel) noexcept {
  if (in_callback()) {
    post_release([kernel] { dispose(kernel); });
    return;
  }
  const std::unique_ptr<KernelState> owner(kernel);
  if (owner->module || !backends_callable()) return;  // the backend's kernel of a module is destroyed with its module
  DeviceState& device = *owner->device;
  const anyplace_status status = device.table->kernel_destroy(device.self, owner->handle);
  check_given_back(status, device, "~Kernel");
}

void set_limits(KernelState& kernel, const char* operation) {
  const anyplace_device_properties& properties = properties_of(*kernel.device, operation);
  std::memcpy(kernel.max_grid, properties.max_grid, sizeof(kernel.max_grid));
  std::memcpy(kernel.max_block, properties.max_block, sizeof(kernel.max_block));
  kernel.max_threads_per_block = properties.max_threads_per_block;
  kernel.max_shared_bytes = properties.max_shared_bytes;
}

namespace {

// -- Callables.

/// A callable's data. The backend keeps it until no queued launch needs it any more.
struct Callable {
  HostKernel kernel;
  std::uint32_t argument_count = 0;
  std::string name;  ///< for messages
};

/// The first argument of a template, which begins behind the angle bracket: "main::{lambda(int, float)#1}".
std::string_view first_argument(std::string_view text) noexcept {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && (c == ',' || c == '>')) return text.substr(0, i);
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
  }
  return text;
}

/// The callable's name for messages, which is that of its type. For a lambda, that says in which function it was
/// written.
std::string name_of(const HostKernel& kernel) {
  constexpr std::size_t most = 160;
  constexpr std::string_view maker = "make_host_kernel<";
  const std::type_info& type = kernel.run.target_type();
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed),
                                                         std::free);
  std::string_view text = failed == 0 && demangled != nullptr ? demangled.get() : type.name();
  if (const std::size_t at = text.find(maker); at != std::string_view::npos) {
    text = first_argument(text.substr(at + maker.size()));
  }
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "...";
}

void leave_fault(const Callable& callable, const anyplace_block& block, const char* what) noexcept {
  char text[512];
  std::snprintf(text, sizeof(text), "the kernel %s, block (%u, %u, %u): %s", callable.name.c_str(), block.index[0],
                block.index[1], block.index[2], what);
  leave_message(0, nullptr, text);
}

anyplace_status run_block(void* user, const anyplace_block* block, void* const* arguments,
                          const std::uint32_t* /*sizes*/, std::uint32_t count) noexcept {
  const CallbackScope scope;
  const Callable& callable = *static_cast<Callable*>(user);
  if (count != callable.argument_count) [[unlikely]] {
    leave_message(0, nullptr, "the backend called a kernel with another number of arguments than it was launched with");
    return ANYPLACE_STATUS_INTERNAL;
  }
  try {
    callable.kernel.run(Block(block_description(*block)), arguments);
    return ANYPLACE_STATUS_OK;
  } catch (const std::exception& exception) {
    leave_fault(callable, *block, exception.what());
  } catch (...) {
    leave_fault(callable, *block, "it threw something that is no std::exception");
  }
  return ANYPLACE_STATUS_KERNEL_FAILED;
}

/// Destroys the callable. The backend calls this, so if the callable owns handles, the service thread ends them.
void release_callable(void* user) noexcept {
  const CallbackScope scope;
  delete static_cast<Callable*>(user);
}

std::uint64_t make_kernel(DeviceState& device, HostKernel kernel, const char* operation) {
  require_usable(device, operation);
  require_capability(device, Capability::host_kernels, operation);
  if (!kernel.run) fail(ErrorCode::invalid_argument, device.place, operation, "the callable is empty");
  if (kernel.argument_sizes.size() > max_arguments) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the callable has {} parameters\nthe limit is {}", kernel.argument_sizes.size(), max_arguments));
  }
  auto state = std::make_unique<KernelState>();
  state->device = &device;
  state->argument_sizes = kernel.argument_sizes;
  set_limits(*state, operation);
  auto callable = std::make_unique<Callable>();
  callable->argument_count = static_cast<std::uint32_t>(kernel.argument_sizes.size());
  callable->name = name_of(kernel);
  callable->kernel = std::move(kernel);
  const std::uint64_t id = kernels().reserve(operation);
  const anyplace_status status = device.table->kernel_from_host(device.self, device.index, &run_block, callable.get(),
                                                                &release_callable, &state->handle);
  if (status != ANYPLACE_STATUS_OK) {
    kernels().cancel(id);
    raise(status, device, operation);
  }
  static_cast<void>(callable.release());
  kernels().publish(id, state.release());
  return id;
}

void close_kernel(std::uint64_t id) noexcept {
  if (id != 0 && process_running()) kernels().close(id);
}

}  // namespace

}  // namespace detail

Device KernelView::device() const {
  constexpr const char* operation = "KernelView::device";
  detail::enter(operation);
  return Device(detail::kernels().pin(id_, operation)->device);
}

std::string KernelView::name() const {
  constexpr const char* operation = "KernelView::name";
  detail::enter(operation);
  return detail::kernels().pin(id_, operation)->name;
}

Kernel::Kernel(const Device& device, detail::HostKernel kernel) {
  constexpr const char* operation = "Kernel";
  detail::enter(operation);
  id_ = detail::make_kernel(*device.state(), std::move(kernel), operation);
}

Kernel::Kernel(Kernel&& other) noexcept : KernelView(std::exchange(other.id_, 0)) {}

Kernel& Kernel::operator=(Kernel&& other) noexcept {
  if (this != &other) {
    detail::close_kernel(id_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Kernel::~Kernel() { detail::close_kernel(id_); }

}  // namespace anyplace
