// SPDX-License-Identifier: Apache-2.0
// Host memory after it was unregistered: it belongs to the application again, which may unmap it and map it anew, and
// copies use the new pages.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "table_backend.h"

namespace anyplace::conformance::memory_registered_cases {
namespace {

const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
constexpr std::uint64_t pages = 64;
const std::uint64_t bytes = pages * page;

/// Pages of the application at fixed addresses, where it can map other pages.
class Pages {
 public:
  Pages() : at_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    CHECK(at_ != MAP_FAILED);
  }
  Pages(const Pages&) = delete;  // names one range
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(at_, bytes); }

  /// Maps new pages, filled with `value`, in place of the old ones.
  void renew(std::uint8_t value, std::uint64_t first = 0, std::uint64_t count = pages) {
    void* const from = byte_at(first * page);
    CHECK(mmap(from, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == from);
    std::memset(from, value, count * page);
  }
  /// Makes the pages inaccessible: reading or writing there crashes.
  void take_away(std::uint64_t first = 0, std::uint64_t count = pages) {
    void* const from = byte_at(first * page);
    CHECK(mmap(from, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == from);
  }
  void* byte_at(std::uint64_t offset) const noexcept { return static_cast<char*>(at_) + offset; }
  anyplace_address address(std::uint64_t offset = 0) const noexcept { return number_of(byte_at(offset)); }
  Bytes contents(std::uint64_t first = 0, std::uint64_t count = bytes) const {
    const auto* const from = static_cast<const std::uint8_t*>(byte_at(first));
    return {from, from + count};
  }

 private:
  void* at_;
};

struct Bench {
  explicit Bench(const Run& run) : backend(run), stream(backend.stream()), memory(backend.allocate(bytes)) {}

  void register_at(std::uint64_t offset, std::uint64_t count, Caller caller = {}) {
    step(caller.file, caller.line, "host_register");
    TableBackend::require(backend.table().host_register(backend.self(), backend.device(), host.byte_at(offset), count),
                          "host_register", caller);
  }
  void unregister_at(std::uint64_t offset, Caller caller = {}) {
    step(caller.file, caller.line, "host_unregister");
    TableBackend::require(backend.table().host_unregister(backend.self(), backend.device(), host.byte_at(offset)),
                          "host_unregister", caller);
  }
  /// Checks copies to the device and back: each moves the present contents.
  void check_copies(std::uint8_t value, std::uint64_t offset = 0, std::uint64_t count = bytes, Caller caller = {}) {
    const Bytes expected(static_cast<std::size_t>(count), value);
    copy_up(offset, count);
    check_bytes(backend.read(stream, memory, count), expected, caller.file, caller.line,
                "what went up from the pages that are there");
    backend.fill(stream, memory, 0xd0, count, caller);
    MUST(backend, memory_copy, stream, host.address(offset), memory, count, ANYPLACE_COPY_DEVICE_TO_HOST);
    backend.synchronize(stream);
    check_bytes(host.contents(offset, count), Bytes(static_cast<std::size_t>(count), 0xd0), caller.file, caller.line,
                "what came down into the pages that are there");
    std::memset(host.byte_at(offset), value, count);
  }
  void copy_up(std::uint64_t offset, std::uint64_t count) {
    MUST(backend, memory_copy, stream, memory, host.address(offset), count, ANYPLACE_COPY_HOST_TO_DEVICE);
    backend.synchronize(stream);
  }

  TableBackend backend;
  anyplace_stream stream;
  anyplace_address memory;
  Pages host;
};

ANYPLACE_CASE("memory", "memory.native",
              "memory that was registered can be unmapped and mapped anew, and copies use what is there then",
              Capability::host_register) {
  Bench bench(run);
  for (std::uint8_t round = 0; round < 4; ++round) {
    const auto value = static_cast<std::uint8_t>(10 * round);
    bench.host.renew(value + 1);
    bench.register_at(0, bytes);
    bench.check_copies(value + 1);
    bench.unregister_at(0);
    bench.host.take_away();
    bench.host.renew(value + 2);
    bench.check_copies(value + 2);  // it is ordinary memory now
    bench.host.take_away();
    bench.host.renew(value + 3);
    bench.register_at(0, bytes);
    bench.check_copies(value + 3);
    bench.unregister_at(0);
  }
}

ANYPLACE_CASE("memory", "memory.native", "an address that was registered is registered again with any other size",
              Capability::host_register) {
  Bench bench(run);
  std::uint8_t value = 1;
  for (const std::uint64_t count : {pages / 2, pages, pages / 4, std::uint64_t{1}, pages}) {
    bench.host.renew(value);
    bench.register_at(0, count * page);
    bench.check_copies(value, 0, count * page);
    if (count < pages) bench.check_copies(value, count * page, (pages - count) * page);  // the rest is ordinary memory
    bench.unregister_at(0);
    bench.host.take_away();
    ++value;
  }
}

ANYPLACE_CASE("memory", "memory.native", "memory that is unregistered leaves what is registered beside it alone",
              Capability::host_register) {
  Bench bench(run);
  constexpr std::uint64_t part = pages / 4;
  bench.host.renew(1);
  for (std::uint64_t i = 0; i < 4; ++i) bench.register_at(i * part * page, part * page);
  for (const std::uint64_t gone : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{0}}) {
    bench.unregister_at(gone * part * page);
    bench.host.take_away(gone * part, part);
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (i != gone) bench.check_copies(1, i * part * page, part * page);
    }
    bench.host.renew(1, gone * part, part);
    bench.check_copies(1, gone * part * page, part * page);
  }
  bench.unregister_at(2 * part * page);
  bench.host.take_away();
  bench.host.renew(7);
  bench.check_copies(7);
}

}  // namespace
}  // namespace anyplace::conformance::memory_registered_cases
