// SPDX-License-Identifier: Apache-2.0
//
// Nothing is left behind by objects that end while their work is certainly pending, by waits that were given up, and by
// work that fails late. On these paths a backend hands its resources from one owner to another.
#include <elf.h>

#include <cstring>

#include "figures.h"
#include "table_module.h"

namespace anyplace::conformance::books_pending_cases {
namespace {

constexpr std::uint64_t short_time = 1000;  // ns

/// Two streams and memory, for operations on a stream that is held back.
struct Held {
  const TableBackend& backend;
  anyplace_stream stream = backend.stream();
  anyplace_stream other = backend.stream();
  anyplace_address memory = backend.allocate(4096);

  /// Submits some work. Each stream has a place of its own, because nothing orders the two.
  void work(anyplace_stream on) const {
    MUST(backend, memory_copy, on, memory + (on == other ? bytes : 0), memory + 2048, bytes,
         ANYPLACE_COPY_DEVICE_TO_DEVICE);
  }
  static constexpr std::uint64_t bytes = 64;
  /// Calls `body` while `stream` is held back, and waits for all work.
  template <class Body>
  void during(Body&& body) const {
    TableHold hold(backend);
    hold.hold(stream);
    body();
    hold.open();
    backend.synchronize(stream);
    backend.synchronize(other);
  }
};

ANYPLACE_CASE("books", "process.books", "an event that is destroyed with its record pending leaves nothing behind") {
  TableBackend backend(run);
  const Held held{backend};
  check_leaves_nothing(backend, 100, 0, [&] {
    held.during([&] {
      const anyplace_event event = backend.event();
      MUST(backend, event_record, event, held.stream);
      MUST(backend, event_destroy, event);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "a timed event that is destroyed with its record pending leaves nothing behind",
              Capability::timed_events) {
  TableBackend backend(run);
  const Held held{backend};
  check_leaves_nothing(backend, 100, 0, [&] {
    held.during([&] {
      const anyplace_event event = backend.event(ANYPLACE_EVENT_TIMING);
      MUST(backend, event_record, event, held.stream);
      MUST(backend, event_destroy, event);
    });
  });
}

ANYPLACE_CASE("books", "process.books",
              "an event that is recorded again with its record pending leaves nothing behind") {
  TableBackend backend(run);
  const Held held{backend};
  const anyplace_event event = backend.event();
  check_leaves_nothing(backend, 100, 0, [&] {
    held.during([&] {
      MUST(backend, event_record, event, held.stream);
      MUST(backend, stream_wait_event, held.other, event);
      MUST(backend, event_record, event, held.other);
    });
  });
}

ANYPLACE_CASE("books", "process.books",
              "an event that is destroyed while a stream waits for it leaves nothing behind") {
  TableBackend backend(run);
  const Held held{backend};
  check_leaves_nothing(backend, 100, 0, [&] {
    held.during([&] {
      const anyplace_event event = backend.event();
      MUST(backend, event_record, event, held.stream);
      MUST(backend, stream_wait_event, held.other, event);
      MUST(backend, event_destroy, event);
      held.work(held.other);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "waits whose time runs out leave nothing behind") {
  TableBackend backend(run);
  const Held held{backend};
  const anyplace_event event = backend.event();
  check_leaves_nothing(backend, 50, 0, [&] {
    held.during([&] {
      MUST(backend, event_record, event, held.stream);
      for (const std::uint64_t time : {std::uint64_t{0}, short_time}) {
        static_cast<void>(ENTRY(backend, stream_synchronize, held.stream, time));
        static_cast<void>(ENTRY(backend, event_synchronize, event, time));
        static_cast<void>(ENTRY(backend, device_synchronize, backend.device(), time));
      }
    });
  });
}

ANYPLACE_CASE("books", "process.books", "a stream that is destroyed while its work waits leaves nothing behind") {
  TableBackend backend(run);
  const Held held{backend};
  // A vendor's library may remember something of each such stream, so the heap is checked less strictly.
  check_leaves_nothing(backend, 40, 1, [&] {
    held.during([&] {
      const anyplace_event event = backend.event();
      const anyplace_stream ended = backend.stream();
      MUST(backend, event_record, event, held.stream);
      MUST(backend, stream_wait_event, ended, event);
      held.work(ended);
      MUST(backend, event_record, event, ended);
      MUST(backend, stream_wait_event, held.other, event);
      backend.destroy(ended);
      MUST(backend, event_destroy, event);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "a stream and its wrapper leave nothing behind", Capability::native_handles,
              Capability::stream_from_native) {
  TableBackend backend(run);
  check_leaves_nothing(backend, 40, 0, [&] {
    const anyplace_stream stream = backend.stream();
    const anyplace_stream wrapper = backend.wrapper_of(backend.native(stream));
    backend.destroy(wrapper);
    backend.destroy(stream);
  });
}

ANYPLACE_CASE("books", "process.books", "a gate that is opened long after the waits for it leaves nothing behind",
              Capability::gates) {
  TableBackend backend(run);
  const Held held{backend};
  check_leaves_nothing(backend, 100, 0, [&] {
    anyplace_gate gate = 0;
    MUST(backend, gate_create, backend.device(), &gate);
    held.during([&] {
      for (const anyplace_stream stream : {held.stream, held.other}) {
        MUST(backend, stream_wait_gate, stream, gate);
        held.work(stream);
      }
      // The gate is open, and destroyed while the first wait is still pending, because the work before it is held back.
      MUST(backend, gate_open, gate);
      MUST(backend, gate_destroy, gate);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "memory that is freed in order behind pending work leaves nothing behind",
              Capability::stream_ordered_memory) {
  TableBackend backend(run);
  const Held held{backend};
  constexpr std::uint64_t bytes = std::uint64_t{256} << 10;
  check_leaves_nothing(backend, 32, bytes, [&] {
    anyplace_address address = 0;
    MUST(backend, memory_allocate_async, held.stream, bytes, &address);
    held.during([&] {
      MUST(backend, memory_set, held.stream, address, 1, 1, 4096);
      MUST(backend, memory_free_async, held.stream, address);
    });
  });
}

// ---- Sizes, and memory that can't be had

ANYPLACE_CASE("books", "process.books", "memory of odd sizes leaves nothing behind") {
  TableBackend backend(run);
  constexpr std::uint64_t sizes[] = {1, 1000, 4095, 4097, 70001};
  // A figure that forgets the rest of a page or unit is wrong by this.
  constexpr std::uint64_t rest = 256;
  std::size_t next = 0;
  check_leaves_nothing(backend, 40, rest, [&] { backend.free(backend.allocate(sizes[next++ % std::size(sizes)])); });
  if (!backend.has(Capability::stream_ordered_memory)) return;
  const anyplace_stream stream = backend.stream();
  check_leaves_nothing(backend, 40, rest, [&] {
    anyplace_address address = 0;
    MUST(backend, memory_allocate_async, stream, sizes[next++ % std::size(sizes)], &address);
    MUST(backend, memory_free_async, stream, address);
    backend.synchronize(stream);
  });
}

ANYPLACE_CASE("books", "process.books",
              "an allocation slightly larger than the device's memory leaves nothing behind") {
  TableBackend backend(run);
  const anyplace_memory_info info = backend.memory(backend.device());
  if (info.total_bytes == ANYPLACE_UNKNOWN) skip("the total memory that the vendor can tell");
  // It is slightly more than there is, so that it passes the checks for sizes that no device has.
  const std::uint64_t bytes = info.total_bytes + (std::uint64_t{64} << 10);
  const anyplace_stream stream = backend.stream();
  const bool ordered = backend.has(Capability::stream_ordered_memory);
  check_leaves_nothing(backend, 100, 0, [&] {
    anyplace_address address = 0;
    CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE, bytes, &address);
    if (!ordered) return;
    CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate_async, stream, bytes, &address);
    backend.synchronize(stream);
  });
}

// ---- Kernels

ANYPLACE_CASE("books", "process.books", "a module that is unloaded with its kernel pending leaves nothing behind",
              Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  image.need_no_compiler();
  const Held held{backend};
  check_leaves_nothing(backend, 12, 0, [&] {
    const anyplace_module_desc desc = image.desc();
    anyplace_module module = 0;
    anyplace_kernel kernel = 0;
    MUST(backend, module_load, backend.device(), &desc, &module);
    MUST(backend, module_kernel, module, "fill", &kernel);
    FillLaunch fill(held.memory, 64, 1);
    held.during([&] {
      MUST(backend, kernel_launch, held.stream, kernel, &fill.launch());
      MUST(backend, module_unload, module);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "truncated images leave nothing behind", Capability::modules, test_module) {
  TableBackend backend(run);
  TableImage image(run);
  image.need_no_compiler();
  const std::string whole = image.bytes();
  check_leaves_nothing(backend, 6, 0, [&] {
    for (const std::size_t eighths : {1, 2, 4, 6}) {
      // The rest is zeros, so that code that looks for an end finds none.
      image.bytes() = whole.substr(0, whole.size() / 8 * eighths) + std::string(whole.size() / 8, '\0');
      const anyplace_module_desc desc = image.desc();
      anyplace_module module = 0;
      if (ENTRY(backend, module_load, backend.device(), &desc, &module) == ANYPLACE_STATUS_OK) {
        MUST(backend, module_unload, module);
      }
    }
  });
}

/// Makes an ELF file whose first loadable part no linker accepts: its offset within a page differs between file and
/// memory.
bool make_unloadable(std::string& image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof(header)) return false;
  std::memcpy(&header, image.data(), sizeof(header));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr part;
    if (at + sizeof(part) > image.size()) return false;
    std::memcpy(&part, image.data() + at, sizeof(part));
    if (part.p_type != PT_LOAD) continue;
    part.p_offset += 8;
    std::memcpy(image.data() + at, &part, sizeof(part));
    return true;
  }
  return false;
}

ANYPLACE_CASE("books", "kernels.images",
              "an image that can't be linked is refused with a message, and leaves nothing behind", Capability::modules,
              test_module) {
  TableBackend backend(run);
  TableImage image(run);
  if (image.format() != ANYPLACE_IMAGE_SHARED_OBJECT || !make_unloadable(image.bytes())) {
    skip("an image of the test kernels that is a shared object");
  }
  check_leaves_nothing(backend, 12, 0, [&] {
    const anyplace_module_desc desc = image.desc();
    anyplace_module module = 0;
    CHECK_STATUS(INVALID_IMAGE, backend, module_load, backend.device(), &desc, &module);
    CHECK(!TableBackend::message().empty());
  });
}

ANYPLACE_CASE("books", "process.books", "a kernel that is destroyed with its launch pending leaves nothing behind",
              Capability::host_kernels) {
  TableBackend backend(run);
  const Held held{backend};
  const anyplace_launch launch = launch_of(1);
  check_leaves_nothing(backend, 100, 0, [&] {
    const anyplace_kernel kernel = backend.kernel(do_nothing);
    held.during([&] {
      MUST(backend, kernel_launch, held.stream, kernel, &launch);
      MUST(backend, kernel_destroy, kernel);
    });
  });
}

ANYPLACE_CASE("books", "process.books", "kernels that were never launched, and that fail, leave nothing behind",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_launch launch = launch_of(1);
  check_leaves_nothing(backend, 100, 0, [&] {
    const anyplace_kernel kernel = backend.kernel(fail), unused = backend.kernel(do_nothing);
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    MUST(backend, kernel_destroy, kernel);
    MUST(backend, kernel_destroy, unused);
  });
}

}  // namespace
}  // namespace anyplace::conformance::books_pending_cases
