// SPDX-License-Identifier: Apache-2.0
// Mutations of kernels: launches, modules, and the faults that are reported while they run.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <strings.h>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// Launches with an altered copy of what the launch says.
template <void (*Alter)(anyplace_launch&)>
Status altered_launch(void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
  anyplace_launch wrong = *launch;
  Alter(wrong);
  return real.kernel_launch(self, stream, kernel, &wrong);
}

void swap_grid(anyplace_launch& launch) { std::swap(launch.grid[0], launch.grid[1]); }
void swap_block(anyplace_launch& launch) { std::swap(launch.block[0], launch.block[1]); }
void one_block(anyplace_launch& launch) { launch.grid[0] = launch.grid[1] = launch.grid[2] = 1; }
void one_layer(anyplace_launch& launch) { launch.grid[2] = 1; }
void no_shared_memory(anyplace_launch& launch) { launch.shared_bytes = 0; }
void less_shared_memory(anyplace_launch& launch) {
  if (launch.shared_bytes != 0) --launch.shared_bytes;
}

/// A launch whose only argument points at the caller's own array and values, as they are when it runs.
struct Pointed {
  std::vector<void*> values;
  std::vector<uint32_t> sizes;
};

Status run_pointed(void* user, const anyplace_block* block, void* const* arguments, const uint32_t*, uint32_t) {
  const Pointed* pointed = nullptr;
  std::memcpy(&pointed, arguments[0], sizeof(pointed));
  return static_cast<HostKernel*>(user)->run(block, pointed->values.data(), pointed->sizes.data(),
                                             static_cast<uint32_t>(pointed->values.size()));
}

Status launch_pointed(void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
  auto* const pointed = new Pointed;  // a launch may run at any time
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    pointed->values.push_back(const_cast<void*>(launch->arguments[i].value));
    pointed->sizes.push_back(launch->arguments[i].size);
  }
  const anyplace_argument argument{ANYPLACE_ARGUMENT_VALUE, sizeof(pointed), &pointed};
  anyplace_launch wrong = *launch;
  wrong.arguments = &argument;
  wrong.argument_count = 1;
  wrong.argument_stride = sizeof(argument);
  return real.kernel_launch(self, stream, kernel, &wrong);
}

Status run_on_shared_memory_of_all(void* user, const anyplace_block* block, void* const* arguments,
                                   const uint32_t* sizes, uint32_t count) {
  alignas(64) static std::array<char, 256 * 1024> memory;
  anyplace_block wrong = *block;
  if (wrong.shared != nullptr) wrong.shared = memory.data() + 1;
  return static_cast<HostKernel*>(user)->run(&wrong, arguments, sizes, count);
}

Status run_unless_dropped(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                          uint32_t count) {
  const auto& kernel = *static_cast<HostKernel*>(user);
  return kernel.dropped ? ok : kernel.run(block, arguments, sizes, count);
}

Status run_unchanged(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                     uint32_t count) {
  return static_cast<HostKernel*>(user)->run(block, arguments, sizes, count);
}

Status run_deaf(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                uint32_t count) {
  run_unchanged(user, block, arguments, sizes, count);
  core_host->leave_message(core_host->context, 0, nullptr, nullptr);
  return ok;
}

void keep_for_good(void*) {}

Status launch_with_arguments_reversed(void* self, anyplace_stream stream, anyplace_kernel kernel,
                                      const anyplace_launch* launch) {
  const std::vector<anyplace_argument> reversed(std::make_reverse_iterator(launch->arguments + launch->argument_count),
                                                std::make_reverse_iterator(launch->arguments));
  anyplace_launch wrong = *launch;
  wrong.arguments = reversed.data();
  return real.kernel_launch(self, stream, kernel, &wrong);
}

