// SPDX-License-Identifier: Apache-2.0
//
// The exception, the line that what() shows, and the handler for what can't be thrown.
#include "anyplace/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <utility>

#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace anyplace {
namespace {

std::string or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::to_string(*bytes) : std::string("unknown");
}

constexpr std::string_view between_parts = "; ";

/// Whether `text` contains `place`, and not merely as the beginning of another place ("cuda:1" in "cuda:10").
bool names(std::string_view text, std::string_view place) noexcept {
  const auto goes_on = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_'; };
  for (std::size_t at = text.find(place); at != std::string_view::npos; at = text.find(place, at + 1)) {
    const std::size_t end = at + place.size();
    if ((end == text.size() || !goes_on(text[end])) && (at == 0 || !goes_on(text[at - 1]))) return true;
  }
  return false;
}

/// "cuda:0: Stream::synchronize: device_lost: the device failed for good (CUDA_ERROR_X 700: vendor's text)"
std::string compose(const ErrorDetails& details) {
  std::string line;
  if (!details.place.empty() && !names(details.text, details.place)) line += detail::one_line(details.place) + ": ";
  if (!details.operation.empty()) line += detail::one_line(details.operation) + ": ";
  line += to_string(details.code);
  const char* separator = ": ";
  for (const std::string* const part : {&details.text, &details.remedy, &details.see}) {
    if (part->empty()) continue;
    line += separator + detail::one_line(*part);
    separator = between_parts.data();
  }
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

/// Joins the three parts in `text`.
ErrorDetails joined(ErrorDetails details) {
  for (const std::string* const part : {&details.remedy, &details.see}) {
    if (part->empty()) continue;
    if (!details.text.empty()) details.text += between_parts;
    details.text += *part;
  }
  return details;
}

struct Handler {
  std::mutex mutex;  // guards current; no other lock is taken under it
  std::shared_ptr<const ErrorHandler> current;
};

/// Never destroyed: background threads report until the very end.
detail::NoDestructor<Handler> only_handler;
Handler& handler() noexcept { return only_handler.value; }

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
    : std::runtime_error(compose(details)),
      details_(std::make_shared<const ErrorDetails>(joined(std::move(details)))) {}

std::string_view Error::problem() const noexcept {
  std::string_view rest = details_->text;
  for (const std::string* const part : {&details_->see, &details_->remedy}) {
    if (part->empty()) continue;
    rest.remove_suffix(part->size());
    if (!rest.empty()) rest.remove_suffix(between_parts.size());
  }
  return rest;
}

Error::~Error() = default;

ErrorHandler set_error_handler(ErrorHandler replacement) {
  // Another thread may have held the lock when the process forked. That thread doesn't exist in the child.
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
      // The handler may not call anyplace: if it blocked, this thread, which others may be waiting for, would never go
      // on.
      const CallbackScope scope;
      (*current)(error);
      return;
    }
    // One call writes the whole line and needs no memory.
    std::fprintf(stderr, "anyplace: %s\n", error.what());
  } catch (...) {  // ErrorHandler's documentation says that such an exception is dropped
  }
}

}  // namespace detail
}  // namespace anyplace
