// SPDX-License-Identifier: Apache-2.0
//
// The compilers "nvrtc" and "hiprtc": the vendors' own for source at run time, which make PTX and code objects.
// rtc_library.h has the library.
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "architectures.h"
#include "included.h"
#include "kernel_source.h"
#include "plugin.h"
#include "rtc_library.h"

namespace anyplace::compilers {
namespace {

#if defined(ANYPLACE_COMPILER_IS_HIPRTC)
constexpr bool is_hip = true;
constexpr const char* compiler_name = "hiprtc";
constexpr const char* description = "AMD's hipRTC: code objects";
constexpr std::uint32_t made_format = ANYPLACE_IMAGE_HSACO;
#else
constexpr bool is_hip = false;
constexpr const char* compiler_name = "nvrtc";
constexpr const char* description = "NVIDIA's NVRTC: PTX";
constexpr std::uint32_t made_format = ANYPLACE_IMAGE_PTX;
#endif

anyplace_status library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  std::string reason;
  static thread_local RtcFile found;
  if (!find_rtc(found, reason)) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason);
  static thread_local std::string version;
  version = found.version + ", " + identity_of(found.path);
  out->path = found.path.c_str();
  out->version = version.c_str();
  return ANYPLACE_STATUS_OK;
}

anyplace_status supports(void* /*self*/, std::uint32_t /*format*/, const char* architecture) {
  const std::string_view text = architecture;
  const bool is_good = is_hip ? text.starts_with("gfx") : nvidia_architecture(text).number != 0;
  if (is_good) return ANYPLACE_STATUS_OK;
  return refuse(ANYPLACE_STATUS_UNSUPPORTED, std::string(compiler_name) + " has no architecture '" + architecture +
                                                 (is_hip ? "'; one is gfx90a" : "'; one is sm_80"));
}

/// The architectures that NVRTC has, in order; none for NVRTC before 11.2, which doesn't say.
std::vector<int> known_architectures(const RtcLibrary& rtc) {
  int count = 0;
  if (rtc.GetNumSupportedArchs == nullptr || rtc.GetNumSupportedArchs(&count) != rtc_success || count <= 0) return {};
  std::vector<int> known(static_cast<std::size_t>(count));
  rtc.GetSupportedArchs(known.data());
  std::sort(known.begin(), known.end());
  return known;
}

anyplace_status unknown_architecture(const RtcLibrary& rtc, const char* architecture) {
  std::string all;
  for (const int one : known_architectures(rtc)) all += (all.empty() ? "sm_" : ", sm_") + std::to_string(one);
  return refuse(ANYPLACE_STATUS_UNSUPPORTED,
                "NVRTC " + rtc.version + " doesn't know " + architecture + (all.empty() ? "" : "; it knows " + all));
}

/// The option for the architecture. PTX is compiled further by the driver, so an older one than a device's will do for
/// the device.
anyplace_status architecture_option(const RtcLibrary& rtc, const anyplace_compile_request& request,
                                    std::string& option) {
  if (is_hip) {
    if (*request.architecture == '\0') {
      return refuse(ANYPLACE_STATUS_UNSUPPORTED, "hipRTC compiles for an architecture; name one, such as gfx90a");
    }
    option = std::string("--offload-arch=") + request.architecture;
    return ANYPLACE_STATUS_OK;
  }
  NvidiaArchitecture wanted = nvidia_architecture(request.architecture);
  const std::vector<int> known = known_architectures(rtc);
  if (!known.empty() && *request.architecture == '\0') {
    wanted.number = known.front();
  } else if (!known.empty()) {
    const auto above = std::upper_bound(known.begin(), known.end(), wanted.number);
    const int below = above == known.begin() ? 0 : *(above - 1);
    const bool will_do = has_flag(request, ANYPLACE_COMPILE_FOR_DEVICE) ? below != 0 : below == wanted.number;
    if (!will_do) return unknown_architecture(rtc, request.architecture);
    if (below != wanted.number) wanted = {below, 0};
  }
  if (wanted.number != 0) option = "--gpu-architecture=compute_" + std::to_string(wanted.number);
  if (wanted.suffix != 0) option += wanted.suffix;
  return ANYPLACE_STATUS_OK;
}

/// Whether the log says that the option for the architecture is wrong: NVRTC has no sm_80a, though it has sm_80.
bool blames_architecture(const std::string& log) {
  return log.find("--gpu-architecture") != log.npos || log.find("--nv_arch") != log.npos;
}

/// A program of the library, which this ends.
struct Program {
  const RtcLibrary& rtc;
  RtcProgram* handle = nullptr;
  explicit Program(const RtcLibrary& library) : rtc(library) {}
  Program(const Program&) = delete;  // it ends the library's
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (handle != nullptr) rtc.DestroyProgram(&handle);
  }
};

