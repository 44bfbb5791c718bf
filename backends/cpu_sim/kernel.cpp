// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "failure.h"
#include "fault_report.h"
#include "operation.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::uint64_t shared_alignment = 64;
constexpr std::uint64_t max_value_alignment = 64;
// A kernel is asked to run so many blocks as one: what a call costs is nothing to them, and the report of a fault,
// which can't tell them apart, is still of some use.
constexpr std::uint32_t most_joined = 256;

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
using SharedMemory = std::unique_ptr<void, Free>;

/// Allocates a block's shared memory. Returns null if there is none.
SharedMemory take_shared(std::uint64_t bytes) noexcept {
  void* memory = nullptr;
  return SharedMemory(posix_memalign(&memory, shared_alignment, bytes) == 0 ? memory : nullptr);
}

/// Returns the alignment that a value of this size may need: the largest power of two that divides the size.
std::uint64_t value_alignment(std::uint64_t size) noexcept {
  return size == 0 ? 1 : std::min(size & (~size + 1), max_value_alignment);
}

/// Returns argument `i` of an array with a stride. It copies the members that both the caller and this plugin know.
anyplace_argument argument_at(const anyplace_launch& launch, std::uint32_t i) noexcept {
  anyplace_argument argument{};
  const auto* first = reinterpret_cast<const std::byte*>(launch.arguments);
  const std::byte* from = first + std::size_t{launch.argument_stride} * i;
  if (launch.argument_stride >= sizeof(argument)) [[likely]] {
    std::memcpy(&argument, from, sizeof(argument));
  } else {
    std::memcpy(&argument, from, launch.argument_stride);
  }
  return argument;
}

void check_limit(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return;
  bad_argument(std::string(what) + " is " + std::to_string(value) + "; the device takes " + std::to_string(least) +
               " to " + std::to_string(most));
}

bool within_limits(const anyplace_launch& launch) noexcept {
  const std::uint32_t(&grid)[3] = launch.grid;
  return (grid[0] - 1) < max_grid[0] && (grid[1] - 1) < max_grid[1] && (grid[2] - 1) < max_grid[2] &&
         is_block(launch.block) && launch.shared_bytes <= max_shared_bytes;
}

/// Throws Failure if a number of the launch is over its limit, and says which number and limit.
void check_limits(const anyplace_launch& launch) {
  if (within_limits(launch)) [[likely]]
    return;
  const char* const grid[] = {"grid[0]", "grid[1]", "grid[2]"};
  const char* const block[] = {"block[0]", "block[1]", "block[2]"};
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    check_limit(grid[i], launch.grid[i], 1, max_grid[i]);
    check_limit(block[i], launch.block[i], 1, max_block[i]);
    threads *= launch.block[i];
  }
  check_limit("the number of threads of a block", threads, 1, max_threads_per_block);
  check_limit("shared_bytes", launch.shared_bytes, 0, max_shared_bytes);
}

/// Throws Failure that says why the argument is invalid. It is apart from is_argument() to keep the making of messages
/// out of a launch's code.
[[gnu::noinline, gnu::cold]] void refuse_argument(const anyplace_argument& argument, std::uint32_t i) {
  const std::string name = "argument " + std::to_string(i);
  if (argument.kind != ANYPLACE_ARGUMENT_VALUE && argument.kind != ANYPLACE_ARGUMENT_ADDRESS) {
    bad_argument(name + " is of kind " + std::to_string(argument.kind) + ", which there is not");
  }
  if (argument.kind == ANYPLACE_ARGUMENT_ADDRESS && argument.size != sizeof(anyplace_address)) {
    bad_argument(name + " is an address of " + std::to_string(argument.size) + " bytes, not 8");
  }
  bad_argument(name + " has no value");
}

