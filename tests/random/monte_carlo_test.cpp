// SPDX-License-Identifier: Apache-2.0
//
// The example monte_carlo, run as a program: the same digits on cpu_sim and over each double, with one stream and with
// several, captured and not; near to what is known; and its options.
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

namespace monte_carlo_test {

namespace {

struct Run {
  int status = -1;
  std::string out;  ///< and what it said on standard error
};

/// `before` sets variables of the environment.
Run run(const std::string& before, const std::string& arguments) {
  const std::string command = "env " + before + " " MONTE_CARLO " " + arguments + " 2>&1";
  FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Run run;
  std::array<char, 4096> part;
  for (std::size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) run.out.append(part.data(), got);
  const int ended = ::pclose(pipe);
  run.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128;
  return run;
}

/// From the first result on: the line before says how it was made.
std::string digits(const std::string& before, const std::string& arguments) {
  const Run found = run(before, arguments);
  INFO(arguments << ": " << found.out);
  REQUIRE(found.status == 0);
  REQUIRE(found.out.find("pi ") != std::string::npos);
  return found.out.substr(found.out.find("pi "));
}

const std::string& of_cpu_sim() {
  static const std::string known = digits("", "--place cpu_sim:0");
  return known;
}

void check_over(std::string_view folder, const std::string& variables, const std::string& place) {
  if (folder.empty()) {
    std::printf("ANYPLACE_TEST_SKIPPED: the double is not built\n");
    return;
  }
  const std::string before = "LD_LIBRARY_PATH=" + std::string(folder) + " " + variables;
  for (const char* const how : {"", " --streams 4", " --capture", " --streams 3 --capture"}) {
    CHECK(digits(before, "--place " + place + how) == of_cpu_sim());
  }
}

}  // namespace

TEST_CASE("monte_carlo gives the same digits with any number of streams, captured or not") {
  for (const char* const how : {"--streams 4", "--streams 16", "--capture", "--streams 3 --capture"}) {
    CHECK(digits("", std::string("--place cpu_sim:1 ") + how) == of_cpu_sim());
  }
  CHECK(digits("ANYPLACE_NATIVE_GRAPHS=0", "--place cpu_sim:0 --streams 4 --capture") == of_cpu_sim());
  CHECK(digits("", "--place cpu_sim:0 --seed 43") != of_cpu_sim());
}

TEST_CASE("monte_carlo comes near to pi and to the price that Black and Scholes give") {
  double pi = 0, option = 0;
  REQUIRE(std::sscanf(of_cpu_sim().c_str(), "pi %lf option %lf", &pi, &option) == 2);
  CHECK(pi == Approx(3.14159265).margin(0.012));
  // Four standard errors: the payoff's standard deviation is about 13.
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const double d = (std::log(100.0 / 105.0) + 0.07) / 0.2;
  CHECK(option == Approx(100.0 * below(d) - 105.0 * std::exp(-0.05) * below(d - 0.2)).margin(0.11));
}

TEST_CASE("monte_carlo over cuda's double gives the digits of cpu_sim") {
  check_over(CUDA_DOUBLE_FOLDER, "", "cuda:0");
}

TEST_CASE("monte_carlo over hip's double gives the digits of cpu_sim") {
  check_over(HIP_DOUBLE_FOLDER, "HIP_DOUBLE_ARCH=gfx000", "hip:0");
}

TEST_CASE("monte_carlo over levelzero's double gives the digits of cpu_sim") {
  check_over(LEVELZERO_DOUBLE_FOLDER, "LEVELZERO_DOUBLE_SPIRV=255.0", "levelzero:0");
}

TEST_CASE("monte_carlo says what is wrong with its options") {
  const auto check_refused = [](const std::string& arguments, const std::string& word) {
    const Run refused = run("", arguments);
    INFO(arguments << ": " << refused.out);
    CHECK(refused.status == 2);
    CHECK(refused.out.find(word) != std::string::npos);
  };
  check_refused("--streams 0", "from 1 to 16");
  check_refused("--streams 17", "17");
  check_refused("--streams four", "four");
  check_refused("--seed -1", "--seed");
  check_refused("--streams", "needs a value");
  check_refused("--speed 5", "--capture");
  CHECK(run("", "--place nowhere:0").status == 1);
}

}  // namespace monte_carlo_test
