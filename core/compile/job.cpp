// SPDX-License-Identifier: Apache-2.0
#include "compile/job.h"

#include <charconv>

#include "compile/records.h"

namespace anyplace::detail {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stopped == text.data() + text.size();
}

void add_all(std::string& to, std::string_view name, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) add_record(to, name, text);
}

}  // namespace

std::string to_records(const CompileJob& job) {
  std::string records;
  add_record(records, "plugin", job.plugin);
  add_record(records, "library", job.library);
  add_record(records, "format", std::to_string(job.format));
  add_record(records, "architecture", job.architecture);
  add_record(records, "name", job.name);
  add_record(records, "standard", std::to_string(job.standard));
  add_record(records, "flags", std::to_string(job.flags));
  add_record(records, "language", std::to_string(job.language));
  add_all(records, "define", job.defines);
  add_all(records, "include", job.includes);
  add_all(records, "expression", job.expressions);
  add_all(records, "option", job.options);
  add_record(records, "source", job.source);
  return records;
}

std::optional<CompileJob> job_of(std::string_view text) {
  const auto records = read_records(text);
  if (!records) return std::nullopt;
  CompileJob job;
  bool good = true;
  for (const auto& [name, bytes] : *records) {
    if (name == "plugin") job.plugin = bytes;
    if (name == "library") job.library = bytes;
    if (name == "format") good = good && read_number(bytes, job.format);
    if (name == "architecture") job.architecture = bytes;
    if (name == "name") job.name = bytes;
    if (name == "standard") good = good && read_number(bytes, job.standard);
    if (name == "flags") good = good && read_number(bytes, job.flags);
    if (name == "language") good = good && read_number(bytes, job.language);
    if (name == "define") job.defines.emplace_back(bytes);
    if (name == "include") job.includes.emplace_back(bytes);
    if (name == "expression") job.expressions.emplace_back(bytes);
    if (name == "option") job.options.emplace_back(bytes);
    if (name == "source") job.source = bytes;
  }
  return good ? std::optional(std::move(job)) : std::nullopt;
}

std::string to_records(const CompileResult& result) {
  std::string records;
  add_record(records, "status", std::to_string(result.status));
  add_record(records, "message", result.message);
  for (const auto& [expression, name] : result.lowered) {
    add_record(records, "expression", expression);
    add_record(records, "lowered", name);
  }
  add_all(records, "header", result.headers);
  add_record(records, "log", result.log);
  add_record(records, "image", result.image);
  return records;
}

std::optional<CompileResult> result_of(std::string_view text) {
  const auto records = read_records(text);
  if (!records) return std::nullopt;
  CompileResult result;
  bool good = false;
  for (const auto& [name, bytes] : *records) {
    if (name == "status") good = read_number(bytes, result.status);
    if (name == "message") result.message = bytes;
    if (name == "expression") result.lowered.emplace_back(bytes, "");
    if (name == "lowered" && !result.lowered.empty()) result.lowered.back().second = bytes;
    if (name == "header") result.headers.emplace_back(bytes);
    if (name == "log") result.log = bytes;
    if (name == "image") result.image = bytes;
  }
  return good ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace anyplace::detail
