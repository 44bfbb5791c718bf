// SPDX-License-Identifier: Apache-2.0
// Mutations that random numbers show: of how a module's kernels are found, given their arguments, run and captured.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// The arguments that a kernel's first launch had.
struct Remembered {
  std::mutex mutex;
  std::map<anyplace_kernel, std::vector<std::vector<unsigned char>>> of;  // guarded by mutex
};
Remembered& remembered() {
  static auto* const all = new Remembered;
  return *all;
}

/// Launches with arguments of its own, which `alter` changes.
template <class Alter>
Status launch_altered(void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch,
                      Alter&& alter) {
  std::vector<anyplace_argument> arguments(launch->arguments, launch->arguments + launch->argument_count);
  std::vector<std::vector<unsigned char>> values;
  for (const anyplace_argument& argument : arguments) {
    const auto* const bytes = static_cast<const unsigned char*>(argument.value);
    values.emplace_back(bytes, bytes + argument.size);
  }
  alter(values);
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i].value = values[i].data();
  anyplace_launch wrong = *launch;
  wrong.arguments = arguments.data();
  return real.kernel_launch(self, stream, kernel, &wrong);
}

/// A launch is like the one before of the same kernel, so only addresses are looked at again.
Status launch_with_first_values(void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
  return launch_altered(self, stream, kernel, launch, [&](auto& values) {
    const std::lock_guard lock(remembered().mutex);
    const auto [found, first] = remembered().of.try_emplace(kernel, values);
    if (first) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (launch->arguments[i].kind == ANYPLACE_ARGUMENT_VALUE) values[i] = found->second[i];
    }
  });
}

/// Of 8 bytes that are a value the upper four are lost.
Status launch_with_halves(void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
  return launch_altered(self, stream, kernel, launch, [&](auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool wide = launch->arguments[i].kind == ANYPLACE_ARGUMENT_VALUE && values[i].size() == 8;
      if (wide) std::memset(values[i].data() + 4, 0, 4);
    }
  });
}

/// The lowest two bits of a float that is a value are lost.
Status launch_with_rough_floats(void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
  return launch_altered(self, stream, kernel, launch, [&](auto& values) {
    for (auto& value : values) {
      if (value.size() == 4) value[0] &= 0xfc;
    }
  });
}

// ---- A module's kernels as functions of the host, so that a block of them can be left out

struct LoadedAgain {
  int32_t device = 0;
  void* library = nullptr;
};
Notes<anyplace_module, LoadedAgain> loaded_again;

Status load_again(void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
  const Status status = real.module_load(self, device, desc, out);
  if (status != ok) return status;
  const int file = ::memfd_create("mutant", MFD_CLOEXEC);
  const auto* const bytes = static_cast<const char*>(desc->image);
  for (uint64_t done = 0; done < desc->image_bytes;) {
    const ssize_t more = ::write(file, bytes + done, desc->image_bytes - done);
    if (more <= 0) return ANYPLACE_STATUS_OUT_OF_MEMORY;
    done += static_cast<uint64_t>(more);
  }
  loaded_again.set(*out, {device, ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW)});
  ::close(file);
  return ok;
}

Status run_all_but_last(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                        uint32_t count) {
  const bool last = block->grid[0] > 1 && block->index[0] + 1 == block->grid[0];
  return last ? ok : reinterpret_cast<anyplace_host_kernel>(user)(nullptr, block, arguments, sizes, count);
}

Status kernel_of_host(void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
  const LoadedAgain again = loaded_again.get(module);
  void* const function = again.library != nullptr ? ::dlsym(again.library, name) : nullptr;
  if (function == nullptr) return real.module_kernel(self, module, name, out);
  return real.kernel_from_host(
      self, again.device, run_all_but_last, function, [](void*) {}, out);
}

/// A kernel of one thread is so small that it needs no place in the stream.
Status launch_small_ones_once(void* self, anyplace_stream stream, anyplace_kernel kernel,
                              const anyplace_launch* launch) {
  const bool small = launch->grid[0] == 1 && launch->block[0] == 1 && launch->argument_count == 3;
  if (!small) return real.kernel_launch(self, stream, kernel, launch);
  const std::lock_guard lock(remembered().mutex);
  if (!remembered().of.try_emplace(kernel).second) return ok;
  return real.kernel_launch(self, stream, kernel, launch);
}

/// Kernels of like names are mixed up.
Status kernel_of_like_name(void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
  std::string wrong = name;
  if (wrong == "uniform_bf16") wrong = "uniform_f16";
  return real.module_kernel(self, module, wrong.c_str(), out);
}

/// A graph's kernels find no seed and offset in memory, and take those of the capture.
Status create_without_state(void* self, int32_t device, const anyplace_graph_desc* desc, anyplace_graph* out) {
  std::vector<anyplace_graph_node> nodes;
  std::vector<anyplace_launch> launches(desc->node_count);
  std::vector<std::vector<anyplace_argument>> arguments(desc->node_count);
  static constexpr anyplace_address none = 0;
  for (uint32_t i = 0; i < desc->node_count; ++i) {
    const auto* const at = reinterpret_cast<const unsigned char*>(desc->nodes) + std::size_t{i} * desc->node_stride;
    nodes.push_back(*reinterpret_cast<const anyplace_graph_node*>(at));
    anyplace_graph_node& node = nodes.back();
    if (node.kind != ANYPLACE_GRAPH_NODE_KERNEL || node.launch->argument_count < 5) continue;
    launches[i] = *node.launch;
    arguments[i].assign(node.launch->arguments, node.launch->arguments + node.launch->argument_count);
    if (arguments[i][2].kind == ANYPLACE_ARGUMENT_ADDRESS) arguments[i][2].value = &none;
    launches[i].arguments = arguments[i].data();
    node.launch = &launches[i];
  }
  anyplace_graph_desc wrong = *desc;
  wrong.nodes = nodes.data();
  wrong.node_stride = sizeof(anyplace_graph_node);
  return real.graph_create(self, device, &wrong, out);
}

constexpr const char* apart = "random: a graph draws other numbers at each launch, as the device launches it";

const Mutation mutations[] = {
    {"random_last_block_lost", "the last block of a grid doesn't run",
     "random: 100003 numbers are the words of Philox, and nothing behind them is written",
     [](Table& table) {
       table.module_load = load_again;
       table.module_kernel = kernel_of_host;
     }},
    {"random_values_kept", "a kernel keeps the values of its first launch",
     "random: fills on one stream go on where the one before ended",
     [](Table& table) { table.kernel_launch = launch_with_first_values; }},
    {"random_halves", "of a value of 64 bits a kernel gets the lower half",
     "random: all 64 bits of seed and offset count", [](Table& table) { table.kernel_launch = launch_with_halves; }},
    {"random_rough_floats", "a float loses its lowest two bits on its way to a kernel",
     "random: normal f32 has the bits that it has on every backend",
     [](Table& table) { table.kernel_launch = launch_with_rough_floats; }},
    {"random_kernel_of_another_type", "a module gives another kernel than the one that was named",
     "random: uniform bf16 has the bits that it has on every backend",
     [](Table& table) { table.module_kernel = kernel_of_like_name; }},
    {"random_offset_not_advanced", "what is written ahead of a graph's launch is written once", apart,
     [](Table& table) { table.kernel_launch = launch_small_ones_once; }},
    {"random_graph_without_state", "a graph's kernels draw by their values, whatever was written for them", apart,
     [](Table& table) { table.graph_create = create_without_state; }},
};

}  // namespace

std::span<const Mutation> random_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
