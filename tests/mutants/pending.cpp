// SPDX-License-Identifier: Apache-2.0
//
// Mutations that show only where work is pending, a size is unusual, or a rarely used path is taken: what backends that
// others wrote from the documentation got wrong, and the suite once missed.
#include <fcntl.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

void lose_descriptor() { static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_busy(void* self, int32_t device) { return real.device_synchronize(self, device, 0) == ANYPLACE_STATUS_TIMEOUT; }

template <void (*Lose)()>
void lose_at_timeouts(Table& table) {
  table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
    const Status status = real.stream_synchronize(self, stream, timeout);
    if (status == ANYPLACE_STATUS_TIMEOUT) Lose();
    return status;
  };
}
void lose_thread() {
  std::thread([] {
    for (;;) pause();
  }).detach();
}

// ---- Streams

/// The stream of each event's last record.
Notes<anyplace_event, anyplace_stream> recorded_on;

/// Waits for which Ignored(the recording stream, the waiting one) aren't submitted.
template <bool (*Ignored)(const StreamNote& producer, const StreamNote& consumer)>
void ignore_waits(Table& table) {
  note_streams(table);
  table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
    recorded_on.set(event, stream);
    return real.event_record(self, event, stream);
  };
  table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
    const anyplace_stream producer = recorded_on.get(event);
    if (producer != 0 && producer != stream && Ignored(streams.get(producer), streams.get(stream))) return ok;
    return real.stream_wait_event(self, stream, event);
  };
}
bool both_blocking(const StreamNote& producer, const StreamNote& consumer) {
  const auto blocks = [](const StreamNote& note) { return !note.null && (note.flags & ANYPLACE_STREAM_BLOCKING) != 0; };
  return blocks(producer) && blocks(consumer) && producer.device == consumer.device;
}
bool of_others_null_stream(const StreamNote& producer, const StreamNote& consumer) {
  return producer.null && producer.device != consumer.device;
}

// ---- Copies

/// On another stream, and done when it returns.
Status copy_at_once(void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                    uint32_t kind) {
  const anyplace_stream side = side_stream(self, stream);
  const Status status = real.memory_copy(self, side, to, from, bytes, kind);
  return status == ok ? real.stream_synchronize(self, side, ANYPLACE_FOREVER) : status;
}

void small_copies_at_once(Table& table) {
  note_streams(table);
  table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                         uint32_t kind) {
    const bool at_once = kind == ANYPLACE_COPY_HOST_TO_DEVICE && bytes <= 64;
    return (at_once ? copy_at_once : real.memory_copy)(self, stream, to, from, bytes, kind);
  };
}

Notes<anyplace_address, uint64_t> pinned;

bool inside_pinned(anyplace_address address) {
  for (const auto& [begin, bytes] : pinned.all()) {
    if (address > begin && address < begin + bytes) return true;
  }
  return false;
}

/// What lies inside pinned memory, but not at its beginning, is read at the call.
void pinned_by_its_beginning(Table& table) {
  table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
    const Status status = real.memory_allocate(self, device, kind, bytes, out);
    if (status == ok && kind == ANYPLACE_MEMORY_PINNED) pinned.set(*out, bytes);
    return status;
  };
  table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                         uint32_t kind) {
    if (kind != ANYPLACE_COPY_HOST_TO_DEVICE || !inside_pinned(from)) {
      return real.memory_copy(self, stream, to, from, bytes, kind);
    }
    void* const kept = std::malloc(bytes);
    std::memcpy(kept, reinterpret_cast<const void*>(from), bytes);
    return real.memory_copy(self, stream, to, reinterpret_cast<anyplace_address>(kept), bytes, kind);
  };
}

void rows_of_16_bits(Table& table) {
  table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
    anyplace_copy_2d cut = *copy;
    if (cut.rows > 65536) cut.rows = 65536;
    return real.memory_copy_2d(self, stream, &cut);
  };
}

void lines_of_32_bits(Table& table) {
  table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
    if (copy->rows * copy->destination_pitch <= UINT32_MAX) return real.memory_copy_2d(self, stream, copy);
    for (uint64_t row = 0; row < copy->rows; ++row) {
      const Status status =
          real.memory_copy(self, stream, copy->destination + static_cast<uint32_t>(row * copy->destination_pitch),
                           copy->source + static_cast<uint32_t>(row * copy->source_pitch), copy->width, copy->kind);
      if (status != ok) return status;
    }
    return ok;
  };
}

// ---- Memory

void rest_of_a_page_lost(Table& table) {
  table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
    anyplace_address lost = 0;
    static int frees = 0;
    // As if each third size were rounded differently when it is given back.
    if (kind == ANYPLACE_MEMORY_DEVICE && ++frees % 3 == 0) {
      real.memory_allocate(self, device, kind, 4096, &lost);
    }
    return real.memory_free(self, device, kind, address);
  };
}

