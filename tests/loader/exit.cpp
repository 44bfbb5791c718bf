// SPDX-License-Identifier: Apache-2.0
// The end of a process: what was submitted completes, what can't is left behind after a bounded time and said in one
// line.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace exit_cases {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::Stream;
using anyplace_test::Folder;
using anyplace_test::run_child;
using Catch::Contains;
using test::Ended;

namespace {

/// Standard error of the child is a pipe to the test.
void say(const char* text) { (void)!::write(2, text, std::char_traits<char>::length(text)); }

std::optional<Stream> outlives_backends;

}  // namespace

TEST_CASE("A process that used a device and has nothing pending exits silently") {
  const Ended result = run_child([] {
    {
      const Stream stream(Device("cpu_sim:0"));
      Buffer buffer(stream, 1000);
      stream.memset8(buffer, 1);
      stream.synchronize();
    }
    std::exit(0);
  });
  CHECK(result.err == "");
  CHECK(result.status == 0);
}

TEST_CASE("Work that is pending at exit completes") {
  const Ended result = run_child([] {
    {
      const Stream destroyed(Device("cpu_sim:0"));
      for (int i = 0; i < 500; ++i) destroyed.launch_host_func([] { say("x"); });
      static const Stream kept(Device("cpu_sim:1"));
      for (int i = 0; i < 500; ++i) kept.launch_host_func([] { say("x"); });
    }
    std::exit(0);
  });
  CHECK(result.err == std::string(1000, 'x'));
  CHECK(result.status == 0);
}

TEST_CASE("Handles that are destroyed in host functions at exit are destroyed") {
  const Ended result = run_child([] {
    {
      const Device device("cpu_sim:0");
      const Stream stream(device);
      for (int i = 0; i < 50; ++i) {
        auto handles = std::make_shared<std::pair<Stream, Event>>(Stream(device), Event(device));
        auto buffer = std::make_shared<Buffer>(stream, 100);
        stream.launch_host_func([handles, buffer] { say("x"); });
      }
    }
    std::exit(0);
  });
  CHECK(result.err == std::string(50, 'x'));
  CHECK(result.status == 0);
}

TEST_CASE("A host function that calls the API while the process exits gets not_permitted") {
  const Ended result = run_child([] {
    {
      const Stream stream(Device("cpu_sim:0"));
      stream.launch_host_func([] {
        try {
          anyplace::device_count("cpu_sim");
        } catch (const anyplace::Error& error) {
          say(anyplace::to_string(error.code()));
        }
      });
    }
    std::exit(0);
  });
  CHECK(result.err == "not_permitted");
  CHECK(result.status == 0);
}

TEST_CASE("Handles that outlive the backends are destroyed silently") {
  const Ended result = run_child([] {
    outlives_backends.emplace(Device("cpu_sim:0"));
    outlives_backends->launch_host_func([] { say("x"); });
    std::exit(0);
  });
  CHECK(result.err == "x");
  CHECK(result.status == 0);
}

TEST_CASE("A call after the backends were shut down fails with shut_down") {
  const Ended result = run_child([] {
    std::atexit([] {
      try {
        const Device device("cpu_sim:0");
      } catch (const anyplace::Error& error) {
        say(anyplace::to_string(error.code()));
      }
    });
    Stream(Device("cpu_sim:0")).synchronize();
    std::exit(0);
  });
  CHECK(result.err == "shut_down");
  CHECK(result.status == 0);
}

TEST_CASE("A host function that never ends is left behind and said in one line") {
  const Ended result = run_child([] {
    const Stream stream(Device("cpu_sim:0"));
    int never[2] = {-1, -1};
    if (::pipe(never) != 0) ::_exit(1);
    stream.launch_host_func([never] {
      char byte = 0;
      (void)!::read(never[0], &byte, 1);
    });
    std::exit(7);
  });
  CHECK_THAT(result.err, Contains("cpu_sim") && Contains("left behind"));
  CHECK(result.err.find('\n') == result.err.size() - 1);
  CHECK(result.status == 7);
}

TEST_CASE("What a backend's shutdown says goes to the error handler") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "sulky", "shutdown=" + std::to_string(ANYPLACE_STATUS_TIMEOUT));
  anyplace_test::add_mimic(folder, "broken", "shutdown=" + std::to_string(ANYPLACE_STATUS_BACKEND_FAILED));
  anyplace_test::search_in(folder.path());
  const Ended result = run_child([] {
    anyplace::set_error_handler([](const anyplace::Error& error) {
      say((error.place() + "=" + anyplace::to_string(error.code()) + ";").c_str());
    });
    (void)anyplace::device_count("sulky");
    (void)anyplace::device_count("broken");
    (void)anyplace::device_count("cpu_sim");
    std::exit(0);
  });
  CHECK(result.err == "broken=backend_failed;sulky=timeout;");
  CHECK(result.status == 0);
}

TEST_CASE("A backend without a shutdown is left in peace") {
  const Ended result = run_child([] {
    anyplace_test::search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain");
    const Stream stream(Device("plain:0"));
    std::exit(0);
  });
  CHECK(result.err == "");
  CHECK(result.status == 0);
}

TEST_CASE("A process that exits inside a host function ends and says what it leaves behind") {
  const Ended result = run_child([] {
    const Stream stream(Device("cpu_sim:0"));
    stream.launch_host_func([] { std::exit(5); });
    for (;;) ::pause();
  });
  CHECK_THAT(result.err, Contains("exit was called inside a host function"));
  CHECK(result.status == 5);
}

}  // namespace exit_cases
