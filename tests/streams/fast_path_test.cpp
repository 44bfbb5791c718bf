// SPDX-License-Identifier: Apache-2.0
//
// Record, wait, query, synchronize and launch have a fast path, which a thread goes from its second such call on. It
// must see all that the slow path sees: handles that end, also while they are in use, lost devices, held streams,
// faults, callbacks and forks.
#include <anyplace/anyplace.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "streams/plugins/forward.h"
#include "streams/plugins/fragile.h"
#include "support/errors.h"
#include "support/host_gate.h"
#include "support/process.h"

namespace fast_path_test {

using namespace anyplace;
using test::code_of;

namespace {

constexpr std::string_view image = ".version 7.0\n.target sm_52\n";

std::span<const std::byte> image_bytes() { return std::as_bytes(std::span(image.data(), image.size())); }

/// One of each kind of handle, and the calls that have a fast path.
struct Handles {
  Device device;
  Stream stream{device};
  Event event{device};
  Module module{device, image_bytes()};
  KernelView kernel{module.kernel("k")};

  explicit Handles(const char* place = "fragile:0") : device(place) {}

  using Calls = std::vector<std::pair<std::string, std::function<void()>>>;
  Calls calls() const {
    return {{"record", [this] { event.record(stream); }},
            {"wait_event", [this] { stream.wait_event(event); }},
            {"Event::query", [this] { static_cast<void>(event.query()); }},
            {"Stream::query", [this] { static_cast<void>(stream.query()); }},
            {"Event::synchronize", [this] { event.synchronize(); }},
            {"Stream::synchronize", [this] { stream.synchronize(); }},
            {"launch", [this] {
               stream.launch(kernel, {1, 1}, 1);
             }}};
  }
  /// So often that this thread goes the fast path.
  void warm_up() const {
    for (int i = 0; i < 2; ++i) {
      for (const auto& [name, call] : calls()) call();
    }
  }
};

test::Fragile& new_fragile() {
  static test::Fragile* const made = new test::Fragile;  // the plugin uses it until the process ends
  return *made;
}

/// Uses `used` on another thread, which stops inside the backend; ends the handle by `end` meanwhile; and checks that
/// the backend was told of it only after the call was over.
void end_while_used(test::Fragile& fragile, const std::function<void()>& used, const std::function<void()>& end,
                    const std::function<void()>& use_again) {
  const int before = fragile.destroyed;
  std::thread other([&] {
    Handles warm;
    warm.warm_up();
    fragile.stop_next_call();
    used();
  });
  fragile.wait_until_stopped();
  end();
  REQUIRE(code_of(use_again) == ErrorCode::invalid_handle);
  REQUIRE(fragile.destroyed == before);
  fragile.let_go();
  other.join();
  fragile.wait_until_destroyed(before + 1);
  REQUIRE(fragile.misused == 0);
}

}  // namespace

// ---- Ending what is in use -----------------------------------------------------------------------------------------

TEST_CASE("Given a record under way when its event is destroyed then that returns at once and the event outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const EventView event = handles.event;
  end_while_used(
      fragile, [&] { event.record(handles.stream); }, [&] { handles.event = Event(); },
      [&] { static_cast<void>(event.query()); });
}

TEST_CASE(
    "Given a record under way when its stream is destroyed then that returns at once and the stream outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const StreamView stream = handles.stream;
  end_while_used(
      fragile, [&] { handles.event.record(stream); }, [&] { handles.stream = Stream(); },
      [&] { static_cast<void>(stream.query()); });
}

TEST_CASE("Given a query under way when its event is destroyed then that returns at once and the event outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const EventView event = handles.event;
  event.record(handles.stream);
  end_while_used(
      fragile, [&] { static_cast<void>(event.query()); }, [&] { handles.event = Event(); },
      [&] { handles.stream.wait_event(event); });
}

TEST_CASE("Given a synchronize under way when its stream is destroyed then that returns at once and it outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const StreamView stream = handles.stream;
  end_while_used(
      fragile, [&] { stream.synchronize(); }, [&] { handles.stream = Stream(); }, [&] { stream.synchronize(); });
}

TEST_CASE("Given a synchronize under way when its event is destroyed then that returns at once and it outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const EventView event = handles.event;
  event.record(handles.stream);
  end_while_used(
      fragile, [&] { event.synchronize(); }, [&] { handles.event = Event(); }, [&] { event.synchronize(); });
}

TEST_CASE(
    "Given a launch under way when its module is destroyed then that returns at once and the module outlives it") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  const KernelView kernel = handles.kernel;
  end_while_used(
      fragile,
      [&] {
        handles.stream.launch(kernel, {1, 1});
      },
      [&] { handles.module = Module(); },
      [&] {
        handles.stream.launch(kernel, {1, 1});
      });
}

