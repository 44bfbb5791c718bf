// SPDX-License-Identifier: Apache-2.0
#include "nvml.h"

#include <mutex>

#include "anyplace/backend/kit/vendor_library.h"

namespace anyplace::cuda {
namespace {

constexpr const char* nvml_library_name = "libnvidia-ml.so.1";

/// The mutex guards what is opened and initialised once; it is a leaf except for NVML's own locks.
struct Opened {
  std::mutex mutex;
  bool tried = false;
  bool begun = false;
  backend::VendorLibrary file;
  NvmlLibrary library;
};
Opened& opened() {
  static Opened& once = *new Opened;  // never destroyed: threads may sample while the process exits
  return once;
}

/// The mutex is held.
void open(Opened& once) {
  if (once.tried) return;
  std::string reason;
  once.file = backend::VendorLibrary::open(nvml_library_name, reason);
  once.tried = true;
  if (!once.file) {
    once.library.text = std::string(nvml_library_name) + " can't be opened (" + reason +
                        "): it comes with NVIDIA's driver (Debian: libnvidia-ml1); in a container ask the toolkit "
                        "for the capability \"utility\"";
    return;
  }
#define ANYPLACE_NVML_FIND(Member, exported, parameters) once.file.read(exported, once.library.entries.Member);
  ANYPLACE_NVML_ENTRIES(ANYPLACE_NVML_FIND)
#undef ANYPLACE_NVML_FIND
}

/// The mutex is held, and the library is open.
void begin(Opened& once) {
  NvmlLibrary& library = once.library;
  const Nvml& nvml = library.entries;
  if (nvml.Init == nullptr || nvml.DeviceGetHandleByUUID == nullptr || nvml.DeviceGetHandleByPciBusId == nullptr) {
    library.text = once.file.path() +
                   " lacks nvmlInit_v2 or the calls that find a device: it is too old or no NVML; update NVIDIA's "
                   "driver";
    return;
  }
  if (const NvmlResult result = nvml.Init(); result != nvml_result::success) {
    library.text = once.file.path() + ": nvmlInit_v2 gives " + std::to_string(result) +
                   ": see that nvidia-smi works; the library has to be of the driver's own version";
    return;
  }
  char version[80] = "";
  const bool told = nvml.SystemGetNVMLVersion != nullptr &&
                    nvml.SystemGetNVMLVersion(version, sizeof(version)) == nvml_result::success;
  library.text = std::string("NVML ") + (told ? std::string(version) + ", " : "") + once.file.path();
  library.ready = true;
}

}  // namespace

const Nvml* nvml_entries() {
  Opened& once = opened();
  const std::lock_guard lock(once.mutex);
  open(once);
  return once.file ? &once.library.entries : nullptr;
}

const NvmlLibrary& nvml_library() {
  Opened& once = opened();
  const std::lock_guard lock(once.mutex);
  open(once);
  if (once.file && !once.begun) {
    begin(once);
    once.begun = true;
  }
  return once.library;
}

}  // namespace anyplace::cuda
