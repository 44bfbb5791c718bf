// SPDX-License-Identifier: Apache-2.0
#include "schedule_report.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"

namespace anyplace::cpu_sim {

ScheduleReport::ScheduleReport(const std::string& path) {
  if (path.empty()) return;
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) {
    bad_argument("the file of ANYPLACE_CPU_SIM_REPORT can't be written: " + in_quotes(path) + ": " +
                 std::strerror(errno));
  }
  // The lock lasts as long as the process that writes the report.
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    line("{\"uncontrolled\":" +
         json_text("another process uses cpu_sim, too, and what it does is not in this schedule: "
                   "only ranks that a launcher starts are scheduled together") +
         "}");
    close(file_);
    file_ = -1;
    return;
  }
  static_cast<void>(!ftruncate(file_, 0));  // fails where it isn't a file, as for /dev/stderr
}

ScheduleReport::~ScheduleReport() {
  if (file_ >= 0) close(file_);
}

void ScheduleReport::line(const std::string& json) noexcept {
  if (file_ < 0) return;
  const std::string whole = json + "\n";
  // What a full disk leaves out is missing from the report, and nothing else goes wrong.
  static_cast<void>(!write(file_, whole.data(), whole.size()));
}

/// FNV-1a of 64 bits.
void ScheduleReport::hash(const std::string& json) noexcept {
  for (const char byte : json) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
}

std::string ScheduleReport::hash_text() const {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash_));
  return text;
}

std::string json_text(const std::string& text) {
  std::string json = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      json += '\\';
      json += byte;
    } else if (static_cast<unsigned char>(byte) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(byte));
      json += escaped;
    } else {
      json += byte;
    }
  }
  return json + "\"";
}

}  // namespace anyplace::cpu_sim