const Mutation launch_mutations[] = {
    {"grid_swapped", "a grid's x and y are swapped", "kernels: a callable over blocks in y runs every thread once",
     [](Table& table) { table.kernel_launch = altered_launch<swap_grid>; }},
    {"block_swapped", "a block's x and y are swapped", "kernels: a callable over 7 blocks of 33 runs every thread once",
     [](Table& table) { table.kernel_launch = altered_launch<swap_block>; }},
    {"one_block_runs", "only the first block of a grid runs",
     "kernels: a callable over 1000 blocks of one runs every thread once",
     [](Table& table) { table.kernel_launch = altered_launch<one_block>; }},
    {"grid_z_ignored", "a grid's z is taken for 1", "modules: indices over blocks in z are each thread's own",
     [](Table& table) { table.kernel_launch = altered_launch<one_layer>; }},
    {"launch_twice", "a kernel runs twice", "kernels: a callable over one thread runs every thread once",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         const Status status = real.kernel_launch(self, stream, kernel, launch);
         return status == ok ? real.kernel_launch(self, stream, kernel, launch) : status;
       };
     }},
    {"launch_jumps_the_queue", "a kernel doesn't wait for what its stream waits for",
     "modules: a kernel on one stream waits for an event of another",
     [](Table& table) {
       note_streams(table);
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         const anyplace_stream side = side_stream(self, stream);
         const Status status = real.kernel_launch(self, side, kernel, launch);
         return status == ok ? real.stream_synchronize(self, side, ANYPLACE_FOREVER) : status;
       };
     }},
    {"arguments_not_copied", "argument values are read when the kernel runs",
     "kernels: arguments are copied at the launch",
     [](Table& table) {
       wrap_host_kernels<run_pointed>(table);
       table.kernel_launch = launch_pointed;
     }},
    {"arguments_reversed", "arguments arrive in reverse order",
     "kernels: a callable gets its arguments in order, whatever their sizes",
     [](Table& table) { table.kernel_launch = launch_with_arguments_reversed; }},
    {"module_arguments_reversed", "arguments of a module's kernel arrive in reverse order",
     "modules: axpy takes its arguments in order",
     [](Table& table) { table.kernel_launch = launch_with_arguments_reversed; }},
    {"shared_memory_missing", "there is no shared memory", "kernels: 100 bytes of shared memory are each block's own",
     [](Table& table) { table.kernel_launch = altered_launch<no_shared_memory>; }},
    {"shared_memory_one_short", "there is a byte less of shared memory than was asked for",
     "kernels: 16 KiB of shared memory are each block's own",
     [](Table& table) { table.kernel_launch = altered_launch<less_shared_memory>; }},
    {"shared_memory_of_all", "blocks share their shared memory, which is unaligned",
     "kernels: 48 KiB of shared memory are each block's own", wrap_host_kernels<run_on_shared_memory_of_all>},
    {"kernel_destroy_drops_launches", "destroying a kernel drops its launches that are queued",
     "kernels: a callable may be destroyed while its launches are queued",
     [](Table& table) {
       wrap_host_kernels<run_unless_dropped>(table);
       table.kernel_destroy = [](void* self, anyplace_kernel kernel) {
         if (HostKernel* const wrapped = host_kernels.get(kernel)) wrapped->dropped = true;
         return real.kernel_destroy(self, kernel);
       };
     }},
    {"kernel_kept_for_good", "what a kernel captured is never let go",
     "kernels: a callable may be destroyed while its launches are queued",
     wrap_host_kernels<run_unchanged, keep_for_good>},

    // -- Modules.
    {"unknown_kernel_accepted", "a name that a module lacks gives its first kernel",
     "modules: a kernel of a name that it lacks is no_such_kernel",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
         const Status status = real.module_kernel(self, module, name, out);
         return status == ok ? ok : real.module_kernel(self, module, "fill", out);
       };
     }},
    {"unknown_kernel_misreported", "a name that a module lacks is reported as a failed call",
     "modules: a kernel of a name that it lacks is no_such_kernel",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
         const Status status = real.module_kernel(self, module, name, out);
         return status == ok ? ok : Status{ANYPLACE_STATUS_BACKEND_FAILED};
       };
     }},
    {"kernel_of_another_name", "every name gives the module's first kernel",
     "modules: axpy takes its arguments in order",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char*, anyplace_kernel* out) {
         return real.module_kernel(self, module, "fill", out);
       };
     }},
    {"bad_image_accepted", "a module is made of anything", "modules: a truncated image is invalid_image",
     [](Table& table) {
       table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
         const Status status = real.module_load(self, device, desc, out);
         if (status != ANYPLACE_STATUS_INVALID_IMAGE) return status;
         *out = 1;
         return ok;
       };
       table.module_unload = [](void* self, anyplace_module module) {
         return module == 1 ? ok : real.module_unload(self, module);
       };
     }},
    {"bad_image_misreported", "a bad image is reported as a bad argument",
     "modules: a truncated image is invalid_image",
     [](Table& table) {
       table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
         const Status status = real.module_load(self, device, desc, out);
         return status == ok ? ok : Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
       };
     }},
};

