// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <anyplace/backend/device_backend.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace anyplace::validate {
namespace {

constexpr const char* right =
    "settings are log, throw, abort, report=PATH, sarif=PATH, suppress=PATH, leaks=on|off and uninitialized=on|off, "
    "with blanks or commas between them\nsee docs/layers.md";

[[noreturn]] void refuse(std::size_t position, const std::string& problem) {
  throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                         "ANYPLACE_VALIDATE, column " + std::to_string(position + 1) + ": " + problem + "\n" + right);
}

bool is_on(std::string_view value, std::size_t position, std::string_view name) {
  if (value == "on") return true;
  if (value != "off") {
    refuse(position, "'" + std::string(value) + "' is no value of " + std::string(name) + ", which takes on or off");
  }
  return false;
}

void take(Settings& settings, std::string_view word, std::size_t position) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    if (word == "log") {
      settings.mode = Mode::log;
    } else if (word == "throw") {
      settings.mode = Mode::refuse;
    } else if (word == "abort") {
      settings.mode = Mode::abort;
    } else {
      refuse(position, "'" + std::string(word) + "' is no setting");
    }
    return;
  }
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  const std::size_t at = position + equals + 1;
  if (value.empty()) refuse(at, std::string(name) + " has no value");
  if (name == "report") {
    settings.report = value;
  } else if (name == "sarif") {
    settings.sarif = value;
  } else if (name == "suppress") {
    settings.suppress = value;
  } else if (name == "leaks") {
    settings.leaks = is_on(value, at, name);
  } else if (name == "uninitialized") {
    settings.uninitialized = is_on(value, at, name);
  } else {
    refuse(position, "'" + std::string(name) + "' is no setting");
  }
}

}  // namespace

Settings parse_settings(std::string_view text) {
  Settings settings;
  bool has_mode = false;
  constexpr std::string_view between = " \t\n,";
  std::size_t at = text.find_first_not_of(between);
  while (at != std::string_view::npos) {
    const std::size_t end = text.find_first_of(between, at);
    const std::string_view word = text.substr(at, end == std::string_view::npos ? end : end - at);
    const bool is_mode = word.find('=') == std::string_view::npos;
    take(settings, word, at);
    if (is_mode && has_mode) refuse(at, "'" + std::string(word) + "' is a second mode, and there is one");
    has_mode = has_mode || is_mode;
    at = end == std::string_view::npos ? end : text.find_first_not_of(between, end);
  }
  return settings;
}

Settings read_settings() {
  const char* const text = ::secure_getenv("ANYPLACE_VALIDATE");
  return parse_settings(text == nullptr ? "" : text);
}

Mode parse_mode(std::string_view name) {
  if (name == "log") return Mode::log;
  if (name == "throw") return Mode::refuse;
  if (name == "abort") return Mode::abort;
  throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                         "'" + std::string(name) + "' is no mode\nmodes are log, throw and abort\nsee docs/layers.md");
}

std::string path_of(const std::string& file) {
  std::string path = file;
  const std::string number = std::to_string(::getpid());
  for (std::size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at + number.size())) {
    path.replace(at, 2, number);
  }
  return path;
}

std::vector<std::string> read_suppressions(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                           "ANYPLACE_VALIDATE: the suppression file '" + path +
                               "' can't be read\nsuppress=PATH names a file with a key of a report in each line\nsee "
                               "docs/layers.md");
  }
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.pop_back();
    line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.empty()) keys.push_back(line);
  }
  return keys;
}

}  // namespace anyplace::validate
