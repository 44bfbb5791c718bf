// SPDX-License-Identifier: Apache-2.0
//
// The table, properties, native handles, the threads of a plugin, shutting down.
#include <dirent.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "plugin.h"

namespace test_devices_cases {

using namespace cpu_sim_test;

namespace {

int threads() {
  DIR* tasks = opendir("/proc/self/task");
  int count = 0;
  while (readdir(tasks) != nullptr) ++count;
  closedir(tasks);
  return count;
}

}  // namespace

TEST_CASE("Given the table, Then it names the backend and every entry is there but two that it needn't have") {
  Plugin plugin;
  CHECK(plugin->abi_major == ANYPLACE_ABI_MAJOR);
  CHECK(std::string(plugin->name) == "cpu_sim");
  CHECK(plugin->struct_size == sizeof(anyplace_backend_table));
  CHECK(plugin->device_reset == nullptr);
  CHECK(plugin->memory_export_end == nullptr);
  // All entries are pointers, from shutdown to the end.
  const auto* bytes = reinterpret_cast<const char*>(plugin.operator->());
  int missing = 0;
  for (std::size_t at = offsetof(anyplace_backend_table, shutdown); at < sizeof(anyplace_backend_table);
       at += sizeof(void*)) {
    void* entry = nullptr;
    std::memcpy(&entry, bytes + at, sizeof(entry));
    missing += entry == nullptr;
  }
  CHECK(missing == 2);
}

TEST_CASE("Given a device, Then its properties are complete and within the contract") {
  Plugin plugin;
  const anyplace_device_properties p = plugin.properties(1);
  CHECK(std::string(p.name) == "anyplace CPU simulator");
  CHECK(std::string(p.vendor) == "anyplace");
  CHECK(std::string(p.architecture) != "");
  CHECK(std::string(p.driver_version) != "");
  CHECK(std::string(p.uuid) == "SIM-00000000-0000-0000-0000-000000000001");
  CHECK(std::string(p.pci) == "0000:01:00.0");
  CHECK(p.address_alignment >= 256);
  CHECK(p.max_threads_per_block == 1024);
  CHECK(p.greatest_priority < 0);
  CHECK(p.least_priority > 0);
  CHECK(p.image_formats == 1u << ANYPLACE_IMAGE_SHARED_OBJECT);
  CHECK((p.capabilities & (1u << ANYPLACE_CAPABILITY_BIT_DEVICE_RESET)) == 0);
  CHECK((p.capabilities & (1u << ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS)) != 0);
  CHECK((p.capabilities & (1u << ANYPLACE_CAPABILITY_BIT_GATES)) != 0);
  CHECK((p.capabilities & (std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_GRAPHS)) != 0);
  CHECK((p.capabilities & (std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY)) != 0);
}

TEST_CASE("Given 4096 devices, Then their uuids and PCI addresses are well formed and all different") {
  Plugin plugin(Environment{{"DEVICES", "4096"}});
  std::set<std::string> uuids, pcis;
  const auto is_pci = [](const std::string& text) {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    char rest = 0;
    return text.size() == 12 &&
           std::sscanf(text.c_str(), "%4x:%2x:%2x.%1o%c", &domain, &bus, &device, &function, &rest) == 4;
  };
  bool well_formed = true;
  for (std::int32_t device = 0; device < 4096; ++device) {
    const anyplace_device_properties p = plugin.properties(device);
    uuids.insert(p.uuid);
    pcis.insert(p.pci);
    well_formed = well_formed && is_pci(p.pci);
  }
  CHECK(well_formed);
  CHECK(uuids.size() == 4096);
  CHECK(pcis.size() == 4096);
}

TEST_CASE("Given a device, Then its native handle is its index and its context is stable") {
  Plugin plugin;
  std::uint64_t native = 99, context = 0, again = 0;
  check(plugin->device_native(plugin.self(), 1, ANYPLACE_NATIVE_DEVICE, &native));
  check(plugin->device_native(plugin.self(), 1, ANYPLACE_NATIVE_CONTEXT, &context));
  check(plugin->device_native(plugin.self(), 1, ANYPLACE_NATIVE_CONTEXT, &again));
  CHECK(native == 1);
  CHECK(context != 0);
  CHECK(context == again);
  CHECK(plugin->device_native(plugin.self(), 1, 7, &native) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given no submitted work, When devices, streams, events and memory are made, Then no thread is started") {
  const int before = threads();
  Plugin plugin(Environment{{"DEVICES", "8"}});
  {
    Stream stream(plugin);
    Stream blocking(plugin, Stream::blocking());
    Stream null(plugin, Stream::null());
    Event event(plugin);
    Gate gate(plugin);
    gate.open();
    Kernel kernel(plugin, [] {});
    stream.record(event);
    null.record(event);
    stream.wait(event);
    CHECK(stream.done());
    CHECK(stream.synchronize());
    CHECK(event.synchronize());
    CHECK(plugin.synchronize(0));
    plugin.free(plugin.allocate(1 << 20));
  }
  CHECK(threads() <= before);
}

TEST_CASE("Given unfinished work, When the plugin is shut down, Then it answers TIMEOUT and leaves the work alone") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  std::atomic<bool> ran{false};
  stream.wait(gate);
  stream.run([&] { ran = true; });
  CHECK_FALSE(plugin.shut_down(0));
  CHECK_FALSE(plugin.shut_down(millisecond));
  CHECK_FALSE(ran);
  gate.open();
  CHECK(stream.synchronize());
  CHECK(ran);
}

TEST_CASE("Given used workers and host threads, When the plugin is shut down, Then they are gone") {
  // ThreadSanitizer has a thread of its own from the program's first one on.
  std::thread([] {}).join();
  const int before = threads();
  {
    Plugin plugin;
    Stream stream(plugin);
    stream.run([] {});
    stream.host([] {});
  }
  // The system counts a thread for a moment after it was joined; one that was left would be counted for ever.
  while (threads() > before) std::this_thread::yield();
}

TEST_CASE("Given a kernel that shuts the plugin down, Then it gets TIMEOUT at once and not a deadlock") {
  Plugin plugin;
  Stream stream(plugin);
  std::atomic<int> timeouts{0};
  stream.run([&] { timeouts += plugin.shut_down(forever) ? 0 : 1; });
  stream.host([&] { timeouts += plugin.shut_down(forever) ? 0 : 1; });
  CHECK(stream.synchronize());
  CHECK(timeouts == 2);
}

}  // namespace test_devices_cases
