// SPDX-License-Identifier: Apache-2.0
//
// races: judges the layer `validate` by the programs, and says which mistakes it misses and which it invents.
//
//   races [--list] [--only TEXT] [PLACE...]        cpu_sim:0 without a place; a vendor's place is over the tests'
//   double
//
// Exit status: 0 all as expected; 1 something isn't; 2 wrong options.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "judge.h"

int main(int argc, char** argv) {
  std::vector<std::string> places;
  std::string only;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--list") == 0) {
      list = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (argv[i][0] == '-') {
      std::fprintf(stderr, "races: %s is none of its options: races [--list] [--only TEXT] [PLACE...]\n", argv[i]);
      return 2;
    } else {
      places.emplace_back(argv[i]);
    }
  }
  if (places.empty()) places.emplace_back("cpu_sim:0");
  bool right = true;
  for (const std::string& place : places) {
    races::Summary summary;
    for (const races::Topic& topic : races::topics()) {
      for (const races::Program& program : topic.programs) {
        if (std::string(program.name).find(only) == std::string::npos) continue;
        if (list) std::printf("%s: %s\n", topic.name, program.name);
        if (!list) judge_both(topic, program, place, summary);
      }
    }
    if (list) return 0;
    std::fputs(summary.text.c_str(), stdout);
    std::printf("%s: %u pairs, %u missed, %u invented, %u reported otherwise, %u left out\n", place.c_str(),
                summary.pairs, summary.missed, summary.invented, summary.other, summary.skipped);
    std::fflush(stdout);
    right = right && summary.text.empty() && summary.pairs != 0;
  }
  return right ? 0 : 1;
}