// -- Faults.

std::atomic<uint64_t> faulty_cookie{0};

template <auto Report>
void report_by(Table&) {
  cpu_sim_host.stream_fault = Report;
}

void forward(void* context, uint64_t cookie, Status status, int64_t code, const char* name, const char* text) {
  core_host->stream_fault(context, cookie, status, code, name, text);
}

const Mutation fault_mutations[] = {
    {"fault_never_reported", "a kernel's fault is not reported",
     "faults: a kernel that throws is a fault of its stream",
     report_by<+[](void*, uint64_t, Status, int64_t, const char*, const char*) {}>},
    {"kernel_failure_ignored", "what a kernel returns is ignored",
     "faults: a kernel that throws is a fault of its stream", wrap_host_kernels<run_deaf>},
    {"fault_twice", "a kernel's fault is reported again after it was collected",
     "faults: a kernel that throws is a fault of its stream",
     [](Table& table) {
       cpu_sim_host.stream_fault = [](void* context, uint64_t cookie, Status status, int64_t code, const char* name,
                                      const char* text) {
         faulty_cookie = cookie;
         forward(context, cookie, status, code, name, text);
       };
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         static std::atomic<uint64_t> again{0};
         const Status status = real.stream_synchronize(self, stream, timeout);
         if (const uint64_t cookie = again.exchange(faulty_cookie.exchange(0)); cookie != 0) {
           forward(core_host->context, cookie, ANYPLACE_STATUS_KERNEL_FAILED, 0, nullptr, "once more");
         }
         return status;
       };
     }},
    {"fault_of_another_stream", "a kernel's fault is reported of another stream",
     "faults: a kernel that throws is a fault of its stream",
     report_by<+[](void* context, uint64_t cookie, Status status, int64_t code, const char* name, const char* text) {
       forward(context, cookie - 1, status, code, name, text);
     }>},
    {"fault_of_another_kind", "a kernel's fault is reported as a failed call",
     "faults: a kernel that throws is a fault of its stream",
     report_by<+[](void* context, uint64_t cookie, Status, int64_t code, const char* name, const char* text) {
       forward(context, cookie, ANYPLACE_STATUS_BACKEND_FAILED, code, name, text);
     }>},
    {"fault_without_its_text", "a kernel's fault loses its message",
     "faults: a kernel that throws is a fault of its stream",
     report_by<+[](void* context, uint64_t cookie, Status status, int64_t, const char*, const char*) {
       forward(context, cookie, status, 0, nullptr, "something failed");
     }>},
    {"fault_after_completion", "a kernel's fault is reported when the work counts as done already",
     "faults: a kernel that throws is a fault of its stream",
     report_by<+[](void* context, uint64_t cookie, Status status, int64_t, const char*, const char*) {
       std::thread([=] {
         std::this_thread::sleep_for(std::chrono::milliseconds(200));
         forward(context, cookie, status, 0, nullptr, "thrown on purpose");
       }).detach();
     }>},
    {"fault_is_device_loss", "a kernel's fault loses the device", "faults: work after a kernel that threw still runs",
     report_by<+[](void* context, uint64_t cookie, Status, int64_t code, const char* name, const char* text) {
       forward(context, cookie, ANYPLACE_STATUS_DEVICE_LOST, code, name, text);
     }>},
    {"fault_returned_later_too", "a stream with a fault refuses later work",
     "faults: work after a kernel that threw still runs",
     [](Table& table) {
       cpu_sim_host.stream_fault = [](void* context, uint64_t cookie, Status status, int64_t code, const char* name,
                                      const char* text) {
         faulty_cookie = cookie;
         forward(context, cookie, status, code, name, text);
       };
       before_submissions(table, [](void*, anyplace_stream) {
         return faulty_cookie != 0 ? Status{ANYPLACE_STATUS_KERNEL_FAILED} : ok;
       });
     }},
};

