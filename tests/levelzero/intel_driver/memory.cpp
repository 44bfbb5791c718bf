// SPDX-License-Identifier: Apache-2.0
//
// Memory of all kinds, copies, fills; and virtual memory, through the plugin's table.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <vector>

#include "anyplace/backend/abi.h"
#include "steps.h"

namespace intel_driver {
namespace {

using anyplace::Buffer;
using anyplace::BufferOptions;
using anyplace::Device;
using anyplace::HostBuffer;
using anyplace::MemoryKind;
using anyplace::Stream;

constexpr std::uint64_t MiB = 1u << 20;

std::string sizes_of(const Device& device, MemoryKind kind) {
  const Stream stream(device);
  std::vector<Buffer> buffers;
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{255}, std::uint64_t{4096}, 2 * MiB, 33 * MiB}) {
    buffers.emplace_back(stream, bytes, BufferOptions{kind});
    expect(buffers.back().address() % 256 == 0, "the address is aligned to 256 bytes");
    if (kind == MemoryKind::managed) {
      std::memset(buffers.back().host_data(), 3, static_cast<std::size_t>(bytes));
    }
  }
  expect(!Buffer(stream, 0, BufferOptions{kind}), "0 bytes give a null buffer");
  return "";
}

std::string pinned(const Device& device) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4096}, 9 * MiB}) {
    const HostBuffer buffer(device, bytes);
    std::memset(buffer.data(), 5, buffer.size());
  }
  expect(!HostBuffer(device, 0), "0 bytes give a null buffer");
  return "";
}

std::string too_much(const Device& device) {
  const Stream stream(device);
  const std::uint64_t far_too_much = device.properties().total_memory.value_or(std::uint64_t{1} << 40) * 4;
  return expect_error(ErrorCode::out_of_memory, "", [&] { Buffer(stream, far_too_much); });
}

std::string copies(const Device& device) {
  const Stream stream(device);
  const Buffer a(stream, 9 * MiB), b(stream, 9 * MiB), managed(stream, 4096, {MemoryKind::managed});
  std::vector<std::byte> pageable(9 * MiB);
  const HostBuffer host(device, 9 * MiB);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4095}, 4 * MiB, 9 * MiB}) {
    const std::span<std::byte> some(pageable.data(), bytes), fast(host.data(), bytes);
    stream.copy(a.sub(0, bytes), fast);
    stream.copy(b.sub(0, bytes), a.sub(0, bytes));
    stream.copy(fast, b.sub(0, bytes));
  }
  stream.copy(managed, a.sub(0, 4096));
  stream.copy(a.sub(4096, 4096), managed);
  stream.copy(a.sub(1, 0), b.sub(1, 0));
  expect_error(ErrorCode::invalid_argument, "", [&] { stream.copy(a.sub(0, 4096), a.sub(100, 4096)); });
  expect(!stream.query(), "copies aren't done");
  return "";
}

/// Kept until the process ends: the stream may read and write it until then.
std::vector<std::byte>& lasting(std::uint64_t bytes) {
  static std::vector<std::vector<std::byte>> all;
  return all.emplace_back(bytes);
}

std::string staged_copies(const Device& device) {
  const Stream stream(device);
  const Buffer a(stream, 9 * MiB);
  std::vector<std::byte>& pageable = lasting(9 * MiB);
  stream.copy(a, pageable);
  stream.copy(std::span(pageable), a);
  stream.copy(a.sub(0, 3), std::span(pageable).first(3));
  stream.copy_2d(a, 8192, pageable, 4096, 4000, 1000);
  stream.copy_2d(pageable, 4096, a, 8192, 4000, 1000);
  expect(!stream.query(), "copies aren't done");
  return "";
}

