// SPDX-License-Identifier: Apache-2.0
//
// Work, HostFunctions and Module on a vendor that is made up: with a destroy that waits for the stream, and without.
#include <catch2/catch.hpp>
#include <set>

#include "anyplace/backend/kit/host_functions.h"
#include "anyplace/backend/kit/module.h"
#include "anyplace/backend/kit/retired_modules.h"
#include "anyplace/backend/kit/work.h"
#include "made_up.h"

namespace work_test {

using namespace made_up;

namespace {

std::set<int> busy;           ///< streams
std::map<int, int> recorded;  ///< the stream of each event

template <bool waits>
struct Made {
  struct Stream;
  struct EventCalls : Calls {
    using Stream = Made::Stream;
    using Native = int;
    using Result = int;
    static int make(OneDevice&, std::uint32_t) {
      static int made = 0;
      return ++made;
    }
    static int end(OneDevice&, int) noexcept { return driver.call("end_event"); }
    static void check_end(OneDevice&, int) {}
    static int ask(int event) noexcept { return busy.count(recorded[event]) != 0 ? 2 : 0; }
    static bool answer(OneDevice&, int, int result) { return result == 0; }
    static void wait(OneDevice&, int) {}
    static void record(const Stream& stream, int event) { stream.record(event); }
  };
  struct WorkCalls : Calls {
    using Events = EventCalls;
    using Stream = Made::Stream;
    static constexpr bool destroying_waits = waits;
    static constexpr bool context_has_streams = !waits;
    static constexpr const char* destroy_call = "destroy";
    static bool is_null_idle(OneDevice& device) { return is_idle(device, 0); }
    static bool is_idle(OneDevice& device, int stream) {
      device.check(driver.call("ask"), "ask");
      return busy.count(stream) == 0;
    }
    static int destroy(OneDevice&, int stream) noexcept { return driver.call("destroy " + std::to_string(stream)); }
  };
  using Work = anyplace::backend::Work<WorkCalls>;
  struct Stream {
    Stream(Work& work, int native, bool ours = true) : native_(native), ours_(ours) { work.add(*this); }
    int native() const { return native_; }
    bool is_null() const { return native_ == 0; }
    bool is_ours() const { return ours_; }
    bool query() const {
      if (driver.call("query") != 0) throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, "no answer");
      return busy.count(native_) == 0;
    }
    void record(int event) const {
      if (driver.call("record") != 0) throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, "no record");
      recorded[event] = native_;
    }
    StreamLinks<Stream> links;
    const int native_;
    const bool ours_;
  };
  struct Parts : House {
    Parts() { busy.clear(); }
    ~Parts() { pool.close(); }
    EventPool<EventCalls> pool{device};
    Work work{device, pool};
  };
};
using Waiting = Made<true>;
using Leaving = Made<false>;

struct HostFunctionCalls : Calls {
  static Called<int> launch(int, HostCalls::Call* call) noexcept {
    queued = call;
    return {driver.call("launch"), "launch"};
  }
  static inline HostCalls::Call* queued = nullptr;
};

struct ModuleKernel {
  ModuleKernel(OneDevice&, int made_of, const char*) : function(made_of) {}
  int function;
};
struct ModuleDevice : OneDevice {
  using OneDevice::OneDevice;
  struct Retired {
    bool keep_until_over(int) { return keeps; }
    bool keeps = false;
  } retired;
  Retired& retired_modules() { return retired; }
};
struct ModuleCalls : Calls {
  using Device = ModuleDevice;
  using Native = int;
  using Function = int;
  using Kernel = ModuleKernel;
  static constexpr int not_found = 5;
  static constexpr const char* names_tool = "nm";
  static int load(Device&, const anyplace_module_desc&) { return 77; }
  static Called<int> find(int, const char* name, int& function) noexcept {
    function = 6;
    return {driver.call(std::string("find ") + name), "find"};
  }
  static Called<int> unload(int) noexcept { return {driver.call("unload"), "unload"}; }
};

}  // namespace

// ---- Work ----------------------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("What is pending covers each stream and the null stream", "", Waiting, Leaving) {
  typename TestType::Parts parts;
  typename TestType::Stream null(parts.work, 0);
  typename TestType::Stream one(parts.work, 1);
  typename TestType::Stream two(parts.work, 2);
  parts.device.context();
  CHECK(parts.work.is_idle());
  busy = {0, 2};
  CHECK_FALSE(parts.work.is_idle());
  auto pending = parts.work.pending();
  CHECK_FALSE(pending.is_over());
  busy = {2};
  CHECK_FALSE(pending.is_over());
  busy = {1};  // submitted later
  CHECK(pending.is_over());
  CHECK_FALSE(parts.work.wait_for(one, 1000));
  CHECK(parts.work.wait_for(two, 1000));
}

TEST_CASE("A stream whose destroying waits is retired until its work is over") {
  Waiting::Parts parts;
  Waiting::Stream stream(parts.work, 3);
  parts.device.context();
  busy = {3};
  parts.work.end(stream);
  CHECK(driver.count("destroy 3") == 0);
  CHECK(parts.work.any_retired());
  CHECK_FALSE(parts.work.pending().is_over());
  parts.work.sweep();
  CHECK(driver.count("destroy 3") == 0);
  busy.clear();
  parts.work.sweep();
  CHECK(driver.count("destroy 3") == 1);
  CHECK_FALSE(parts.work.any_retired());
}

