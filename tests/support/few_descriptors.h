// SPDX-License-Identifier: Apache-2.0
// Programs that run out of file descriptors at their first use of a device.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "anyplace/anyplace.h"
#include "support/process.h"

namespace test {

/// UndefinedBehaviorSanitizer, which comes with AddressSanitizer here, opens a pipe to look whether an object is one,
/// and calls it none when it can't. Says so, for a case to end.
inline bool descriptors_are_needed_by_sanitizer() {
#ifdef __SANITIZE_ADDRESS__
  std::puts("ANYPLACE_TEST_SKIPPED: UndefinedBehaviorSanitizer takes objects for damaged when it has no descriptor");
  return true;
#else
  return false;
#endif
}

/// Uses the process's descriptors up but for `left`.
inline void leave_descriptors(int left) {
  constexpr rlim_t most = 64;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = most;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  int last = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int next = last; next >= 0; next = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) last = next;
  for (int i = 0; i < left; ++i) ::close(last - i);
}

inline void allow_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// In a process of its own: uses `place` with so few descriptors, then again with enough. "used" if the first use
/// succeeded, "refused" if it failed with out_of_memory and said that too many files were open; else what it did. The
/// second one is to succeed.
inline std::string use_with_descriptors(const std::string& place, int left) {
  const Ended result = in_child([&] {
    leave_descriptors(left);
    std::string said = "used";
    try {
      const anyplace::Stream stream{anyplace::Device(place)};
      const anyplace::Buffer buffer(stream, 1 << 22);
      stream.memset8(buffer, 1);
      stream.synchronize();
    } catch (const anyplace::Error& error) {
      const bool told = std::string(error.what()).find("oo many open files") != std::string::npos;
      said = told && error.code() == anyplace::ErrorCode::out_of_memory ? "refused" : error.what();
    }
    allow_descriptors();
    try {
      const anyplace::Stream stream{anyplace::Device(place)};
      const anyplace::Buffer buffer(stream, 1 << 22);
      stream.memset8(buffer, 1);
      stream.synchronize();
    } catch (const anyplace::Error& error) {
      said += std::string("; and later: ") + error.what();
    }
    std::printf("%s", said.c_str());
    std::fflush(stdout);
    return 0;
  });
  if (result.hung) return "it hung";
  if (result.signal != 0) return "it died of signal " + std::to_string(result.signal);
  return result.out;
}

}  // namespace test