std::string copies_2d(const Device& device) {
  const Stream stream(device);
  const Buffer a(stream, 9 * MiB), b(stream, 9 * MiB);
  const HostBuffer host(device, 9 * MiB);
  const std::span<std::byte> lines(host.data(), host.size());
  for (const std::uint64_t width : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{4000}}) {
    stream.copy_2d(b, 8192, a, 4096, width, 100);
    stream.copy_2d(b, 8191, a, 4097, width, 100);
    stream.copy_2d(a, 4096, lines, 4099, width, 1000);
    stream.copy_2d(lines, 4099, a, 4096, width, 1000);
    stream.copy_2d(b, 4096, a, 4096, width, 1);
  }
  expect(!stream.query(), "copies aren't done");
  return "";
}

std::string fills(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 9 * MiB);
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{4096}, 9 * MiB}) {
    stream.memset8(buffer.sub(0, bytes), 0xab);
    stream.memset16(buffer.sub(0, bytes), 0xabcd);
    stream.memset32(buffer.sub(0, bytes), 0xabcdef01);
    stream.memset32(buffer.sub(4, bytes - 4), 0xabcdef01);
  }
  stream.memset8(buffer.sub(1, 4093), 1);
  stream.memset16(buffer.sub(2, 4094), 0x1234);
  expect(!stream.query(), "fills aren't done");
  return "";
}

std::string copies_between(const Machine& machine) {
  const Stream stream(machine.devices[0]), other(machine.devices[1]);
  const Buffer a(stream, 5 * MiB), b(other, 5 * MiB);
  stream.copy(b, a);
  b.record_stream(stream);
  other.copy(b, a);
  a.record_stream(other);
  expect(!stream.query(), "the copy isn't done");
  return machine.devices[0].has(anyplace::Capability::peer_copy) ? "by the driver" : "through the host";
}

std::string many_buffers(const Device& device) {
  const Stream stream(device), other(device);
  for (int i = 0; i < 300; ++i) {
    const Buffer buffer(stream, static_cast<std::uint64_t>(1 + i * 977));
    stream.memset8(buffer, 1);
    other.wait_stream(stream);
    other.memset8(buffer, 2);
    buffer.record_stream(other);
  }
  return "300, freed with work pending";
}

}  // namespace

void memory_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("device memory", [&] { return sizes_of(device, MemoryKind::device); });
    steps.run("managed memory", [&] { return sizes_of(device, MemoryKind::managed); });
    steps.run("pinned memory", [&] { return pinned(device); });
    steps.run("more memory than there is", [&] {
      too_much(device);
      return "";
    });
    steps.run("buffers freed in a stream's order", [&] { return many_buffers(device); });
  }
}

void copy_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("copies", [&] { return copies(device); });
    steps.run("copies of memory of the user's own", [&] { return staged_copies(device); });
    steps.run("pitched copies", [&] { return copies_2d(device); });
    steps.run("fills", [&] { return fills(device); });
  }
  if (machine.devices.size() > 1) steps.run("copies between devices", [&] { return copies_between(machine); });
}

// ---- Virtual memory ------------------------------------------------------------------------------------------------

namespace {

/// The plugin's table, as the core gets it. Its entries' messages are the errors' texts.
class Plugin {
 public:
  explicit Plugin(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Wrong(dlerror());
    const auto entry = reinterpret_cast<anyplace_backend_entry_function>(dlsym(library, ANYPLACE_ENTRY_SYMBOL));
    if (entry == nullptr) throw Wrong(path + " is no plugin");
    host.struct_size = sizeof(host);
    host.abi_major = ANYPLACE_ABI_MAJOR;
    host.abi_minor = ANYPLACE_ABI_MINOR;
    host.context = &message;
    host.leave_message = [](void* context, std::int64_t, const char*, const char* text) {
      *static_cast<std::string*>(context) = text == nullptr ? "" : text;
    };
    host.stream_fault = [](void*, std::uint64_t, anyplace_status, std::int64_t, const char*, const char*) {};
    host.user_code_begin = host.user_code_end = [](void*) {};
    host.log = [](void*, std::uint32_t, const char*) {};
    table.struct_size = sizeof(table);
    check(entry(&host, &table), "anyplace_backend_entry");
  }
  void check(anyplace_status status, const char* what) const {
    if (status != ANYPLACE_STATUS_OK) throw Wrong(std::string(what) + ": " + message);
  }