TEST_CASE("A stream whose destroying returns at once is destroyed and its work still pending") {
  Leaving::Parts parts;
  Leaving::Stream stream(parts.work, 3);
  parts.device.context();
  busy = {3};
  parts.work.end(stream);
  CHECK(driver.count("destroy 3") == 1);
  auto pending = parts.work.pending();
  CHECK_FALSE(pending.is_over());
  busy.clear();
  CHECK(pending.is_over());
}

TEMPLATE_TEST_CASE("A stream that can't be asked or marked at its end is kept until its work is over", "", Waiting,
                   Leaving) {
  typename TestType::Parts parts;
  typename TestType::Stream stream(parts.work, 3);
  parts.device.context();
  busy = {3};
  driver.fail["query"] = driver.fail["record"] = 3;
  CHECK(status_of([&] { parts.work.end(stream); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  driver.fail.clear();
  CHECK(driver.count("destroy 3") == 0);
  CHECK_FALSE(parts.work.is_idle());
  CHECK_FALSE(parts.work.pending().is_over());
  busy.clear();
  parts.work.sweep();
  CHECK(driver.count("destroy 3") == 1);
  CHECK(parts.work.is_idle());
}

TEST_CASE("A stream of others is never destroyed") {
  Waiting::Parts parts;
  Waiting::Stream stream(parts.work, 3, false);
  parts.device.context();
  parts.work.end(stream);
  CHECK(driver.count("destroy 3") == 0);
}

TEST_CASE("A retired stream that can't be destroyed is told at the close and by nobody else") {
  Waiting::Parts parts;
  Waiting::Stream stream(parts.work, 3);
  Waiting::Stream left(parts.work, 4);
  parts.device.context();
  busy = {3};
  parts.work.end(stream);
  busy.clear();
  driver.fail["destroy 3"] = 3;
  parts.work.sweep();
  CHECK(parts.work.failure() == 3);
  CHECK(parts.work.close() == 3);
  CHECK(driver.count("destroy 4") == 1);
}

TEST_CASE("A question that fails now and then says nothing and one that always does is a failure") {
  Waiting::Parts parts;
  Waiting::Stream null(parts.work, 0);
  parts.device.context();
  busy = {0};
  auto pending = parts.work.pending();
  driver.fail["ask"] = 3;
  CHECK_FALSE(pending.is_over());
  driver.fail.clear();
  CHECK_FALSE(pending.is_over());
  driver.fail["ask"] = 3;
  int asked = 0;
  CHECK(status_of([&] {
          while (asked < 100) {
            ++asked;
            static_cast<void>(pending.is_over());
          }
        }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(asked < 100);
}

// ---- HostFunctions -------------------------------------------------------------------------------------------------

TEST_CASE("A host function that the vendor refuses isn't called and one of a lost device is") {
  House house;
  HostFunctions<HostFunctionCalls> functions(house.device);
  static int called = 0;
  static anyplace_status with = ANYPLACE_STATUS_OK;
  const auto function = [](void*, anyplace_status status) {
    ++called;
    with = status;
  };
  driver.fail["launch"] = 1;
  CHECK(status_of([&] { functions.launch(1, function, nullptr); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_FALSE(functions.any_pending());
  driver.fail.clear();
  functions.launch(1, function, nullptr);
  CHECK(functions.any_pending());
  HostCalls::finish(HostFunctionCalls::queued, ANYPLACE_STATUS_OK);
  CHECK(called == 1);
  functions.launch(1, function, nullptr);
  functions.settle_if_lost(true);
  CHECK(called == 1);
  house.device.lose(7);
  functions.settle_if_lost(false);
  CHECK(called == 2);
  CHECK(with == ANYPLACE_STATUS_DEVICE_LOST);
}

// ---- Module --------------------------------------------------------------------------------------------------------

TEST_CASE("A module has one kernel for a name, says which it lacks, and is kept while it may be needed") {
  House house;
  ModuleDevice device(Host(&house.callbacks), house.watcher, 1, 0);
  auto* module = new Module<ModuleCalls>(device, {});
  CHECK(&module->kernel("a") == &module->kernel("a"));
  CHECK(&module->kernel("a") != &module->kernel("b"));
  CHECK(driver.count("find a") == 1);
  driver.fail["find c"] = ModuleCalls::not_found;
  CHECK(status_of([&] { module->kernel("c"); }) == ANYPLACE_STATUS_NO_SUCH_KERNEL);
  driver.fail["find d"] = 1;
  CHECK(status_of([&] { module->kernel("d"); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  device.retired.keeps = true;
  Module<ModuleCalls>::unload(module);
  CHECK(driver.count("unload") == 0);
  device.retired.keeps = false;
  Module<ModuleCalls>::unload(new Module<ModuleCalls>(device, {}));
  CHECK(driver.count("unload") == 1);
}

}  // namespace work_test
