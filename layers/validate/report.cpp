// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "report_json.h"

namespace anyplace::validate {
namespace {

std::string key_of(const Report& report) {
  std::string key = report.kind;
  for (const Side* const side : {&report.first, &report.second}) {
    if (side->operation.empty()) continue;
    key += ":" + side->operation;
    // Three functions tell a place well enough, and outer ones change for reasons of their own. Those of the standard
    // library differ between its versions.
    int count = 0;
    for (const std::string& function : side->functions) {
      if (function.find("std::") < function.find('(') || count == 3) continue;
      key += (count++ == 0 ? "@" : "<") + function;
    }
  }
  return key;
}

std::string hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

void add_side(std::string& text, const char* which, const Side& side) {
  if (side.operation.empty()) return;
  text += std::string("  ") + which + ": " + side.operation;
  if (!side.access.empty()) text += " (" + side.access + ")";
  if (!side.stream.empty()) text += " on " + side.stream;
  if (!side.thread.empty()) text += ", by " + side.thread;
  if (side.bytes != 0) {
    text += ", " + std::to_string(side.bytes) + " bytes at " + hexadecimal(side.address);
    if (!side.name.empty()) text += " of " + side.name;
  }
  text += "\n";
  for (const std::string& frame : side.site) text += "      " + frame + "\n";
}

std::string text_of(const Report& report) {
  std::string text = report.kind + " on " + report.place + ": " + report.what + "\n";
  add_side(text, "first", report.first);
  add_side(text, "second", report.second);
  if (!report.why.empty()) text += "  why: " + report.why + "\n";
  if (!report.mend.empty()) text += "  mend: " + report.mend + "\n";
  text += "  key: " + report.key;
  return text;
}

/// Writes to a file beside `path`, which then takes its place. Returns false if that can't be done.
bool write_whole(const std::string& path, const std::string& text) noexcept {
  const std::string beside = path + "." + std::to_string(::getpid()) + ".part";
  std::FILE* const file = std::fopen(beside.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  std::remove(beside.c_str());
  return false;
}

}  // namespace

void Reports::use(const Settings& settings) {
  settings_ = settings;
  suppressions_ = settings.suppress.empty() ? std::vector<std::string>() : read_suppressions(settings.suppress);
}

bool Reports::is_suppressed(const std::string& key) {
  for (const std::string& pattern : suppressions_) {
    const bool fits = pattern == key || ::fnmatch(pattern.c_str(), key.c_str(), FNM_NOESCAPE) == 0;
    if (!fits) continue;
    met_.insert(pattern);
    return true;
  }
  return false;
}

std::string Reports::message_of(Report report) {
  report.key = key_of(report);
  return text_of(report);
}

bool Reports::add(Report report) {
  report.key = key_of(report);
  if (is_suppressed(report.key)) return false;
  report.message = text_of(report);
  for (Report& known : all_) {
    if (known.key != report.key || known.first.site != report.first.site || known.second.site != report.second.site) {
      continue;
    }
    ++known.count;
    return true;
  }
  const std::string line = "anyplace: validate: " + report.message + "\n";
  all_.push_back(std::move(report));
  if (settings_.mode != Mode::refuse) std::fwrite(line.data(), 1, line.size(), stderr);
  flush();
  if (settings_.mode == Mode::abort) std::abort();
  return true;
}

void Reports::flush() noexcept {
  try {
    for (const bool is_json : {true, false}) {
      const std::string& file = is_json ? settings_.report : settings_.sarif;
      if (file.empty()) continue;
      const std::string path = path_of(file);
      if (write_whole(path, is_json ? json() : sarif()) || std::exchange(warned_, true)) continue;
      std::fprintf(stderr, "anyplace: validate: %s can't be written\n", path.c_str());
    }
  } catch (const std::exception&) {  // without memory the files stay as they are
  }
}

void Reports::end() noexcept {
  flush();
  for (const std::string& key : suppressions_) {
    if (met_.contains(key)) continue;
    std::fprintf(stderr, "anyplace: validate: the key '%s' of %s fits no report of this run\n", key.c_str(),
                 settings_.suppress.c_str());
    met_.insert(key);
  }
}

std::string Reports::json() const { return json_of(all_); }
std::string Reports::sarif() const { return sarif_of(all_); }

}  // namespace anyplace::validate
