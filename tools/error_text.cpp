// SPDX-License-Identifier: Apache-2.0
#include "error_text.h"

#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

std::string text_at(const Json& error, const char* key) {
  const auto found = error.find(key);
  return found != error.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string memory_line(const Json& memory) {
  const auto bytes = [&](const char* key) {
    const Json& value = memory.at(key);
    return value.is_null() ? std::string("unknown") : value.dump();
  };
  return "  bytes: requested " + bytes("requested") + ", free " + bytes("free") + ", cached " + bytes("cached") +
         ", in use " + bytes("in_use") + ", limit " + bytes("limit") + "\n";
}

/// The vendor's part of an error: "CUDA_ERROR_NO_DEVICE 100: no CUDA-capable device is detected"; "" if there is none.
std::string vendor_text(const Json& error) {
  std::string text = text_at(error, "vendor_name");
  const auto code = error.find("vendor_code");
  if (code != error.end() && code->is_number() && *code != 0) text += (text.empty() ? "" : " ") + code->dump();
  const std::string said = text_at(error, "vendor_text");
  if (!said.empty()) text += (text.empty() ? "" : ": ") + said;
  return text;
}

}  // namespace

std::string error_text(std::string_view who, const Json& error) {
  const std::string place = text_at(error, "place");
  std::string problem = text_at(error, "problem");
  if (problem.empty()) problem = text_at(error, "text");
  std::string first;
  if (!place.empty() && problem.find(place) == std::string::npos) first += place + ": ";
  std::string text = painted_note(Paint::bad, who) + ": ";
  text += printable(first + problem + " (" + text_at(error, "code") + ")") + "\n";
  const std::string vendor = vendor_text(error);
  if (!vendor.empty()) text += "  " + printable(vendor) + "\n";
  const auto memory = error.find("memory");
  if (memory != error.end() && memory->is_object()) text += memory_line(*memory);
  for (const char* const part : {"remedy", "see"}) {
    const std::string line = text_at(error, part);
    if (!line.empty()) text += "  " + printable(line) + "\n";
  }
  return text;
}

std::string error_text(std::string_view who, const Error& error) { return error_text(who, error_json(error)); }

}  // namespace anyplace::tool
