// SPDX-License-Identifier: Apache-2.0
// Runs Clang, whose messages then name the target that was asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {

/// As compile_by_program. Clang ends with "1 error generated when compiling for sm_70.", where sm_70 is what it
/// compiles for instead of a newer architecture, and with nothing there for SPIR-V: `target` is put in its place.
inline anyplace_status run_clang(const std::vector<std::string>& words, const anyplace_compile_request& request,
                                 const anyplace_compile_sink& sink, const std::string& target) {
  struct Named {
    const anyplace_compile_sink& to;
    const std::string& target;

    static void log(void* self, const char* text, std::uint64_t bytes) {
      const Named& own = *static_cast<const Named*>(self);
      std::string said(text, bytes);
      constexpr std::string_view before = " generated when compiling for ";
      for (std::size_t at = 0; (at = said.find(before, at)) != said.npos;) {
        at += before.size();
        const std::size_t end = std::min(said.find(".\n", at), said.size());
        said.replace(at, end - at, own.target);
      }
      own.to.log(own.to.context, said.data(), said.size());
    }
  } named{sink, target};
  anyplace_compile_sink with_target = sink;
  with_target.context = &named;
  with_target.log = &Named::log;
  return compile_by_program(words, request, with_target);  // which calls nothing but the log
}

}  // namespace anyplace::compilers
