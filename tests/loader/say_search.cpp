// SPDX-License-Identifier: Apache-2.0
// A program that says whether it runs with raised privileges, which backends it finds, which layers are on, and what
// it doesn't search.
#include <sys/auxv.h>

#include <cstdio>

#include "anyplace/layers.h"
#include "anyplace/plugins.h"

int main() {
  std::printf("raised %lu\n", ::getauxval(AT_SECURE));
  for (const auto& name : anyplace::backend_names()) std::printf("backend %s\n", name.c_str());
  for (const auto& layer : anyplace::layers_of("cpu_sim")) std::printf("layer %s\n", layer.c_str());
  for (const auto& problem : anyplace::plugin_directory_problems()) {
    std::printf("problem %s: %s\n", problem.directory.c_str(), problem.reason.c_str());
  }
}
