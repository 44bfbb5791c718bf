// SPDX-License-Identifier: Apache-2.0
//
// The exception, the line that what() shows, and the handler for what can't be thrown.
#include "anyplace/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <utility>

#include "call.h"
#include "process.h"
#include "text.h"

namespace anyplace {
namespace {

std::string or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::to_string(*bytes) : std::string("unknown");
}

/// "cuda:0: Stream::synchronize: device_lost: the device failed for good (CUDA_ERROR_X 700: vendor's text)"
std::string compose(const ErrorDetails& details) {
  std::string line;
  if (!details.place.empty()) line += detail::one_line(details.place) + ": ";
  if (!details.operation.empty()) line += detail::one_line(details.operation) + ": ";
  line += to_string(details.code);
  if (!details.text.empty()) line += ": " + detail::one_line(details.text);
  if (details.memory) {
    line += fmt::format("; bytes: requested {}, free {}, cached {}, in use {}, limit {}", details.memory->requested,
                        or_unknown(details.memory->free), details.memory->cached, details.memory->in_use,
                        or_unknown(details.memory->limit));
  }
  std::string vendor = detail::one_line(details.vendor_name);
  if (details.vendor_code != 0) vendor += (vendor.empty() ? "" : " ") + std::to_string(details.vendor_code);
  if (!details.vendor_text.empty()) vendor += (vendor.empty() ? "" : ": ") + detail::one_line(details.vendor_text);
  if (!vendor.empty()) line += " (" + vendor + ")";
  return line;
}

struct Handler {
  std::mutex mutex;  // guards current; no other lock is taken under it
  std::shared_ptr<const ErrorHandler> current;
};

/// Never destroyed: background threads report until the very end.
Handler& handler() {
  static Handler* const made = new Handler;
  return *made;
}

}  // namespace

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
#define ANYPLACE_ERROR_NAME(upper, lower, number, text) \
  case ErrorCode::lower:                                \
    return #lower;
    ANYPLACE_STATUS_LIST(ANYPLACE_ERROR_NAME)
#undef ANYPLACE_ERROR_NAME
  }
  return "unknown";
}

Error::Error(ErrorDetails details)
    : std::runtime_error(compose(details)), details_(std::make_shared<const ErrorDetails>(std::move(details))) {}

Error::~Error() = default;

ErrorHandler set_error_handler(ErrorHandler replacement) {
  // The lock may have been held by another thread when the process forked, and that thread isn't here to open it.
  if (detail::process_phase.load(std::memory_order_relaxed) == detail::Phase::forked) {
    detail::refuse_call("set_error_handler");
  }
  std::shared_ptr<const ErrorHandler> next;
  if (replacement) next = std::make_shared<const ErrorHandler>(std::move(replacement));
  {
    const std::lock_guard lock(handler().mutex);
    handler().current.swap(next);
  }
  return next ? *next : ErrorHandler();
}

namespace detail {

const char* text_of(ErrorCode code) noexcept {
  switch (code) {
#define ANYPLACE_ERROR_TEXT(upper, lower, number, text) \
  case ErrorCode::lower:                                \
    return text;
    ANYPLACE_STATUS_LIST(ANYPLACE_ERROR_TEXT)
#undef ANYPLACE_ERROR_TEXT
  }
  return "a status that is not in the table";
}

void report(const Error& error) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  try {
    std::shared_ptr<const ErrorHandler> current;
    {
      const std::lock_guard lock(handler().mutex);
      current = handler().current;
    }
    if (current != nullptr) {
      // This may be a thread that has to go on for any wait to end.
      const CallbackScope scope;
      (*current)(error);
      return;
    }
    const std::string line = std::string("anyplace: ") + error.what() + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // promised by ErrorHandler: there is nobody left to tell
  }
}

}  // namespace detail
}  // namespace anyplace
