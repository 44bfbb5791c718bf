// SPDX-License-Identifier: Apache-2.0
// Fork after a backend was initialised: every call of the child fails with `forked`, destructors do nothing, and the
// child ends as if there were no devices.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "loader/files.h"

#if defined(__SANITIZE_ADDRESS__)
#define FORK_CASES_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_CASES_ADDRESS_SANITIZER
#endif
#endif

namespace fork_cases {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::HostBuffer;
using anyplace::Kernel;
using anyplace::Stream;
using anyplace_test::run_child;
using test::Ended;

namespace {

using std::chrono::nanoseconds;

/// One of each handle, made before the fork.
struct Handles {
  Device device{"cpu_sim:0"};
  Stream stream{device};
  Stream other{device};
  Event event{device, {.timing = true}};
  Event end{device, {.timing = true}};
  Buffer buffer{stream, 1024};
  Buffer target{stream, 1024};
  HostBuffer host{device, 1024};
  Kernel kernel{device, [](const anyplace::Block&, int) {}};
};

using Call = std::pair<const char*, std::function<void()>>;

std::vector<Call> device_calls(Handles& h) {
  return {
      {"Device", [] { const Device device("cpu_sim:0"); }},
      {"Device of auto", [] { const Device device("auto"); }},
      {"Device of another backend", [] { const Device device("cuda:0"); }},
      {"device_count", [] { anyplace::device_count("cpu_sim"); }},
      {"devices", [] { anyplace::devices("cpu_sim"); }},
      {"current_device", [] { anyplace::current_device("cpu_sim"); }},
      {"set_current_device", [&] { anyplace::set_current_device(h.device); }},
      {"DeviceGuard", [&] { const anyplace::DeviceGuard guard(h.device); }},
      {"properties", [&] { h.device.properties(); }},
      {"has", [&] { h.device.has(anyplace::Capability::gates); }},
      {"priority_range", [&] { h.device.priority_range(); }},
      {"memory_info", [&] { h.device.memory_info(); }},
      {"Device::synchronize", [&] { h.device.synchronize(); }},
      {"Device::synchronize(timeout)", [&] { (void)h.device.synchronize(nanoseconds(1)); }},
      {"default_stream", [&] { h.device.default_stream(); }},
      {"per_thread_stream", [&] { h.device.per_thread_stream(); }},
      {"can_access_peer", [&] { h.device.can_access_peer(h.device); }},
      {"enable_peer_access", [&] { h.device.enable_peer_access(h.device); }},
      {"disable_peer_access", [&] { h.device.disable_peer_access(h.device); }},
      {"native_handle", [&] { h.device.native_handle(); }},
      {"native_context", [&] { h.device.native_context(); }},
      {"reset", [&] { h.device.reset(); }},
      {"plugin_candidates", [] { anyplace::plugin_candidates(); }},
      {"plugin_directory_problems", [] { anyplace::plugin_directory_problems(); }},
      {"register_plugin", [] { anyplace::register_plugin("/libanyplace_backend_x.so"); }},
      {"layers", [] { anyplace::layers(); }},
      {"use_layers", [] { anyplace::use_layers({}); }},
      {"layers_of", [] { anyplace::layers_of("cpu_sim"); }},
      {"layer_command", [] { anyplace::layer_command("faults", "clear"); }},
      {"backend_names", [] { anyplace::backend_names(); }},
      {"backend_info", [] { anyplace::backend_info("cpu_sim"); }},
      {"set_error_handler", [] { anyplace::set_error_handler({}); }},
  };
}

std::vector<Call> stream_calls(Handles& h) {
  return {
      {"Stream", [&] { const Stream stream(h.device); }},
      {"Stream::device", [&] { h.stream.device(); }},
      {"Stream::priority", [&] { h.stream.priority(); }},
      {"Stream::native_handle", [&] { h.stream.native_handle(); }},
      {"Stream::query", [&] { (void)h.stream.query(); }},
      {"Stream::synchronize", [&] { h.stream.synchronize(); }},
      {"Stream::synchronize(timeout)", [&] { (void)h.stream.synchronize(nanoseconds(1)); }},
      {"record_event", [&] { h.stream.record_event(); }},
      {"record_event(event)", [&] { h.stream.record_event(h.event); }},
      {"wait_event", [&] { h.stream.wait_event(h.event); }},
      {"wait_stream", [&] { h.stream.wait_stream(h.other); }},
      {"launch_host_func", [&] { h.stream.launch_host_func([] {}); }},
      {"copy to the device", [&] { h.stream.copy(h.buffer, h.host.as<std::byte>()); }},
      {"copy to the host", [&] { h.stream.copy(h.host.as<std::byte>(), h.buffer); }},
      {"copy on the device", [&] { h.stream.copy(h.target, h.buffer); }},
      {"copy_2d", [&] { h.stream.copy_2d(h.target, 32, h.buffer, 32, 16, 2); }},
      {"memset8", [&] { h.stream.memset8(h.buffer, 1); }},
      {"memset16", [&] { h.stream.memset16(h.buffer, 1); }},
      {"memset32", [&] { h.stream.memset32(h.buffer, 1); }},
      {"launch",
       [&] {
         h.stream.launch(h.kernel, {1, 1}, 5);
       }},
      {"from_native", [&] { const Stream stream = Stream::from_native(h.device, 1); }},
      {"current_stream", [&] { anyplace::current_stream(h.device); }},
      {"set_current_stream", [&] { anyplace::set_current_stream(h.stream); }},
      {"StreamGuard", [&] { const anyplace::StreamGuard guard(h.stream); }},
  };
}

std::vector<Call> other_calls(Handles& h) {
  return {
      {"Event", [&] { const Event event(h.device); }},
      {"Event::device", [&] { h.event.device(); }},
      {"Event::record", [&] { h.event.record(h.stream); }},
      {"Event::query", [&] { (void)h.event.query(); }},
      {"Event::synchronize", [&] { h.event.synchronize(); }},
      {"Event::synchronize(timeout)", [&] { (void)h.event.synchronize(nanoseconds(1)); }},
      {"Event::native_handle", [&] { h.event.native_handle(); }},
      {"elapsed_time", [&] { anyplace::elapsed_time(h.event, h.end); }},
      {"Buffer", [&] { const Buffer buffer(h.stream, 16); }},
      {"Buffer::address", [&] { h.buffer.address(); }},
      {"HostBuffer", [&] { const HostBuffer host(h.device, 16); }},
      {"HostRegistration", [&] { const anyplace::HostRegistration registration(h.device, h.host.as<std::byte>()); }},
      {"Kernel", [&] { const Kernel kernel(h.device, [](const anyplace::Block&) {}); }},
  };
}

/// In the child: writes down every call that doesn't fail with `forked`. Gives their number.
int calls_that_are_not_refused(Handles& handles) {
  int count = 0;
  for (const auto& calls : {device_calls(handles), stream_calls(handles), other_calls(handles)}) {
    for (const auto& [name, call] : calls) {
      std::string outcome = "nothing was thrown";
      try {
        call();
      } catch (const anyplace::Error& error) {
        if (error.code() == ErrorCode::forked) continue;
        outcome = error.what();
      }
      std::fprintf(stderr, "%s: %s\n", name, outcome.c_str());
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("Every call in a forked child fails with forked") {
  Handles handles;
  handles.stream.synchronize();
  const Ended result = run_child([&] { ::_exit(calls_that_are_not_refused(handles)); });
  CHECK(result.err == "");
  CHECK(result.status == 0);
  // The parent is none the worse.
  handles.stream.launch(handles.kernel, {1, 1}, 5);
  handles.stream.synchronize();
}

TEST_CASE("A place is still text in a forked child") {
  const Device device("cpu_sim:0");
  const Ended result = run_child([&] {
    const bool good = anyplace::Place("gpu:1").backend() == "cuda" && device.to_string() == "cpu_sim:0";
    try {
      const anyplace::Place bad("cpu-sim:0");
    } catch (const anyplace::Error& error) {
      ::_exit(good && error.code() == ErrorCode::invalid_argument ? 0 : 1);
    }
    ::_exit(2);
  });
  CHECK(result.status == 0);
  CHECK(result.err == "");
}

TEST_CASE("Destructors in a forked child do nothing silently") {
  auto handles = std::make_unique<Handles>();
  std::promise<void> open;
  handles->stream.launch_host_func([done = open.get_future().share()] { done.wait(); });
  handles->stream.memset8(handles->buffer, 7);
  const Ended result = run_child([&] {
    handles.reset();
    ::_exit(0);
  });
  CHECK(result.err == "");
  CHECK(result.status == 0);
  open.set_value();
  handles->stream.synchronize();
}

TEST_CASE("A forked child ends by exit without hanging while the parent has work") {
  Handles handles;
  std::promise<void> open;
  handles.stream.launch_host_func([done = open.get_future().share()] { done.wait(); });
  const Ended result = run_child([] { std::exit(0); });
  CHECK(result.err == "");
  CHECK(result.status == 0);
  open.set_value();
  handles.stream.synchronize();
}

TEST_CASE("A grandchild is forked too") {
  Handles handles;
  const Ended result = run_child([&] {
    const Ended inner = run_child([&] { ::_exit(calls_that_are_not_refused(handles)); });
    ::_exit(inner.status == 0 ? 0 : 1);
  });
  CHECK(result.status == 0);
}

TEST_CASE("A child forked before the first use has devices of its own") {
  const Ended result = run_child([] {
    {
      Stream stream(Device("cpu_sim:0"));
      stream.launch_host_func([] {});
      stream.synchronize();
    }
    std::exit(0);
  });
  CHECK(result.err == "");
  CHECK(result.status == 0);
  Stream stream(Device("cpu_sim:0"));
  stream.synchronize();
}

TEST_CASE("Names and plugin files asked about before a fork don't count as use") {
  (void)anyplace::plugin_candidates();
  CHECK(anyplace_test::device_error("nothing_like_it:0").code() == ErrorCode::no_such_backend);
  const Ended result = run_child([] {
    Stream(Device("cpu_sim:0")).synchronize();
    std::exit(0);
  });
  CHECK(result.status == 0);
}

namespace {

/// A child that has cpu_sim for itself: it makes a stream, and ends with 0.
void use_cpu_sim() {
  {
    Stream stream(Device("cpu_sim:0"));
    stream.launch_host_func([] {});
    stream.synchronize();
  }
  std::exit(0);
}

}  // namespace

TEST_CASE("Asking for a backend that is refused doesn't count as use") {
  const anyplace_test::Folder folder;
  // Refused by its entry, by its table, and when its devices are counted.
  anyplace_test::add_mimic(folder, "absent", "status=21");
  anyplace_test::add_mimic(folder, "wrong", "without=stream_create");
  anyplace_test::add_mimic(folder, "uncounted", "count_status=21");
  anyplace_test::search_in(folder.path());
  for (const char* const name : {"absent", "wrong", "uncounted", "missing"}) {
    INFO(name);
    anyplace_test::error_of([&] { anyplace::device_count(name); });
    const Ended result = run_child(use_cpu_sim);
    CHECK(result.err == "");
    CHECK(result.status == 0);
  }
  const Ended result = run_child([] {
    const anyplace::Error error = anyplace_test::device_error("absent:0");
    ::_exit(std::string(error.what()).find("the vendor says no") != std::string::npos ? 0 : 1);
  });
  CHECK(result.status == 0);
  Stream(Device("cpu_sim:0")).synchronize();
}

TEST_CASE("A backend that was accepted counts as initialised after one that was refused") {
  const anyplace_test::Folder folder;
  anyplace_test::add_mimic(folder, "absent", "status=21");
  anyplace_test::add_mimic(folder, "there", "good");
  anyplace_test::search_in(folder.path());
  anyplace_test::device_error("absent:0");
  CHECK(anyplace::device_count("there") == 1);
  const Ended result =
      run_child([] { ::_exit(anyplace_test::device_error("cpu_sim:0").code() == ErrorCode::forked ? 0 : 1); });
  CHECK(result.status == 0);
}

TEST_CASE("A fork while another thread loads a backend gives a child whose calls are refused") {
  const anyplace_test::Folder folder;
  REQUIRE(::mkfifo(folder.file("gate").c_str(), 0600) == 0);
  anyplace_test::add_mimic(folder, "slow", "wait=" + folder.file("gate"));
  anyplace_test::search_in(folder.path());
  std::thread loading([] { CHECK(anyplace::device_count("slow") == 1); });
  // The open returns when the entry of `slow` has opened the other end; it stays in there until this one is closed.
  const int gate = ::open(folder.file("gate").c_str(), O_WRONLY | O_CLOEXEC);
  CHECK(gate >= 0);
  const Ended result = run_child([] {
    for (const char* const place : {"slow:0", "cpu_sim:0"}) {
      if (anyplace_test::device_error(place).code() != ErrorCode::forked) ::_exit(1);
    }
    std::exit(0);
  });
  ::close(gate);
  loading.join();
  CHECK(result.err == "");
  CHECK(result.status == 0);
  Stream(Device("cpu_sim:0")).synchronize();
}

TEST_CASE("Names that other threads ask about during a fork hold up no child") {
#ifdef FORK_CASES_ADDRESS_SANITIZER
  WARN("ANYPLACE_TEST_SKIPPED: AddressSanitizer's allocator isn't ready for a fork while other threads run");
  return;
#endif
  const anyplace_test::Folder folder;
  anyplace_test::add_mimic(folder, "absent", "status=21");
  anyplace_test::search_in(folder.path());
  anyplace_test::device_error("absent:0");
  std::atomic<bool> over{false};
  std::thread asking([&] {
    while (!over) static_cast<void>(anyplace::plugin_candidates());
  });
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const bool told = anyplace_test::device_error("absent:0").code() != ErrorCode::forked;
      ::_exit(told ? 0 : 1);
    }
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) ++good;
  }
  over = true;
  asking.join();
  CHECK(good == 20);
}

}  // namespace fork_cases
