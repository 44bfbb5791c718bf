// SPDX-License-Identifier: Apache-2.0
//
// The plugin boundary over time: the pinned layout is complete, and today's host and plugins work with those of the
// next minor version, made up in next_abi.h. The layout itself is checked by the compiler (golden_c.c, golden_cpp.cpp);
// a host without the core is today_host.c.
#include <dlfcn.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "golden.h"
#include "next_abi.h"

namespace abi_test {

namespace {

struct Field {
  std::string name;
  std::size_t offset;
  std::size_t bytes;
};

std::map<std::string, std::vector<Field>> golden_fields() {
  std::map<std::string, std::vector<Field>> fields;
#define ADD_FIELD(type, field, offset, bytes) fields[#type].push_back({#field, offset, bytes});
  ANYPLACE_GOLDEN_FIELDS(ADD_FIELD)
#undef ADD_FIELD
#define ADD_ENTRY(entry, presence, capabilities) \
  fields["anyplace_backend_table"].push_back({#entry, ANYPLACE_GOLDEN_ENTRY_OFFSET(ANYPLACE_ENTRY_INDEX_##entry), 8});
  ANYPLACE_ENTRY_LIST(ADD_ENTRY)
#undef ADD_ENTRY
  return fields;
}

std::map<std::string, std::size_t> sizes_today() {
  std::map<std::string, std::size_t> sizes;
#define ADD_SIZE(type, bytes) sizes[#type] = sizeof(type);
  ANYPLACE_GOLDEN_STRUCTS(ADD_SIZE)
#undef ADD_SIZE
  return sizes;
}

std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

/// Memory for one T as the host has it, with bytes behind it that must stay as they are.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t room = sizeof(T)) : room_(room), bytes_(room + guard_bytes, std::byte{0xA5}) {
    REQUIRE(room >= sizeof(std::uint32_t));
    std::memset(bytes_.data(), 0, room);
    const auto size = static_cast<std::uint32_t>(room);
    std::memcpy(bytes_.data(), &size, sizeof(size));
  }
  T* get() { return reinterpret_cast<T*>(bytes_.data()); }
  bool intact() const {
    for (std::size_t i = room_; i < bytes_.size(); ++i) {
      if (bytes_[i] != std::byte{0xA5}) return false;
    }
    return true;
  }
  /// Whether all bytes from `offset` to the end of the room are still 0.
  bool untouched_from(std::size_t offset) const {
    for (std::size_t i = offset; i < room_; ++i) {
      if (bytes_[i] != std::byte{0}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard_bytes = 512;
  std::size_t room_;
  std::vector<std::byte> bytes_;
};

anyplace_host silent_host() {
  anyplace_host host{};
  host.struct_size = sizeof(host);
  host.abi_major = ANYPLACE_ABI_MAJOR;
  host.abi_minor = ANYPLACE_ABI_MINOR;
  host.leave_message = [](void*, std::int64_t, const char*, const char*) {};
  host.stream_fault = [](void*, std::uint64_t, anyplace_status, std::int64_t, const char*, const char*) {};
  host.user_code_begin = [](void*) {};
  host.user_code_end = [](void*) {};
  host.log = [](void*, std::uint32_t, const char*) {};
  host.host_access = [](void*, std::uint32_t, anyplace_address, std::uint64_t) {};
  return host;
}

anyplace_backend_entry_function entry_of(const std::string& name) {
  const std::string path = std::string(ABI_PLUGINS) + "/libanyplace_backend_" + name + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO(path);
  REQUIRE(library != nullptr);
  void* symbol = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  REQUIRE(symbol != nullptr);
  return reinterpret_cast<anyplace_backend_entry_function>(symbol);
}

/// Has the plugin fill the table. What it made lives as long as the process, and is held on to here so that a leak
/// checker sees it too.
anyplace_status enter(const std::string& name, const anyplace_host& host, anyplace_backend_table* table) {
  static std::array<void*, 16> instances;
  static std::size_t count = 0;
  const anyplace_status status = entry_of(name)(&host, table);
  REQUIRE(count < instances.size());
  instances[count++] = table->self;
  return status;
}

/// What any device can do, through the public API.
void fill_and_read_back(const std::string& place) {
  const anyplace::Device device(place);
  anyplace::Stream first(device), second(device);
  anyplace::Buffer buffer(first, 1000), copy(second, 1000);
  first.memset8(buffer, 7);
  const anyplace::Event filled = first.record_event();
  second.wait_event(filled);
  second.copy(copy, buffer);
  std::vector<std::uint8_t> host(1000);
  second.copy(host, copy);
  second.synchronize();
  CHECK(host == std::vector<std::uint8_t>(1000, 7));
  CHECK(filled.query());
}

}  // namespace

TEST_CASE("The pinned layout names every field of every struct") {
  const auto fields = golden_fields();
  const auto sizes = sizes_today();
  REQUIRE(fields.size() == sizes.size());
  for (const auto& [type, list] : fields) {
    std::size_t end = 0;
    for (const Field& field : list) {
      INFO(type << "." << field.name);
      // Nothing can hide between two fields but padding, and no field is aligned to more than 8.
      CHECK(field.offset >= end);
      CHECK(field.offset <= rounded_up(end, 8));
      end = field.offset + field.bytes;
    }
    INFO(type << " ends at " << end);
    CHECK(rounded_up(end, 8) >= sizes.at(type));
  }
}

TEST_CASE("Every struct that a side fills for the other begins with its size") {
  for (const auto& [type, list] : golden_fields()) {
    INFO(type);
    if (type == "anyplace_argument" || type == "anyplace_process" || type == "anyplace_graph_node")
      continue;  // elements of arrays with a stride
    CHECK(list.front().name == "struct_size");
    CHECK(list.front().offset == 0);
    CHECK(list.front().bytes == 4);
  }
}

TEST_CASE("The pinned numbers are the whole list of statuses and capabilities and image formats") {
  int statuses = 0, capabilities = 0, images = 0, pinned_statuses = 0, pinned_capabilities = 0, pinned_images = 0;
#define COUNT_STATUS(upper, lower, number, text) ++statuses;
#define COUNT_CAPABILITY(upper, lower, number, text) ++capabilities;
#define COUNT_IMAGE(upper, lower, number, text) ++images;
  ANYPLACE_STATUS_LIST(COUNT_STATUS)
  ANYPLACE_CAPABILITY_LIST(COUNT_CAPABILITY)
  ANYPLACE_IMAGE_LIST(COUNT_IMAGE)
#define COUNT_PINNED(name, number)                                                     \
  pinned_statuses += std::string(#name).rfind("ANYPLACE_STATUS_", 0) == 0;             \
  pinned_capabilities += std::string(#name).rfind("ANYPLACE_CAPABILITY_BIT_", 0) == 0; \
  pinned_images += std::string(#name).rfind("ANYPLACE_IMAGE_", 0) == 0;
  ANYPLACE_GOLDEN_NUMBERS(COUNT_PINNED)
  CHECK(pinned_statuses == statuses);
  CHECK(pinned_capabilities == capabilities);
  CHECK(pinned_images == images);
}

TEST_CASE("A plugin written in C works in today's host") { fill_and_read_back("abi_today_c:0"); }

TEST_CASE("A plugin derived from DeviceBackend works in today's host") { fill_and_read_back("abi_today_cpp:0"); }

TEST_CASE("A plugin of the next minor version works in today's host") {
  fill_and_read_back("abi_next:0");
  const anyplace::BackendInfo info = anyplace::backend_info("abi_next");
  CHECK(info.abi_major == ANYPLACE_ABI_MAJOR);
  CHECK(info.abi_minor == NEXT_ABI_MINOR);
  const anyplace::Device device("abi_next:0");
  CHECK(device.properties().name == "tiny");
  CHECK(device.memory_info().total == std::uint64_t{64} << 20);
  CHECK_FALSE(device.memory_info().free.has_value());
}

TEST_CASE("What a plugin lacks is unsupported and what it says of it arrives") {
  for (const char* place : {"abi_today_c:0", "abi_today_cpp:0"}) {
    INFO(place);
    const anyplace::Device device(place);
    const anyplace::Stream stream(device);
    try {
      stream.launch_host_func([] {});
      FAIL("there are no host functions");
    } catch (const anyplace::Error& error) {
      CHECK(error.code() == anyplace::ErrorCode::unsupported);
      CHECK(error.place() == place);
    }
    try {
      // Less than the device has, so that it is the plugin that refuses it.
      const anyplace::Buffer buffer(stream, std::uint64_t{48} << 20);
      FAIL("there is no such memory");
    } catch (const anyplace::Error& error) {
      CHECK(error.code() == anyplace::ErrorCode::out_of_memory);
      CHECK(error.vendor_code() == 8);
      CHECK(error.vendor_name() == "TINY_FULL");
    }
  }
}

TEST_CASE("A plugin of today's writes no further than it knows into structs of the next version's host") {
  const anyplace_host host = silent_host();
  for (const char* name : {"abi_today_c", "abi_today_cpp"}) {
    INFO(name);
    Guarded<anyplace_backend_table> table(sizeof(next_backend_table));
    REQUIRE(enter(name, host, table.get()) == ANYPLACE_STATUS_OK);
    CHECK(table.intact());
    CHECK(table.get()->struct_size == sizeof(anyplace_backend_table));
    CHECK(table.untouched_from(sizeof(anyplace_backend_table)));
    CHECK(table.get()->abi_minor == ANYPLACE_ABI_MINOR);

    Guarded<anyplace_device_properties> properties(sizeof(next_device_properties));
    REQUIRE(table.get()->device_properties(table.get()->self, 0, properties.get()) == ANYPLACE_STATUS_OK);
    CHECK(properties.intact());
    CHECK(properties.get()->struct_size == sizeof(anyplace_device_properties));
    CHECK(properties.untouched_from(sizeof(anyplace_device_properties)));
  }
}

TEST_CASE("A plugin of the next minor version gives a host that knows it everything") {
  const anyplace_host host = silent_host();
  Guarded<next_backend_table> table;
  REQUIRE(enter("abi_next", host, &table.get()->today) == ANYPLACE_STATUS_OK);
  CHECK(table.intact());
  CHECK(table.get()->today.struct_size == sizeof(next_backend_table));
  REQUIRE(table.get()->graph_create != nullptr);
  std::uint64_t graph = 0;
  CHECK(table.get()->graph_create(table.get()->today.self, 0, &graph) == ANYPLACE_STATUS_OK);
  CHECK(graph == 1);
}

TEST_CASE("Every plugin keeps within a table and structs that are shorter than its own") {
  const anyplace_host host = silent_host();
  constexpr std::size_t shorter = offsetof(anyplace_backend_table, kernel_from_host);
  for (const char* name : {"abi_today_c", "abi_today_cpp", "abi_next"}) {
    INFO(name);
    Guarded<anyplace_backend_table> table(shorter);
    REQUIRE(enter(name, host, table.get()) == ANYPLACE_STATUS_OK);
    CHECK(table.intact());
    CHECK(table.get()->struct_size == shorter);
    constexpr std::size_t shorter_properties = offsetof(anyplace_device_properties, pci);
    Guarded<anyplace_device_properties> properties(shorter_properties);
    REQUIRE(table.get()->device_properties(table.get()->self, 0, properties.get()) == ANYPLACE_STATUS_OK);
    CHECK(properties.intact());
    CHECK(properties.get()->struct_size == shorter_properties);
  }
}

}  // namespace abi_test
