// SPDX-License-Identifier: Apache-2.0
#include "table_device.h"

#include <dlfcn.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace anyplace::conformance {
namespace {

// ---- The core's side, as little of it as these cases need ----------------------------------------------------------

thread_local std::string message;
std::atomic<bool> faulted{false};

void leave_message(void*, std::int64_t code, const char* name, const char* text) {
  message = text == nullptr ? "" : text;
  if (name != nullptr) message += std::string(" (") + name + ")";
  if (code != 0) message += " (" + std::to_string(code) + ")";
}

void stream_fault(void*, std::uint64_t, anyplace_status, std::int64_t, const char*, const char*) { faulted = true; }

void do_nothing(void*) {}

void log(void*, std::uint32_t, const char*) {}

const anyplace_host& host() {
  static const anyplace_host made = [] {
    anyplace_host filled{};
    filled.struct_size = sizeof(filled);
    filled.abi_major = ANYPLACE_ABI_MAJOR;
    filled.abi_minor = ANYPLACE_ABI_MINOR;
    filled.leave_message = leave_message;
    filled.stream_fault = stream_fault;
    filled.user_code_begin = do_nothing;
    filled.user_code_end = do_nothing;
    filled.log = log;
    return filled;
  }();
  return made;
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

void require(anyplace_status status, const char* entry, Caller caller) {
  const std::string said = std::exchange(message, std::string());
  if (status == ANYPLACE_STATUS_OK) return;
  check_failed(caller.file, caller.line,
               std::string(entry) + " returns " + to_string(static_cast<ErrorCode>(status)) + ": " + said);
}

#define TABLE_CALL(entry, ...)                                       \
  do {                                                               \
    step(caller.file, caller.line, #entry);                          \
    require(table_.entry(table_.self, __VA_ARGS__), #entry, caller); \
  } while (false)

std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// A backend's instance has no end but the process's, and whoever holds it can say so to a leak checker.
void keep(void* instance) {
  static std::vector<void*>* const kept = new std::vector<void*>;
  kept->push_back(instance);
}

}  // namespace

TableDevice::TableDevice(const Run& run, Caller caller) : device_(Place(run.place()).index().value()) {
  step(caller.file, caller.line, "anyplace_backend_entry");
  void* const library = dlopen(run.plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) check_failed(caller.file, caller.line, dlerror());
  void* const entry = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (entry == nullptr) check_failed(caller.file, caller.line, dlerror());
  table_.struct_size = sizeof(table_);
  require(reinterpret_cast<anyplace_backend_entry_function>(entry)(&host(), &table_), "anyplace_backend_entry", caller);
  keep(table_.self);
  TABLE_CALL(virtual_granularity, device_, &granule_);
  if (granule_ == 0) check_failed(caller.file, caller.line, "virtual_granularity gives 0");
}

TableDevice::~TableDevice() {
  if (table_.shutdown != nullptr) table_.shutdown(table_.self, std::uint64_t{5} * 1000 * 1000 * 1000);
}

anyplace_address TableDevice::reserve(std::uint64_t granules, Caller caller) {
  anyplace_address address = 0;
  TABLE_CALL(virtual_reserve, device_, granules * granule_, &address);
  if (address == 0 || address % granule_ != 0) {
    check_failed(caller.file, caller.line,
                 "virtual_reserve gives address " + std::to_string(address) + ", no multiple of the granularity");
  }
  return address;
}

void TableDevice::release(anyplace_address address, std::uint64_t granules, Caller caller) {
  TABLE_CALL(virtual_release, device_, address, granules * granule_);
}

anyplace_physical TableDevice::create(std::uint64_t granules, Caller caller) {
  anyplace_physical physical = 0;
  TABLE_CALL(physical_create, device_, granules * granule_, &physical);
  if (physical == 0) check_failed(caller.file, caller.line, "physical_create gives the null handle");
  return physical;
}

void TableDevice::destroy(anyplace_physical physical, Caller caller) { TABLE_CALL(physical_destroy, physical); }

void TableDevice::map(anyplace_address address, anyplace_physical physical, Caller caller) {
  TABLE_CALL(virtual_map, device_, address, physical);
}

void TableDevice::unmap(anyplace_address address, std::uint64_t granules, Caller caller) {
  TABLE_CALL(virtual_unmap, device_, address, granules * granule_);
}

anyplace_status TableDevice::try_reserve(std::uint64_t bytes, anyplace_address* out, Caller caller) {
  step(caller.file, caller.line, "virtual_reserve");
  return table_.virtual_reserve(table_.self, device_, bytes, out);
}

anyplace_status TableDevice::try_create(std::uint64_t bytes, anyplace_physical* out, Caller caller) {
  step(caller.file, caller.line, "physical_create");
  return table_.physical_create(table_.self, device_, bytes, out);
}

anyplace_stream TableDevice::begin(std::int32_t device, Caller caller) {
  static std::atomic<std::uint64_t> cookies{0};
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.cookie = ++cookies;
  anyplace_stream stream = 0;
  TABLE_CALL(stream_create, device, &desc, &stream);
  return stream;
}

void TableDevice::finish(anyplace_stream stream, Caller caller) {
  TABLE_CALL(stream_synchronize, stream, ANYPLACE_FOREVER);
  TABLE_CALL(stream_destroy, stream);
  if (faulted) check_failed(caller.file, caller.line, "work on mapped memory failed");
}

void TableDevice::fill(anyplace_address address, std::uint8_t value, std::uint64_t bytes, Caller caller) {
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_set, stream, address, value, 1, bytes);
  finish(stream, caller);
}

void TableDevice::write(anyplace_address address, const Bytes& contents, Caller caller) {
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_copy, stream, address, number(contents.data()), contents.size(), ANYPLACE_COPY_HOST_TO_DEVICE);
  finish(stream, caller);
}

Bytes TableDevice::read(anyplace_address address, std::uint64_t bytes, Caller caller) {
  Bytes contents(static_cast<std::size_t>(bytes), 0xee);
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_copy, stream, number(contents.data()), address, bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
  finish(stream, caller);
  return contents;
}

void TableDevice::copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes, Caller caller) {
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_copy, stream, destination, source, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  finish(stream, caller);
}

Bytes TableDevice::read_from_second(anyplace_address address, std::uint64_t bytes, Caller caller) {
  Bytes contents(static_cast<std::size_t>(bytes), 0xee);
  const anyplace_stream stream = begin(second(), caller);
  TABLE_CALL(memory_copy, stream, number(contents.data()), address, bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
  finish(stream, caller);
  return contents;
}

void TableDevice::enable_second(Caller caller) {
  std::int32_t can = 0;
  TABLE_CALL(peer_query, second(), device_, &can);
  if (can == 0) skip("a second device that reaches the first");
  TABLE_CALL(peer_enable, second(), device_);
}

std::uint64_t TableDevice::total_memory(Caller caller) {
  anyplace_device_properties properties{};
  properties.struct_size = sizeof(properties);
  TABLE_CALL(device_properties, device_, &properties);
  return properties.total_memory;
}

anyplace_memory_info TableDevice::memory(Caller caller) {
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  TABLE_CALL(device_memory, device_, &info);
  return info;
}

}  // namespace anyplace::conformance
