// SPDX-License-Identifier: Apache-2.0
//
// levelzero_intel_driver: drives the levelzero backend, through the public API, over a real Level Zero driver that runs
// without a device (scripts/verify-levelzero-driver). Work that it submits never runs and is never done; everything
// else is checked.
//
//   levelzero_intel_driver [--plugin FILE] [--devices N] [--steps all|damaged|images|pending]
//
// --plugin takes the steps that have no public API, virtual memory, and no others: a plugin's table is had once a
// process. `damaged` is one image that doesn't build; `pending` ends the process with streams, events and host
// functions that wait. The last line is "N passed, M failed"; exit status 1 if any failed, 2 for other arguments.
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "steps.h"

namespace intel_driver {

void Steps::run(const char* name, const std::function<std::string()>& body) {
  std::string said;
  bool right = false;
  try {
    said = body();
    right = true;
  } catch (const std::exception& error) {
    said = error.what();
  }
  ++(right ? passed_ : failed_);
  std::printf("%-6s  %s%s%s\n", right ? "passed" : "FAILED", name, said.empty() ? "" : ": ", said.c_str());
  std::fflush(stdout);
}

void expect(bool right, const std::string& what) {
  if (!right) throw Wrong("not so: " + what);
}

std::string expect_error(ErrorCode code, const std::string& part, const std::function<void()>& call) {
  try {
    call();
  } catch (const anyplace::Error& error) {
    const std::string text = error.what();
    if (error.code() == code && text.find(part) != std::string::npos) return text;
    throw Wrong(std::string("expected ") + to_string(code) + " with \"" + part + "\", got: " + text);
  }
  throw Wrong(std::string("expected ") + to_string(code) + (part.empty() ? "" : " with \"" + part + "\"") +
              ", and nothing was thrown");
}

}  // namespace intel_driver

namespace {

struct Arguments {
  std::string plugin;
  int devices = 1;
  std::string steps = "all";
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--plugin") {
      arguments.plugin = value;
    } else if (name == "--devices") {
      arguments.devices = std::atoi(value.c_str());
    } else if (name == "--steps" && (value == "all" || value == "damaged" || value == "images" || value == "pending")) {
      arguments.steps = value;
    } else {
      return false;
    }
  }
  return arguments.devices > 0;
}

bool find_devices(intel_driver::Steps& steps, intel_driver::Machine& machine, int count) {
  steps.run("the driver starts and its devices are found", [&] {
    machine.devices = anyplace::devices("levelzero");
    intel_driver::expect(machine.devices.size() == static_cast<std::size_t>(count),
                         std::to_string(count) + " devices; there are " + std::to_string(machine.devices.size()));
    return machine.first().properties().name;
  });
  return steps.failed() == 0;
}

void all_steps(intel_driver::Steps& steps, const intel_driver::Machine& machine) {
  device_steps(steps, machine);
  stream_steps(steps, machine);
  event_steps(steps, machine);
  memory_steps(steps, machine);
  copy_steps(steps, machine);
  module_steps(steps, machine);
  native_steps(steps, machine);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fputs("usage: levelzero_intel_driver [--plugin FILE] [--devices N] [--steps all|damaged|images|pending]\n",
               stderr);
    return 2;
  }
  using namespace intel_driver;
  Steps steps;
  Machine machine;
  if (!arguments.plugin.empty()) {
    virtual_memory_steps(steps, arguments.plugin);
  } else if (find_devices(steps, machine, arguments.devices)) {
    if (arguments.steps == "all") all_steps(steps, machine);
    if (arguments.steps == "damaged") damaged_steps(steps, machine);
    if (arguments.steps == "images") image_steps(steps, machine);
    if (arguments.steps == "pending") ending_steps(steps, machine);
  }
  std::printf("%d passed, %d failed\n", steps.passed(), steps.failed());
  std::fflush(stdout);
  return steps.failed() == 0 ? 0 : 1;
}
