// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace anyplace::faults {
namespace {

void add_line(const std::string& path, const nlohmann::ordered_json& json) {
  const std::string line = json.dump() + "\n";
  // One write to a file that is open for appending stays in one piece, whoever else appends.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!written) {
    std::fprintf(stderr, "anyplace: faults: warning: ANYPLACE_FAULTS_REPORT: %s: %s\n", path.c_str(),
                 std::strerror(errno));
  }
  if (file >= 0) ::close(file);
}

}  // namespace

std::string report_path() {
  const char* const path = ::secure_getenv("ANYPLACE_FAULTS_REPORT");
  return path == nullptr ? "" : path;
}

void add_hit_to_report(const std::string& path, std::string_view backend, std::string_view entry) {
  add_line(path, {{"process", ::getpid()}, {"backend", backend}, {"hit", entry}});
}

void add_to_report(const std::string& path, std::string_view backend, const RuleSet& rules, const Objects& objects) {
  nlohmann::ordered_json json{{"process", ::getpid()}, {"backend", backend}};
  json.update(rules.counts());
  json["live"] = objects.live();
  add_line(path, json);
}

}  // namespace anyplace::faults
