// SPDX-License-Identifier: Apache-2.0
//
// Machines without a device for Level Zero: Debian's loader that finds no driver, and files that are no loader; what
// the command says of them, and that cpu_sim is none the worse.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "cli/run_command.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace refusal_test {

namespace {

using anyplace::test::Run;
using anyplace::test::run_command;
using anyplace::test::Variables;
using Catch::Contains;

/// In a child, so that the library isn't loaded here.
bool machine_has_a_loader() {
  return test::in_child([] { return dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr ? 1 : 0; }).status !=
         0;
}

}  // namespace

TEST_CASE("The real loader without a driver is a clear answer") {
  if (!machine_has_a_loader()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: this machine has no libze_loader.so.1 (Debian: apt-get install libze1)\n";
    return;
  }
  // Whichever driver the machine has isn't asked.
  const Variables no_driver{{"ZE_ENABLE_ALT_DRIVERS", "/nowhere/libze_none.so.1"}};
  const Run info = run_command({"info", "levelzero:0"}, no_driver);
  CHECK(info.status == 1);
  CHECK_THAT(info.err, Contains("finds no driver that works") && Contains("libze_intel_gpu.so.1"));
  CHECK_THAT(info.err, Contains("ZE_RESULT_ERROR_UNINITIALIZED"));
  const Run doctor = run_command({"doctor"}, no_driver);
  CHECK_THAT(doctor.out, Contains("levelzero: no_driver"));
  CHECK_THAT(doctor.out, Contains("cpu_sim: accepted"));
  CHECK(run_command({"info", "cpu_sim:0"}, no_driver).status == 0);
  CHECK(run_command({"info", "auto"}, no_driver).status == 0);
}

TEST_CASE("A loader that finds no driver by its code and one that fails otherwise are told apart") {
  const Run uninitialised = run_command({"info", "levelzero:0"}, {{"LD_LIBRARY_PATH", ANYPLACE_LEVELZERO_DIRECT},
                                                                  {"LEVELZERO_DOUBLE_INIT", "2013265921"}});
  CHECK(uninitialised.status == 1);
  CHECK_THAT(uninitialised.err, Contains("finds no driver that works"));
  const Run missing = run_command({"info", "levelzero:0"}, {{"LD_LIBRARY_PATH", ANYPLACE_LEVELZERO_DIRECT},
                                                            {"LEVELZERO_DOUBLE_INIT", "1879179264"}});
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, Contains("ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"));
}

TEST_CASE("A library of the loader's name that is none is refused by the entry that it lacks") {
  const test::TempDir folder;
  std::filesystem::create_symlink(ANYPLACE_NO_LOADER, folder / "libze_loader.so.1");
  const Run info = run_command({"info", "levelzero:0"}, {{"LD_LIBRARY_PATH", folder.path().string()}});
  CHECK(info.status == 1);
  CHECK_THAT(info.err, Contains("lacks ze") && Contains("libze1"));
}

TEST_CASE("No device at all is no error of the driver") {
  const Run info = run_command({"info", "levelzero:0"},
                               {{"LD_LIBRARY_PATH", ANYPLACE_LEVELZERO_DIRECT}, {"LEVELZERO_DOUBLE_DEVICES", "0"}});
  CHECK(info.status == 1);
  CHECK_THAT(info.err, Contains("levelzero"));
}

}  // namespace refusal_test