bool is_argument(const anyplace_argument& argument) noexcept {
  const bool kind = argument.kind == ANYPLACE_ARGUMENT_VALUE ||
                    (argument.kind == ANYPLACE_ARGUMENT_ADDRESS && argument.size == sizeof(anyplace_address));
  return kind && (argument.value != nullptr || argument.size == 0);
}

/// Checks the arguments and returns the bytes that their pointers, sizes and values take.
std::uint64_t argument_bytes(const Kernel& kernel, Device& device, const anyplace_launch& launch) {
  if (launch.argument_count == 0) return 0;
  if (launch.arguments == nullptr || launch.argument_stride == 0) bad_argument("the launch's arguments are missing");
  std::uint64_t bytes = launch.argument_count * std::uint64_t{sizeof(void*) + sizeof(std::uint32_t)};
  for (std::uint32_t i = 0; i < launch.argument_count; ++i) {
    const anyplace_argument argument = argument_at(launch, i);
    if (!is_argument(argument)) [[unlikely]]
      refuse_argument(argument, i);
    if (argument.kind == ANYPLACE_ARGUMENT_ADDRESS) {
      anyplace_address address = 0;
      std::memcpy(&address, argument.value, sizeof(address));
      kernel.check_reach(device, address, i);
    }
    bytes += argument.size + value_alignment(argument.size) - 1;
    if (bytes > CommandQueue::max_tail_bytes) bad_argument("the launch's arguments take more than 1 GiB");
  }
  return bytes;
}

/// Moves `index` by `blocks`, which are in its row.
void step(std::uint32_t (&index)[3], const std::uint32_t (&grid)[3], std::uint32_t blocks) noexcept {
  if ((index[0] += blocks) < grid[0]) return;
  index[0] = 0;
  if (++index[1] < grid[1]) return;
  index[1] = 0;
  ++index[2];
}

/// Returns how many of `blocks` blocks from `block` on a kernel is asked to run as one: they are in one row.
std::uint32_t joined(const anyplace_block& block, std::uint64_t blocks) noexcept {
  const std::uint64_t in_row = block.grid[0] - block.index[0];
  return static_cast<std::uint32_t>(std::min({blocks, in_row, std::uint64_t{most_joined}}));
}

/// Gives each kernel one of 64 bits, in turn.
std::uint64_t next_mark() noexcept {
  static constinit std::atomic<unsigned> kernels{0};
  return std::uint64_t{1} << kernels.fetch_add(1, std::memory_order_relaxed) % 64;
}

/// Returns the fault for a kernel's status. A simulated device is never lost, so a kernel that returns DEVICE_LOST
/// counts as failed.
anyplace_status fault_of(anyplace_status status) noexcept {
  return status_name(status) == nullptr || status == ANYPLACE_STATUS_DEVICE_LOST ? ANYPLACE_STATUS_KERNEL_FAILED
                                                                                 : status;
}

}  // namespace

Kernel::Kernel(backend::Host host, anyplace_host_kernel function, void* user, void (*on_release)(void*))
    : host_(host),
      mark_(next_mark()),
      function_(function),
      user_(user),
      release_(on_release),
      name_("(a callable)"),
      scoped_(guarded_) {}

Kernel::Kernel(backend::Host host, anyplace_host_kernel function, HostRow row, std::string name, Ref<Library> library,
               std::optional<std::vector<std::uint32_t>> parameters)
    : host_(host),
      mark_(next_mark()),
      function_(function),
      row_(row),
      name_(std::move(name)),
      library_(std::move(library)),
      scoped_(true),
      parameters_(std::move(parameters)) {}

Kernel::~Kernel() {
  if (release_ != nullptr) release_(user_);
}

