// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <anyplace/backend/device_backend.h>
#include <anyplace/backend/kit/launchers.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace anyplace::trace {
namespace {

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const char* name, const std::string& text, const char* right) {
  throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string(name) + " is '" + text + "'\n" + right);
}

std::uint64_t read_limit(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const unsigned shift = unit == "" ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
  if (failed != std::errc() || number == 0 || shift == 64 || number > (UINT64_MAX >> shift)) {
    refuse("ANYPLACE_TRACE_LIMIT", text, "it takes a number of bytes, or one with K, M or G behind it, above 0");
  }
  return number << shift;
}

std::optional<std::uint32_t> number_of(const std::string& text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  return failed != std::errc() || rest != end ? std::nullopt : std::optional(number);
}

void replace_all(std::string& text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
}

}  // namespace

Settings read_settings() {
  Settings settings;
  settings.file = variable("ANYPLACE_TRACE");
  if (settings.file == "off") settings.from_start = false;
  if (settings.file.empty() || settings.file == "off") settings.file = "anyplace-%p.pftrace";
  if (const std::string limit = variable("ANYPLACE_TRACE_LIMIT"); !limit.empty()) settings.limit = read_limit(limit);
  const std::string device = variable("ANYPLACE_TRACE_DEVICE");
  if (!device.empty() && device != "0" && device != "1") refuse("ANYPLACE_TRACE_DEVICE", device, "it takes 0 or 1");
  settings.device_times = device != "0";
  return settings;
}

std::uint32_t job_rank(bool& has_others) {
  has_others = false;
  const backend::Launcher* const launcher = backend::launcher_of_process();
  if (launcher == nullptr) return 0;
  const auto rank = number_of(variable(launcher->rank)), size = number_of(variable(launcher->size));
  if (!rank || !size) return 0;
  has_others = *size > 1;
  return *rank;
}

std::string path_of(const std::string& file) {
  bool has_others = false;
  std::string path = file;
  replace_all(path, "%p", std::to_string(::getpid()));
  replace_all(path, "%r", std::to_string(job_rank(has_others)));
  return path;
}

}  // namespace anyplace::trace
