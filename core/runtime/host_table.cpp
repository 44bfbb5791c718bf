// SPDX-License-Identifier: Apache-2.0
// The functions that the core offers to backends (anyplace_host), except stream_fault, which streams/ offers.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "anyplace/backend/abi.h"
#include "runtime/backend.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "runtime/process.h"
#include "runtime/subsystem.h"
#include "runtime/switch_variable.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

void host_leave_message(void*, std::int64_t vendor_code, const char* vendor_name, const char* text) {
  leave_message(vendor_code, vendor_name, text);
}

void host_user_code_begin(void*) { begin_callback(); }

void host_user_code_end(void*) {
  if (in_callback()) end_callback();
}

void host_log(void* context, std::uint32_t level, const char* text) {
  if (!log_wanted()) return;
  try {
    const std::string line = fmt::format("anyplace: {}: {}: {}\n", backend_name(context),
                                         level == ANYPLACE_LOG_WARNING ? "warning" : "info", one_line(bounded(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // without memory the line is dropped
  }
}

void host_host_access(void*, std::uint32_t access, anyplace_address address, std::uint64_t bytes) {
  if (!process_running()) return;
  static_cast<void>(note_host_access(access, address, bytes));
  take_message();  // the access can't fail, and a layer's report says itself what is wrong
}

void offer(anyplace_host& host) noexcept {
  host.leave_message = host_leave_message;
  host.user_code_begin = host_user_code_begin;
  host.user_code_end = host_user_code_end;
  host.log = host_log;
  host.host_access = host_host_access;
}

}  // namespace

std::string backend_name(void* context) {
  return context == nullptr ? std::string("a backend") : static_cast<const Backend*>(context)->name;
}

constinit const Subsystem runtime_subsystem{.offer = offer, .layer_put = add_put_layer};

}  // namespace anyplace::detail
