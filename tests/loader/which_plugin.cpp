// SPDX-License-Identifier: Apache-2.0
// A program that says for each name that it is given which file its plugin is, or why there is none.
#include <cstdio>

#include "anyplace/error.h"
#include "anyplace/plugins.h"

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    try {
      std::printf("%s: %s\n", words[i], anyplace::backend_info(words[i]).path.c_str());
    } catch (const anyplace::Error& error) {
      std::printf("%s: %s\n", words[i], error.what());
    }
  }
}