TEST_CASE("Given threads that come and go when handles end then what nobody uses any more ends at once") {
  test::Fragile& fragile = new_fragile();
  const Handles handles;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] { handles.warm_up(); }).join();
    const int before = fragile.destroyed;
    { const Event event(handles.device); }
    REQUIRE(fragile.destroyed == before + 1);
  }
  REQUIRE(fragile.misused == 0);
}

// ---- What the fast path must not miss ------------------------------------------------------------------------------

TEST_CASE("Given a thread on the fast path when it uses a handle of another kind then that is an invalid handle") {
  new_fragile();
  const Handles handles;
  handles.warm_up();
  const StreamView not_a_stream(handles.event.id());
  const EventView not_an_event(handles.stream.id());
  REQUIRE(code_of([&] { static_cast<void>(not_a_stream.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(not_an_event.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] {
            handles.stream.launch(KernelView(handles.stream.id()), {1, 1});
          }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(handles.event.device()); }) == ErrorCode::ok);
}

TEST_CASE("Given a thread on the fast path when handles were destroyed then every call with one is refused") {
  test::Fragile& fragile = new_fragile();
  Handles handles;
  handles.warm_up();
  const StreamView stream = handles.stream;
  const EventView event = handles.event;
  const KernelView kernel = handles.kernel;
  const Handles other;
  const int before = fragile.calls;
  handles.event = Event();
  REQUIRE(code_of([&] { event.record(stream); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { stream.wait_event(event); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(event.query()); }) == ErrorCode::invalid_handle);
  handles.module = Module();
  REQUIRE(code_of([&] { stream.launch(kernel, {1, 1}); }) == ErrorCode::invalid_handle);
  handles.stream = Stream();
  REQUIRE(code_of([&] { other.event.record(stream); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { stream.wait_event(other.event); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { stream.launch(other.kernel, {1, 1}); }) == ErrorCode::invalid_handle);
  REQUIRE(fragile.calls == before);
  // The slots have other owners now: the old numbers must not lead to them.
  const Handles newcomer;
  newcomer.warm_up();
  REQUIRE(code_of([&] { static_cast<void>(event.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { newcomer.stream.launch(kernel, {1, 1}); }) == ErrorCode::invalid_handle);
  REQUIRE(fragile.misused == 0);
}

TEST_CASE("Given a thread on the fast path when it uses made-up handles then each is an invalid handle") {
  new_fragile();
  const Handles handles;
  handles.warm_up();
  const std::uint64_t good = handles.event.id();
  std::vector<std::uint64_t> bad{0, ~std::uint64_t{0}};
  for (unsigned bit = 0; bit < 64; ++bit) {
    bad.push_back(std::uint64_t{1} << bit);
    bad.push_back(good ^ std::uint64_t{1} << bit);
  }
  {
    const Event gone(handles.device);
    bad.push_back(gone.id());
    for (unsigned bit = 0; bit < 64; ++bit) bad.push_back(gone.id() ^ std::uint64_t{1} << bit);
  }
  for (const std::uint64_t id : bad) {
    INFO(id);
    // The handle before may differ from another one that is good by one bit.
    if (id == good) continue;
    REQUIRE(code_of([&] { static_cast<void>(EventView(id).query()); }) == ErrorCode::invalid_handle);
    REQUIRE(code_of([&] { handles.stream.wait_event(EventView(id)); }) == ErrorCode::invalid_handle);
    REQUIRE(code_of([&] { EventView(id).record(handles.stream); }) == ErrorCode::invalid_handle);
  }
}

TEST_CASE("Given more handles than the fast path knows when they are used then all work and all end") {
  test::Fragile& fragile = new_fragile();
  const Handles handles;
  handles.warm_up();
  constexpr int count = 20000;
  {
    std::vector<Event> events;
    for (int i = 0; i < count; ++i) events.emplace_back(handles.device);
    const int before = fragile.calls;
    for (const Event& event : events) {
      event.record(handles.stream);
      handles.stream.wait_event(event);
      REQUIRE(event.query());
    }
    REQUIRE(fragile.calls == before + 3 * count);
  }
  REQUIRE(fragile.destroyed == count);
  REQUIRE(fragile.misused == 0);
}

TEST_CASE("Given a kernel and an event of another device when the fast path meets them then it says whose they are") {
  new_fragile();
  const Handles here;
  const Handles there("fragile:1");
  here.warm_up();
  there.warm_up();
  REQUIRE(code_of([&] { here.event.record(there.stream); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([&] { here.stream.launch(there.kernel, {1, 1}); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([&] { here.stream.wait_event(there.event); }) == ErrorCode::ok);
}

TEST_CASE("Given a launch whose sizes are over the limits when a thread is on the fast path then it is refused") {
  test::Fragile& fragile = new_fragile();
  const Handles handles;
  handles.warm_up();
  const int before = fragile.calls;
  const std::vector<std::pair<Dim3, Dim3>> bad{
      {{0, 1, 1}, {1, 1, 1}},  {{1, 0, 1}, {1, 1, 1}},  {{1, 1, 0}, {1, 1, 1}},  {{65, 1, 1}, {1, 1, 1}},
      {{1, 65, 1}, {1, 1, 1}}, {{1, 1, 65}, {1, 1, 1}}, {{1, 1, 1}, {0, 1, 1}},  {{1, 1, 1}, {1, 0, 1}},
      {{1, 1, 1}, {1, 1, 0}},  {{1, 1, 1}, {65, 1, 1}}, {{1, 1, 1}, {1, 65, 1}}, {{1, 1, 1}, {1, 1, 65}},
      {{1, 1, 1}, {8, 8, 2}},  {{~0u, 1, 1}, {1, 1, 1}}};
  for (const auto& [grid, block] : bad) {
    REQUIRE(code_of([&, grid = grid, block = block] {
              handles.stream.launch(handles.kernel, {grid, block});
            }) == ErrorCode::invalid_argument);
  }
  REQUIRE(code_of([&] { handles.stream.launch(handles.kernel, {1, 1, 1}); }) == ErrorCode::invalid_argument);
  REQUIRE(fragile.calls == before);
}

TEST_CASE("Given a device that is lost when threads are on the fast path then every later call says so") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device lost("sim_b:0");
  const Device other("sim_b:1");
  const Stream stream(lost), other_stream(other);
  const Event event(lost), other_event(other);
  for (int i = 0; i < 2; ++i) {
    event.record(stream);
    other_event.record(other_stream);
  }
  forward.lost_device = 0;
  REQUIRE(code_of([&] { event.record(stream); }) == ErrorCode::device_lost);
  const int asked = forward.calls_when_lost;
  REQUIRE(code_of([&] { event.record(stream); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { static_cast<void>(event.query()); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { event.synchronize(); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { stream.wait_event(event); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { other_stream.wait_event(event); }) == ErrorCode::device_lost);
  REQUIRE(forward.calls_when_lost == asked);
  REQUIRE(code_of([&] { other_event.record(other_stream); }) == ErrorCode::ok);
  REQUIRE(code_of([&] { REQUIRE(other_event.query()); }) == ErrorCode::ok);
}

TEST_CASE("Given a record that fails in the backend when on the fast path then its error is that call's") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Stream stream(Device("sim_b:0"));
  const Event event(Device("sim_b:0"));
  for (int i = 0; i < 2; ++i) event.record(stream);
  forward.fail_next = ANYPLACE_STATUS_INTERNAL;
  const auto error = test::error_of([&] { event.record(stream); });
  REQUIRE(error);
  REQUIRE(error->operation() == "Event::record");
  REQUIRE(error->place() == "sim_b:0");
  REQUIRE(error->vendor_name() == "FORWARD_FAILED");
  REQUIRE(code_of([&] { event.record(stream); }) == ErrorCode::ok);
}

TEST_CASE("Given a stream that is held when a thread is on the fast path then its work stays in order") {
  test::Forward& forward = test::new_forward();
  forward.gates = false;
  forward.install("sim_b");
  const Stream producer(Device("cpu_sim:0"));
  const Stream stream(Device("sim_b:0"));
  const Event event(Device("sim_b:0"));
  for (int i = 0; i < 2; ++i) event.record(stream);
  stream.synchronize();
  test::HostGate gate;
  gate.block(producer);
  stream.wait_stream(producer);
  event.record(stream);
  REQUIRE_FALSE(stream.query());
  REQUIRE_FALSE(event.query());
  gate.open();
  stream.synchronize();
  REQUIRE(event.query());
  // Held no more: the same calls, and the record of the event is the backend's again.
  event.record(stream);
  event.synchronize();
  REQUIRE(event.query());
  REQUIRE(stream.query());
}

TEST_CASE("Given a fault when a thread asks the stream on the fast path then it is thrown and stays until collected") {
  const Stream stream(Device("cpu_sim:0"));
  stream.launch_host_func([] {});
  stream.synchronize();
  for (int i = 0; i < 2; ++i) static_cast<void>(stream.query());
  stream.launch_host_func([] { throw std::runtime_error("on purpose"); });
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
  REQUIRE(stream.query());
  stream.launch_host_func([] { throw std::runtime_error("on purpose"); });
  const Event after = stream.record_event();
  after.synchronize();
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::host_function_failed);
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::host_function_failed);
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
  REQUIRE(stream.query());
}

// ---- Threads and processes that may not ----------------------------------------------------------------------------

TEST_CASE("Given a thread on the fast path when a handler that the core calls calls back then that is not permitted") {
  const Stream stream(Device("cpu_sim:0"));
  const Event event(Device("cpu_sim:0"));
  for (int i = 0; i < 2; ++i) event.record(stream);
  /// Destroyed where the core lets go of a callable: on the thread that destroys the kernel.
  struct Calls {
    const Event* event;
    ErrorCode* said;
    Calls(const Event* used, ErrorCode* result) : event(used), said(result) {}
    Calls(const Calls&) = delete;  // says it once
    Calls& operator=(const Calls&) = delete;
    ~Calls() {
      *said = code_of([&] { static_cast<void>(event->query()); });
    }
  };
  ErrorCode said = ErrorCode::ok;
  {
    auto calls = std::make_shared<Calls>(&event, &said);
    const Kernel kernel(Device("cpu_sim:0"), [owner = std::move(calls)](const Block&) {});
  }
  REQUIRE(said == ErrorCode::not_permitted);
  REQUIRE(code_of([&] { static_cast<void>(event.query()); }) == ErrorCode::ok);
}

TEST_CASE("Given a process whose threads are on the fast path when it forks then the child's calls say so") {
  new_fragile();
  const Handles handles;
  handles.warm_up();
  const test::Ended result = test::in_child([&] {
    int wrong = 0;
    for (const auto& [name, call] : handles.calls()) {
      if (code_of(call) != ErrorCode::forked) ++wrong;
    }
#ifndef __SANITIZE_THREAD__  // which ends such a process when it starts a thread
    std::thread([&] {
      for (const auto& [name, call] : handles.calls()) {
        if (code_of(call) != ErrorCode::forked) ++wrong;
      }
    }).join();
#endif
    return wrong;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.status == 0);
  handles.warm_up();
}

namespace {

/// What a process that is exiting still looks at.
struct Exiting {
  Handles handles;
  std::atomic<bool> warm{false};
  std::atomic<bool> turned_away{false};
};

}  // namespace

TEST_CASE("Given a thread on the fast path when the process exits then its calls say that the backends are shut down") {
  const test::Ended result = test::in_child([] {
    new_fragile();
    // Registered before the backends' own handler, hence run after it.
    static Exiting* exiting = nullptr;
    std::atexit([] {
      while (exiting != nullptr && !exiting->turned_away) std::this_thread::yield();
    });
    exiting = new Exiting;
    std::thread([] {
      exiting->handles.warm_up();
      exiting->warm = true;
      ErrorCode said = ErrorCode::ok;
      while (said == ErrorCode::ok) said = code_of([] { static_cast<void>(exiting->handles.event.query()); });
      if (said == ErrorCode::shut_down) exiting->turned_away = true;
    }).detach();
    while (!exiting->warm) std::this_thread::yield();
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.signal == 0);
  REQUIRE(result.status == 0);
}

namespace {

/// A call made while a thread ends, after the core's own things of the thread are gone.
struct LastCall {
  const Event* event = nullptr;
  std::atomic<ErrorCode>* said = nullptr;
  LastCall() = default;
  LastCall(const LastCall&) = delete;  // calls once
  LastCall& operator=(const LastCall&) = delete;
  ~LastCall() {
    if (event == nullptr) return;
    for (int i = 0; i < 3; ++i) *said = code_of([&] { static_cast<void>(event->query()); });
  }
};
thread_local LastCall last_call;

}  // namespace

TEST_CASE("Given a thread that ends when its last destructors call then the calls work") {
  test::Fragile& fragile = new_fragile();
  const Handles handles;
  std::atomic<ErrorCode> said{ErrorCode::internal};
  std::thread([&] {
    last_call.event = &handles.event;  // before the thread's first call: destroyed after what that makes
    last_call.said = &said;
    handles.warm_up();
  }).join();
  REQUIRE(said.load() == ErrorCode::ok);
  REQUIRE(fragile.misused == 0);
}

}  // namespace fast_path_test
