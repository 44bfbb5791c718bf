// SPDX-License-Identifier: Apache-2.0
//
// Modules: the stand-in formats (stand_in.h) loaded, with what the driver's compiler would say in the logs; functions
// and variables by name.
#include <algorithm>
#include <cstring>
#include <utility>

#include "../engine/elf_mark.h"
#include "driver.h"
#include "stand_in.h"

namespace anyplace::doubles::cuda {
namespace {

/// The buffers for logs among the options of a load.
class JitLogs {
 public:
  int read(unsigned count, CUjit_option* options, void** values) {
    if (count != 0 && is_null(options, values)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      // Numbers travel in the place of the pointer.
      const auto number = reinterpret_cast<size_t>(values[i]);
      switch (options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
          info_.buffer = static_cast<char*>(values[i]);
          break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
          info_.bytes = static_cast<unsigned>(number);
          info_.size_out = &values[i];
          break;
        case CU_JIT_ERROR_LOG_BUFFER:
          error_.buffer = static_cast<char*>(values[i]);
          break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
          error_.bytes = static_cast<unsigned>(number);
          error_.size_out = &values[i];
          break;
        case CU_JIT_OPTIMIZATION_LEVEL:
          if (number > 4) return CUDA_ERROR_INVALID_VALUE;
          break;
        default:
          if (static_cast<unsigned>(options[i]) > 40) return CUDA_ERROR_INVALID_VALUE;
          break;
      }
    }
    return CUDA_SUCCESS;
  }
  /// The sizes become the bytes that were written, as the reference says of them.
  void write(const std::string& error, const std::string& info) {
    put(error_, error);
    put(info_, info);
  }

