// SPDX-License-Identifier: Apache-2.0
//
// The ends of every range that an entry takes: times, sizes of memory, numbers of elements.
#include <algorithm>
#include <atomic>
#include <thread>

#include <cstring>

#include "table_device.h"

namespace anyplace::conformance::limits_cases {
namespace {

// ---- Times

struct Time {
  std::string label;
  std::uint64_t nanoseconds;
};
/// These times are too long to run out. Each is at the end of the range of some unit and width.
constexpr std::uint64_t microseconds = 1000;
constexpr std::uint64_t milliseconds = 1000 * microseconds;
constexpr std::uint64_t seconds = 1000 * milliseconds;
const std::vector<Time> long_times = {{"2^31 microseconds", (std::uint64_t{1} << 31) * microseconds},
                                      {"2^32 microseconds", (std::uint64_t{1} << 32) * microseconds},
                                      {"2^31 milliseconds", (std::uint64_t{1} << 31) * milliseconds},
                                      {"2^32 milliseconds", (std::uint64_t{1} << 32) * milliseconds},
                                      {"2^31 seconds", (std::uint64_t{1} << 31) * seconds},
                                      {"2^32 seconds", (std::uint64_t{1} << 32) * seconds},
                                      {"2^63 - 1 nanoseconds", (std::uint64_t{1} << 63) - 1},
                                      {"2^63 nanoseconds", std::uint64_t{1} << 63},
                                      {"2^64 - 2^32 nanoseconds", ~std::uint64_t{0} - 0xffffffffu},
                                      {"2^64 - 2 nanoseconds", ~std::uint64_t{0} - 1},
                                      {"2^64 - 1 nanoseconds", ~std::uint64_t{0}}};
const std::vector<Time> short_times = {{"no", 0}, {"a single", 1}, {"a thousand", 1000}, {"a million", 1000 * 1000}};

using Wait = std::function<anyplace_status(std::uint64_t timeout)>;

/// Waits for a stream, an event and a device in turn, each of which has work.
void for_each_wait(const TableBackend& backend,
                   const std::function<void(const char*, anyplace_stream, const Wait&)>& body) {
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  body("stream_synchronize", stream,
       [&](std::uint64_t timeout) { return ENTRY(backend, stream_synchronize, stream, timeout); });
  body("event_synchronize", stream, [&](std::uint64_t timeout) {
    MUST(backend, event_record, event, stream);
    return ENTRY(backend, event_synchronize, event, timeout);
  });
  body("device_synchronize", stream,
       [&](std::uint64_t timeout) { return ENTRY(backend, device_synchronize, backend.device(), timeout); });
  MUST(backend, event_destroy, event);
  backend.destroy(stream);
}

bool cannot_wait_so(anyplace_status status, std::uint64_t timeout) {
  return status == ANYPLACE_STATUS_UNSUPPORTED && timeout != ANYPLACE_FOREVER;
}

ANYPLACE_CASES(long_times, "limits", "streams.synchronize",
               "a timeout of {} doesn't run out while work takes a while") {
  TableBackend backend(run);
  for_each_wait(backend, [&](const char* entry, anyplace_stream stream, const Wait& wait) {
    TableHold hold(backend);
    hold.hold(stream);
    std::atomic<bool> over{false};
    anyplace_status status = ANYPLACE_STATUS_OK;
    std::thread waiter([&] {
      status = wait(parameter.nanoseconds);
      over = true;
    });
    bool early = false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (!early && std::chrono::steady_clock::now() < end) {
      early = over.load();
      std::this_thread::yield();
    }
    hold.open();
    step(__FILE__, __LINE__, entry);
    waiter.join();
    backend.synchronize(stream);
    if (cannot_wait_so(status, parameter.nanoseconds)) return;
    if (early) check_failed(__FILE__, __LINE__, std::string(entry) + " returned while work was pending");
    TableBackend::require(status, entry, {__FILE__, __LINE__});
  });
}

ANYPLACE_CASES(short_times, "limits", "streams.synchronize",
               "a timeout of {} nanoseconds runs out, and is OK where there is nothing to wait for") {
  TableBackend backend(run);
  for_each_wait(backend, [&](const char* entry, anyplace_stream stream, const Wait& wait) {
    {
      TableHold hold(backend);
      hold.hold(stream);
      for (int i = 0; i < 5; ++i) {
        const anyplace_status status = wait(parameter.nanoseconds);
        if (!cannot_wait_so(status, parameter.nanoseconds)) {
          CHECK_EQUAL(entry + (": " + std::string(to_string(static_cast<ErrorCode>(status)))),
                      entry + std::string(": timeout"));
        }
      }
    }
    backend.synchronize(stream);
    // An event that is recorded on an idle stream may still take a moment to complete.
    anyplace_status status = ANYPLACE_STATUS_TIMEOUT;
    while (status == ANYPLACE_STATUS_TIMEOUT) status = wait(parameter.nanoseconds);
    if (!cannot_wait_so(status, parameter.nanoseconds)) TableBackend::require(status, entry, {__FILE__, __LINE__});
  });
}

// ---- Sizes of memory

struct Kind {
  std::string label;
  std::uint32_t kind;  ///< 0 for device memory in a stream's order
};
const std::vector<Kind> kinds = {{"device memory", ANYPLACE_MEMORY_DEVICE},
                                 {"pinned memory", ANYPLACE_MEMORY_PINNED},
                                 {"managed memory", ANYPLACE_MEMORY_MANAGED},
                                 {"shareable memory", ANYPLACE_MEMORY_SHAREABLE},
                                 {"memory in a stream's order", 0}};

void need_kind(const TableBackend& backend, std::uint32_t kind) {
  const Capability capability = kind == ANYPLACE_MEMORY_PINNED      ? Capability::pinned_memory
                                : kind == ANYPLACE_MEMORY_MANAGED   ? Capability::managed_memory
                                : kind == ANYPLACE_MEMORY_SHAREABLE ? Capability::interprocess_memory
                                                                    : Capability::stream_ordered_memory;
  if (kind != ANYPLACE_MEMORY_DEVICE && !backend.has(capability)) skip(to_string(capability));
}

anyplace_status allocate(const TableBackend& backend, anyplace_stream stream, std::uint32_t kind, std::uint64_t bytes,
                         anyplace_address* out) {
  if (kind == 0) return ENTRY(backend, memory_allocate_async, stream, bytes, out);
  return ENTRY(backend, memory_allocate, backend.device(), kind, bytes, out);
}

void free(const TableBackend& backend, anyplace_stream stream, std::uint32_t kind, anyplace_address address) {
  if (kind == 0) MUST(backend, memory_free_async, stream, address);
  const bool as_device = kind == ANYPLACE_MEMORY_SHAREABLE;
  if (kind != 0) backend.free(address, as_device ? std::uint32_t{ANYPLACE_MEMORY_DEVICE} : kind);
}

ANYPLACE_CASES(kinds, "limits", "memory.out_of_memory",
               "an allocation of {} succeeds or is OUT_OF_MEMORY, whatever its size") {
  TableBackend backend(run);
  need_kind(backend, parameter.kind);
  const anyplace_stream stream = backend.stream();
  const std::uint64_t alignment = backend.properties(backend.device()).address_alignment;
  const std::uint64_t top = ~std::uint64_t{0};
  const std::uint64_t more_than_any = std::uint64_t{1} << 50;
  for (const std::uint64_t bytes : {std::uint64_t{1},
                                    std::uint64_t{255},
                                    std::uint64_t{256},
                                    std::uint64_t{257},
                                    std::uint64_t{4095},
                                    std::uint64_t{4097},
                                    more_than_any,
                                    std::uint64_t{1} << 62,
                                    (std::uint64_t{1} << 63) - 1,
                                    std::uint64_t{1} << 63,
                                    (std::uint64_t{1} << 63) + 1,
                                    top - (std::uint64_t{1} << 32),
                                    top - (2 << 20),
                                    top - 4096,
                                    top - 4095,
                                    top - 511,
                                    top - 257,
                                    top - 256,
                                    top - 255,
                                    top - 254,
                                    top - 63,
                                    top - 1,
                                    top}) {
    anyplace_address address = 0;
    const anyplace_status status = allocate(backend, stream, parameter.kind, bytes, &address);
    const std::string what = "an allocation of " + std::to_string(bytes) + " bytes";
    if (status != ANYPLACE_STATUS_OK) {
      const std::string said = TableBackend::message();
      if (status == ANYPLACE_STATUS_OUT_OF_MEMORY && bytes >= more_than_any) continue;
      check_failed(__FILE__, __LINE__, what + " is " + to_string(static_cast<ErrorCode>(status)) + ": " + said);
    }
    if (bytes >= more_than_any) check_failed(__FILE__, __LINE__, what + " succeeds");
    if (address == 0) check_failed(__FILE__, __LINE__, what + " gives address 0");
    const bool aligned = parameter.kind == ANYPLACE_MEMORY_DEVICE || parameter.kind == 0;
    if (aligned && address % alignment != 0) check_failed(__FILE__, __LINE__, what + " isn't aligned");
    if (parameter.kind == ANYPLACE_MEMORY_PINNED) {
      std::memset(pointer_of(address), 1, bytes);  // fills are only for device memory
    } else {
      MUST(backend, memory_set, stream, address, 1, 1, bytes);
      backend.synchronize(stream);
    }
    free(backend, stream, parameter.kind, address);
  }
  backend.synchronize(stream);
}

ANYPLACE_CASE("limits", "memory.kinds", "a kind of memory that the device doesn't claim is UNSUPPORTED") {
  TableBackend backend(run);
  bool all = true;
  for (const auto& [kind, capability] : {std::pair(ANYPLACE_MEMORY_PINNED, Capability::pinned_memory),
                                         std::pair(ANYPLACE_MEMORY_MANAGED, Capability::managed_memory)}) {
    if (backend.has(capability)) continue;
    all = false;
    anyplace_address address = 0;
    CHECK_STATUS(UNSUPPORTED, backend, memory_allocate, backend.device(), static_cast<std::uint32_t>(kind), 4096,
                 &address);
  }
  anyplace_address address = 0;
  const anyplace_status status = ENTRY(backend, memory_allocate, backend.device(), 77, 4096, &address);
  CHECK(status != ANYPLACE_STATUS_OK);
  if (all) TableBackend::message();
}

// ---- Beyond 32 bits

constexpr std::uint64_t four_gibibytes = std::uint64_t{1} << 32;

/// A range of more than 4 GiB with only two granules of memory: one is mapped over and over, the other at the very end.
class LongRange {
 public:
  explicit LongRange(TableDevice& device)
      : device_(device),
        granules_(four_gibibytes / device.granule() + 2),
        range_(device.reserve(granules_)),
        body_(device.create(1)),
        tail_(device.create(1)) {
    for (std::uint64_t i = 0; i + 1 < granules_; ++i) {
      const anyplace_address at = range_ + i * device_.granule();
      const anyplace_status status = ENTRY(device_.backend(), virtual_map, device_.backend().device(), at, body_);
      if (status == ANYPLACE_STATUS_UNSUPPORTED && i > 0) skip("memory that can be mapped at several addresses");
      TableBackend::require(status, "virtual_map", {__FILE__, __LINE__});
    }
    device_.map(tail(), tail_);
    for (const anyplace_address part : {range_, tail()}) device_.fill(part, 0x11, device_.granule());
  }
  LongRange(const LongRange&) = delete;  // unmapped once
  LongRange& operator=(const LongRange&) = delete;
  ~LongRange() = default;  // the process ends with the case

