// SPDX-License-Identifier: Apache-2.0
//
// Opens the library, finds its entries and initialises it. For each way in which that fails it says what to do.
#include "driver.h"

#include "anyplace/backend/kit/hidden_devices.h"
#include "anyplace/backend/kit/vendor_library.h"
#include "error.h"

namespace anyplace::cuda {

constinit Driver loaded_driver{};

namespace {

constexpr const char* library_name = "libcuda.so.1";
constinit int version_of_driver = 0;

// These are the two forms of cuGetProcAddress. The second one's last parameter says why nothing was found.
using GetProcAddress = CUresult(CUDAAPI*)(const char*, void**, int, cuuint64_t);
using GetProcAddress2 = CUresult(CUDAAPI*)(const char*, void**, int, cuuint64_t, int*);

/// The library, with the lookup of its entries.
class Library : public backend::VendorLibrary {
 public:
  explicit Library(const VendorLibrary& opened) : VendorLibrary(opened) {
    read("cuGetProcAddress", get_);
    read("cuGetProcAddress_v2", get2_);
  }

  /// Returns null if the driver lacks the entry. If the driver has cuGetProcAddress, only that is asked.
  void* find(const char* name, int version, const char* exported) const {
    // Without this check cuGetProcAddress would give the newest form, which has another meaning (cuStreamWaitValue32).
    if (version > version_of_driver) return nullptr;
    void* found = nullptr;
    // The flag selects the legacy default stream, however the application was compiled.
    constexpr cuuint64_t flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    if (get2_ != nullptr) {
      int why = 0;
      return get2_(name, &found, version, flags, &why) == CUDA_SUCCESS ? found : nullptr;
    }
    if (get_ != nullptr) return get_(name, &found, version, flags) == CUDA_SUCCESS ? found : nullptr;
    return VendorLibrary::find(exported);
  }

 private:
  GetProcAddress get_ = nullptr;
  GetProcAddress2 get2_ = nullptr;
};

Library open_library() {
  std::string reason;
  if (const backend::VendorLibrary opened = backend::VendorLibrary::open(library_name, reason)) return Library(opened);
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         std::string(library_name) + " can't be opened (" + reason +
             ")\nit comes with NVIDIA's driver: install that (Debian: apt-get install nvidia-driver libcuda1); in a "
             "container, start it with NVIDIA's container toolkit (--gpus all), which brings the host's");
}

std::string too_old(const Library& library) {
  return library.path() + " is of a driver for CUDA " + version_text(version_of_driver) +
         ", and this needs one for CUDA " + version_text(oldest_driver) + " or newer\nupdate NVIDIA's driver to " +
         driver_branch(oldest_driver) + " or newer";
}

using backend::Need;

void require(Need need, const void* found, const char* exported, const Library& library) {
  if (need == Need::OPTIONAL || found != nullptr) return;
  refuse(ANYPLACE_STATUS_NO_DRIVER, library.path() + " (a driver for CUDA " + version_text(version_of_driver) +
                                        ") lacks " + exported +
                                        ", which this backend can't do without\nupdate NVIDIA's driver, or reinstall "
                                        "it if it says to be new enough");
}

void fill_table(const Library& library) {
#define ANYPLACE_CUDA_FIND(need, Member, name, version, symbol, parameters)                                     \
  loaded_driver.Member = reinterpret_cast<decltype(loaded_driver.Member)>(library.find(name, version, symbol)); \
  require(Need::need, reinterpret_cast<const void*>(loaded_driver.Member), symbol, library);
  ANYPLACE_CUDA_ENTRIES(ANYPLACE_CUDA_FIND)
#undef ANYPLACE_CUDA_FIND
}

/// Says what to do about a cuInit that failed.
std::string advice_for(CUresult result, const std::string& path) {
  switch (static_cast<int>(result)) {
    case 34:
      return path +
             " is the toolkit's stub, made for linking only: take its folder (.../stubs) out of LD_LIBRARY_PATH and "
             "install NVIDIA's driver, which brings the real library";
    case 100: {
      const std::string hidden = backend::hidden_devices(hiding_variables);
      return path +
             " finds no device: see that nvidia-smi lists one and that /dev/nvidia* is there (in a container: "
             "--gpus all)" +
             (hidden.empty() ? hidden : "; " + hidden);
    }
    case 35:
    case 36:
      return "the kernel's driver is older than " + path + ": update the driver, or reboot after an update";
    case 803:
      return "the kernel's module and " + path +
             " are of different driver versions: reboot after an update of the driver, and see that no other "
             "libcuda.so.1 comes first (LD_LIBRARY_PATH)";
    case 804:
      return "the forward-compatibility libcuda.so.1 at " + path +
             " works with data-center GPUs only: use the driver's own";
    case 802:
      return "the system is still being initialised: on machines with NVSwitch see that nvidia-fabricmanager runs";
    case 999:
      return "the driver doesn't say why; often nvidia_uvm isn't loaded (modprobe nvidia_uvm), or a reboot is due "
             "after an update or a suspend; `dmesg` may say more";
    default:
      return "see that nvidia-smi works, and `dmesg` for what the kernel's driver says";
  }
}

[[noreturn]] void refuse_start(CUresult result, const char* call, const Library& library) {
  anyplace_status status = Results::status_of(result);
  if (status != ANYPLACE_STATUS_NO_SUCH_DEVICE) status = ANYPLACE_STATUS_NO_DRIVER;
  Results::fail(result, call, status, advice_for(result, library.path()));
}

/// Finds the version first, because later messages contain it. It isn't asked for through cuGetProcAddress, which the
/// toolkit's stub has too, but without answers.
void find_version(const Library& library) {
  library.read("cuDriverGetVersion", loaded_driver.DriverGetVersion);
  library.read("cuGetErrorName", loaded_driver.GetErrorName);
  library.read("cuGetErrorString", loaded_driver.GetErrorString);
  if (driver().DriverGetVersion == nullptr) {
    refuse(ANYPLACE_STATUS_NO_DRIVER,
           library.path() + " lacks cuDriverGetVersion: it is no libcuda\nreinstall NVIDIA's driver");
  }
  const CUresult result = driver().DriverGetVersion(&version_of_driver);
  if (result != CUDA_SUCCESS) refuse_start(result, "cuDriverGetVersion", library);
  if (version_of_driver < oldest_driver) refuse(ANYPLACE_STATUS_NO_DRIVER, too_old(library));
}

void start(const Library& library) {
  const CUresult result = driver().Init(0);
  if (result != CUDA_SUCCESS) refuse_start(result, "cuInit", library);
}

}  // namespace

void load_driver() {
  const Library library = open_library();
  find_version(library);
  fill_table(library);
  start(library);
}

/// The versions are from the table of minimum driver versions in the CUDA toolkit's release notes.
const char* driver_branch(int version) noexcept {
  struct Row {
    int version;
    const char* branch;
  };
  constexpr Row rows[] = {{11000, "450"}, {11010, "455"}, {11020, "460"}, {11030, "465"}, {11040, "470"},
                          {11050, "495"}, {11060, "510"}, {11070, "515"}, {11080, "520"}, {12000, "525"},
                          {12010, "530"}, {12020, "535"}, {12030, "545"}, {12040, "550"}, {12050, "555"},
                          {12060, "560"}, {12070, "565"}, {12080, "570"}, {12090, "575"}, {13000, "580"}};
  for (const Row& row : rows) {
    if (row.version == version) return row.branch;
  }
  return "";
}

int driver_version() noexcept { return version_of_driver; }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace anyplace::cuda