 private:
  struct Log {
    char* buffer = nullptr;
    size_t bytes = 0;
    void** size_out = nullptr;
  };
  static void put(const Log& log, const std::string& text) {
    size_t written = 0;
    if (log.buffer != nullptr && log.bytes != 0) {
      written = std::min(text.size(), log.bytes - 1);
      std::memcpy(log.buffer, text.data(), written);
      log.buffer[written] = '\0';
    }
    if (log.size_out != nullptr) *log.size_out = reinterpret_cast<void*>(written);  // NOLINT: a number
  }
  Log info_, error_;
};

/// The CUDA version that brought a version of PTX, from the release notes in the PTX manual.
int cuda_version_of(const PtxHead& head) {
  const int minor = static_cast<int>(head.version_minor);
  if (head.version_major < 7) return 10000;
  if (head.version_major == 7) return 11000 + minor * 10;
  if (head.version_major == 8) return 12000 + (minor < 6 ? minor : minor + 1) * 10;  // there was none for 12.6
  return 13000 + (static_cast<int>(head.version_major) - 9) * 1000 + minor * 10;
}

/// What an image for a device holds for the host, and how the device's compiler named its kernels, if one was at it.
struct Found {
  std::string image;
  std::vector<std::string> entries;
};

/// Plain C, as append_decoded in stand_in.cpp.
bool is_printable(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end; ++at) {
    const auto c = static_cast<unsigned char>(*at);
    if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') return false;
  }
  return true;
}

int image_of_ptx(std::string_view text, Found& out, std::string& log) {
  if (text.empty() || !is_printable(text)) return CUDA_ERROR_INVALID_IMAGE;
  std::string why;
  const auto head = read_ptx_head(text, why);
  if (!head) {
    log = "ptxas application ptx input, line 1; fatal   : " + why + "\n";
    return CUDA_ERROR_INVALID_PTX;
  }
  if (cuda_version_of(*head) > config().driver_version) {
    log = "ptxas application ptx input, line 1; fatal   : Unsupported .version " + std::to_string(head->version_major) +
          "." + std::to_string(head->version_minor) + "\n";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (head->target_sm > static_cast<unsigned>(config().sm)) {
    log = "ptxas fatal   : the .target sm_" + std::to_string(head->target_sm) + " is above the device's sm_" +
          std::to_string(config().sm) + "\n";
    return CUDA_ERROR_INVALID_PTX;
  }
  auto found = read_ptx_host_image(text, why);
  if (!found) {
    log = "ptxas application ptx input; error   : " + why + "\n";
    return CUDA_ERROR_INVALID_PTX;
  }
  out = {std::move(*found), read_ptx_entries(text)};
  return CUDA_SUCCESS;
}

/// A cubin runs on devices of its own major architecture that aren't older.
bool cubin_fits(unsigned sm) {
  const auto device = static_cast<unsigned>(config().sm);
  return sm / 10 == device / 10 && sm <= device;
}

int image_of_cubin(std::string_view cubin, Found& out, std::string& log) {
  if (cubin.size() < 64 || !is_elf_for(cubin.data(), cuda_machine)) return CUDA_ERROR_INVALID_IMAGE;
  if (!cubin_fits(cubin_sm(cubin.data()))) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  auto found = unmark_elf(cubin);
  if (!found) {
    log = "the cubin is a true one, and the double runs stand-ins alone\n";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  out = {std::move(*found), {}};
  return CUDA_SUCCESS;
}

/// The best entry: the cubin of the highest architecture that fits, else the PTX.
int image_of_fatbin(const void* fatbin, Found& out, std::string& log) {
  const auto entries = read_fatbin(fatbin, log);
  if (!entries) return CUDA_ERROR_INVALID_IMAGE;
  std::vector<FatbinEntry> sorted = *entries;
  std::stable_sort(sorted.begin(), sorted.end(), [](const FatbinEntry& first, const FatbinEntry& second) {
    return first.ptx != second.ptx ? second.ptx : first.sm > second.sm;
  });
  int result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  for (const FatbinEntry& entry : sorted) {
    const std::string_view text = entry.image;
    const int found =
        entry.ptx ? image_of_ptx(text.substr(0, text.find('\0')), out, log) : image_of_cubin(text, out, log);
    if (found == CUDA_SUCCESS) return found;
    if (entry.ptx) result = found;
  }
  return result;
}

/// Whether the bytes begin with that number; none behind the first that differs is read.
bool begins_with(const void* bytes, uint32_t number) {
  const auto* const at = static_cast<const unsigned char*>(bytes);
  for (unsigned i = 0; i < 4; ++i) {
    if (at[i] != (number >> 8U * i & 0xffU)) return false;
  }
  return true;
}

/// What nvcc puts around a fatbin that it links into a program.
struct FatbinWrapper {
  uint32_t magic, version;
  const void* fatbin;
  const void* name;
};

int host_image_of(const void* bytes, Found& out, std::string& log) {
  constexpr uint32_t elf = 0x464c457fU;
  if (begins_with(bytes, elf)) {
    return image_of_cubin(std::string_view(static_cast<const char*>(bytes), elf_bytes(bytes)), out, log);
  }
  if (begins_with(bytes, fatbin_magic)) return image_of_fatbin(bytes, out, log);
  if (begins_with(bytes, fatbin_wrapper_magic)) {
    return image_of_fatbin(static_cast<const FatbinWrapper*>(bytes)->fatbin, out, log);
  }
  return image_of_ptx(static_cast<const char*>(bytes), out, log);
}

int load(CUmodule* module, const void* image, JitLogs& logs) {
  if (is_null(module, image)) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  int result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  Found found;
  std::string log;
  result = host_image_of(image, found, log);
  if (result == CUDA_SUCCESS) result = add_module(module, context, found.image, std::move(found.entries), log);
  logs.write(result == CUDA_SUCCESS ? "" : log, "");
  return result;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuModuleLoadData)(CUmodule* module, const void* image) {
  JitLogs none;
  return load(module, image, none);
}

CUDA_DOUBLE_ENTRY(cuModuleLoadDataEx)
(CUmodule* module, const void* image, unsigned option_count, CUjit_option* options, void** values) {
  JitLogs logs;
  const int result = logs.read(option_count, options, values);
  return result == CUDA_SUCCESS ? load(module, image, logs) : result;
}

CUDA_DOUBLE_ENTRY(cuModuleUnload)(CUmodule module) {
  ContextRef context;
  const int result = current_context_to_release(context);
  return result == CUDA_SUCCESS ? unload_module(module, context) : result;
}

CUDA_DOUBLE_ENTRY(cuModuleGetFunction)(CUfunction* function, CUmodule module, const char* name) {
  return get_function(function, module, name);
}

CUDA_DOUBLE_ENTRY(cuModuleGetGlobal_v2)(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return get_variable(address, bytes, module, name);
}

}  // namespace anyplace::doubles::cuda
