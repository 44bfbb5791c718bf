// SPDX-License-Identifier: Apache-2.0
//
// NVRTC's interface (libnvrtc.so), which hipRTC (libhiprtc.so) has with another prefix: as much as is called, declared
// by the published references ("NVRTC", CUDA documentation; "HIP RTC programming guide"). Opened at run time.
#pragma once

#include <cstddef>
#include <string>

namespace anyplace::compilers {

struct RtcProgram;
constexpr int rtc_success = 0;
constexpr int rtc_invalid_option = 5;  ///< NVRTC_ERROR_INVALID_OPTION, HIPRTC_ERROR_INVALID_OPTION
constexpr int rtc_compile_error = 6;   ///< NVRTC_ERROR_COMPILATION, HIPRTC_ERROR_COMPILATION

// X(name without prefix, 1 if the library has to have it, result, parameters)
#define ANYPLACE_RTC_ENTRIES(X)                                                                                 \
  X(Version, 1, int, (int* major, int* minor))                                                                  \
  X(GetErrorString, 1, const char*, (int result))                                                               \
  X(CreateProgram, 1, int,                                                                                      \
    (RtcProgram * *program, const char* source, const char* name, int header_count, const char* const* headers, \
     const char* const* header_names))                                                                          \
  X(DestroyProgram, 1, int, (RtcProgram * *program))                                                            \
  X(AddNameExpression, 1, int, (RtcProgram * program, const char* expression))                                  \
  X(CompileProgram, 1, int, (RtcProgram * program, int option_count, const char* const* options))               \
  X(GetProgramLogSize, 1, int, (RtcProgram * program, std::size_t * bytes))                                     \
  X(GetProgramLog, 1, int, (RtcProgram * program, char* log))                                                   \
  X(GetLoweredName, 1, int, (RtcProgram * program, const char* expression, const char** name))                  \
  X(GetNumSupportedArchs, 0, int, (int* count))                                                                 \
  X(GetSupportedArchs, 0, int, (int* architectures))                                                            \
  X(GetPTXSize, 0, int, (RtcProgram * program, std::size_t * bytes))                                            \
  X(GetPTX, 0, int, (RtcProgram * program, char* image))                                                        \
  X(GetCodeSize, 0, int, (RtcProgram * program, std::size_t * bytes))                                           \
  X(GetCode, 0, int, (RtcProgram * program, char* image))

struct RtcLibrary {
  std::string path;
  std::string version;
  int major = 0;
  int cuda_version = 0;  ///< of NVRTC, as the driver has its own: 12040 for 12.4
#define ANYPLACE_RTC_MEMBER(name, required, result, parameters) result(*name) parameters = nullptr;
  ANYPLACE_RTC_ENTRIES(ANYPLACE_RTC_MEMBER)
#undef ANYPLACE_RTC_MEMBER
};

/// A library that wasn't opened to find it.
struct RtcFile {
  std::string path;
  std::string version;  ///< as far as its name says: "13.0" or "13"
};

/// Finds the first of the libraries that is there; false if there is none, and then `reason` says why. Where the
/// process has loaded NVIDIA's driver, the first NVRTC that isn't newer than it is preferred, because the driver takes
/// no newer PTX. Libraries are opened only where their names don't say which they are.
bool find_rtc(RtcFile& out, std::string& reason);
/// Opens the library at `path`, once; null if that can't be done, and then `reason` says why. It stays open.
const RtcLibrary* open_rtc(const std::string& path, std::string& reason);

}  // namespace anyplace::compilers
