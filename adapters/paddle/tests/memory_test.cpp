// SPDX-License-Identifier: Apache-2.0
// Allocation, copies of all kinds and fills, through the table alone.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "entries.h"

using namespace entries_test;

namespace {

constexpr std::size_t count = 1 << 20;  // numbers: 4 MiB, more than what a copy in is staged up to
constexpr std::size_t bytes = count * sizeof(std::uint32_t);

/// Every pair of devices there is.
template <class Body>
void for_each_pair(Body&& body) {
  for (int to = 0; to < device_count(); ++to)
    for (int from = 0; from < device_count(); ++from) body(to, from);
}

std::vector<std::uint32_t> read_back(int id, const void* source, std::size_t number = count) {
  std::vector<std::uint32_t> result(number);
  Device device(id);
  REQUIRE(plugin().table.memory_copy_d2h(device, result.data(), source, number * sizeof(std::uint32_t)) == C_SUCCESS);
  return result;
}

void write_in(int id, void* destination, const std::vector<std::uint32_t>& values) {
  Device device(id);
  REQUIRE(plugin().table.memory_copy_h2d(device, destination, values.data(), values.size() * sizeof(std::uint32_t)) ==
          C_SUCCESS);
}

std::size_t free_bytes() {
  Device device(0);
  std::size_t total = 0, free = 0;
  REQUIRE(plugin().table.device_memory_stats(device, &total, &free) == C_SUCCESS);
  return free;
}

/// Holds a stream back until release().
class Gate {
 public:
  Gate(int id, C_Stream stream) {
    REQUIRE(add_callback(id, stream, [this] {
              while (!open_.load()) open_.wait(false);
            }) == C_SUCCESS);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { release(); }
  void release() {
    open_.store(true);
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace

CASE("Given each device, When numbers are copied in, across and out without a stream, Then they are the same") {
  for (int id = 0; id < device_count(); ++id) {
    Device device(id);
    const Memory near(id, bytes), far(id, bytes);
    const auto sent = numbers(count, static_cast<std::uint32_t>(id) + 7);
    write_in(id, near.data(), sent);
    REQUIRE(plugin().table.memory_copy_d2d(device, far.data(), near.data(), bytes) == C_SUCCESS);
    REQUIRE(read_back(id, far.data()) == sent);
  }
}

CASE(
    "Given each pair of devices, of one backend or two, When memory is copied from one to the other, Then it arrives") {
  for_each_pair([](int to, int from) {
    Device destination(to), source(from);
    const Memory there(to, bytes), here(from, bytes);
    const auto sent = numbers(count, static_cast<std::uint32_t>(to * 10 + from));
    write_in(from, here.data(), sent);
    REQUIRE(plugin().table.memory_copy_p2p(destination, source, there.data(), here.data(), bytes) == C_SUCCESS);
    REQUIRE(read_back(to, there.data()) == sent);
  });
}

CASE("Given a stream of either device, When memory is copied between the two in its order, Then it arrives") {
  for_each_pair([](int to, int from) {
    for (const int owner : {to, from}) {
      Device destination(to), source(from);
      const Memory there(to, bytes), here(from, bytes);
      Stream stream(owner);
      const auto sent = numbers(count, static_cast<std::uint32_t>(to * 10 + from + 3));
      write_in(from, here.data(), sent);
      REQUIRE(plugin().table.async_memory_copy_p2p(destination, source, stream.get(), there.data(), here.data(),
                                                   bytes) == C_SUCCESS);
      stream.synchronize();
      REQUIRE(read_back(to, there.data()) == sent);
    }
  });
}

CASE(
    "Given work of the source's device that makes what is copied, When Paddle copies it to another, Then it waits for "
    "it") {
  for_each_pair([](int to, int from) {
    if (to == from) return;
    Device destination(to), source(from);
    const Memory there(to, bytes), here(from, bytes), first(from, bytes), last(from, bytes);
    Stream copying(to), making(from);
    const auto wrong = numbers(count, 99), sent = numbers(count);
    write_in(from, first.data(), wrong);
    write_in(from, last.data(), sent);
    const auto make = [&](const Memory& what) {
      REQUIRE(plugin().table.async_memory_copy_d2d(source, making.get(), here.data(), what.data(), bytes) == C_SUCCESS);
    };
    for (int i = 0; i < 64; ++i) make(first);
    make(last);
    REQUIRE(plugin().table.async_memory_copy_p2p(destination, source, copying.get(), there.data(), here.data(),
                                                 bytes) == C_SUCCESS);
    make(first);  // what the source's device does next may overwrite it
    copying.synchronize();
    REQUIRE(read_back(to, there.data()) == sent);
  });
}

CASE("Given host memory that isn't pinned, When it is overwritten right after a copy in, Then what was there arrives") {
  for (const std::size_t number : {std::size_t{1}, std::size_t{1000}, std::size_t{1 << 18}, count}) {
    Device device(0);
    const Memory memory(0, bytes);
    Stream stream(0);
    const auto sent = numbers(number);
    auto scratch = sent;
    const std::size_t size = number * sizeof(std::uint32_t);
    REQUIRE(plugin().table.async_memory_copy_h2d(device, stream.get(), memory.data(), scratch.data(), size) ==
            C_SUCCESS);
    std::fill(scratch.begin(), scratch.end(), 0u);
    REQUIRE(plugin().table.async_memory_copy_d2h(device, stream.get(), scratch.data(), memory.data(), size) ==
            C_SUCCESS);
    REQUIRE(scratch == sent);  // without waiting: what is copied out is there
  }
}

CASE("Given pinned memory, When it is copied in and out behind a callback, Then the call doesn't wait for it") {
  Device device(0);
  void* pinned = nullptr;
  REQUIRE(plugin().table.host_memory_allocate(device, &pinned, bytes) == C_SUCCESS);
  REQUIRE(pinned != nullptr);
  auto* const values = static_cast<std::uint32_t*>(pinned);
  {
    const Memory memory(0, bytes);
    Stream stream(0);
    Gate gate(0, stream.get());
    std::fill_n(values, count, 11u);
    REQUIRE(plugin().table.async_memory_copy_h2d(device, stream.get(), memory.data(), pinned, bytes) == C_SUCCESS);
    std::fill_n(values, count, 22u);  // pinned memory is read when its turn comes
    REQUIRE(plugin().table.query_stream(device, stream.get()) == C_FAILED);
    gate.release();
    stream.synchronize();
    REQUIRE(plugin().table.query_stream(device, stream.get()) == C_SUCCESS);
    REQUIRE(read_back(0, memory.data()) == std::vector<std::uint32_t>(count, 22u));
    REQUIRE(plugin().table.async_memory_copy_d2h(device, stream.get(), values, memory.data(), 4) == C_SUCCESS);
    stream.synchronize();
  }
  REQUIRE(plugin().table.host_memory_deallocate(device, pinned, bytes) == C_SUCCESS);
}

CASE("Given memory, When it is set to a byte, Then each byte of the range has it, and no other") {
  Device device(0);
  const Memory memory(0, 64);
  REQUIRE(plugin().table.device_memory_set(device, memory.data(), 0, 64) == C_SUCCESS);
  REQUIRE(plugin().table.device_memory_set(device, static_cast<std::byte*>(memory.data()) + 4, 0xab, 8) == C_SUCCESS);
  const auto found = read_back(0, memory.data(), 16);
  REQUIRE(found[0] == 0 && found[1] == 0xababababu && found[2] == 0xababababu && found[3] == 0);
}

CASE("Given copies of no bytes, When they are made with null addresses, Then they succeed") {
  Device device(0);
  Stream stream(0);
  auto& table = plugin().table;
  REQUIRE(table.memory_copy_h2d(device, nullptr, nullptr, 0) == C_SUCCESS);
  REQUIRE(table.async_memory_copy_d2h(device, stream.get(), nullptr, nullptr, 0) == C_SUCCESS);
  REQUIRE(table.async_memory_copy_d2d(device, stream.get(), nullptr, nullptr, 0) == C_SUCCESS);
  REQUIRE(table.device_memory_set(device, nullptr, 1, 0) == C_SUCCESS);
}

CASE("Given unified memory, When the host writes it and the device copies it, Then both see the same") {
  Device device(0);
  void* unified = nullptr;
  const C_Status status = plugin().table.unified_memory_allocate(device, &unified, 4096);
  if (status != C_SUCCESS) {  // a backend may lack it; then the reason is there
    REQUIRE(plugin().error().find("unsupported") != std::string::npos);
    REQUIRE(unified == nullptr);
    return;
  }
  std::memset(unified, 0x5c, 4096);
  const Memory memory(0, 4096);
  REQUIRE(plugin().table.memory_copy_d2d(device, memory.data(), unified, 4096) == C_SUCCESS);
  REQUIRE(read_back(0, memory.data(), 1024) == std::vector<std::uint32_t>(1024, 0x5c5c5c5cu));
  REQUIRE(plugin().table.unified_memory_deallocate(device, unified, 4096) == C_SUCCESS);
}

CASE(
    "Given more than there is, When it is allocated, Then the address is null, as Paddle takes a shortage, with "
    "figures") {
  Device device(0);
  std::size_t total = 0, free = 0;
  REQUIRE(plugin().table.device_memory_stats(device, &total, &free) == C_SUCCESS);
  REQUIRE(total > 0 && free <= total);
  void* address = &address;
  REQUIRE(plugin().table.device_memory_allocate(device, &address, total * 2) == C_SUCCESS);
  REQUIRE(address == nullptr);
  const std::string error = plugin().error();
  REQUIRE(error.find("out_of_memory") != std::string::npos);
  REQUIRE(error.find("requested " + std::to_string(total * 2)) != std::string::npos);
}

CASE("Given memory that work still uses, When it is given back, Then it can all be had again") {
  const std::size_t before = free_bytes();
  {
    Stream stream(0);
    Device device(0);
    const Memory source(0, bytes);
    for (int i = 0; i < 20; ++i) {
      const Memory memory(0, bytes);
      REQUIRE(plugin().table.async_memory_copy_d2d(device, stream.get(), memory.data(), source.data(), bytes) ==
              C_SUCCESS);
    }
  }
  const Memory all(0, before);
}

CASE("Given a callback, When it gives memory back, Then the memory goes with the next call outside") {
  const std::size_t before = free_bytes();
  Device device(0);
  Stream stream(0);
  void* address = nullptr;
  REQUIRE(plugin().table.device_memory_allocate(device, &address, bytes) == C_SUCCESS);
  REQUIRE(add_callback(0, stream.get(), [&] {
            Device same(0);
            (void)plugin().table.device_memory_deallocate(same, address, bytes);
          }) == C_SUCCESS);
  stream.synchronize();
  const Memory all(0, before);
}

CASE(
    "Given what isn't there, When it is given back, Then that succeeds, since Paddle's destructors do it, and is "
    "said") {
  Device device(0);
  int here = 0;
  (void)plugin().error();
  REQUIRE(plugin().table.host_memory_deallocate(device, &here, 4) == C_SUCCESS);
  REQUIRE(plugin().error().find("given back") != std::string::npos);
  REQUIRE(plugin().table.device_memory_deallocate(device, &here, 4) == C_SUCCESS);
  REQUIRE(plugin().error().find("invalid_argument") != std::string::npos);
}
