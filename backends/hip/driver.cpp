// SPDX-License-Identifier: Apache-2.0
//
// Opens the library, finds its entries and initialises it. For each way in which that fails it says what to do.
#include "driver.h"

#include <unistd.h>

#include "anyplace/backend/kit/hidden_devices.h"
#include "anyplace/backend/kit/vendor_library.h"
#include "error.h"

namespace anyplace::hip {

constinit Driver loaded_driver{};

namespace {

/// The names are in the order of trial, newest first: of several releases on a machine the newest knows most devices,
/// and the kernel driver was made for it.
constexpr const char* library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
/// The name of the copy in PyTorch's packages.
constexpr const char* unversioned_name = "libamdhip64.so";
constexpr int oldest_major = 5;
constinit int version_of_driver = 0;

using Library = backend::VendorLibrary;
using backend::Need;

/// The HIP runtime that this process has already loaded, whichever it is; null if there is none. Another library's
/// streams and memory are valid only in the runtime that made them, and two runtimes in a process would both drive the
/// devices.
Library loaded_already() {
  for (const char* name : library_names) {
    if (const Library loaded = Library::loaded(name)) return loaded;
  }
  return Library::loaded(unversioned_name);
}

Library open_library() {
  if (const Library loaded = loaded_already()) return loaded;
  std::string reasons;
  for (const char* name : library_names) {
    std::string reason;
    if (const Library opened = Library::open(name, reason)) return opened;
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         "no libamdhip64 of ROCm 5, 6 or 7 can be opened (" + reasons +
             ")\nit comes with ROCm: install that (Debian: apt-get install libamdhip64-5; AMD's packages: "
             "hip-runtime-amd), and if it is there, put its folder (such as /opt/rocm/lib) into /etc/ld.so.conf.d or "
             "LD_LIBRARY_PATH");
}

std::string of_version() { return version_of_driver == 0 ? "" : " (HIP " + version_text(version_of_driver) + ")"; }

void require(Need need, bool found, const char* exported, const Library& library) {
  if (need == Need::OPTIONAL || found) return;
  refuse(ANYPLACE_STATUS_NO_DRIVER,
         library.path() + of_version() + " lacks " + exported +
             ", which this backend can't do without\nit needs HIP 5.2 or newer: update ROCm, "
             "or reinstall it if it says to be new enough");
}

void fill_table(const Library& library) {
#define ANYPLACE_HIP_FIND(need, Member, parameters)           \
  library.read("hip" #Member, loaded_driver.Member.function); \
  require(Need::need, static_cast<bool>(loaded_driver.Member), "hip" #Member, library);
  ANYPLACE_HIP_ENTRIES(ANYPLACE_HIP_FIND)
#undef ANYPLACE_HIP_FIND
  library.read("hipGetStreamDeviceId", loaded_driver.GetStreamDeviceId);
}

/// Says whether /dev/kfd exists and may be opened.
std::string state_of_kfd() {
  if (access("/dev/kfd", F_OK) != 0) {
    return "there is no /dev/kfd: load the amdgpu kernel driver (in a container: --device=/dev/kfd --device=/dev/dri)";
  }
  if (access("/dev/kfd", R_OK | W_OK) != 0) {
    return "/dev/kfd may not be opened by this user: add it to the groups render and video";
  }
  return "see that rocminfo lists one that this release of ROCm supports";
}

/// Says what to do about a hipInit that failed.
std::string advice_for(hipError_t result, const std::string& path) {
  switch (static_cast<int>(result)) {
    case 100:
    case 101: {  // HIP 5's hipInit returns it without a device
      const std::string hidden = backend::hidden_devices(hiding_variables);
      return path + " finds no device: " + state_of_kfd() + (hidden.empty() ? hidden : "; " + hidden);
    }
    case 35:
      return "the kernel's driver is older than " + path + " needs: update amdgpu";
    default:
      return path + " doesn't start: see that rocminfo works, and `dmesg` for what amdgpu says";
  }
}

[[noreturn]] void refuse_start(hipError_t result, const char* call, const Library& library) {
  anyplace_status status = Results::status_of(result);
  if (status != ANYPLACE_STATUS_NO_SUCH_DEVICE) status = ANYPLACE_STATUS_NO_DRIVER;
  Results::fail(result, call, status, advice_for(result, library.path()));
}

/// Finds the version first, because later messages contain it. It can be asked for without a device.
void find_version(const Library& library) {
  library.read("hipGetErrorName", loaded_driver.GetErrorName);
  library.read("hipGetErrorString", loaded_driver.GetErrorString);
  library.read("hipGetLastError", loaded_driver.GetLastError);
  library.read("hipPeekAtLastError", loaded_driver.PeekAtLastError);
  library.read("hipRuntimeGetVersion", loaded_driver.RuntimeGetVersion);
  if (driver().GetErrorName == nullptr) {
    refuse(ANYPLACE_STATUS_NO_DRIVER, library.path() + " lacks hipGetErrorName: it is no libamdhip64\nreinstall ROCm");
  }
  if (driver().RuntimeGetVersion == nullptr) return;
  int version = 0;
  if (driver().RuntimeGetVersion(&version) == hipSuccess) version_of_driver = version;
  if (version_of_driver != 0 && version_of_driver / 10'000'000 < oldest_major) {
    refuse(ANYPLACE_STATUS_NO_DRIVER, library.path() + of_version() + " is too old\nthis needs HIP 5.2 or newer");
  }
}

void start(const Library& library) {
  const hipError_t result = driver().Init(0);
  if (result != hipSuccess) refuse_start(result, "hipInit", library);
  // Some releases initialise successfully without a device.
  int count = 0;
  const hipError_t counted = driver().GetDeviceCount(&count);
  if (counted != hipSuccess) refuse_start(counted, "hipGetDeviceCount", library);
  if (count == 0) refuse_start(hipErrorNoDevice, "hipGetDeviceCount", library);
}

}  // namespace

void take_back_last_error(hipError_t error) noexcept {
  // HIP 7 keeps an older error of the application's when a call says "not ready", so only an equal error is taken back.
  if (driver().PeekAtLastError == nullptr || driver().GetLastError == nullptr) return;
  if (driver().PeekAtLastError() == error) ignore(driver().GetLastError());
}

void load_driver() {
  const Library library = open_library();
  find_version(library);
  fill_table(library);
  start(library);
}

int driver_version() noexcept { return version_of_driver; }

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100) + "." +
         std::to_string(version % 100'000);
}

}  // namespace anyplace::hip
