// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include "anyplace/backend/kit/vendor_library.h"
#include "error.h"

namespace anyplace::levelzero {

Api loaded_api{};

namespace {

constexpr const char* library_name = "libze_loader.so.1";

using anyplace::backend::Need;
using anyplace::backend::VendorLibrary;

VendorLibrary open_library() {
  std::string reason;
  if (const VendorLibrary opened = VendorLibrary::open(library_name, reason)) return opened;
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         std::string(library_name) + " can't be opened (" + reason +
             ")\nit is the Level Zero loader: install it (Debian: apt-get install libze1), and a driver for the "
             "device, which for Intel's GPUs is libze_intel_gpu.so.1");
}

void require(Need need, const void* found, const char* name, const VendorLibrary& library) {
  if (need == Need::OPTIONAL || found != nullptr) return;
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         library.path() + " lacks " + name +
             ", which this backend can't do without: it is no Level Zero loader, or too old\ninstall one of version "
             "1.4 of the API or newer (Debian: apt-get install libze1)");
}

void fill_table(const VendorLibrary& library) {
#define ANYPLACE_LEVELZERO_FIND(need, Name)  \
  library.read("ze" #Name, loaded_api.Name); \
  require(Need::need, reinterpret_cast<const void*>(loaded_api.Name), "ze" #Name, library);
  ANYPLACE_LEVELZERO_ENTRIES(ANYPLACE_LEVELZERO_FIND)
#undef ANYPLACE_LEVELZERO_FIND
#define ANYPLACE_LEVELZERO_FIND(Name, parameters) library.read("ze" #Name, loaded_api.Name);
  ANYPLACE_LEVELZERO_NEWER_ENTRIES(ANYPLACE_LEVELZERO_FIND)
#undef ANYPLACE_LEVELZERO_FIND
}

void start(const VendorLibrary& library) {
  // The flag 0 selects all kinds of drivers: the first zeInit decides which ones a process has, and other libraries may
  // want theirs.
  const ze_result_t result = api().Init(0);
  if (result == ZE_RESULT_SUCCESS) return;
  if (result == ZE_RESULT_ERROR_UNINITIALIZED) {
    Results::fail(
        result, "zeInit", ANYPLACE_STATUS_NO_DRIVER,
        library.path() +
            " finds no driver that works: install the device's (for Intel's GPUs libze_intel_gpu.so.1, in the "
            "package libze-intel-gpu1 or intel-level-zero-gpu), and see that this user may open "
            "/dev/dri/renderD* (often: be in the group render); in a container, start it with --device /dev/dri");
  }
  anyplace_status status = Results::status_of(result);
  if (status != ANYPLACE_STATUS_LIBRARY_MISSING) status = ANYPLACE_STATUS_NO_DRIVER;
  Results::fail(result, "zeInit", status, "asked through " + library.path());
}

}  // namespace

void load_loader() {
  const VendorLibrary library = open_library();
  fill_table(library);
  start(library);
}

std::string version_text(ze_api_version_t version) {
  const auto number = static_cast<uint32_t>(version);
  return std::to_string(ZE_MAJOR_VERSION(number)) + "." + std::to_string(ZE_MINOR_VERSION(number));
}

}  // namespace anyplace::levelzero
