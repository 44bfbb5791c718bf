// SPDX-License-Identifier: Apache-2.0
//
// The log: lines on standard error if ANYPLACE_UR_LOG is set, and to the loader's callback if it gave one.
#pragma once

#include <string_view>

#include <unified-runtime/ur_api.h>

namespace anyplace_ur {

/// Where the loader wants log lines, besides standard error. Null takes it back.
void set_log_callback(ur_logger_callback_t callback, void* user_data, ur_logger_level_t level) noexcept;
void set_log_level(ur_logger_level_t level) noexcept;

/// "anyplace-ur: urEnqueueUSMMemcpy: result 66: text". Queries that the caller may make in vain (unsupported ones) are
/// logged at ANYPLACE_UR_LOG=all only.
void log_failure(const char* entry, ur_result_t result, const char* text);
/// A line that is written whatever the settings are: what it says would else be lost.
void log_always(std::string_view text);

}  // namespace anyplace_ur