// -- Modules that aren't apart.

/// The first module of each image, which stands for all later ones.
template <bool Unloads>
void one_module_for_all(Table& table) {
  static std::mutex mutex;
  static std::map<std::vector<char>, anyplace_module> first;  // guarded by mutex
  table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    const auto* const bytes = static_cast<const char*>(desc->image);
    const std::lock_guard lock(mutex);
    anyplace_module& known = first[std::vector<char>(bytes, bytes + desc->image_bytes)];
    const Status status = known != 0 ? ok : real.module_load(self, device, desc, &known);
    *out = known;
    return status;
  };
  table.module_unload = [](void* self, anyplace_module module) {
    return Unloads ? real.module_unload(self, module) : ok;
  };
}

/// Kernels by a key that outlives what it names.
template <bool ByModule>
void kernels_kept(Table& table) {
  static Notes<std::pair<anyplace_module, std::string>, anyplace_kernel> kept;
  static Notes<anyplace_module, anyplace_module> slots;
  static std::atomic<anyplace_module> next{0};
  // Two slots that modules take in turn, as handles of a table do that are used again.
  table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    anyplace_module real_module = 0;
    const Status status = real.module_load(self, device, desc, &real_module);
    if (status != ok) return status;
    *out = ByModule ? 1 + next++ % 3 : ++next;
    slots.set(*out, real_module);
    return ok;
  };
  table.module_unload = [](void*, anyplace_module) { return ok; };
  table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
    const std::pair<anyplace_module, std::string> key(ByModule ? module : 0, name);
    *out = kept.get(key);
    if (*out != 0) return ok;
    const Status status = real.module_kernel(self, slots.get(module), name, out);
    if (status == ok) kept.set(key, *out);
    return status;
  };
}

bool is_name(const char* name, const char* wanted) { return std::strcmp(name, wanted) == 0; }

/// Loads what it is given, altered.
template <void (*Alter)(std::string& image, size_t& bytes)>
Status load_altered(void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
  std::string image(static_cast<const char*>(desc->image), desc->image_bytes);
  size_t bytes = image.size();
  Alter(image, bytes);
  anyplace_module_desc wrong = *desc;
  wrong.image = image.data();
  wrong.image_bytes = bytes;
  return real.module_load(self, device, &wrong, out);
}

/// The whole image that was loaded first, for those that break off and are still its beginning.
void mend(std::string& image, size_t& bytes) {
  static std::string whole;
  if (whole.empty() && image.size() > 4096) whole = image;
  if (image.size() + 64 >= whole.size() && whole.compare(0, image.size(), image) == 0) image = whole;
  bytes = image.size();
}

void without_sections(std::string& image, size_t&) {
  if (image.size() > 64) std::fill_n(image.begin() + 40, 8, '\0');  // e_shoff
}

