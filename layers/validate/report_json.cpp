// SPDX-License-Identifier: Apache-2.0
#include "report_json.h"

#include <cstdio>
#include <set>
#include <string_view>

namespace anyplace::validate {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (letter == '\n') {
      out += "\\n";
    } else if (code < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", code);
      out += escaped;
    } else {
      out += letter;
    }
  }
  return out + "\"";
}

std::string member(std::string_view name, std::string_view text) { return in_quotes(name) + ":" + in_quotes(text); }
std::string member(std::string_view name, std::uint64_t number) {
  return in_quotes(name) + ":" + std::to_string(number);
}

std::string side_of(const Side& side) {
  if (side.operation.empty()) return "null";
  std::string out = "{" + member("operation", side.operation) + "," + member("access", side.access) + "," +
                    member("stream", side.stream) + "," + member("stream_id", side.stream_id) + "," +
                    member("thread", side.thread) + ",\"range\":{" + member("address", side.address) + "," +
                    member("bytes", side.bytes) + "," + member("name", side.name) + "},\"site\":[";
  for (std::size_t i = 0; i < side.site.size(); ++i) out += (i == 0 ? "" : ",") + in_quotes(side.site[i]);
  return out + "]}";
}

/// A place in a program for SARIF, which has no other name for it than its function's.
std::string location_of(const Side& side) {
  std::string out = "{\"logicalLocations\":[";
  for (std::size_t i = 0; i < side.functions.size(); ++i) {
    out += std::string(i == 0 ? "" : ",") + "{" + member("fullyQualifiedName", side.functions[i]) +
           ",\"kind\":\"function\"}";
  }
  return out + "],\"message\":{" + member("text", side.operation + " on " + side.stream) + "}}";
}

}  // namespace

std::string json_of(const std::vector<Report>& reports) {
  std::string out = "{\"version\":1,\"reports\":[";
  bool is_first = true;
  for (const Report& report : reports) {
    out += is_first ? "\n" : ",\n";
    is_first = false;
    out += "{" + member("kind", report.kind) + "," + member("key", report.key) + "," + member("place", report.place) +
           "," + member("message", report.message) + "," + member("bytes", report.bytes) + "," +
           member("count", report.count) + ",\n \"first\":" + side_of(report.first) +
           ",\n \"second\":" + side_of(report.second) + ",\n " + member("mend", report.mend) + "}";
  }
  return out + "]}\n";
}

std::string sarif_of(const std::vector<Report>& reports) {
  std::set<std::string> kinds;
  for (const Report& report : reports) kinds.insert(report.kind);
  std::string rules;
  for (const std::string& kind : kinds) rules += (rules.empty() ? "{" : ",{") + member("id", kind) + "}";
  std::string results;
  for (const Report& report : reports) {
    results += results.empty() ? "\n" : ",\n";
    const Side& shown = report.second.operation.empty() ? report.first : report.second;
    results += "{" + member("ruleId", report.kind) + "," + member("level", "error") + ",\"message\":{" +
               member("text", report.message) + "},\"partialFingerprints\":{" + member("anyplaceKey/v1", report.key) +
               "},\"locations\":[" + location_of(shown) + "]";
    if (!report.second.operation.empty() && !report.first.operation.empty()) {
      results += ",\"relatedLocations\":[" + location_of(report.first) + "]";
    }
    results += "}";
  }
  return "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{"
         "\"driver\":{" +
         member("name", "anyplace validate") + ",\"rules\":[" + rules + "]}},\"results\":[" + results + "]}]}\n";
}

}  // namespace anyplace::validate
