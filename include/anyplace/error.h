// SPDX-License-Identifier: Apache-2.0
//
// Errors: there is one exception type and one table of codes (backend/status.h).
//
// Every call that can fail throws anyplace::Error. Destructors never throw: what fails in one, and a stream's fault
// that nobody collected before the stream was destroyed, goes to the error handler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "backend/status.h"
#include "export.h"

namespace anyplace {

/// What went wrong. It is generated from ANYPLACE_STATUS_LIST, with the same names and numbers.
enum class ErrorCode : std::int32_t {
#define ANYPLACE_ERROR_CODE(upper, lower, number, text) lower = (number),
  ANYPLACE_STATUS_LIST(ANYPLACE_ERROR_CODE)
#undef ANYPLACE_ERROR_CODE
};

/// "invalid_argument" and so on; "unknown" for a number that is not in the table. Never null, never throws.
ANYPLACE_API const char* to_string(ErrorCode code) noexcept;

/// The figures of an out_of_memory, in bytes; those that the vendor can't tell are empty.
struct MemoryFigures {
  std::uint64_t requested = 0;         ///< the bytes that were asked for
  std::optional<std::uint64_t> free;   ///< free on the device, for every process
  std::uint64_t cached = 0;            ///< held by anyplace and not in use
  std::uint64_t in_use = 0;            ///< handed out by anyplace and not freed
  std::optional<std::uint64_t> limit;  ///< the most that there can be: a limit that was set, else what the device has
};

/// Everything that is known of a failure. Empty and 0 mean that it isn't known. What is said is in three parts (text,
/// remedy, see), each a clause without a full stop that needs nothing around it.
struct ErrorDetails {
  ErrorCode code = ErrorCode::internal;  ///< what kind of failure it is
  std::string place;                     ///< "cuda:0", or the text that named no place
  std::string operation;                 ///< "Stream::wait_event"
  std::string text;                      ///< what is wrong: "there is no device cuda:9"
  std::int64_t vendor_code = 0;          ///< the number that the vendor's call returned
  std::string vendor_name;               ///< "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::string vendor_text;               ///< what the vendor says of it
  std::optional<MemoryFigures> memory;   ///< how memory stood, for out_of_memory
  std::string remedy;                    ///< what would be right: "cuda has 2 devices: cuda:0, cuda:1"
  std::string see;                       ///< where to look: "`anyplace devices` lists those of every backend"
};

/// The one exception of anyplace. Cheap to copy; copies share their details.
///
/// what() holds all of them in one line, for a log; control characters are escaped:
///   PLACE: OPERATION: CODE: PROBLEM; REMEDY; SEE; bytes: MEMORY (VENDOR_NAME VENDOR_CODE: VENDOR_TEXT)
/// What isn't known is left out, and so is PLACE where PROBLEM names it already. For people, problem(), remedy() and
/// see() go on a line each.
class ANYPLACE_API Error : public std::runtime_error {
 public:
  /// Makes the error, and what() of its details.
  explicit Error(ErrorDetails details);
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;

  /// What kind of failure it is.
  ErrorCode code() const noexcept { return details_->code; }
  /// The place that failed, "cuda:0", or the text that named none; "" if it isn't known.
  const std::string& place() const noexcept { return details_->place; }
  /// The call that failed: "Stream::wait_event"; "" if it isn't known.
  const std::string& operation() const noexcept { return details_->operation; }
  /// problem(), remedy() and see(), as far as they aren't empty, with "; " between them.
  const std::string& text() const noexcept { return details_->text; }
  /// What is wrong. Valid as long as this error or a copy of it lives.
  std::string_view problem() const noexcept;
  /// What would be right; "" if there is nothing to say.
  const std::string& remedy() const noexcept { return details_->remedy; }
  /// Where to look; "" if there is no such place.
  const std::string& see() const noexcept { return details_->see; }
  /// The number that the vendor's call returned; 0 if none failed.
  std::int64_t vendor_code() const noexcept { return details_->vendor_code; }
  /// The vendor's name of it: "CUDA_ERROR_ILLEGAL_ADDRESS"; "" if there is none.
  const std::string& vendor_name() const noexcept { return details_->vendor_name; }
  /// What the vendor says of it; "" if it says nothing.
  const std::string& vendor_text() const noexcept { return details_->vendor_text; }
  /// How memory stood; empty unless the error is an out_of_memory that knows.
  const std::optional<MemoryFigures>& memory() const noexcept { return details_->memory; }

 private:
  std::shared_ptr<const ErrorDetails> details_;  ///< its text is the three parts joined
};

/// Called with an error that a destructor or a background thread could not throw. May be called from any thread, and
/// from several at once; what it throws itself is swallowed. Calls of anyplace are refused in it (not_permitted), as in
/// a host function: it may run on the thread that a wait would be waiting for. Handles may be destroyed in it. A
/// destructor that finds out that its device is lost reports that; the destructors of a device that is known to be lost
/// report nothing.
using ErrorHandler = std::function<void(const Error&)>;

/// Replaces the handler for the whole process and returns the one before. An empty handler stands for the default,
/// which writes one line to standard error. Throws forked in a forked child.
ANYPLACE_API ErrorHandler set_error_handler(ErrorHandler handler);

}  // namespace anyplace