  anyplace_address begin() const noexcept { return range_; }
  anyplace_address tail() const noexcept { return range_ + (granules_ - 1) * device_.granule(); }
  /// The size up to the middle of the last granule.
  std::uint64_t bytes() const noexcept { return (granules_ - 1) * device_.granule() + device_.granule() / 2; }

  void check(std::uint8_t value, Caller caller = {}) const {
    const std::uint64_t half = device_.granule() / 2;
    const auto expect = [&](anyplace_address address, std::uint8_t wanted, const char* what) {
      check_bytes(device_.read(address, 4096, caller), Bytes(4096, wanted), caller.file, caller.line, what);
    };
    expect(range_, value, "the first bytes");
    expect(range_ + half, value, "bytes in the middle");
    expect(tail(), value, "the bytes after 4 GiB");
    expect(tail() + half - 4096, value, "the last bytes");
    expect(tail() + half, 0x11, "what comes after the last");
  }

 private:
  TableDevice& device_;
  std::uint64_t granules_;
  anyplace_address range_;
  anyplace_physical body_;
  anyplace_physical tail_;
};

/// Skips the case if the granule is so large, or so small, that such a range is too expensive.
void need_usual_granule(const TableDevice& device) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip("a build without sanitizers, under which 4 GiB take minutes");
#endif
  const bool usual = device.granule() >= (1 << 20) && device.granule() <= (std::uint64_t{256} << 20);
  if (!usual) skip("a granularity between 1 MiB and 256 MiB");
}

struct Width {
  std::string label;
  std::uint32_t bytes;
};
const std::vector<Width> widths = {{"8", 1}, {"16", 2}, {"32", 4}};

ANYPLACE_CASES(widths, "limits", "memory.fills", "a fill of more than 4 GiB of elements of {} bits reaches its end",
               Capability::virtual_memory) {
  needs_time(6);
  TableDevice device(run);
  need_usual_granule(device);
  const LongRange range(device);
  const anyplace_stream stream = device.backend().stream();
  MUST(device.backend(), memory_set, stream, range.begin(), 0x5a5a5a5a, parameter.bytes,
       range.bytes() / parameter.bytes);
  device.backend().synchronize(stream);
  range.check(0x5a);
}

ANYPLACE_CASE("limits", "memory.copies", "a copy of more than 4 GiB on one device reaches its end",
              Capability::virtual_memory) {
  needs_time(6);
  TableDevice device(run);
  need_usual_granule(device);
  const LongRange source(device);
  const LongRange destination(device);
  device.fill(source.begin(), 0x5a, device.granule());
  device.fill(source.tail(), 0x5a, device.granule());
  device.copy(destination.begin(), source.begin(), source.bytes());
  destination.check(0x5a);
}

ANYPLACE_CASE("limits", "memory.copies_2d", "a pitched copy whose lines spread over more than 4 GiB reaches the last",
              Capability::virtual_memory, Capability::copy_2d) {
  TableDevice device(run);
  need_usual_granule(device);
  const LongRange source(device);
  const LongRange destination(device);
  device.fill(source.tail(), 0x5a, device.granule());
  constexpr std::uint64_t rows = 5;
  constexpr std::uint64_t width = 4096;
  const std::uint64_t pitch = (source.tail() - source.begin()) / (rows - 1);
  const anyplace_copy_2d copy{
      sizeof(copy), ANYPLACE_COPY_DEVICE_TO_DEVICE, destination.begin(), pitch, source.begin(), pitch, width, rows};
  const anyplace_stream stream = device.backend().stream();
  MUST(device.backend(), memory_copy_2d, stream, &copy);
  device.backend().synchronize(stream);
  CHECK_BYTES(device.read(destination.tail(), width), Bytes(width, 0x5a));
  CHECK_BYTES(device.read(destination.tail() + width, width), Bytes(width, 0x11));
}

}  // namespace
}  // namespace anyplace::conformance::limits_cases
