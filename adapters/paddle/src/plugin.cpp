// SPDX-License-Identifier: Apache-2.0
//
// InitPlugin, which Paddle calls when it has opened the plug-in. Leaving the device type empty refuses: Paddle then
// goes on without the plug-in, and says so.
#include <string>

#include <anyplace/version.h>

#include "device_type.h"
#include "entries.h"
#include "paddle_flags.h"
#include "places.h"
#include "report.h"

namespace anyplace_paddle {
namespace {

/// What wheels are known to have: bytes of their device interface.
constexpr const char* known_interfaces =
    "known are 1128 bytes of 3.3.0 and 3.3.1, 1032 of 3.2.2, 976 of 3.1.1, 920 of 3.0.0";

/// Whether the wheel's structures are those that this was compiled with. Their sizes are all that tells: the version
/// that Paddle's header gives hasn't changed since its first release.
bool is_wheel_known(const CustomRuntimeParams& params) {
  const std::size_t interface = params.interface == nullptr ? 0 : params.interface->size;
  if (params.size == sizeof(CustomRuntimeParams) && interface == sizeof(C_DeviceInterface)) return true;
  report("this plug-in is refused by itself: it was built with the headers of paddlepaddle " ANYPLACE_PADDLE_BUILT_FOR
         ", whose device interface has " +
         std::to_string(sizeof(C_DeviceInterface)) + " bytes (and its parameters " +
         std::to_string(sizeof(CustomRuntimeParams)) + "), and the Paddle that loads it has one of " +
         std::to_string(interface) + " (and " + std::to_string(params.size) + "); " + known_interfaces +
         "; install the former, or build adapters/paddle against a wheel of 3.3 that is installed: "
         "docs/frameworks/paddle.md");
  return false;
}

void fill(CustomRuntimeParams& params) {
  const std::string& type = device_type();
  places();  // throws here, before Paddle knows of the device type
  C_DeviceInterface& table = *params.interface;
  fill_devices(table);
  fill_streams(table);
  fill_memory(table);
  fill_copies(table);
  fill_information(table);
  fill_profiler(table);
  params.version = {PADDLE_CUSTOM_RUNTIME_MAJOR_VERSION, PADDLE_CUSTOM_RUNTIME_MINOR_VERSION,
                    PADDLE_CUSTOM_RUNTIME_PATCH_VERSION};
  turn_views_off();
  // Paddle copies both texts and writes to neither.
  params.sub_device_type = const_cast<char*>(anyplace::version());
  params.device_type = const_cast<char*>(type.c_str());
}

}  // namespace
}  // namespace anyplace_paddle

extern "C" __attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  using namespace anyplace_paddle;
  if (params == nullptr || !is_wheel_known(*params)) return;
  (void)guarded("InitPlugin", nullptr, [&] { fill(*params); });
}
