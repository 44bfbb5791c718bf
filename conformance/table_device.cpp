// SPDX-License-Identifier: Apache-2.0
#include "table_device.h"

namespace anyplace::conformance {
namespace {

#define TABLE_CALL(entry, ...)                                                                   \
  do {                                                                                           \
    step(caller.file, caller.line, #entry);                                                      \
    TableBackend::require(backend_.table().entry(backend_.self(), __VA_ARGS__), #entry, caller); \
  } while (false)

}  // namespace

TableDevice::TableDevice(const Run& run, Caller caller) : backend_(run, caller), device_(backend_.device()) {
  TABLE_CALL(virtual_granularity, device_, &granule_);
  if (granule_ == 0) check_failed(caller.file, caller.line, "virtual_granularity gives 0");
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

void TableDevice::require_map_all() const {
  if (backend_.table().virtual_map_all == nullptr) skip("virtual_map_all");
}

void TableDevice::map_all(anyplace_address address, const std::vector<anyplace_physical>& physicals, Caller caller) {
  TABLE_CALL(virtual_map_all, device_, address, physicals.data(), physicals.size());
}

anyplace_status TableDevice::try_reserve(std::uint64_t bytes, anyplace_address* out, Caller caller) {
  step(caller.file, caller.line, "virtual_reserve");
  return backend_.table().virtual_reserve(backend_.self(), device_, bytes, out);
}

anyplace_status TableDevice::try_create(std::uint64_t bytes, anyplace_physical* out, Caller caller) {
  step(caller.file, caller.line, "physical_create");
  return backend_.table().physical_create(backend_.self(), device_, bytes, out);
}

anyplace_stream TableDevice::begin(std::int32_t device, Caller caller) { return backend_.stream_of(device, caller); }

void TableDevice::finish(anyplace_stream stream, Caller caller) {
  TABLE_CALL(stream_synchronize, stream, ANYPLACE_FOREVER);
  TABLE_CALL(stream_destroy, stream);
  if (!TableBackend::faults().empty()) check_failed(caller.file, caller.line, "work on mapped memory failed");
}

void TableDevice::fill(anyplace_address address, std::uint8_t value, std::uint64_t bytes, Caller caller) {
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_set, stream, address, value, 1, bytes);
  finish(stream, caller);
}

void TableDevice::write(anyplace_address address, const Bytes& contents, Caller caller) {
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_copy, stream, address, number_of(contents.data()), contents.size(), ANYPLACE_COPY_HOST_TO_DEVICE);
  finish(stream, caller);
}

Bytes TableDevice::read(anyplace_address address, std::uint64_t bytes, Caller caller) {
  Bytes contents(static_cast<std::size_t>(bytes), 0xee);
  const anyplace_stream stream = begin(device_, caller);
  TABLE_CALL(memory_copy, stream, number_of(contents.data()), address, bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
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
  TABLE_CALL(memory_copy, stream, number_of(contents.data()), address, bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
  finish(stream, caller);
  return contents;
}

void TableDevice::enable_second(Caller caller) {
  std::int32_t can = 0;
  TABLE_CALL(peer_query, second(), device_, &can);
  if (can == 0) skip("a second device that reaches the first");
  TABLE_CALL(peer_enable, second(), device_);
}

std::uint64_t TableDevice::total_memory(Caller caller) { return backend_.properties(device_, caller).total_memory; }

anyplace_memory_info TableDevice::memory(Caller caller) { return backend_.memory(device_, caller); }

}  // namespace anyplace::conformance
