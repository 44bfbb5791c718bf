// SPDX-License-Identifier: Apache-2.0
#include "report_text.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace anyplace::cpu_sim {

void ReportText::add(const char* text) noexcept {
  while (*text != '\0' && used_ < sizeof(text_) - 1) text_[used_++] = *text++;
}

void ReportText::add(std::uint64_t number, unsigned base) noexcept {
  char digits[21];
  char* next = digits + sizeof(digits);
  *--next = '\0';
  do {
    *--next = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  add(next);
}

void ReportText::write() noexcept {
  text_[used_++] = '\n';
  static_cast<void>(!::write(STDERR_FILENO, text_, used_));
  used_ = 0;
}

StackTrace StackTrace::here() noexcept {
  StackTrace trace;
  trace.count = backtrace(trace.frames, most);
  trace.thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
  return trace;
}

void StackTrace::add_to(ReportText& text, int first) const noexcept {
  for (int i = first; i < count; ++i) {
    Dl_info found{};
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    const bool in_file = dladdr(frames[i], &found) != 0 && found.dli_fname != nullptr;
    const bool named = in_file && found.dli_sname != nullptr;
    if (in_file && !named && std::strstr(found.dli_fname, "/libanyplace.so") != nullptr) continue;
    text.add("\n    ");
    if (!in_file) {
      text.add_hex(address);
      continue;
    }
    text.add(found.dli_fname);
    text.add(" (");
    if (named) text.add(found.dli_sname);
    text.add("+");
    text.add_hex(address - reinterpret_cast<std::uintptr_t>(named ? found.dli_saddr : found.dli_fbase));
    text.add(")");
  }
}

int StackTrace::own_frames() const noexcept {
  static const int somewhere_here = 0;
  Dl_info own{};
  if (dladdr(&somewhere_here, &own) == 0) return 0;
  int i = 0;
  for (Dl_info found{}; i < count && dladdr(frames[i], &found) != 0 && found.dli_fbase == own.dli_fbase;) ++i;
  return i;
}

}  // namespace anyplace::cpu_sim
