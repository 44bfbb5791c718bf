// SPDX-License-Identifier: Apache-2.0
// The list of processes that use a device, and how an array is filled that may be too short for it.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "second_process.h"
#include "table_backend.h"

namespace anyplace::conformance::processes_cases {
namespace {

constexpr std::uint64_t bytes = 4 << 20;

std::optional<DeviceProcess> found(const std::vector<DeviceProcess>& processes, pid_t id) {
  const auto at = std::find_if(processes.begin(), processes.end(), [&](const DeviceProcess& process) {
    return process.id == static_cast<std::uint64_t>(id);
  });
  return at == processes.end() ? std::nullopt : std::optional(*at);
}

bool is_there(std::uint64_t id) { return kill(static_cast<pid_t>(id), 0) == 0 || errno == EPERM; }

ANYPLACE_CASE("processes", "devices.processes", "this process is listed, with the memory that it has",
              Capability::list_processes) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const std::vector<DeviceProcess> processes = CALL(device.processes());
  const std::optional<DeviceProcess> own = found(processes, getpid());
  CHECK(own.has_value());
  CHECK(!own->memory_bytes || *own->memory_bytes >= bytes);
}

ANYPLACE_CASE("processes", "devices.processes", "every process is listed once, by a number that a process can have",
              Capability::list_processes) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  std::set<std::uint64_t> ids;
  for (const DeviceProcess& process : CALL(device.processes())) {
    CHECK(process.id > 0 && process.id <= 1 << 22);
    CHECK(ids.insert(process.id).second);
  }
}

ANYPLACE_CASE("processes", "devices.processes", "a process that ended is no longer listed",
              Capability::list_processes) {
  CHECK_FORKED({
    const Stream stream{Device(run.place())};
    CHECK_BYTES(read(stream, filled(stream, bytes, 5)), Bytes(bytes, 5));
  });
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  // Other processes may end between the list and the check; they are missing in one of the next lists.
  const auto lists_the_dead = [&] {
    const std::vector<DeviceProcess> processes = device.processes();
    return !std::all_of(processes.begin(), processes.end(), [](const DeviceProcess& p) { return is_there(p.id); });
  };
  while (CALL(lists_the_dead())) continue;
}

ANYPLACE_CASE("processes", "devices.processes", "several threads may ask while others allocate",
              Capability::list_processes) {
  const Device device = run.device();
  const Stream kept_stream = CALL(Stream(device));
  const Buffer kept = filled(kept_stream, bytes, 1);
  run_threads(4, [&](int number) {
    const Stream stream = CALL(Stream(device));
    for (int round = 0; round < 20; ++round) {
      if (number % 2 == 0) static_cast<void>(filled(stream, bytes, 2));
      const std::vector<DeviceProcess> processes = CALL(device.processes());
      CHECK(found(processes, getpid()).has_value());
    }
  });
}

ANYPLACE_CASE("processes", "devices.processes", "in a forked process the list is refused", Capability::list_processes) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  CHECK_FORKED(CHECK_ERROR(forked, device.processes()));
}

// ---- The array, at the table

/// Room for structs, each followed by additional bytes and all by more, which no backend may write.
class Room {
 public:
  explicit Room(std::uint32_t stride) : stride_(stride), bytes_(structs * stride, untouched) {}

  static constexpr std::uint32_t structs = 1024;
  static constexpr std::uint8_t untouched = 0xa5;

  anyplace_process* get() { return reinterpret_cast<anyplace_process*>(bytes_.data()); }
  std::uint64_t id(std::uint32_t index) const {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes_.data() + std::size_t{index} * stride_, sizeof(id));
    return id;
  }
  /// Whether nothing was written behind the first `count` structs, nor between them beyond `size`.
  bool is_untouched_but(std::uint32_t count, std::uint32_t size) const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (i / stride_ < count && i % stride_ < size) continue;
      if (bytes_[i] != untouched) return false;
    }
    return true;
  }

 private:
  std::uint32_t stride_;
  Bytes bytes_;
};

