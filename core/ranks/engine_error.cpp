// SPDX-License-Identifier: Apache-2.0
#include "ranks/engine_error.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/text.h"

namespace anyplace::detail {

Error engine_error(const Engine& engine, anyplace_status status, Message message, const std::string& place,
                   const char* operation, const char* what, std::string remedy) {
  const bool from_vendor = message.vendor_code != 0 || !message.vendor_name.empty();
  Error plain = error_of(status, std::move(message), place, operation);
  if (!from_vendor) return plain;
  ErrorDetails details;
  details.code = plain.code();
  details.place = place;
  details.operation = operation;
  details.text = fmt::format("{} {}", engine.table.title, what);
  details.vendor_code = plain.vendor_code();
  details.vendor_name = plain.vendor_name();
  details.vendor_text = plain.vendor_text();
  if (!remedy.empty()) {
    details.remedy = std::move(remedy);
    details.see = "docs/ranks.md";
  }
  return Error(std::move(details));
}

void raise_engine_error(const Engine& engine, anyplace_status status, const std::string& place, const char* operation) {
  throw engine_error(engine, status, take_message(), place, operation);
}

bool open_library(const Engine& engine, anyplace_engine_library& library, std::string& reason) {
  library = {};
  library.struct_size = sizeof(library);
  take_message();
  const anyplace_status status = engine.table.library(engine.table.self, &library);
  if (status == ANYPLACE_STATUS_OK) return true;
  const Error error = error_of(status, take_message(), "", "Communicator");
  reason = one_line(error.problem());
  if (!error.remedy().empty()) reason += "; " + one_line(error.remedy());
  return false;
}

anyplace_engine_library require_library(const Engine& engine, const std::string& place, const char* operation) {
  anyplace_engine_library library{};
  std::string reason;
  if (open_library(engine, library, reason)) return library;
  const Engine* const other = engine_for_others();
  fail(ErrorCode::library_missing, place, operation,
       fmt::format("the engine {} can't be used: {}\ninstall it{}\n`anyplace doctor` lists the engines", engine.name,
                   reason,
                   other == nullptr || other == &engine
                       ? ""
                       : fmt::format(", or make the communicator with the engine {}", other->name)));
}

}  // namespace anyplace::detail
