// SPDX-License-Identifier: Apache-2.0
//
// The benches' own options, beside those of Google Benchmark.
#pragma once

#include <string>
#include <string_view>

namespace bench {

/// Takes `--name=value` out of the arguments.
inline std::string take_option(int& argc, char** argv, std::string_view name, std::string value) {
  const std::string start = "--" + std::string(name) + "=";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).substr(0, start.size()) == start) {
      value = argv[i] + start.size();
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return value;
}

}  // namespace bench
