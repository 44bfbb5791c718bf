// SPDX-License-Identifier: Apache-2.0
// A program that says whether it runs with raised privileges, which backends it finds, which layers are on, what it
// doesn't search, and whether the plugin of a name is taken, from a file unless that is empty: say_search [FILE NAME]
#include <sys/auxv.h>

#include <cstdio>

#include "anyplace/error.h"
#include "anyplace/layers.h"
#include "anyplace/plugins.h"

int main(int count, char** words) {
  std::printf("raised %lu\n", ::getauxval(AT_SECURE));
  for (const auto& name : anyplace::backend_names()) std::printf("backend %s\n", name.c_str());
  for (const auto& layer : anyplace::layers_of("cpu_sim")) std::printf("layer %s\n", layer.c_str());
  for (const auto& problem : anyplace::plugin_directory_problems()) {
    std::printf("problem %s: %s\n", problem.directory.c_str(), problem.reason.c_str());
  }
  if (count < 3) return 0;
  try {
    if (*words[1] != '\0') anyplace::register_plugin(words[1]);
    std::printf("taken from %s\n", anyplace::backend_info(words[2]).path.c_str());
  } catch (const anyplace::Error& error) {
    std::printf("%s\n", error.what());
  }
}