void nearly_enough_leaks(Table& table) {
  table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
    const Status status = real.memory_allocate(self, device, kind, bytes, out);
    if (status == ANYPLACE_STATUS_OUT_OF_MEMORY && bytes < uint64_t{1} << 46) {
      anyplace_address kept = 0;
      real.memory_allocate(self, device, kind, 512, &kept);
    }
    return status;
  };
}

// ---- Modules and kernels

void refused_late_keeps_file(Table& table) {
  table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    const Status status = real.module_load(self, device, desc, out);
    if (status != ok && desc->image_bytes > 4096) lose_descriptor();
    return status;
  };
}

void no_words_for_images(Table& table) {
  table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    const Status status = real.module_load(self, device, desc, out);
    if (status == ANYPLACE_STATUS_INVALID_IMAGE) core_host->leave_message(core_host->context, 0, nullptr, "");
    return status;
  };
}

void pending_module_leaks(Table& table) {
  table.module_unload = [](void* self, anyplace_module module) {
    if (is_busy(self, 0)) lose_descriptor();
    return real.module_unload(self, module);
  };
}

void pending_kernel_leaks(Table& table) {
  table.kernel_destroy = [](void* self, anyplace_kernel kernel) {
    if (is_busy(self, 0)) lose();
    return real.kernel_destroy(self, kernel);
  };
}

void names_of_other_libraries(Table& table) {
  table.module_kernel = [](void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
    return real.module_kernel(self, module, std::strcmp(name, "malloc") == 0 ? "fill" : name, out);
  };
}

Status with_cut_arguments(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                          uint32_t count) {
  const HostKernel& kernel = *static_cast<HostKernel*>(wrapped);
  std::vector<std::vector<unsigned char>> copies;
  std::vector<void*> cut;
  for (uint32_t i = 0; i < count; ++i) {
    copies.emplace_back(sizes[i]);
    std::memcpy(copies.back().data(), arguments[i], sizes[i] > 256 ? 256 : sizes[i]);
    cut.push_back(copies.back().data());
  }
  return kernel.run(block, cut.data(), sizes, count);
}

Status without_size(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                    uint32_t count) {
  const HostKernel& kernel = *static_cast<HostKernel*>(wrapped);
  anyplace_block changed = *block;
  changed.struct_size = 0;
  return kernel.run(&changed, arguments, sizes, count);
}

Status with_shared_always(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                          uint32_t count) {
  const HostKernel& kernel = *static_cast<HostKernel*>(wrapped);
  alignas(64) unsigned char some[64];
  anyplace_block changed = *block;
  if (changed.shared == nullptr) changed.shared = some;
  return kernel.run(&changed, arguments, sizes, count);
}

Status always_kernel_failed(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                            uint32_t count) {
  const Status status = static_cast<HostKernel*>(wrapped)->run(block, arguments, sizes, count);
  return status == ok ? ok : ANYPLACE_STATUS_KERNEL_FAILED;
}

Status fault_that_leaks(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                        uint32_t count) {
  const Status status = static_cast<HostKernel*>(wrapped)->run(block, arguments, sizes, count);
  if (status != ok) lose();
  return status;
}

Status fault_that_is_printed(void* wrapped, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                             uint32_t count) {
  const Status status = static_cast<HostKernel*>(wrapped)->run(block, arguments, sizes, count);
  if (status != ok) std::printf("a kernel failed\n");
  return status;
}

/// Those that were launched.
Notes<anyplace_kernel, bool> launched;

void unused_kernels_stay(Table& table) {
  table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
    launched.set(kernel, true);
    return real.kernel_launch(self, stream, kernel, launch);
  };
  table.kernel_destroy = [](void* self, anyplace_kernel kernel) {
    return launched.take(kernel) ? real.kernel_destroy(self, kernel) : ok;
  };
}

void wrappers_have_the_streams_cookie(Table& table) {
  note_streams(table);
  table.stream_from_native = [](void* self, int32_t device, uint64_t native, const anyplace_stream_desc* desc,
                                anyplace_stream* out) {
    anyplace_stream_desc changed = *desc;
    for (const auto& [stream, note] : streams.all()) {
      uint64_t its = 0;
      if (real.stream_native(self, stream, &its) == ok && its == native) changed.cookie = note.cookie;
    }
    return real.stream_from_native(self, device, native, &changed, out);
  };
}

// ---- Manners

void change_directory(Table& table) {
  table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    static_cast<void>(chdir("/"));
    return real.module_load(self, device, desc, out);
  };
}

void change_flags_of_errors(Table& table) {
  table.module_unload = [](void* self, anyplace_module module) {
    fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
    return real.module_unload(self, module);
  };
}

#if defined(__SSE__)
void flush_small_numbers(Table& table) {
  table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return real.kernel_launch(self, stream, kernel, launch);
  };
}
#endif

