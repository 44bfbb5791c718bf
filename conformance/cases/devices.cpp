// SPDX-License-Identifier: Apache-2.0
// Devices: when they are initialised, their properties, synchronising and resetting them, and their peers.
#include <cstdlib>
#include <set>
#include <thread>

#include "anyplace/backend/abi.h"
#include "support.h"

namespace anyplace::conformance::devices_cases {
namespace {

using namespace std::chrono_literals;

// ---- Lazy

ANYPLACE_CASE("devices", "devices.lazy", "listing the backends loads none of them") {
  const std::vector<std::string> names = CALL(backend_names());
  CHECK(std::find(names.begin(), names.end(), run.backend()) != names.end());
  for (const PluginCandidate& candidate : CALL(plugin_candidates())) {
    CHECK(candidate.state == PluginCandidate::State::unopened || candidate.state == PluginCandidate::State::shadowed);
  }
}

ANYPLACE_CASE("devices", "devices.lazy", "every device that is counted exists, in order") {
  const int count = CALL(device_count(run.backend()));
  CHECK(count > 0);
  const std::vector<Device> all = CALL(devices(run.backend()));
  CHECK_EQUAL(all.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    CHECK_EQUAL(all[static_cast<std::size_t>(i)].index(), i);
    CHECK_EQUAL(all[static_cast<std::size_t>(i)], Device(Place(run.backend(), i)));
    static_cast<void>(CALL(all[static_cast<std::size_t>(i)].properties()));
  }
}

ANYPLACE_CASE("devices", "devices.lazy", "counting again gives the same number") {
  const int count = CALL(device_count(run.backend()));
  const Stream stream = CALL(Stream(run.device()));
  CHECK_EQUAL(CALL(device_count(run.backend())), count);
}

ANYPLACE_CASE("devices", "devices.lazy", "the backend says its name, version and ABI") {
  const BackendInfo info = CALL(backend_info(run.backend()));
  CHECK_EQUAL(info.name, run.backend());
  CHECK(!info.version.empty());
  CHECK(!info.description.empty());
  CHECK(!info.path.empty());
  CHECK_EQUAL(info.abi_major, ANYPLACE_ABI_MAJOR);
}

// ---- Properties

ANYPLACE_CASE("devices", "devices.properties", "a device has a name") {
  CHECK(!run.device().properties().name.empty());
}

ANYPLACE_CASE("devices", "devices.properties", "the texts of a device are printable") {
  const DeviceProperties properties = CALL(run.device().properties());
  for (const std::string& text : {properties.name, properties.vendor, properties.architecture,
                                  properties.driver_version, properties.uuid, properties.pci}) {
    for (const char c : text) CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

ANYPLACE_CASE("devices", "devices.properties", "a device prints as its backend and index") {
  const Device device = run.device();
  CHECK_EQUAL(device.to_string(), run.place());
  CHECK_EQUAL(device.place().to_string(), run.place());
  CHECK_EQUAL(device.to_string(), device.backend() + ":" + std::to_string(device.index()));
}

ANYPLACE_CASE("devices", "devices.properties", "the alignment of allocations is a power of two from 256 on") {
  const std::uint64_t alignment = run.device().properties().address_alignment;
  CHECK(alignment >= 256);
  CHECK((alignment & (alignment - 1)) == 0);
}

ANYPLACE_CASE("devices", "devices.properties", "the total memory is above 0 or unknown") {
  const auto total = run.device().properties().total_memory;
  CHECK(!total || *total > 0);
}

ANYPLACE_CASE("devices", "devices.properties", "the range of priorities holds 0 and the highest is the lowest number") {
  const PriorityRange range = CALL(run.device().priority_range());
  CHECK(range.greatest <= 0);
  CHECK(range.least >= 0);
}

ANYPLACE_CASE("devices", "devices.properties", "a device of several priorities says so by its capability") {
  const Device device = run.device();
  const PriorityRange range = device.priority_range();
  CHECK_EQUAL(range.greatest < range.least, device.has(Capability::priorities));
}

ANYPLACE_CASE("devices", "devices.properties", "properties agree with has and priority_range") {
  const Device device = run.device();
  const DeviceProperties properties = CALL(device.properties());
  std::set<Capability> claimed(properties.capabilities.begin(), properties.capabilities.end());
  for (const Capability capability : all_capabilities()) {
    CHECK_EQUAL(device.has(capability), claimed.count(capability) == 1);
  }
  CHECK_EQUAL(properties.priorities.least, device.priority_range().least);
  CHECK_EQUAL(properties.priorities.greatest, device.priority_range().greatest);
}

ANYPLACE_CASE("devices", "devices.properties", "a device that launches kernels has limits that allow one thread",
              Capability::modules) {
  const DeviceProperties properties = run.device().properties();
  for (int i = 0; i < 3; ++i) {
    CHECK(properties.max_grid[i] >= 1);
    CHECK(properties.max_block[i] >= 1);
  }
  CHECK(properties.max_threads_per_block >= 1);
  CHECK(properties.compute_units >= 1);
}

ANYPLACE_CASE("devices", "devices.properties", "a device that takes modules names a format of them",
              Capability::modules) {
  CHECK(!run.device().properties().image_formats.empty());
}

ANYPLACE_CASE("devices", "devices.properties", "properties are the same when they are read again") {
  const Device device = run.device();
  const DeviceProperties before = device.properties();
  const Stream stream = CALL(Stream(device));
  CALL(stream.synchronize());
  const DeviceProperties after = device.properties();
  CHECK_EQUAL(after.name, before.name);
  CHECK_EQUAL(after.uuid, before.uuid);
  CHECK_EQUAL(after.pci, before.pci);
  CHECK(after.capabilities == before.capabilities);
  CHECK(after.total_memory == before.total_memory);
}

ANYPLACE_CASE("devices", "devices.properties", "two devices have different uuids and pci addresses", second_device) {
  const DeviceProperties first = run.device().properties();
  const DeviceProperties second = run.second().properties();
  CHECK(first.uuid.empty() || first.uuid != second.uuid);
  CHECK(first.pci.empty() || first.pci != second.pci);
}

ANYPLACE_CASE("devices", "devices.properties", "devices are equal by backend and index, and their hashes too",
              second_device) {
  const Device first = run.device();
  const Device second = run.second();
  CHECK(first == Device(run.place()));
  CHECK(!(first == second));
  CHECK((first < second) == (first.index() < second.index()));
  CHECK(std::hash<Device>()(first) == std::hash<Device>()(Device(run.place())));
}

ANYPLACE_CASE("devices", "devices.properties", "each capability has a name of its own") {
  std::set<std::string> names;
  for (const Capability capability : all_capabilities()) names.insert(to_string(capability));
  CHECK_EQUAL(names.size(), all_capabilities().size());
}

// ---- Synchronize

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising an idle device returns") {
  const Device device = run.device();
  CALL(device.synchronize());
  CHECK(CALL(device.synchronize(0ns)));
  CHECK(CALL(device.synchronize(1h)));
}

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising a device waits for the work of every stream") {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 8 << 20;
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(CALL(Stream(device)));
    buffers.push_back(CALL(Buffer(streams.back(), bytes)));
  }
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      CALL(streams[i].memset8(buffers[i], static_cast<std::uint8_t>(16 * round + static_cast<int>(i))));
    }
  }
  CALL(device.synchronize());
  for (const Stream& stream : streams) CHECK(stream.query());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    CHECK_BYTES(read(buffers[i]), Bytes(bytes, static_cast<std::uint8_t>(112 + i)));
  }
}

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising a device waits for the default stream",
              Capability::host_functions) {
  const Device device = run.device();
  bool ran = false;
  CALL(device.default_stream().launch_host_func([&] { ran = true; }));
  CALL(device.synchronize());
  CHECK(ran);
}

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising a device doesn't return while a host function runs",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  gate.hold(stream);
  Signal returned;
  std::thread waiter([&] {
    device.synchronize();
    returned.set();
  });
  const auto look = [&] { CHECK_STAYS_FALSE(returned.is_set()); };
  try {
    look();
  } catch (...) {
    gate.open();
    waiter.join();
    throw;
  }
  gate.open();
  waiter.join();
  CHECK(stream.query());
}