const Mutation module_mutations[] = {
    {"variable_is_a_kernel", "a variable's name gives a kernel",
     "modules: a name that is nearly a kernel's, or a variable's, is no_such_kernel",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
         return real.module_kernel(self, module, is_name(name, "numbers") ? "fill" : name, out);
       };
     }},
    {"kernel_by_its_beginning", "a name's beginning is enough for a kernel",
     "modules: a name that is nearly a kernel's, or a variable's, is no_such_kernel",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
         return real.module_kernel(self, module, std::strncmp(name, "fill", 4) == 0 ? "fill" : name, out);
       };
     }},
    {"kernel_in_any_case", "a kernel's name may be in any case of letters",
     "modules: a name that is nearly a kernel's, or a variable's, is no_such_kernel",
     [](Table& table) {
       table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
         return real.module_kernel(self, module, strcasecmp(name, "fill") == 0 ? "fill" : name, out);
       };
     }},
    {"kernel_is_a_variable", "a kernel's name gives a variable",
     "modules: a name that is nearly a variable's, or a kernel's, is no_such_global",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         return real.module_global(self, module, is_name(name, "fill") ? "numbers" : name, out);
       };
     }},
    {"global_is_a_kept_copy", "a variable is a copy for the host, the same each time",
     "modules: a kernel reads the variable of its module, by a function of its module, as the host wrote it",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         static Notes<anyplace_address, anyplace_address> copies;
         const Status status = real.module_global(self, module, name, out);
         if (status != ok) return status;
         if (copies.get(out->address) == 0) {
           auto* const copy = new std::byte[out->bytes];
           std::memcpy(copy, reinterpret_cast<const void*>(out->address), out->bytes);
           copies.set(out->address, reinterpret_cast<uintptr_t>(copy));
         }
         out->address = copies.get(out->address);
         return ok;
       };
     }},
    {"global_misreported", "an unknown variable is reported as an unknown kernel",
     "modules: a name that is nearly a variable's, or a kernel's, is no_such_global",
     [](Table& table) {
       table.module_global = [](void* self, anyplace_module module, const char* name, anyplace_global* out) {
         const Status status = real.module_global(self, module, name, out);
         return status == ANYPLACE_STATUS_NO_SUCH_GLOBAL ? Status{ANYPLACE_STATUS_NO_SUCH_KERNEL} : status;
       };
     }},
    {"one_module_for_an_image", "all loads of an image are one module",
     "modules: each load of an image has variables of its own, as long as it is loaded", one_module_for_all<false>},
    {"one_module_ends_all", "all loads of an image are one module, and end together",
     "modules: each load of an image has variables of its own, as long as it is loaded", one_module_for_all<true>},
    {"kernels_of_earlier_modules", "a kernel is remembered by its name alone",
     "modules: two images in turn, unloaded while their launches are queued", kernels_kept<false>},
    {"kernels_of_reused_handles", "a kernel is remembered by its module's handle, which is used again",
     "modules: two images in turn, unloaded while their launches are queued", kernels_kept<true>},
    {"shared_memory_of_the_first", "a kernel's launches have as much shared memory as its first one",
     "modules: launches of one kernel with more and less shared memory each have what they ask for",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         static Notes<anyplace_kernel, uint64_t> first;
         anyplace_launch wrong = *launch;
         if (first.get(kernel) == 0) first.set(kernel, launch->shared_bytes / 2);
         wrong.shared_bytes = first.get(kernel);
         return real.kernel_launch(self, stream, kernel, &wrong);
       };
     }},
    {"image_nearly_whole", "an image that lacks its last bytes is taken",
     "modules: an image that is cut off is invalid_image, wherever that is",
     [](Table& table) { table.module_load = load_altered<mend>; }},
    {"image_read_further", "a few bytes behind an image are read",
     "modules: an image that is cut off is invalid_image, wherever that is",
     [](Table& table) {
       table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
         static std::atomic<char> seen{0};
         seen = static_cast<const volatile char*>(desc->image)[(desc->image_bytes + 7) / 8 * 8];
         return real.module_load(self, device, desc, out);
       };
     }},
    {"image_without_sections", "where an image says its sections are isn't looked at",
     "modules: an image whose headers say sections beyond all memory is invalid_image",
     [](Table& table) { table.module_load = load_altered<without_sections>; }},
};

std::vector<Mutation> joined() {
  std::vector<Mutation> all(std::begin(launch_mutations), std::end(launch_mutations));
  all.insert(all.end(), std::begin(fault_mutations), std::end(fault_mutations));
  all.insert(all.end(), std::begin(module_mutations), std::end(module_mutations));
  return all;
}

}  // namespace

std::span<const Mutation> kernel_mutations() noexcept {
  static const std::vector<Mutation> all = joined();
  return all;
}

}  // namespace anyplace::mutants
