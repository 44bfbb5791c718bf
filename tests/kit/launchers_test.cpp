// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/launchers.h"

namespace launchers_test {

using anyplace::backend::launcher_of_process;
using anyplace::backend::launchers;

namespace {

/// No launcher's variables but those that a case sets; at its end they are as they were.
class Variables {
 public:
  Variables() {
    for (const auto& launcher : launchers) {
      for (const char* const name : {launcher.rank, launcher.size}) {
        const char* const value = std::getenv(name);
        if (value != nullptr) before_.emplace_back(name, value);
        unsetenv(name);
      }
    }
  }
  ~Variables() {
    for (const auto& launcher : launchers) {
      for (const char* const name : {launcher.rank, launcher.size}) unsetenv(name);
    }
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace

TEST_CASE("A process that no launcher has started has none") {
  const Variables none;
  CHECK(launcher_of_process() == nullptr);
}

TEST_CASE("A process's launcher is the one whose two variables are set") {
  for (const auto& launcher : launchers) {
    const Variables none;
    setenv(launcher.rank, "1", 1);
    CHECK(launcher_of_process() == nullptr);
    setenv(launcher.size, "", 1);
    CHECK(launcher_of_process() == nullptr);
    setenv(launcher.size, "2", 1);
    CHECK(launcher_of_process() == &launcher);
  }
}

TEST_CASE("Of a launcher within a job of another one the inner one is the process's: Slurm is asked last") {
  const Variables none;
  for (const char* const name : {"SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "PMI_SIZE"}) setenv(name, "1", 1);
  REQUIRE(launcher_of_process() != nullptr);
  CHECK(std::string(launcher_of_process()->name) == "mpich");
}

}  // namespace launchers_test