ANYPLACE_CASE("devices", "devices.synchronize",
              "synchronising a device with a timeout says when time ran out, and the work goes on",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  Buffer buffer = filled(stream, 4096, 1);
  gate.hold(stream);
  CALL(stream.memset8(buffer, 2));
  CHECK(!CALL(device.synchronize(0ns)));
  CHECK(!CALL(device.synchronize(5ms)));
  gate.open();
  CHECK(CALL(device.synchronize(1h)));
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising a device doesn't wait for another device",
              Capability::host_functions, second_device) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Device second = run.second();
  CALL(second.synchronize());
  gate.hold(stream);
  CHECK(CALL(second.synchronize(1h)));
}

ANYPLACE_CASE("devices", "devices.synchronize", "synchronising a device leaves a stream's fault with the stream",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  CALL(stream.launch_host_func([] { throw std::runtime_error("on purpose"); }));
  CALL(device.synchronize());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("devices", "devices.synchronize", "several threads may synchronise a device at once",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  std::atomic<int> returned{0};
  gate.hold(stream);
  std::thread opener([&] { gate.open(); });
  run_threads(6, [&](int) {
    CALL(device.synchronize());
    CHECK(stream.query());
    ++returned;
  });
  opener.join();
  CHECK_EQUAL(returned.load(), 6);
}

// ---- Native

ANYPLACE_CASE("devices", "devices.native", "the device's native handle is the same each time",
              Capability::native_handles) {
  const Device device = run.device();
  CHECK_EQUAL(CALL(device.native_handle()), CALL(device.native_handle()));
}

ANYPLACE_CASE("devices", "devices.native", "the native context is the same each time", Capability::native_handles) {
  const Device device = run.device();
  const std::uint64_t context = CALL(device.native_context());
  const Stream stream = CALL(Stream(device));
  CHECK_EQUAL(CALL(device.native_context()), context);
}

ANYPLACE_CASE("devices", "devices.native", "two devices have different native handles", Capability::native_handles,
              second_device) {
  CHECK(CALL(run.device().native_handle()) != CALL(run.second().native_handle()));
}

struct VisibleDevices {
  const char* backend;
  const char* variable;
  const char* none;
};

/// The variables that hide a vendor's devices. cpu_sim has its own.
constexpr VisibleDevices visible_devices[] = {{"cuda", "CUDA_VISIBLE_DEVICES", "-1"},
                                              {"hip", "HIP_VISIBLE_DEVICES", "-1"},
                                              {"cpu_sim", "ANYPLACE_CPU_SIM_DEVICES", "0"}};

ANYPLACE_CASE("devices", "devices.native", "devices that the vendor's variable hides aren't there") {
  for (const VisibleDevices& one : visible_devices) {
    if (run.backend() != one.backend) continue;
    set_variable(one.variable, one.none);
    CHECK_ERROR(no_such_device, Device(Place(run.backend(), 0)));
    return;
  }
  skip("a variable that hides devices, known to this suite");
}

// ---- Peers

ANYPLACE_CASE("devices", "devices.peer", "whether a device reaches its peer can be asked", Capability::peer_access,
              second_device) {
  const Device first = run.device();
  const Device second = run.second();
  CHECK_EQUAL(CALL(first.can_access_peer(second)), first.can_access_peer(second));
}

ANYPLACE_CASE("devices", "devices.peer", "enabling peer access twice is fine", Capability::peer_access, second_device) {
  const Device first = run.device();
  const Device second = run.second();
  if (!CALL(first.can_access_peer(second))) skip("a peer that the device reaches");
  CALL(first.enable_peer_access(second));
  CALL(first.enable_peer_access(second));
}

ANYPLACE_CASE("devices", "devices.peer", "disabling peer access that isn't enabled is fine", Capability::peer_access,
              second_device) {
  const Device first = run.device();
  const Device second = run.second();
  if (!CALL(first.can_access_peer(second))) skip("a peer that the device reaches");
  CALL(first.disable_peer_access(second));
  CALL(first.enable_peer_access(second));
  CALL(first.disable_peer_access(second));
  CALL(first.disable_peer_access(second));
}

ANYPLACE_CASE("devices", "devices.peer", "copies between peers are right before, while and after access is enabled",
              Capability::peer_access, second_device) {
  const Device first = run.device();
  const Device second = run.second();
  const Stream stream = CALL(Stream(first));
  const Stream far_stream = CALL(Stream(second));
  const bool reaches = CALL(first.can_access_peer(second));
  for (int round = 0; round < 3; ++round) {
    const Bytes contents = pattern(100003, static_cast<std::uint64_t>(round) + 1);
    const Buffer near = upload(stream, contents);
    const Buffer far = filled(far_stream, contents.size(), 0);
    far.record_stream(stream);
    CALL(stream.copy(far, near));
    CALL(stream.synchronize());
    CHECK_BYTES(read(far), contents);
    if (round == 0 && reaches) CALL(first.enable_peer_access(second));
    if (round == 1 && reaches) CALL(first.disable_peer_access(second));
  }
}

ANYPLACE_CASE("devices", "devices.peer", "a device of another backend is no peer", Capability::peer_access,
              other_backend) {
  const Device first = run.device();
  const Device other = run.other();
  CHECK_ERROR(invalid_argument, first.can_access_peer(other));
  CHECK_ERROR(invalid_argument, first.enable_peer_access(other));
  CHECK_ERROR(invalid_argument, first.disable_peer_access(other));
}

}  // namespace
}  // namespace anyplace::conformance::devices_cases
