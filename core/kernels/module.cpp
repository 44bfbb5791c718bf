// SPDX-License-Identifier: Apache-2.0
// Module: reading, recognising and loading images, and finding their kernels.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "anyplace/kernel.h"
#include "kernels/doubles.h"
#include "kernels/image_format.h"
#include "kernels/kernel_state.h"
#include "kernels/load_module.h"
#include "kernels/spirv.h"
#include "plugins/device_properties.h"
#include "runtime/no_destructor.h"
#include "runtime/service.h"
#include "runtime/subsystem.h"
#include "runtime/text.h"

namespace anyplace {

namespace detail {

SlotTable<ModuleState>& modules() noexcept {
  static constinit NoDestructor<SlotTable<ModuleState>> table("module");
  return table.value;
}

void ModuleState::dispose(ModuleState* module) noexcept {
  if (in_callback()) {
    post_release([module] { dispose(module); });
    return;
  }
  const std::unique_ptr<ModuleState> owner(module);
  if (!backends_callable()) return;
  DeviceState& device = *owner->device;
  const anyplace_status status = device.table->module_unload(device.self, owner->handle);
  check_given_back(status, device, "~Module");
}

namespace {

constexpr std::uint64_t max_image_bytes = std::uint64_t{2} << 30;
constexpr std::size_t max_kernels_with_metadata = 65536;

/// A descriptor that closes itself.
class File {
 public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  File(const File&) = delete;  // closed once
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

std::vector<std::byte> read_file(const std::string& path, const DeviceState& device, const char* operation) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("can't read the module {}: {}", one_line(path), why));
  };
  const auto reason = [] { return std::generic_category().message(errno); };
  if (path.empty() || path.find('\0') != std::string::npos) refuse("that is no file name");
  const File file(path);
  if (file.descriptor() < 0) refuse(reason());
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) refuse(reason());
  if (S_ISDIR(status.st_mode)) refuse("it is a directory");
  if (!S_ISREG(status.st_mode)) refuse("it is not a regular file");
  if (status.st_size == 0) refuse("it is empty");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_image_bytes) refuse(fmt::format("it has {} bytes; the limit is {}", size, max_image_bytes));
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.descriptor(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(reason());
    if (got == 0) refuse("it became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

/// The format (ANYPLACE_IMAGE_*) under which the device takes the image. Throws invalid_image if it takes none.
std::uint32_t format_for(DeviceState& device, std::span<const std::byte> image, const char* operation) {
  const std::uint64_t accepted = properties_of(device, operation).image_formats;
  const ImageFormat found = identify_image(image);
  if (found.format != 0 && (accepted >> found.format & 1) != 0) return found.format;
  // A vendor's own binary format can't be recognised here, so the vendor's driver checks the image.
  const bool native = found.format == 0 && !image.empty() && (accepted >> ANYPLACE_IMAGE_NATIVE & 1) != 0;
  if (native) return ANYPLACE_IMAGE_NATIVE;
  fail(ErrorCode::invalid_image, device.place, operation,
       fmt::format("the image is {}\nthis device takes {}", found.description, describe_formats(accepted)));
}

/// The shared object that is made of the image; empty for an image that is loaded as it is.
std::string translated(DeviceState& device, std::span<const std::byte> image, const char* operation) {
  const std::uint64_t accepted = properties_of(device, operation).image_formats;
  const auto takes = [&](std::uint32_t format) { return (accepted >> format & 1) != 0; };
  if (takes(ANYPLACE_IMAGE_SPIRV) || !takes(ANYPLACE_IMAGE_SHARED_OBJECT)) return "";
  if (identify_image(image).format != ANYPLACE_IMAGE_SPIRV) return "";
  for (const Subsystem* const room : subsystems()) {
    if (room->translate_spirv != nullptr) return room->translate_spirv(device, image, operation);
  }
  return "";
}

/// Throws invalid_image if the image is of a format that the device takes, but needs what the device lacks.
void require_doubles(DeviceState& device, std::span<const std::byte> image, std::uint32_t format,
                     const char* operation) {
  if (format != ANYPLACE_IMAGE_SPIRV || !lacks_doubles(device, operation)) return;
  if (!spirv_needs_doubles(image)) return;
  fail(ErrorCode::invalid_image, device.place, operation,
       "the SPIR-V computes with double (capability Float64)\nthis device computes no doubles");
}

/// Throws if the options aren't ones that a module can have.
void check_options(const ModuleOptions& options, const DeviceState& device, const char* operation) {
  const auto refuse = [&](const std::string& why) { fail(ErrorCode::invalid_argument, device.place, operation, why); };
  if (options.compiler_options.find('\0') != std::string::npos) refuse("the compiler options contain a NUL");
  if (options.metadata.size() > max_kernels_with_metadata) {
    refuse(fmt::format("metadata of {} kernels\nthe limit is {}", options.metadata.size(), max_kernels_with_metadata));
  }
  for (const KernelMetadata& kernel : options.metadata) {
    if (kernel.name.empty() || kernel.name.find('\0') != std::string::npos) {
      refuse("the metadata name a kernel whose name is empty or contains a NUL");
    }
    if (kernel.shared_argument < -1) {
      refuse(fmt::format("the metadata of kernel {} say shared_argument {}; it is an argument's index, or -1 for none",
                         kernel.name, kernel.shared_argument));
    }
  }
}

/// What is known of the image's kernels: what the user says, and for others what SPIR-V itself says.
std::vector<KernelMetadata> known_of(std::span<const std::byte> image, std::uint32_t format,
                                     const ModuleOptions& options) {
  std::vector<KernelMetadata> known = options.metadata;
  if (format != ANYPLACE_IMAGE_SPIRV) return known;
  std::set<std::string_view> named;
  for (const KernelMetadata& kernel : options.metadata) named.insert(kernel.name);
  for (KernelMetadata& found : shared_arguments_in_spirv(image)) {
    if (named.count(found.name) == 0) known.push_back(std::move(found));
  }
  return known;
}

/// The same for a backend, as long as `kernels` is there.
std::vector<anyplace_kernel_metadata> metadata_of(const std::vector<KernelMetadata>& kernels) {
  std::vector<anyplace_kernel_metadata> metadata;
  metadata.reserve(kernels.size());
  for (const KernelMetadata& kernel : kernels) {
    anyplace_kernel_metadata entry{};
    entry.struct_size = sizeof(entry);
    entry.shared_argument = kernel.shared_argument;
    entry.name = kernel.name.c_str();
    metadata.push_back(entry);
  }
  return metadata;
}

}  // namespace

std::uint64_t load_module(DeviceState& device, std::span<const std::byte> given, const ModuleOptions& options,
                          const char* operation, std::span<const KernelAlias> aliases) {
  require_usable(device, operation);
  require_capability(device, Capability::modules, operation);
  if (given.data() == nullptr && !given.empty()) {
    fail(ErrorCode::invalid_argument, device.place, operation, "the image's pointer is null");
  }
  check_options(options, device, operation);
  const std::string made = translated(device, given, operation);
  const std::span<const std::byte> image = made.empty() ? given : std::as_bytes(std::span<const char>(made));
  anyplace_module_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.format = format_for(device, image, operation);
  require_doubles(device, image, desc.format, operation);
  const std::vector<KernelMetadata> known = known_of(image, desc.format, options);
  const std::vector<anyplace_kernel_metadata> metadata = metadata_of(known);
  desc.image = image.data();
  desc.image_bytes = image.size();
  desc.metadata = metadata.empty() ? nullptr : metadata.data();
  desc.metadata_count = static_cast<std::uint32_t>(metadata.size());
  desc.metadata_stride = sizeof(anyplace_kernel_metadata);
  desc.options = options.compiler_options.empty() ? nullptr : options.compiler_options.c_str();

  auto state = std::make_unique<ModuleState>();
  state->device = &device;
  for (const KernelAlias& alias : aliases) state->aliases.emplace(alias.name, alias.in_image);
  const std::uint64_t id = modules().reserve(operation);
  const anyplace_status status = device.table->module_load(device.self, device.index, &desc, &state->handle);
  if (status != ANYPLACE_STATUS_OK) {
    modules().cancel(id);
    raise(status, device, operation);
  }
  modules().publish(id, state.release());
  return id;
}

void say_of_string(std::uint64_t id, const char* operation) { modules().pin(id, operation)->is_of_string = true; }

void close_module(std::uint64_t id) noexcept {
  // Each kernel pins the module until its handle is closed. This pin keeps the module until all of them are closed.
  const Pin<ModuleState> module = modules().try_pin(id);
  if (!module || !modules().close(id)) return;
  std::map<std::string, std::uint64_t, std::less<>> kernel_ids;
  {
    const std::lock_guard lock(module->mutex);
    module->closed = true;
    kernel_ids.swap(module->kernels);
  }
  for (const auto& [name, kernel] : kernel_ids) kernels().close(kernel);
}

namespace {

/// Closes the module for its owner's destructor. Does nothing in a forked or exiting process.
void let_go_of_module(std::uint64_t id) noexcept {
  if (id != 0 && process_running()) close_module(id);
}

/// The text with the expressions that the caller knows in place of what an image calls their kernels.
std::string with_expressions(std::string text, const ModuleState& module) {
  const auto is_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (const auto& [name, in_image] : module.aliases) {
    if (in_image.empty() || name.starts_with('&')) continue;
    for (std::size_t at = 0; (at = text.find(in_image, at)) != text.npos;) {
      const bool is_whole = (at == 0 || !is_word(at - 1)) && !is_word(at + in_image.size());
      if (is_whole) text.replace(at, in_image.size(), name);
      at += is_whole ? name.size() : in_image.size();
    }
  }
  return text;
}

/// Throws the Error of a kernel that the image doesn't have, with what the backend has said of it.
[[noreturn]] void refuse_kernel(const ModuleState& module, const char* operation) {
  const Error error = make_error(ANYPLACE_STATUS_NO_SUCH_KERNEL, *module.device, operation);
  ErrorDetails details;
  details.code = error.code();
  details.place = error.place();
  details.operation = error.operation();
  details.text = with_expressions(std::string(error.problem()), module);
  details.remedy = error.remedy();
  details.see = error.see();
  details.vendor_code = error.vendor_code();
  details.vendor_name = error.vendor_name();
  details.vendor_text = with_expressions(error.vendor_text(), module);
  if (module.is_of_string && details.remedy.empty()) {
    details.remedy = "a kernel of a string begins with extern \"C\" __global__, or is named by a name expression";
    details.see = "see docs/kernels.md";
  }
  throw Error(std::move(details));
}

std::uint64_t find_kernel(std::uint64_t module_id, std::string_view name, const char* operation) {
  const Pin<ModuleState> module = modules().pin(module_id, operation);
  DeviceState& device = *module->device;
  require_usable(device, operation);
  if (name.empty() || name.size() > max_name_length || name.find('\0') != std::string_view::npos) {
    fail(
        ErrorCode::no_such_kernel, device.place, operation,
        "no kernel has such a name\na kernel's name is not empty, has no NUL in it and is not longer than 65536 bytes");
  }
  ModuleState& found = *module;
  const std::lock_guard lock(found.mutex);
  if (found.closed) fail(ErrorCode::invalid_handle, device.place, operation, "the module was destroyed");
  if (const auto known = found.kernels.find(name); known != found.kernels.end()) return known->second;

  auto state = std::make_unique<KernelState>();
  state->device = &device;
  state->name = std::string(name);
  state->module = modules().pin_again(module_id, operation);
  set_limits(*state, operation);
  const auto place = found.kernels.emplace(state->name, 0).first;
  std::uint64_t id = 0;
  try {
    const auto alias = found.aliases.find(name);
    const std::string& in_image = alias == found.aliases.end() ? state->name : alias->second;
    const anyplace_status status =
        device.table->module_kernel(device.self, found.handle, in_image.c_str(), &state->handle);
    if (status == ANYPLACE_STATUS_NO_SUCH_KERNEL) refuse_kernel(found, operation);
    check(status, device, operation);
    id = kernels().reserve(operation);
  } catch (...) {
    found.kernels.erase(place);
    throw;
  }
  place->second = id;
  kernels().publish(id, state.release());
  return id;
}

}  // namespace

}  // namespace detail

Module::Module(const Device& device, std::span<const std::byte> image, const ModuleOptions& options) {
  constexpr const char* operation = "Module";
  detail::enter(operation);
  id_ = detail::load_module(*device.state(), image, options, operation);
}

Module Module::from_file(const Device& device, const std::string& path, const ModuleOptions& options) {
  constexpr const char* operation = "Module::from_file";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  const std::vector<std::byte> image = detail::read_file(path, *device.state(), operation);
  Module module;
  module.id_ = detail::load_module(*device.state(), image, options, operation);
  return module;
}

Module::Module(Module&& other) noexcept : id_(std::exchange(other.id_, 0)) {}

Module& Module::operator=(Module&& other) noexcept {
  if (this != &other) {
    detail::let_go_of_module(id_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Module::~Module() { detail::let_go_of_module(id_); }

Device Module::device() const {
  constexpr const char* operation = "Module::device";
  detail::enter(operation);
  return Device(detail::modules().pin(id_, operation)->device);
}

KernelView Module::kernel(std::string_view name) const {
  constexpr const char* operation = "Module::kernel";
  detail::enter(operation);
  return KernelView(detail::find_kernel(id_, name, operation));
}

}  // namespace anyplace