void Kernel::check_arguments(const anyplace_launch& launch) const {
  if (!parameters_) return;
  if (launch.argument_count != parameters_->size()) {
    bad_argument(std::to_string(launch.argument_count) + " arguments were given; the kernel " + in_quotes(name_) +
                 " takes " + std::to_string(parameters_->size()));
  }
  for (std::uint32_t i = 0; i < launch.argument_count; ++i) {
    const std::uint32_t size = argument_at(launch, i).size;
    if (size == (*parameters_)[i]) continue;
    bad_argument("argument " + std::to_string(i) + " (counted from 0) has " + std::to_string(size) +
                 " bytes; that parameter of the kernel " + in_quotes(name_) + " has " +
                 std::to_string((*parameters_)[i]));
  }
}

[[gnu::noinline, gnu::cold]] void Kernel::require_reach(Device& device, anyplace_address address,
                                                        std::uint32_t i) const {
  const AddressSpace::Reach reach = device.addresses().reach(device.index(), address);
  if (reach.reached) return;
  if (reach.owner == no_device && (!library_ || device.registrations().contain(address))) return;
  std::string text = "argument " + std::to_string(i) + " (counted from 0) of the kernel " + in_quotes(name_) + ", " +
                     hex(address) + ", is ";
  const std::string own = "device " + std::to_string(device.index());
  if (reach.owner != no_device) {
    const std::string other = "device " + std::to_string(reach.owner);
    text += "memory of " + other + ", which " + own +
            " has no access to; Device::enable_peer_access gives it, or copy " + "the data to " + own;
  } else {
    text +=
        "no memory of a device; host memory is reached when it is pinned (HostBuffer, HostRegistration), and what " +
        std::string("was freed isn't");
  }
  bad_argument(text);
}

/// Reports the fault of a block, with `what` or, if that is null, with the message that was left on this thread.
void Kernel::report(const anyplace_block& block, std::uint64_t cookie, anyplace_status status, const char* what,
                    std::atomic<bool>& stop) const noexcept {
  if (stop.exchange(true, std::memory_order_relaxed)) {
    host_.leave_message(0, nullptr, nullptr);  // Another block has reported; this block's message is dropped.
    return;
  }
  if (what == nullptr) return host_.stream_fault(cookie, status);
  char name[256];  // A long name leaves room for what is wrong.
  backend::set_text(name, name_);
  char text[512];
  std::snprintf(text, sizeof(text), "kernel %s, block (%u, %u, %u): %s", name, block.index[0], block.index[1],
                block.index[2], what);
  backend::end_whole(text);
  host_.stream_fault(cookie, status, text);
}

void Kernel::report_status(const anyplace_block& block, std::uint64_t cookie, anyplace_status status,
                           std::atomic<bool>& stop) const noexcept {
  if (!library_) return report(block, cookie, fault_of(status), nullptr, stop);
  // A module's library can't leave a message, so one is made here.
  char what[64];
  const char* name = status_name(status);
  std::snprintf(what, sizeof(what), "it returned %d (%s)", status, name == nullptr ? "no known status" : name);
  report(block, cookie, fault_of(status), what, stop);
}

/// The kernel's code runs between the two: a module's may not call anyplace, and has access to protected memory.
void Kernel::begin_scope() const noexcept {
  if (!guarded_) [[likely]]
    return host_.user_code_begin();  // It is a module's kernel.
  if (library_) host_.user_code_begin();
  Protection::get()->enter("a kernel");
}

void Kernel::end_scope() const noexcept {
  if (!guarded_) [[likely]]
    return host_.user_code_end();
  Protection::get()->leave();
  if (library_) host_.user_code_end();
}