const Mutation mutations[] = {
    {"timeouts_leak", "a wait that is given up is kept", "books: waits whose time runs out leave nothing behind",
     lose_at_timeouts<lose>},
    {"timeouts_leave_threads", "a wait that is given up leaves its thread",
     "books: waits whose time runs out leave nothing behind", lose_at_timeouts<lose_thread>},
    {"pending_events_leak", "an event that is destroyed with its record pending is kept",
     "books: an event that is destroyed with its record pending leaves nothing behind",
     [](Table& table) {
       table.event_destroy = [](void* self, anyplace_event event) {
         int32_t done = 1;
         if (real.event_query(self, event, &done) == ok && done == 0) lose();
         return real.event_destroy(self, event);
       };
     }},
    {"pending_modules_leak", "a module that is unloaded with work pending keeps its file",
     "books: a module that is unloaded with its kernel pending leaves nothing behind", pending_module_leaks},
    {"pending_kernels_leak", "a kernel that is destroyed with work pending is kept",
     "books: a kernel that is destroyed with its launch pending leaves nothing behind", pending_kernel_leaks},
    {"freed_memory_shrinks", "of some memory less is given back than was taken",
     "books: memory of odd sizes leaves nothing behind", rest_of_a_page_lost},
    {"nearly_enough_leaks", "memory is lost where there is nearly enough",
     "books: an allocation slightly larger than the device's memory leaves nothing behind", nearly_enough_leaks},
    {"refused_late_keeps_file", "an image that can't be linked keeps its file",
     "books: an image that can't be linked is refused with a message, and leaves nothing behind",
     refused_late_keeps_file},
    {"images_refused_without_words", "nothing says why an image is refused",
     "books: an image that can't be linked is refused with a message, and leaves nothing behind", no_words_for_images},
    {"faults_leak", "each kernel that fails is kept",
     "books: kernels that were never launched, and that fail, leave nothing behind",
     wrap_host_kernels<fault_that_leaks>},
    {"waits_of_blocking_streams", "blocking streams don't wait for each other's events",
     "kinds of streams: a blocking stream waits for an event of a blocking stream", ignore_waits<both_blocking>},
    {"waits_for_another_null_stream", "an event of another device's null stream is no wait",
     "kinds of streams: of another device: a stream that isn't blocking waits for an event of the null stream",
     ignore_waits<of_others_null_stream>},
    {"small_copies_at_once", "small copies from the host don't wait for their turn",
     "kinds of streams: a copy of 16 bytes from ordinary memory doesn't write before what its stream waits for",
     small_copies_at_once},
    {"pinned_by_its_beginning", "pinned memory is known by its first byte alone",
     "kinds of streams: pinned memory is read when the copy runs, from its middle too", pinned_by_its_beginning},
    {"rows_16_bits", "a pitched copy has 65536 lines at most",
     "pitched copies: more lines than 16 bits can count on one device", rows_of_16_bits},
    {"lines_32_bits", "where a line begins is counted in 32 bits",
     "limits: a pitched copy whose lines spread over more than 4 GiB reaches the last", lines_of_32_bits},
    {"arguments_cut", "of an argument 256 bytes arrive",
     "host kernels: large arguments arrive whole, as they were at the call", wrap_host_kernels<with_cut_arguments>},
    {"block_without_size", "a block doesn't say its size",
     "host kernels: a block says its size, and has shared memory if it asked for some",
     wrap_host_kernels<without_size>},
    {"shared_memory_unasked", "a block has shared memory that it didn't ask for",
     "host kernels: a block says its size, and has shared memory if it asked for some",
     wrap_host_kernels<with_shared_always>},
    {"one_fault_for_all", "whatever a kernel returns, it has failed",
     "host kernels: the status that a kernel returns is the fault that is reported",
     wrap_host_kernels<always_kernel_failed>},
    {"wrapper_cookies", "a wrapper's faults are told of the stream that it wraps",
     "host kernels: a fault of a wrapped stream's work is reported with the wrapper's cookie",
     wrappers_have_the_streams_cookie},
    {"unused_kernels_stay", "a kernel that was never launched isn't released",
     "host kernels: a kernel is released once, launched or not", unused_kernels_stay},
    {"names_of_other_libraries", "a function of another library is found as a kernel",
     "modules: a kernel of a name of the C library is no_such_kernel", names_of_other_libraries},
    {"faults_are_printed", "a kernel that fails is told on standard output",
     "process: nothing is written to standard output", wrap_host_kernels<fault_that_is_printed>},
    {"module_changes_directory", "loading a module changes the directory", left_alone, change_directory},
    {"module_changes_errors", "unloading a module changes how standard error is written to", left_alone,
     change_flags_of_errors},
#if defined(__SSE__)
    {"small_numbers_flushed", "a launch makes the caller's smallest numbers zero", left_alone, flush_small_numbers},
#endif
};

}  // namespace

std::span<const Mutation> pending_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