std::vector<std::string> options_for(const RtcLibrary& rtc, const anyplace_compile_request& request) {
  std::vector<std::string> options;
  // NVRTC 11 has no C++20.
  const bool is_old = !is_hip && rtc.major < 12;
  options.push_back((is_hip ? "-std=c++" : "--std=c++") + std::to_string(is_old ? 17 : request.standard));
  const std::string headers = request.headers;
  if (is_hip) {
    options.insert(options.end(), {"-include", headers + "/anyplace/device_code.h"});
  } else {
    options.push_back("--pre-include=anyplace/device_code.h");
  }
  options.push_back("-I" + headers);
  for (const char* const folder : includes_of(request)) options.push_back(std::string("-I") + folder);
  options.push_back("-I" + headers + "/device_only");  // behind the caller's own
  options.push_back(std::string("-I") + request.folder + "/standard");
  for (const char* const define : defines_of(request)) options.push_back(std::string("-D") + define);
  if (has_flag(request, ANYPLACE_COMPILE_FAST_MATH)) options.push_back(is_hip ? "-ffast-math" : "--use_fast_math");
  if (has_flag(request, ANYPLACE_COMPILE_DEBUG)) options.push_back(is_hip ? "-g" : "--device-debug");
  for (const char* const option : options_of(request)) options.push_back(option);
  return options;
}

/// These compilers have no standard library, and all that sources use of it is in the dialect: its headers are empty.
bool write_standard_headers(const std::string& folder) {
  if (::mkdir((folder + "/standard").c_str(), 0700) != 0) return false;
  for (const char* const name : {"cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "stddef.h", "stdint.h",
                                 "stdio.h", "stdlib.h", "string.h"}) {
    if (!write_file(folder + "/standard/" + name, "#pragma once\n")) return false;
  }
  return true;
}

anyplace_status failed(const RtcLibrary& rtc, const char* call, int result) {
  return refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string(compiler_name) + call + ": " + rtc.GetErrorString(result));
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  std::string reason, option;
  const RtcLibrary* const opened = open_rtc(request->library, reason);
  if (opened == nullptr) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason);
  const RtcLibrary& rtc = *opened;
  if (const anyplace_status status = architecture_option(rtc, *request, option)) return status;
  if (!write_standard_headers(request->folder)) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string("can't write below ") + request->folder);
  }
  warn_of_kernels(*request, *sink);
  Program program(rtc);
  // hipRTC has a name of its own in messages.
  std::string source = std::string("#line 1 \"") + request->name + "\"\n";
  source += std::string_view(request->source, request->source_bytes);
  if (const int result = rtc.CreateProgram(&program.handle, source.c_str(), request->name, 0, nullptr, nullptr)) {
    return failed(rtc, "CreateProgram", result);
  }
  for (const char* const expression : expressions_of(*request)) {
    if (const int result = rtc.AddNameExpression(program.handle, expression)) {
      return failed(rtc, "AddNameExpression", result);
    }
  }
  std::vector<std::string> options = options_for(rtc, *request);
  if (!option.empty()) options.push_back(option);
  std::vector<const char*> words;
  for (const std::string& one : options) words.push_back(one.c_str());
  const int compiled = rtc.CompileProgram(program.handle, static_cast<int>(words.size()), words.data());
  std::size_t bytes = 0;
  std::string log;
  if (rtc.GetProgramLogSize(program.handle, &bytes) == rtc_success && bytes > 1) {
    log.resize(bytes);
    rtc.GetProgramLog(program.handle, log.data());
    log.resize(log.find('\0') == log.npos ? log.size() : log.find('\0'));
    sink->log(sink->context, log.data(), log.size());
  }
  if (compiled == rtc_compile_error || compiled == rtc_invalid_option) {
    if (!is_hip && blames_architecture(log)) return unknown_architecture(rtc, request->architecture);
    return ANYPLACE_STATUS_COMPILE_FAILED;
  }
  if (compiled != rtc_success) return failed(rtc, "CompileProgram", compiled);
  report_included(*request, *sink);
  for (const char* const expression : expressions_of(*request)) {
    const char* name = nullptr;
    if (const int result = rtc.GetLoweredName(program.handle, expression, &name)) {
      return failed(rtc, "GetLoweredName", result);
    }
    sink->lowered(sink->context, expression, name);
  }
  const auto get_size = is_hip ? rtc.GetCodeSize : rtc.GetPTXSize;
  const auto get = is_hip ? rtc.GetCode : rtc.GetPTX;
  if (get_size == nullptr || get == nullptr) return failed(rtc, "GetCode", compiled);
  if (const int result = get_size(program.handle, &bytes)) return failed(rtc, "GetCodeSize", result);
  std::string image(bytes, '\0');
  if (const int result = get(program.handle, image.data())) return failed(rtc, "GetCode", result);
  // NVRTC counts the NUL behind its text, which ptxas takes for a mistake in it.
  while (!is_hip && image.ends_with('\0')) image.pop_back();
  sink->image(sink->context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = guarded<library>;
  table->supports = guarded<supports>;
  table->compile = guarded<compile>;
  return fill_table(host, *table, compiler_name, description, 1u << made_format, 0);
}
