// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "anyplace/backend/kit/retired_modules.h"

namespace retired_modules_test {

namespace {

struct Device {
  bool lost() const { return is_lost; }
  bool is_lost = false;
  bool busy = false;
  bool knows_what_is_pending = true;
  int scopes = 0;
  int waits = 0;
  int result = 0;
  std::vector<int> unloaded;
};

struct Vendor {
  using Device = retired_modules_test::Device;
  using Native = int;
  using Result = int;
  struct Pending {
    const Device* device;
    bool is_over() const { return !device->busy; }
  };
  class Scope {
   public:
    explicit Scope(Device& device) noexcept { ++device.scopes; }
  };
  static Pending pending(Device& device) {
    if (!device.knows_what_is_pending) throw std::runtime_error("no event to be had");
    return {&device};
  }
  static void wait_for_all(Device& device) noexcept { ++device.waits; }
  static int unload(Device& device, int module) noexcept {
    device.unloaded.push_back(module);
    return device.result;
  }
};

using Modules = anyplace::backend::RetiredModules<Vendor>;

}  // namespace

TEST_CASE("A module is kept while work is pending and unloaded when that is over") {
  Device device;
  Modules modules(device);
  CHECK_FALSE(modules.keep_until_over(1));
  device.busy = true;
  CHECK(modules.keep_until_over(2));
  modules.sweep();
  CHECK(device.unloaded.empty());
  device.busy = false;
  modules.sweep();
  CHECK(device.unloaded == std::vector<int>{2});
  CHECK(device.scopes == 1);
  CHECK(modules.close() == 0);
  CHECK(device.unloaded.size() == 1);
}

TEST_CASE("Where it can't be known what is pending all of it is waited for") {
  Device device;
  device.knows_what_is_pending = false;
  Modules modules(device);
  CHECK_FALSE(modules.keep_until_over(1));
  CHECK(device.waits == 1);
}

TEST_CASE("The first failure to unload is told at the end") {
  Device device;
  device.busy = true;
  Modules modules(device);
  CHECK(modules.keep_until_over(1));
  CHECK(modules.keep_until_over(2));
  device.busy = false;
  device.result = 7;
  modules.sweep();
  device.result = 8;
  CHECK(modules.failure() == 7);
  CHECK(modules.close() == 7);
  CHECK(device.unloaded.size() == 2);
}

TEST_CASE("Nothing is unloaded of a lost device") {
  Device device;
  device.busy = true;
  Modules modules(device);
  CHECK(modules.keep_until_over(1));
  device.busy = false;
  device.is_lost = true;
  modules.sweep();
  CHECK(device.unloaded.empty());
}

}  // namespace retired_modules_test
