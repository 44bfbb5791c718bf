// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "elf_image.h"
#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::size_t shown_functions = 8;
constexpr std::size_t most_parameters = 4096;

const anyplace_module_desc& check_format(const anyplace_module_desc& desc) {
  if (desc.format != ANYPLACE_IMAGE_SHARED_OBJECT) {
    fail(ANYPLACE_STATUS_INVALID_IMAGE,
         "cpu_sim takes shared objects, not images of format " + std::to_string(desc.format));
  }
  return desc;
}

/// Reads the parameters' sizes from the library's data NAME_parameters, if it has that: their number, then each size.
/// No more than these is read: Clang's AddressSanitizer counts what it puts behind a variable to the variable's size.
std::optional<std::vector<std::uint32_t>> parameters_of(const Library& library, const std::string& name) {
  const std::span<const std::byte> data = library.data((name + "_parameters").c_str());
  std::uint32_t count = 0;
  if (data.size() < sizeof(count)) return std::nullopt;
  std::memcpy(&count, data.data(), sizeof(count));
  // If there are more, the data of that name is something else.
  if (count > std::min(data.size() / sizeof(std::uint32_t) - 1, most_parameters)) return std::nullopt;
  std::vector<std::uint32_t> sizes(count);
  if (count != 0) std::memcpy(sizes.data(), data.data() + sizeof(count), count * sizeof(std::uint32_t));
  return sizes;
}

/// Returns the library's function _row_of_NAME, or null.
HostRow row_of(const Library& library, const std::string& name) {
  void* const address = library.function(("_row_of_" + name).c_str());
  HostRow row = nullptr;
  std::memcpy(&row, &address, sizeof(row));
  return row;
}

}  // namespace

Module::Module(backend::Host host, const anyplace_module_desc& desc)
    : host_(host),
      library_(Library::load(check_format(desc).image, desc.image_bytes)),
      functions_(exported_functions(desc.image, desc.image_bytes, shown_functions)) {}

std::span<const std::byte> Module::variable(const char* name) const {
  const std::span<const std::byte> found = library_->data(name);
  if (found.empty()) fail(ANYPLACE_STATUS_NO_SUCH_GLOBAL, "the module exports no variable " + in_quotes(name));
  return found;
}

Kernel& Module::kernel(const char* name) {
  std::lock_guard lock(mutex_);
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return *known->second;
  void* address = library_->function(name);
  if (address == nullptr) {
    std::string text = "the module exports no function " + in_quotes(name);
    for (std::size_t i = 0; i < functions_.size(); ++i) text += (i == 0 ? "; there is " : ", ") + functions_[i];
    if (functions_.size() == shown_functions) text += ", ...";
    fail(ANYPLACE_STATUS_NO_SUCH_KERNEL, text);
  }
  anyplace_host_kernel function = nullptr;
  std::memcpy(&function, &address, sizeof(function));
  auto kernel = make_ref<Kernel>(host_, function, row_of(*library_, name), std::string(name), Ref<Library>(library_),
                                 parameters_of(*library_, name));
  return *kernels_.emplace(name, std::move(kernel)).first->second;
}

}  // namespace anyplace::cpu_sim
