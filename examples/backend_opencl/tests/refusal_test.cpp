// SPDX-License-Identifier: Apache-2.0
//
// refusal_test CODE WORD: asking for an OpenCL device must fail, and the plugin's reason be of that code and have that
// word in it.
#include <cstdio>
#include <string>

#include "anyplace/anyplace.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const anyplace::Device device("opencl:0");
    std::puts("there is a device");
    return 1;
  } catch (const anyplace::Error& error) {
    std::puts(error.what());
  }
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.name != "opencl") continue;
    std::printf("%s: %s: %s\n", candidate.path.c_str(), to_string(candidate.code), candidate.reason.c_str());
    const bool right = candidate.state == anyplace::PluginCandidate::State::refused &&
                       std::string(to_string(candidate.code)) == argv[1] &&
                       candidate.reason.find(argv[2]) != std::string::npos;
    return right ? 0 : 1;
  }
  std::puts("the plugin isn't among the candidates");
  return 1;
}