void Kernel::run_blocks(anyplace_block& block, std::uint64_t blocks, void* const* arguments, const std::uint32_t* sizes,
                        std::uint32_t count, std::uint64_t cookie, std::atomic<bool>& stop) noexcept {
  if (scoped_) begin_scope();
  try {
    std::uint32_t at_once = 1;
    const InKernel in_kernel(name_.c_str(), block, at_once);
    while (!stop.load(std::memory_order_relaxed)) {
      if (row_ != nullptr) at_once = joined(block, blocks);
      const anyplace_status status = row_ != nullptr ? row_(user_, &block, &at_once, arguments, sizes, count)
                                                     : function_(user_, &block, arguments, sizes, count);
      if (status != ANYPLACE_STATUS_OK) [[unlikely]]
        report_status(block, cookie, status, stop);
      if ((blocks -= at_once) == 0) break;
      step(block.index, block.grid, at_once);
    }
  } catch (const std::exception& exception) {
    report(block, cookie, ANYPLACE_STATUS_KERNEL_FAILED, exception.what(), stop);
  } catch (...) {
    report(block, cookie, ANYPLACE_STATUS_KERNEL_FAILED, "it threw something that is no std::exception", stop);
  }
  if (scoped_) end_scope();
}

void Kernel::run_one_block(anyplace_block& block, PackedArguments* arguments, std::uint64_t cookie) noexcept {
  std::atomic<bool> stop{false};
  if (arguments == nullptr) return run_blocks(block, 1, nullptr, nullptr, 0, cookie, stop);
  void* pointers[PackedArguments::most];
  std::uint32_t sizes[PackedArguments::most];
  std::byte* next = arguments->values();
  for (std::uint32_t i = 0; i < arguments->count; ++i) {
    const std::uint32_t size = arguments->sizes[i];
    sizes[i] = size;
    next += -backend::to_handle(next) & (size - 1);  // Sizes are powers of two.
    pointers[i] = next;
    next += size;
  }
  run_blocks(block, 1, pointers, sizes, arguments->count, cookie, stop);
}

Launch::Launch(Kernel& kernel, std::uint64_t cookie, const anyplace_launch& launch) noexcept
    : kernel_(kernel),
      cookie_(cookie),
      argument_count_(launch.argument_count),
      shared_bytes_(static_cast<std::uint32_t>(launch.shared_bytes)) {
  std::copy_n(launch.grid, 3, grid_);
  std::copy_n(launch.block, 3, block_);
}

Spreadable::Extent Launch::extent() const noexcept {
  return {std::uint64_t{grid_[0]} * grid_[1] * grid_[2], 1};  // It is below 2^63 by the device's limits.
}

void Launch::describe(Operation& out) const {
  out.be_kernel(kernel_.name(), extent().units, std::uint64_t{block_[0]} * block_[1] * block_[2]);
}

void Launch::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept {
  SharedMemory shared;
  if (shared_bytes_ > 0) {
    shared = take_shared(shared_bytes_);
    if (!shared) {
      if (!stop.exchange(true, std::memory_order_relaxed)) {
        kernel_.host().stream_fault(cookie_, ANYPLACE_STATUS_OUT_OF_MEMORY, "no memory for a block's shared memory");
      }
      return;
    }
  }
  anyplace_block block{};
  block.struct_size = sizeof(block);
  std::copy_n(grid_, 3, block.grid);
  std::copy_n(block_, 3, block.block);
  if (begin != 0) {
    block.index[0] = static_cast<std::uint32_t>(begin % grid_[0]);
    block.index[1] = static_cast<std::uint32_t>(begin / grid_[0] % grid_[1]);
    block.index[2] = static_cast<std::uint32_t>(begin / grid_[0] / grid_[1]);
  }
  block.shared = shared.get();
  block.shared_bytes = shared_bytes_;
  kernel_.run_blocks(block, end - begin, arguments_, sizes_, argument_count_, cookie_, stop);
}

std::uint64_t check_launch(const Kernel& kernel, Device& device, const anyplace_launch& launch) {
  check_limits(launch);
  const std::uint64_t bytes = argument_bytes(kernel, device, launch);
  kernel.check_arguments(launch);
  return bytes;
}