/// The present number of processes; it includes this process, which has memory of the device.
std::uint32_t number_of_processes(const TableBackend& backend) {
  std::uint32_t count = 0;
  MUST(backend, list_processes, backend.device(), nullptr, sizeof(anyplace_process), &count);
  return count;
}

ANYPLACE_CASE("processes", "devices.processes", "without room for any struct the number of processes is given",
              Capability::list_processes) {
  const TableBackend backend(run);
  const anyplace_address address = backend.allocate(bytes);
  CHECK(number_of_processes(backend) >= 1);
  Room room(sizeof(anyplace_process));
  std::uint32_t count = 0;
  MUST(backend, list_processes, backend.device(), room.get(), sizeof(anyplace_process), &count);
  CHECK(count >= 1);
  CHECK(room.is_untouched_but(0, 0));
  backend.free(address);
}

ANYPLACE_CASE("processes", "devices.processes", "with room for one no more than one is written",
              Capability::list_processes) {
  const TableBackend backend(run);
  const anyplace_address address = backend.allocate(bytes);
  Room room(sizeof(anyplace_process));
  std::uint32_t count = 1;
  MUST(backend, list_processes, backend.device(), room.get(), sizeof(anyplace_process), &count);
  CHECK(count >= 1);
  CHECK(room.id(0) != 0 && is_there(room.id(0)));
  CHECK(room.is_untouched_but(1, sizeof(anyplace_process)));
  backend.free(address);
}

struct Stride {
  std::string label;
  std::uint32_t bytes;
  std::uint32_t written;
};
const std::vector<Stride> strides = {{"longer than ours", 40, sizeof(anyplace_process)},
                                     {"of the number alone", sizeof(std::uint64_t), sizeof(std::uint64_t)}};

ANYPLACE_CASES(strides, "processes", "devices.processes", "structs {} are filled up to what both sides know",
               Capability::list_processes) {
  const TableBackend backend(run);
  const anyplace_address address = backend.allocate(bytes);
  Room room(parameter.bytes);
  std::uint32_t count = Room::structs;
  MUST(backend, list_processes, backend.device(), room.get(), parameter.bytes, &count);
  CHECK(count >= 1 && count <= Room::structs);
  bool own = false;
  for (std::uint32_t i = 0; i < count; ++i) own = own || room.id(i) == static_cast<std::uint64_t>(getpid());
  CHECK(own);
  // A backend that is newer than this suite may have longer structs.
  const bool is_newer = backend.table().abi_minor > ANYPLACE_ABI_MINOR;
  CHECK(room.is_untouched_but(count, is_newer ? parameter.bytes : parameter.written));
  backend.free(address);
}

ANYPLACE_CASE("processes", "devices.processes", "memory that was freed doesn't count for the process any more",
              Capability::list_processes) {
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const auto own_bytes = [&] {
    std::vector<anyplace_process> processes(Room::structs);
    auto count = Room::structs;
    MUST(backend, list_processes, backend.device(), processes.data(), sizeof(anyplace_process), &count);
    for (const anyplace_process& process : processes) {
      if (process.id == static_cast<std::uint64_t>(getpid())) return process.memory_bytes;
    }
    return std::uint64_t{0};  // it has no figure then
  };
  const anyplace_address small = backend.allocate(bytes);
  backend.fill(stream, small, 1, bytes);
  const std::uint64_t before = own_bytes();
  if (before == ANYPLACE_UNKNOWN) skip("a vendor that tells the memory of each process");
  constexpr std::uint64_t large_bytes = 64 << 20;
  const anyplace_address large = backend.allocate(large_bytes);
  backend.fill(stream, large, 1, large_bytes);
  CHECK(own_bytes() >= before + large_bytes);
  backend.free(large);
  CHECK(own_bytes() < before + large_bytes);
  backend.free(small);
  backend.destroy(stream);
}

