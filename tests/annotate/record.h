// SPDX-License-Identifier: Apache-2.0
// What the tests' tools share: a line for each call that reaches them, in the file that a variable names. A line is
// what, the thread, the domain, the category, the colour, the payload and the name, with '|' between.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace annotate_record {

struct Line {
  std::string what;
  std::string domain = "-";
  std::string category = "-";
  std::string color = "-";
  std::string payload = "-";
  std::string name = "-";
};

/// Appends the line to the file that `variable` names, in one write; long names are shown by their length.
inline void record(const char* variable, const Line& line) {
  const char* const path = std::getenv(variable);
  if (path == nullptr) return;
  const std::string name = line.name.size() > 200 ? std::to_string(line.name.size()) + " bytes" : line.name;
  const std::string text = line.what + "|" + std::to_string(::syscall(SYS_gettid)) + "|" + line.domain + "|" +
                           line.category + "|" + line.color + "|" + line.payload + "|" + name + "\n";
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) std::abort();
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  ::close(file);
}

/// How the tool is to behave: ANNOTATE_TEST_MODE.
inline bool mode_is(const char* mode) {
  const char* const value = std::getenv("ANNOTATE_TEST_MODE");
  return value != nullptr && std::strcmp(value, mode) == 0;
}

inline std::string hexadecimal(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08x", value);
  return text;
}

}  // namespace annotate_record
