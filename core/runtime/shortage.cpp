// SPDX-License-Identifier: Apache-2.0
#include "runtime/shortage.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/call.h"

namespace anyplace::detail {
namespace {

constinit std::atomic<const Error*> prepared{nullptr};

const char* name_of(int error) noexcept {
  switch (error) {
    case EMFILE:
      return "EMFILE";
    case ENFILE:
      return "ENFILE";
    case EAGAIN:
      return "EAGAIN";
    case ENOBUFS:
      return "ENOBUFS";
    default:
      return "ENOMEM";
  }
}

const char* remedy_of(int error) noexcept {
  switch (error) {
    case EMFILE:
      return "close files, or raise the process's limit (ulimit -n)";
    case ENFILE:
      return "the system's table of open files is full (/proc/sys/fs/file-max)";
    default:
      return "see the limits on memory and address space (ulimit -v, the cgroup's memory.max)";
  }
}

}  // namespace

void fail_for_now(std::string place, const char* operation, const std::string& text, int error) {
  ErrorDetails details;
  details.code = ErrorCode::out_of_memory;
  details.place = std::move(place);
  details.operation = operation;
  details.text = fmt::format("{}: {}", text, std::strerror(error));
  details.remedy = fmt::format("{}; nothing was decided by this, and the next use tries again", remedy_of(error));
  details.vendor_code = error;
  details.vendor_name = name_of(error);
  throw Error(std::move(details));
}

void prepare_no_memory_error() {
  if (prepared.load(std::memory_order_acquire) != nullptr) return;
  static const Error* const made = [] {
    ErrorDetails details;
    details.code = ErrorCode::out_of_memory;
    details.operation = "an error";
    details.text = "something failed, and there was no memory to say what: look at what was submitted last";
    return new Error(std::move(details));  // kept for threads that outlive main
  }();
  prepared.store(made, std::memory_order_release);
}

const Error& no_memory_error() noexcept { return *prepared.load(std::memory_order_acquire); }

}  // namespace anyplace::detail
