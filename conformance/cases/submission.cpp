// SPDX-License-Identifier: Apache-2.0
//
// Work of every kind runs in its place in the stream: it isn't done when it is submitted, but its parameters are read
// then.
#include <algorithm>
#include <cstring>

#include "table_module.h"

namespace anyplace::conformance::submission_cases {
namespace {

constexpr std::uint64_t bytes = 64 * 64;

/// Memory that a piece of work reads, and memory that it writes.
struct Ground {
  const TableBackend& backend;
  anyplace_stream stream;
  anyplace_address source;       ///< of the device
  anyplace_address destination;  ///< of the device
  anyplace_address pinned;       ///< 0 if there is none
};

struct Work {
  std::string label;
  std::vector<Capability> needs;
  bool from_host;
  bool to_host;
  void (*submit)(const Ground& ground);
};

void copy_lines(const Ground& ground, anyplace_address destination, anyplace_address source, std::uint32_t kind) {
  anyplace_copy_2d copy{sizeof(copy), kind, destination, 64, source, 64, 64, 64};
  MUST(ground.backend, memory_copy_2d, ground.stream, &copy);
  std::memset(&copy, 0xee, sizeof(copy));  // the caller may overwrite it
}

void copy_plain(const Ground& ground, anyplace_address destination, anyplace_address source, std::uint32_t kind) {
  MUST(ground.backend, memory_copy, ground.stream, destination, source, bytes, kind);
}

constexpr Capability pinned = Capability::pinned_memory;

const std::vector<Work> kinds = {
    {"a copy on the device",
     {},
     false,
     false,
     [](const Ground& g) { copy_plain(g, g.destination, g.source, ANYPLACE_COPY_DEVICE_TO_DEVICE); }},
    {"a copy from pinned memory",
     {pinned},
     true,
     false,
     [](const Ground& g) { copy_plain(g, g.destination, g.pinned, ANYPLACE_COPY_HOST_TO_DEVICE); }},
    {"a copy to pinned memory",
     {pinned},
     false,
     true,
     [](const Ground& g) { copy_plain(g, g.pinned, g.source, ANYPLACE_COPY_DEVICE_TO_HOST); }},
    {"a pitched copy on the device",
     {Capability::copy_2d},
     false,
     false,
     [](const Ground& g) { copy_lines(g, g.destination, g.source, ANYPLACE_COPY_DEVICE_TO_DEVICE); }},
    {"a pitched copy from pinned memory",
     {Capability::copy_2d, pinned},
     true,
     false,
     [](const Ground& g) { copy_lines(g, g.destination, g.pinned, ANYPLACE_COPY_HOST_TO_DEVICE); }},
    {"a pitched copy to pinned memory",
     {Capability::copy_2d, pinned},
     false,
     true,
     [](const Ground& g) { copy_lines(g, g.pinned, g.source, ANYPLACE_COPY_DEVICE_TO_HOST); }},
    {"a fill of bytes",
     {},
     false,
     false,
     [](const Ground& g) { MUST(g.backend, memory_set, g.stream, g.destination, 0x22, 1, bytes); }},
    {"a fill of words",
     {},
     false,
     false,
     [](const Ground& g) { MUST(g.backend, memory_set, g.stream, g.destination, 0x22222222, 4, bytes / 4); }},
    {"a host function",
     {Capability::host_functions, pinned},
     false,
     true,
     [](const Ground& g) {
       submit(g.backend, g.stream, [to = pointer_of(g.pinned)] { std::memset(to, 0x22, bytes); });
     }},
};

ANYPLACE_CASES(kinds, "submission", "streams.order", "{} neither reads nor writes before its turn") {
  TableBackend backend(run);
  for (const Capability needed : parameter.needs) {
    if (!backend.has(needed)) skip(to_string(needed));
  }
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  Ground ground{backend, stream, backend.allocate(bytes), backend.allocate(bytes), 0};
  const bool host = parameter.from_host || parameter.to_host;
  if (host) ground.pinned = backend.allocate(bytes, ANYPLACE_MEMORY_PINNED);
  backend.fill(other, ground.source, 0x33, bytes);
  backend.fill(other, ground.destination, 0x44, bytes);
  if (host) std::memset(pointer_of(ground.pinned), parameter.from_host ? 0x33 : 0x44, bytes);
  const auto written = [&] {
    if (!parameter.to_host) return backend.read(other, ground.destination, bytes);
    Bytes now(bytes);
    std::memcpy(now.data(), pointer_of(ground.pinned), bytes);
    return now;
  };

  TableHold hold(backend);
  hold.hold(stream);
  parameter.submit(ground);
  CHECK_STAYS_FALSE(written() != Bytes(bytes, 0x44));
  // The memory that it reads changes meanwhile, and it must read the new contents.
  if (parameter.from_host) {
    std::memset(pointer_of(ground.pinned), 0x22, bytes);
  } else {
    backend.fill(other, ground.source, 0x22, bytes);
  }
  hold.open();
  backend.synchronize(stream);
  CHECK_BYTES(written(), Bytes(bytes, 0x22));
}

/// Fills with a copy between them that shows which of them it came after. The copy is within host memory, which no
/// backend may make before its turn.
ANYPLACE_CASE("submission", "memory.host_copies", "fills of the host's memory are in their places in the stream",
              Capability::host_copy) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  std::vector<std::uint32_t> kinds_of_memory = {0};
  if (backend.has(pinned)) kinds_of_memory.push_back(ANYPLACE_MEMORY_PINNED);
  for (const std::uint32_t kind : kinds_of_memory) {
    for (const std::uint32_t width : {1u, 2u, 4u}) {
      Bytes pageable(bytes);
      const anyplace_address host = kind == 0 ? number_of(pageable.data()) : backend.allocate(bytes, kind);
      const auto now = [&] {
        Bytes contents(bytes);
        std::memcpy(contents.data(), pointer_of(host), bytes);
        return contents;
      };
      std::memset(pointer_of(host), 0x44, bytes);
      Bytes between(bytes, 0x44);
      TableHold hold(backend);
      hold.hold(stream);
      MUST(backend, memory_set, stream, host, 0x22222222, width, bytes / width);
      MUST(backend, memory_copy, stream, number_of(between.data()), host, bytes, ANYPLACE_COPY_HOST_TO_HOST);
      MUST(backend, memory_set, stream, host, 0x33333333, width, bytes / 2 / width);
      CHECK_STAYS_FALSE(now() != Bytes(bytes, 0x44) || between != Bytes(bytes, 0x44));
      hold.open();
      backend.synchronize(stream);
      CHECK_BYTES(between, Bytes(bytes, 0x22));
      Bytes expected(bytes, 0x22);
      std::fill_n(expected.begin(), bytes / 2, std::uint8_t{0x33});
      CHECK_BYTES(now(), expected);
    }
  }
}

/// An argument's kind, size and value may change as soon as the call has returned.
ANYPLACE_CASE("submission", "kernels.launch", "a module's kernel waits for its turn and keeps what it was given",
              Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  backend.fill(other, memory, 0x44, bytes);
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  const anyplace_module_desc desc = image.desc();
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  TableHold hold(backend);
  hold.hold(stream);
  {
    FillLaunch fill(memory, bytes / 4, 0x22222222);
    MUST(backend, kernel_launch, stream, kernel, &fill.launch());
    for (std::size_t i = 0; i < 3; ++i) fill.argument(i) = {0, 0, nullptr};
    std::memset(&fill.launch(), 0xee, sizeof(anyplace_launch));
  }
  CHECK_STAYS_FALSE(backend.read(other, memory, bytes) != Bytes(bytes, 0x44));
  hold.open();
  backend.synchronize(stream);
  CHECK_BYTES(backend.read(other, memory, bytes), Bytes(bytes, 0x22));
}

}  // namespace
}  // namespace anyplace::conformance::submission_cases
