// SPDX-License-Identifier: Apache-2.0
// Buffers that two processes use: what the memory is, who keeps it, and when it is given out again.
#include <anyplace/anyplace.h>
#include <sys/prctl.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "ipc/hex.h"
#include "ipc/peer.h"
#include "support/errors.h"
#include "support/few_descriptors.h"
#include "support/host_gate.h"
#include "support/process.h"

namespace buffer_test {

using namespace anyplace;
using test::Belongings;
using test::Peer;

Device device() { return Device(test::place_of_test()); }

std::uint8_t byte_at(const Stream& stream, const BufferView& buffer, std::uint64_t offset) {
  std::uint8_t value = 0;
  stream.copy(HostSpan(&value, 1), buffer.sub(offset, 1));
  stream.synchronize();
  return value;
}

void fill(const Stream& stream, const BufferView& buffer, std::uint8_t value) {
  stream.fill(buffer.as<std::uint8_t>(), value);
  stream.synchronize();
}

/// Until nothing is kept for other processes: they close what they drop behind their work, in the background.
void wait_until_nothing_is_kept() {
  while (ipc_collect(device()) != 0) sched_yield();
}

TEST_CASE("Given memory of another process then both see what either writes", "[buffers]") {
  Peer peer;
  const Stream stream(device());
  for (const std::string size : {"1", "300", "4096 shareable", "5000000", "5000000 shareable"}) {
    const std::uint64_t bytes = std::stoull(size);
    peer.must("buffer b " + size);
    peer.must("fill b 7");
    peer.must("sync");
    const Buffer theirs = Buffer::import(stream, peer.handle("export b"));
    CHECK(theirs.size_bytes() == bytes);
    CHECK(byte_at(stream, theirs, 0) == 7);
    CHECK(byte_at(stream, theirs, bytes - 1) == 7);
    fill(stream, theirs, 9);
    CHECK(peer.must("read b 0") == "9");
    CHECK(peer.must("read b " + std::to_string(bytes - 1)) == "9");
  }
}

TEST_CASE("Given this process's memory opened by another then both see what either writes", "[buffers]") {
  Peer peer;
  const Stream stream(device());
  const Buffer buffer(stream, 100'000);
  fill(stream, buffer, 3);
  peer.send("import b", buffer.sub(1000, 5000).export_handle());
  CHECK(peer.must("read b 4999") == "3");
  peer.must("fill b 4");
  peer.must("sync");
  CHECK(byte_at(stream, buffer, 999) == 3);
  CHECK(byte_at(stream, buffer, 1000) == 4);
  CHECK(byte_at(stream, buffer, 5999) == 4);
  CHECK(byte_at(stream, buffer, 6000) == 3);
}

TEST_CASE("Given buffers of one cached segment then the segment is opened once, and the buffers are offsets in it",
          "[buffers]") {
  Peer peer;
  peer.must("buffer a 1000");
  peer.must("buffer b 1000");
  const Buffer a = Buffer::import(device(), peer.handle("export a"));
  const Buffer b = Buffer::import(device(), peer.handle("export b"));
  const std::uint64_t there = std::stoull(peer.must("address b")) - std::stoull(peer.must("address a"));
  CHECK(b.address() - a.address() == there);
}

TEST_CASE("Given a handle opened twice then the two buffers are the same memory, and each closes by itself",
          "[buffers]") {
  Peer peer;
  const Stream stream(device());
  peer.must("buffer b 4096");
  const auto handle = peer.handle("export b");
  CHECK(peer.handle("export b") == handle);
  auto first = std::make_unique<Buffer>(Buffer::import(stream, handle));
  const Buffer second = Buffer::import(stream, handle);
  CHECK(first->address() == second.address());
  first.reset();
  peer.must("drop b");
  CHECK(peer.must("collect") == "4096");  // kept for the second one
  fill(stream, second, 1);
}

TEST_CASE("Given a shared buffer that is freed then its memory isn't given out before the other process closes it",
          "[buffers]") {
  Peer peer;
  const Stream stream(device());
  for (const BufferOptions options : {BufferOptions{}, BufferOptions{.shareable = true}}) {
    auto buffer = std::make_unique<Buffer>(stream, 4096, options);
    const std::uint64_t address = buffer->address();
    peer.send("import b", buffer->export_handle());
    buffer.reset();
    CHECK(ipc_collect(device()) == 4096);
    {
      const Buffer other(stream, 4096, options);
      CHECK(other.address() != address);
      fill(stream, other, 1);
    }
    peer.must("fill b 77");
    CHECK(peer.must("read b 4095") == "77");
    peer.must("drop b");
    wait_until_nothing_is_kept();
  }
  CHECK(memory_allocated(device()) == 0);
}

TEST_CASE("Given an imported buffer that is freed while work uses it then it is closed after that work", "[buffers]") {
  Peer peer;
  peer.must("buffer b 4096");
  const Stream stream(device());
  test::HostGate gate;
  {
    const Buffer theirs = Buffer::import(stream, peer.handle("export b"));
    gate.block(stream);
    stream.fill(theirs.as<std::uint8_t>(), 5);
  }
  peer.must("drop b");
  CHECK(peer.must("collect") == "4096");
  gate.open();
  stream.synchronize();
  // The closing is this library's own work in the background.
  while (peer.must("collect") != "0") sched_yield();
}

TEST_CASE("Given an importer that is killed then what it had open is freed", "[buffers]") {
  const Stream stream(device());
  auto buffer = std::make_unique<Buffer>(stream, 4096);
  {
    Peer peer;
    peer.send("import b", buffer->export_handle());
    buffer.reset();
    CHECK(ipc_collect(device()) == 4096);
  }
  CHECK(ipc_collect(device()) == 0);
  CHECK(memory_allocated(device()) == 0);
}

TEST_CASE("Given an exporter that is killed then its memory stays for who has it open", "[buffers]") {
  const Stream stream(device());
  auto peer = std::make_unique<Peer>();
  peer->must("buffer b 4096");
  peer->must("fill b 21");
  peer->must("sync");
  const Buffer theirs = Buffer::import(stream, peer->handle("export b"));
  peer.reset();
  CHECK(byte_at(stream, theirs, 4095) == 21);
  fill(stream, theirs, 22);
  CHECK(byte_at(stream, theirs, 0) == 22);
}

TEST_CASE("Given three processes then memory is freed when the last one that has it closes it", "[buffers]") {
  const Stream stream(device());
  Peer first;
  Peer second;
  auto buffer = std::make_unique<Buffer>(stream, 4096);
  const auto handle = buffer->export_handle();
  first.send("import b", handle);
  second.send("import b", handle);
  second.send("import c", handle);
  buffer.reset();
  first.must("drop b");
  CHECK(ipc_collect(device()) == 4096);
  second.must("drop c");
  CHECK(ipc_collect(device()) == 4096);
  second.must("drop b");
  wait_until_nothing_is_kept();
}

TEST_CASE("Given the last of the device's memory kept for another process that has ended then it can be had again",
          "[buffers]") {
  const Stream stream(device());
  set_per_process_memory_fraction(device(), 0.05);
  const std::uint64_t most = [&] {
    const auto total = device().properties().total_memory;
    return total ? *total / 20 / 4096 * 4096 : std::uint64_t{0};
  }();
  auto buffer = std::make_unique<Buffer>(stream, most / 10 * 8);
  {
    Peer peer;
    peer.send("import b", buffer->export_handle());
    buffer.reset();
    CHECK(test::code_of([&] { return Buffer(stream, most / 2); }) == ErrorCode::out_of_memory);
  }
  const Buffer another(stream, most / 2);
  CHECK(another.size_bytes() == most / 2);
}

TEST_CASE("Given shared memory that was closed on both sides then nothing is left of it", "[buffers]") {
  const Stream stream(device());
  {  // what a process has for all its shared things is made once
    Peer peer;
    peer.must("buffer b 4096");
    const Buffer theirs = Buffer::import(stream, peer.handle("export b"));
    const Buffer mine(stream, 4096);
    peer.send("import c", mine.export_handle());
  }
  stream.synchronize();
  ipc_collect(device());
  const Belongings before = Belongings::now();
  for (int i = 0; i < 20; ++i) {
    Peer peer;
    peer.must("buffer b 4096");
    const Buffer theirs = Buffer::import(stream, peer.handle("export b"));
    const Buffer mine(stream, 4096);
    peer.send("import c", mine.export_handle());
  }
  stream.synchronize();  // memory of another process is closed behind the work that was there
  wait_until_nothing_is_kept();
  const Belongings after = Belongings::now();
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.files_in_memory == before.files_in_memory);
  CHECK(after.shared_memory == before.shared_memory);
}

TEST_CASE("Given a system that lets no process take another's descriptors then memory is shared all the same",
          "[buffers]") {
  Peer peer;
  if (peer.ask("forbid-taking").rfind("ok", 0) != 0) {
    std::cout << "ANYPLACE_TEST_SKIPPED: the system has no seccomp(2) to forbid it with\n";
    return;
  }
  const Stream stream(device());
  const Buffer mine(stream, 4096);
  fill(stream, mine, 5);
  peer.send("import b", mine.export_handle());
  CHECK(peer.must("read b 4095") == "5");
  peer.must("fill b 6");
  peer.must("sync");
  CHECK(byte_at(stream, mine, 0) == 6);
}

TEST_CASE("Given processes that may not trace each other then opening says so, and what to do", "[buffers]") {
  Peer peer;
  peer.must("drop-capabilities");
  const Stream stream(device());
  const Buffer mine(stream, 4096);
  const std::vector<std::byte> handle = mine.export_handle();
  REQUIRE(::prctl(PR_SET_DUMPABLE, 0) == 0);
  const std::string answer = peer.ask("import b " + test::to_hex(handle));
  REQUIRE(::prctl(PR_SET_DUMPABLE, 1) == 0);
  CHECK_THAT(answer, Catch::StartsWith("error backend_failed") && Catch::Contains("trace each other") &&
                         Catch::Contains("PR_SET_DUMPABLE") && Catch::Contains("docs/ipc.md"));
}

TEST_CASE("Given no descriptor left then sharing and opening a buffer say descriptors, and work again later",
          "[buffers]") {
  if (test::descriptors_are_needed_by_sanitizer()) return;
  constexpr std::uint64_t bytes = 8 << 20;  // more than a page of any device's, so that no two share one
  Peer peer;
  peer.must("buffer b " + std::to_string(bytes));
  const std::vector<std::byte> theirs = peer.handle("export b");
  const std::string place = test::place_of_test();
  const test::Ended result = test::in_child([&] {
    const Stream stream{Device(place)};
    const Buffer first(stream, bytes), second(stream, bytes);
    first.export_handle();  // what a process has for all that it shares is made once
    test::leave_descriptors(0);
    const auto told = [](const std::function<void()>& call) {
      try {
        call();
      } catch (const Error& error) {
        const bool is_it =
            error.code() == ErrorCode::backend_failed && error.problem().find("descriptor") != std::string::npos;
        std::printf("%s", is_it ? "" : (std::string(error.what()) + "\n").c_str());
      }
    };
    told([&] { static_cast<void>(second.export_handle()); });
    told([&] { static_cast<void>(Buffer::import(stream, theirs)); });
    test::allow_descriptors();
    static_cast<void>(second.export_handle());
    const Buffer opened = Buffer::import(stream, theirs);
    stream.memset8(opened, 1);
    stream.synchronize();
    std::fflush(stdout);
    return 0;
  });
  CHECK(result.out == "");
  CHECK(result.status == 0);
}

}  // namespace buffer_test
