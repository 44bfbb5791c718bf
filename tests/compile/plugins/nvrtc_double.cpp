// SPDX-License-Identifier: Apache-2.0
// An NVRTC of version NVRTC_DOUBLE_MAJOR.0, which refuses every source and says which version it is.
#include <cstddef>
#include <cstring>
#include <string>

namespace {
const std::string text = "this is NVRTC " + std::to_string(NVRTC_DOUBLE_MAJOR) + ".0";
}

#define NVRTC_DOUBLE_ENTRY extern "C" __attribute__((visibility("default")))
NVRTC_DOUBLE_ENTRY int nvrtcVersion(int* major, int* minor) {
  *major = NVRTC_DOUBLE_MAJOR;
  *minor = 0;
  return 0;
}
NVRTC_DOUBLE_ENTRY const char* nvrtcGetErrorString(int) { return "an error"; }
NVRTC_DOUBLE_ENTRY int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                                          const char* const*) {
  static int one;
  *program = &one;
  return 0;
}
NVRTC_DOUBLE_ENTRY int nvrtcDestroyProgram(void**) { return 0; }
NVRTC_DOUBLE_ENTRY int nvrtcAddNameExpression(void*, const char*) { return 0; }
NVRTC_DOUBLE_ENTRY int nvrtcCompileProgram(void*, int, const char* const*) {
  constexpr int compile_error = 6;
  return compile_error;
}
NVRTC_DOUBLE_ENTRY int nvrtcGetProgramLogSize(void*, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return 0;
}
NVRTC_DOUBLE_ENTRY int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, text.c_str(), text.size() + 1);
  return 0;
}
NVRTC_DOUBLE_ENTRY int nvrtcGetLoweredName(void*, const char*, const char**) { return 1; }