void Launch::take_arguments(const anyplace_launch& launch, void* memory) noexcept {
  const std::uint32_t count = launch.argument_count;
  auto* pointers = static_cast<void**>(memory);
  auto* sizes = reinterpret_cast<std::uint32_t*>(pointers + count);
  std::uint64_t next = backend::to_handle(sizes + count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const anyplace_argument argument = argument_at(launch, i);
    const std::uint64_t alignment = value_alignment(argument.size);
    next = (next + alignment - 1) & ~(alignment - 1);
    pointers[i] = backend::from_handle<void>(next);
    sizes[i] = argument.size;
    if (argument.size != 0) std::memcpy(pointers[i], argument.value, argument.size);
    next += argument.size;
  }
  arguments_ = pointers;
  sizes_ = sizes;
}

void submit_launch(Stream& stream, Kernel& kernel, std::uint64_t cookie, const anyplace_launch& launch) {
  const std::uint64_t bytes = check_launch(kernel, stream.device(), launch);
  const auto copy_arguments = [&launch, &stream, &kernel](Launch& command, void* tail) {
    stream.remember(kernel.mark());
    command.take_arguments(launch, tail);
  };
  stream.submit_with_tail<Launch>(bytes, copy_arguments, kernel, cookie, launch);
}

namespace {

constexpr std::uint64_t kind_and_size(std::uint32_t kind, std::uint32_t size) noexcept {
  return kind | std::uint64_t{size} << 32;
}

/// Describes the arguments of a launch in `out`, and adds up the bytes of their values in `bytes`. Returns false if
/// they are too many, of other sizes than 4 and 8, or not known to be right.
bool pack_arguments(const Kernel& kernel, Device& device, const anyplace_launch& launch, PackedArguments& out,
                    std::uint32_t& bytes) noexcept {
  const std::uint32_t count = launch.argument_count;
  const anyplace_argument* const given = launch.arguments;
  if (count != 0 &&
      (count > PackedArguments::most || launch.argument_stride != sizeof(anyplace_argument) || given == nullptr)) {
    return false;
  }
  out.count = static_cast<std::uint8_t>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const void* const value = given[i].value;
    if (value == nullptr) [[unlikely]]
      return false;
    std::uint64_t kind_size = 0;
    std::memcpy(&kind_size, &given[i], sizeof(kind_size));
    if (kind_size == kind_and_size(ANYPLACE_ARGUMENT_VALUE, 4)) {
      out.sizes[i] = 4;
      bytes += 4;
      continue;
    }
    if (kind_size == kind_and_size(ANYPLACE_ARGUMENT_ADDRESS, 8)) {
      anyplace_address address = 0;
      std::memcpy(&address, value, sizeof(address));
      if (!kernel.reaches_at_once(device, address)) [[unlikely]]
        return false;
    } else if (kind_size != kind_and_size(ANYPLACE_ARGUMENT_VALUE, 8)) {
      return false;
    }
    out.sizes[i] = 8;
    bytes = ((bytes + 7) & ~7u) + 8;
  }
  return kernel.takes(out);
}

}  // namespace

bool submit_one_block(Stream& stream, Kernel& kernel, const anyplace_launch& launch) {
  static_assert(offsetof(anyplace_argument, kind) == 0 && offsetof(anyplace_argument, size) == 4);
  PackedArguments arguments;
  std::uint32_t bytes = 0;
  if (!pack_arguments(kernel, stream.device(), launch, arguments, bytes)) return false;
  const std::uint32_t count = launch.argument_count;
  const anyplace_argument* const given = launch.arguments;
  const auto write_values = [&](std::byte* values) noexcept {
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (arguments.sizes[i] == 4) {
        std::memcpy(values + at, given[i].value, 4);
        at += 4;
      } else {
        at = (at + 7) & ~7u;
        std::memcpy(values + at, given[i].value, 8);
        at += 8;
      }
    }
  };
  stream.submit_launch(kernel, kernel.mark(), pack(launch.block), arguments, bytes, write_values);
  return true;
}

}  // namespace anyplace::cpu_sim
