// SPDX-License-Identifier: Apache-2.0
#include "rocm_smi.h"

#include <cstdio>
#include <cstring>
#include <mutex>

#include "anyplace/backend/kit/vendor_library.h"

namespace anyplace::hip {

namespace rsmi {

std::uint64_t current_of(const Frequencies& frequencies) noexcept {
  std::uint32_t halves[4];
  std::memcpy(halves, frequencies.words, sizeof(halves));
  constexpr std::uint32_t most = 33;
  // This form is: number, current, frequencies. The other form begins with a bool, which is less than the number behind
  // it.
  if (halves[0] >= 1 && halves[0] <= most && halves[1] < halves[0]) return frequencies.words[1 + halves[1]];
  // This form is: bool, number, current, frequencies.
  if (halves[0] <= 1 && halves[1] >= 1 && halves[1] <= most && halves[2] < halves[1]) {
    return frequencies.words[2 + halves[2]];
  }
  return 0;
}

}  // namespace rsmi

namespace {

/// ROCm's libraries have the number of their release, Debian's have numbers of their own.
constexpr const char* rocm_smi_names[] = {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                          "librocm_smi64.so.1"};

/// The PCI address, such as "0000:43:00.0", of an id that rsmi_dev_pci_id_get gives.
std::string address_text(std::uint64_t id) {
  char text[32];
  std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", static_cast<unsigned>(id >> 32 & 0xffffffffu),
                static_cast<unsigned>(id >> 8 & 0xff), static_cast<unsigned>(id >> 3 & 0x1f),
                static_cast<unsigned>(id & 0x7));
  return text;
}

void begin(const backend::VendorLibrary& file, RocmSmiLibrary& library) {
#define ANYPLACE_ROCM_SMI_FIND(Member, exported, parameters) file.read(exported, library.entries.Member);
  ANYPLACE_ROCM_SMI_ENTRIES(ANYPLACE_ROCM_SMI_FIND)
#undef ANYPLACE_ROCM_SMI_FIND
  const RocmSmi& entries = library.entries;
  if (entries.Init == nullptr || entries.NumMonitorDevices == nullptr || entries.DevPciId == nullptr) {
    library.text = file.path() + " lacks rsmi_init or the calls that find a device: it is too old or no ROCm SMI";
    return;
  }
  std::uint32_t count = 0;
  rsmi::Status status = entries.Init(0);
  const char* call = "rsmi_init";
  if (status == rsmi::success) {
    status = entries.NumMonitorDevices(&count);
    call = "rsmi_num_monitor_devices";
  }
  if (status != rsmi::success) {
    library.text = file.path() + ": " + call + " gives " + std::to_string(status) +
                   ": see that the amdgpu driver is loaded, and that this user may read /sys/class/drm and "
                   "/sys/class/kfd";
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    library.addresses.push_back(entries.DevPciId(i, &id) == rsmi::success ? address_text(id) : "");
  }
  library.text = "ROCm SMI, " + file.path();
  library.ready = true;
}

RocmSmiLibrary open() {
  RocmSmiLibrary library;
  std::string reason;
  for (const char* const name : rocm_smi_names) {
    if (const backend::VendorLibrary file = backend::VendorLibrary::open(name, reason)) {
      begin(file, library);
      return library;
    }
  }
  library.text =
      "librocm_smi64.so.7, .6, .5 or .1 can't be opened: figures come of ROCm SMI; install rocm-smi-lib of AMD's "
      "releases (Debian: librocm-smi64-1)";
  return library;
}

}  // namespace

const RocmSmiLibrary& rocm_smi() {
  // The object is never destroyed, because threads may sample while the process exits.
  static const RocmSmiLibrary& once = *new RocmSmiLibrary(open());
  return once;
}

}  // namespace anyplace::hip
