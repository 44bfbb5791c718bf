// SPDX-License-Identifier: Apache-2.0
//
// Catch2's main, in a process in which PoCL has two devices: it makes as many of the host's processor as it is told to.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>

int main(int argc, char** argv) {
  setenv("POCL_DEVICES", "pthread pthread", 1);
  return Catch::Session().run(argc, argv);
}
