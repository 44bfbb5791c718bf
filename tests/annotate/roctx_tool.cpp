// SPDX-License-Identifier: Apache-2.0
// ROCTX's library as the tests have it: it writes what it hears to the file that ROCTX_TOOL_RECORD names.
#include <stdexcept>
#include <string>

#include "annotate/roctx_abi.h"
#include "record.h"

#define ROCTX_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
void say(const std::string& what, const char* name) {
  annotate_record::record("ROCTX_TOOL_RECORD", {.what = what, .name = name});
}
}  // namespace

using anyplace::detail::roctx::RangeId;

ROCTX_EXPORT void roctxMarkA(const char* name) {
  if (annotate_record::mode_is("throws_later")) throw std::runtime_error("this one, too");
  say("mark", name);
}
ROCTX_EXPORT int roctxRangePushA(const char* name) {
  say("push", name);
  return 0;
}
ROCTX_EXPORT int roctxRangePop() {
  say("pop", "-");
  return 0;
}
ROCTX_EXPORT RangeId roctxRangeStartA(const char* name) {
  static RangeId last = 2000;
  const RangeId id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  say("start " + std::to_string(id), name);
  return id;
}
#ifndef ROCTX_TOOL_TOO_OLD
ROCTX_EXPORT void roctxRangeStop(RangeId id) { say("end " + std::to_string(id), "-"); }
#endif
ROCTX_EXPORT int roctxNameOsThread(const char* name) {
  say("thread", name);
  return 0;
}
