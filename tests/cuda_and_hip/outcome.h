// SPDX-License-Identifier: Apache-2.0
//
// What a process gets whose environment makes the vendor's library an odd one: a process loads one.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/plugins.h"
#include "cuda_and_hip/support.h"
#include "support/process.h"

namespace vendor_test {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What a process with that environment gets for device 0: "ok" and the capabilities, or the code of the refusal and
/// why.
inline std::string outcome_with(const Environment& environment) {
  const test::Ended child = test::in_child([&] {
    for (const auto& [name, value] : environment) test::set_env(name.c_str(), value);
    try {
      const Device device(place(0));
      std::string text = "ok";
      for (const anyplace::Capability capability : device.properties().capabilities) {
        text += std::string(" ") + to_string(capability);
      }
      std::printf("%s\n", text.c_str());
    } catch (const anyplace::Error& error) {
      std::printf("%s\n", error.what());
      for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
        if (candidate.name != backend || candidate.state != anyplace::PluginCandidate::State::refused) continue;
        std::printf("refused: %s: %s\n", to_string(candidate.code), candidate.reason.c_str());
      }
    }
    return 0;
  });
  CHECK_FALSE(child.hung);
  CHECK(child.signal == 0);
  return child.out;
}

/// Refused with that code, and both the Error and the list of candidates say why.
inline void check_refused(const Environment& environment, const std::string& code,
                          const std::vector<std::string>& reasons) {
  const std::string outcome = outcome_with(environment);
  INFO(outcome);
  const std::size_t listed = outcome.find("refused: " + code + ": ");
  REQUIRE(listed != std::string::npos);
  for (const std::string& reason : reasons) {
    CHECK_THAT(outcome.substr(0, listed), contains(reason));
    CHECK_THAT(outcome.substr(listed), contains(reason));
  }
}

inline bool has(const std::string& outcome, const std::string& capability) {
  return outcome.find(" " + capability) != std::string::npos;
}

}  // namespace vendor_test
