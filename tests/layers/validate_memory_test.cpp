// SPDX-License-Identifier: Apache-2.0
// The layer `validate`: memory that is freed, handed on, never written and never freed.
#include <optional>

#include "support/process.h"
#include "support/temp_dir.h"
#include "validate_support.h"

namespace validate_memory_test {

using namespace anyplace;
using test::Kinds;
using test::kinds;
using test::Validated;

namespace {
const Kinds none;
}  // namespace

TEST_CASE("a buffer that another stream uses is freed after record_stream or an order between the two") {
  Validated v;
  std::optional<Buffer> x(std::in_place, v.a, Validated::bytes);
  v.b.wait_stream(v.a);
  v.b.memset8(*x, 1);
  SECTION("neither") {
    x.reset();
    CHECK(kinds() == Kinds{"use-after-free"});
    CHECK(test::reports()[0].at("second").at("access") == "free");
    CHECK_THAT(test::reports()[0].at("mend").get<std::string>(), Catch::Contains("record_stream"));
  }
  SECTION("record_stream") {
    x->record_stream(v.b);
    x.reset();
    CHECK(kinds() == none);
  }
  SECTION("its own stream waits") {
    v.a.wait_stream(v.b);
    x.reset();
    CHECK(kinds() == none);
  }
  SECTION("the host waited") {
    v.b.synchronize();
    x.reset();
    CHECK(kinds() == none);
  }
}

TEST_CASE("a block that was handed on is used by another stream after the earlier owner's work") {
  Validated v;
  const bool waits = GENERATE(true, false);
  std::uint64_t address = 0;
  {
    const Buffer earlier(v.a, Validated::bytes);
    address = earlier.address();
    v.a.memset8(earlier, 1);
  }
  const Buffer later(v.a, Validated::bytes);
  REQUIRE(later.address() == address);
  later.record_stream(v.b);
  if (waits) v.b.wait_stream(v.a);
  v.b.memset8(later, 2);
  CHECK(kinds() == (waits ? none : Kinds{"use-of-handed-on"}));
}

TEST_CASE("an address of memory that was freed is a use after free") {
  Validated v;
  std::uint64_t address = 0;
  { address = Buffer(v.a, Validated::bytes).address(); }
  v.a.fill(Address(address), "x", 1, 16);
  CHECK(kinds() == Kinds{"use-after-free"});
}

TEST_CASE("pinned memory that a graph replays after its owner let go of it is reported") {
  Validated v;
  const Buffer x = v.shared();
  std::optional<HostBuffer> pinned(std::in_place, v.device, Validated::bytes);
  v.a.begin_capture();
  v.a.copy(*pinned, x);
  GraphExec exec = v.a.end_capture().instantiate();
  exec.launch(v.a);
  v.a.synchronize();
  CHECK(kinds() == none);
  pinned.reset();
  exec.launch(v.a);
  CHECK(kinds() == Kinds{"freed-under-graph"});
}

TEST_CASE("memory that nobody wrote is reported where that is asked for") {
  Validated v("log leaks=off uninitialized=on");
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  v.a.memset8(x.sub(0, 1024), 1);
  v.a.copy(HostSpan(pinned.data(), 1024), x.sub(0, 1024));
  CHECK(kinds() == none);
  v.a.copy(HostSpan(pinned.data(), 1025), x.sub(0, 1025));
  CHECK(kinds() == Kinds{"uninitialized-read"});
}

TEST_CASE("a block that was handed on counts as unwritten, and its earlier owner's work stays") {
  Validated v("log leaks=off uninitialized=on");
  { v.a.memset8(Buffer(v.a, Validated::bytes), 1); }
  const Buffer later = v.shared();
  v.b.memset8(later.sub(0, 1024), 2);
  CHECK(kinds() == Kinds{"use-of-handed-on"});
  const HostBuffer pinned(v.device, 1024);
  v.a.copy(HostSpan(pinned.data(), 1024), later.sub(1024, 1024));
  CHECK(kinds() == Kinds{"use-of-handed-on", "uninitialized-read"});
}

TEST_CASE("a buffer, a stream and an event that are never destroyed are leaks at exit, unless leaks=off") {
  const bool wanted = GENERATE(true, false);
  const test::TempDir folder;
  const std::string file = (folder.path() / "report.json").string();
  const test::Ended ended = test::Process([&] {
                              const Validated v(std::string(wanted ? "" : "leaks=off ") + "report=" + file);
                              static_cast<void>(new Buffer(v.a, 64));
                              static_cast<void>(new Stream(v.device));
                              static_cast<void>(new Event(v.a.record_event()));
                              v.device.synchronize();
                              std::exit(0);
                            }).end();
  REQUIRE(ended.status == 0);
  for (const char* const text : {"Buffer 1 of 64 bytes was never freed", "stream 3", "an event was never destroyed"}) {
    INFO(ended.out);
    CHECK((ended.out.find(text) != std::string::npos) == wanted);
  }
  CHECK_THAT(ended.out, !Catch::Contains("stream 4"));
}

}  // namespace validate_memory_test
