// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <cstdio>
#include <mutex>
#include <string>

#include "settings.h"

namespace anyplace_ur {

namespace {

struct Sink {
  std::mutex mutex;
  ur_logger_callback_t callback = nullptr;
  void* user_data = nullptr;
  ur_logger_level_t level = UR_LOGGER_LEVEL_QUIET;
};

/// Never destroyed: entries are called until the process ends.
Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

void write_line(const std::string& line) { std::fprintf(stderr, "anyplace-ur: %s\n", line.c_str()); }

/// What a caller may try in vain, and what was written already.
bool is_mere_query(ur_result_t result) noexcept {
  return result == UR_RESULT_ERROR_UNSUPPORTED_FEATURE || result == UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION || result == UR_RESULT_ERROR_PROFILING_INFO_NOT_AVAILABLE;
}

}  // namespace

void set_log_callback(ur_logger_callback_t callback, void* user_data, ur_logger_level_t level) noexcept {
  const std::lock_guard lock(sink().mutex);
  sink().callback = callback;
  sink().user_data = user_data;
  sink().level = level;
}

void set_log_level(ur_logger_level_t level) noexcept {
  const std::lock_guard lock(sink().mutex);
  sink().level = level;
}

void log_failure(const char* entry, ur_result_t result, const char* text) {
  const LogSetting setting = settings().log;
  const bool wanted = setting == LogSetting::all || (setting == LogSetting::errors && !is_mere_query(result));
  const std::string line = std::string(entry) + ": result " + std::to_string(static_cast<int>(result)) + ": " + text;
  if (wanted) write_line(line);
  const std::lock_guard lock(sink().mutex);
  if (sink().callback != nullptr && sink().level <= UR_LOGGER_LEVEL_ERROR && !is_mere_query(result)) {
    sink().callback(UR_LOGGER_LEVEL_ERROR, line.c_str(), sink().user_data);
  }
}

void log_always(std::string_view text) { write_line(std::string(text)); }

}  // namespace anyplace_ur
