// SPDX-License-Identifier: Apache-2.0
// Whose an address is, where wrapped memory lies in wrapped memory.
#include <anyplace/address.h>

#include "memory/memory_support.h"

namespace addresses_test {

using namespace anyplace;
using namespace memory_test;

namespace {

void check_found(std::uint64_t address, std::uint64_t begin, std::uint64_t bytes) {
  const PointerAttributes found = pointer_attributes(address);
  CHECK(to_string(found.kind) == std::string_view("device"));
  CHECK(found.allocation == begin);
  CHECK(found.size_bytes == bytes);
  CHECK(found.offset == address - begin);
}

void check_unknown(std::uint64_t address) {
  CHECK(to_string(pointer_attributes(address).kind) == std::string_view("unknown"));
}

}  // namespace

// ---- Wrapped memory ------------------------------------------------------------------------------------------------

TEST_CASE("Given memory that is wrapped whole and in parts when the whole is named then no part's end refuses it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Bytes memory(4096);  // the simulator's device memory is the host's
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  Buffer whole = Buffer::from_native(device, begin, 4096);
  const Buffer first = Buffer::from_native(device, begin, 100);
  const Buffer middle = Buffer::from_native(device, begin + 1000, 100);
  const Buffer last = Buffer::from_native(device, begin + 2000, 2096);
  const Bytes contents = pattern(4097);
  for (const std::uint64_t offset : {0, 1, 99, 100, 1000, 1099, 1100, 2000, 4095}) {
    check_found(begin + offset, begin, 4096);
    stream.copy(Address(begin + offset), Address(contents.data()), 4096 - offset);
    stream.synchronize();
    CHECK(Bytes(memory.begin() + static_cast<std::ptrdiff_t>(offset), memory.end()) ==
          Bytes(contents.begin(), contents.end() - 1 - static_cast<std::ptrdiff_t>(offset)));
    refused(ErrorCode::invalid_argument,
            [&] { stream.copy(Address(begin + offset), Address(contents.data()), 4097 - offset); });
  }
  whole = Buffer();
  check_found(begin + 50, begin, 100);
  check_found(begin + 1050, begin + 1000, 100);
  check_found(begin + 4095, begin + 2000, 2096);
  check_unknown(begin + 100);
  refused(ErrorCode::invalid_argument, [&] { stream.copy(Address(begin), Address(contents.data()), 101); });
}

TEST_CASE("Given wrapped ranges that overlap when an address in both is looked up then the farther end bounds it") {
  const Device device("cpu_sim:0");
  Bytes memory(4096);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const Buffer one = Buffer::from_native(device, begin, 3000);
  const Buffer other = Buffer::from_native(device, begin + 1000, 3000);
  check_found(begin + 999, begin, 3000);
  check_found(begin + 1000, begin + 1000, 3000);
  check_found(begin + 3500, begin + 1000, 3000);
  check_unknown(begin + 4000);
}

}  // namespace addresses_test