  anyplace_host host{};
  anyplace_backend_table table{};
  std::string message;
};

std::uint64_t page_of(const Plugin& plugin) {
  std::uint64_t page = 0;
  plugin.check(plugin.table.virtual_granularity(plugin.table.self, 0, &page), "virtual_granularity");
  expect(page >= 4096 && (page & (page - 1)) == 0, "the granularity is a power of two: " + std::to_string(page));
  return page;
}

std::string reserve_and_create(const Plugin& plugin) {
  const anyplace_backend_table& t = plugin.table;
  const std::uint64_t page = page_of(plugin);
  for (const std::uint64_t pages : {1u, 8u, 1000u}) {
    anyplace_address range = 0;
    anyplace_physical part = 0;
    plugin.check(t.virtual_reserve(t.self, 0, pages * page, &range), "virtual_reserve");
    expect(range % page == 0, "the range begins at a multiple of the granularity");
    plugin.check(t.physical_create(t.self, 0, page, &part), "physical_create");
    plugin.check(t.physical_destroy(t.self, part), "physical_destroy");
    plugin.check(t.virtual_release(t.self, 0, range, pages * page), "virtual_release");
  }
  return "pages of " + std::to_string(page) + " bytes";
}

/// Mapping makes memory resident, which this driver may have nothing for when it runs without a device: it says
/// UNINITIALIZED then.
std::string map_and_unmap(const Plugin& plugin) {
  const anyplace_backend_table& t = plugin.table;
  const std::uint64_t page = page_of(plugin);
  anyplace_address range = 0;
  anyplace_physical part = 0;
  plugin.check(t.virtual_reserve(t.self, 0, 2 * page, &range), "virtual_reserve");
  plugin.check(t.physical_create(t.self, 0, page, &part), "physical_create");
  const anyplace_status mapped = t.virtual_map(t.self, 0, range + page, part);
  const std::string said = plugin.message;
  if (mapped != ANYPLACE_STATUS_OK && mapped != ANYPLACE_STATUS_NO_DRIVER) plugin.check(mapped, "virtual_map");
  if (mapped == ANYPLACE_STATUS_OK) {
    plugin.check(t.virtual_unmap(t.self, 0, range + page, page), "virtual_unmap");
  }
  plugin.check(t.physical_destroy(t.self, part), "physical_destroy");
  plugin.check(t.virtual_release(t.self, 0, range, 2 * page), "virtual_release");
  return mapped == ANYPLACE_STATUS_OK ? "" : "the driver can't map without a device (" + said + ")";
}

}  // namespace

void virtual_memory_steps(Steps& steps, const std::string& path) {
  std::unique_ptr<Plugin> plugin;
  steps.run("the plugin's table", [&] {
    plugin = std::make_unique<Plugin>(path);
    return std::string(plugin->table.name) + " " + plugin->table.version;
  });
  if (plugin == nullptr) return;
  steps.run("addresses are reserved and released, memory is made and destroyed",
            [&] { return reserve_and_create(*plugin); });
  steps.run("memory is mapped and unmapped", [&] { return map_and_unmap(*plugin); });
  steps.run("the plugin's shutdown", [&] {
    const anyplace_status status = plugin->table.shutdown(plugin->table.self, 1'000'000'000);
    expect(status == ANYPLACE_STATUS_OK || status == ANYPLACE_STATUS_TIMEOUT, "it ends, or says that time ran out");
    return std::string(status == ANYPLACE_STATUS_OK ? "it ended" : "time ran out");
  });
  plugin.release();  // its threads may still report to it
}

}  // namespace intel_driver