ANYPLACE_CASE("processes", "devices.processes", "a process's figures are within their ranges, and so is its memory",
              Capability::list_processes) {
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address address = backend.allocate(bytes);
  backend.fill(stream, address, 1, bytes);
  constexpr std::uint32_t kinds = ANYPLACE_PROCESS_COMPUTE | ANYPLACE_PROCESS_GRAPHICS;
  const bool is_newer = backend.table().abi_minor > ANYPLACE_ABI_MINOR;
  const std::uint64_t total = backend.properties(backend.device()).total_memory;
  std::vector<anyplace_process> processes(Room::structs);
  auto count = Room::structs;
  MUST(backend, list_processes, backend.device(), processes.data(), sizeof(anyplace_process), &count);
  processes.resize(std::min(count, Room::structs));
  for (const anyplace_process& process : processes) {
    CHECK(process.memory_bytes == ANYPLACE_UNKNOWN || process.memory_bytes <= total);
    CHECK_EQUAL(process.kinds & ~process.kinds_known, 0u);
    CHECK(is_newer || (process.kinds_known & ~kinds) == 0);
    CHECK(process.compute_known <= 1);
    CHECK(process.compute_known == 0 || process.compute_ppm <= 1000000);
    if (process.id != static_cast<std::uint64_t>(getpid())) continue;
    CHECK((process.kinds_known & ANYPLACE_PROCESS_COMPUTE) == 0 || (process.kinds & ANYPLACE_PROCESS_COMPUTE) != 0);
  }
  backend.free(address);
}

struct Distance {
  std::string label;
  std::uint32_t bytes;
};
const std::vector<Distance> distances = {{"one behind the other", sizeof(anyplace_process)},
                                         {"4096 bytes apart", 4096}};

/// Asks with that much room, checks what is written, and returns the number of processes.
std::uint32_t check_with_room(const TableBackend& backend, std::uint32_t stride, std::uint32_t structs) {
  Room room(stride);
  std::uint32_t count = structs;
  MUST(backend, list_processes, backend.device(), room.get(), stride, &count);
  const std::uint32_t written = std::min(structs, count);
  std::set<std::uint64_t> ids;
  for (std::uint32_t i = 0; i < written; ++i) {
    CHECK(room.id(i) > 0 && room.id(i) <= 1 << 22);
    CHECK(ids.insert(room.id(i)).second);
  }
  CHECK(room.is_untouched_but(written, sizeof(anyplace_process)) || backend.table().abi_minor > ANYPLACE_ABI_MINOR);
  CHECK(written < count || ids.count(static_cast<std::uint64_t>(getpid())) == 1);
  return count;
}

/// Other processes may begin and end between two lists, so the counts may differ in a round, but not in every one.
ANYPLACE_CASES(distances, "processes", "devices.processes",
               "of several processes, {}, as many are written as there is room for, and all are counted",
               Capability::list_processes) {
  Second second([&](const Talk& talk) {
    const Stream stream{Device(run.place())};
    const Buffer buffer = filled(stream, bytes, 1);
    talk.tell();
    talk.hear();
  });
  second.talk().hear();
  const TableBackend backend(run);
  const anyplace_address address = backend.allocate(bytes);
  std::uint32_t all = 0;
  std::uint32_t counted = 0;
  for (int round = 0; round < 5 && (all == 0 || counted < all); ++round) {
    all = check_with_room(backend, parameter.bytes, Room::structs);
    counted = all;
    for (const std::uint32_t room : {0u, 1u, 2u, 3u}) {
      counted = std::min(counted, check_with_room(backend, parameter.bytes, room));
    }
  }
  CHECK(counted >= all);
  second.talk().tell();
  second.must_end_well();
  backend.free(address);
  if (all < 2) skip("a device that lists a second process that uses it");
}

}  // namespace
}  // namespace anyplace::conformance::processes_cases
