// SPDX-License-Identifier: Apache-2.0
#include "over_doubles.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string_view>

// Empty is what was not built.
constexpr std::string_view cuda_folder = CUDA_DOUBLE_FOLDER, hip_folder = HIP_DOUBLE_FOLDER,
                           level_zero_folder = LEVELZERO_DOUBLE_FOLDER, level_zero_driver = LEVELZERO_DOUBLE_DRIVER;

namespace example_test {
namespace {

bool is_driver(const std::string& backend, LevelZero form) {
  return backend == "levelzero" && form == LevelZero::behind_loader;
}

/// Of the library, or the driver.
std::string_view location(const std::string& backend, LevelZero form) {
  if (backend == "cuda") return cuda_folder;
  if (backend == "hip") return hip_folder;
  if (backend == "levelzero") return form == LevelZero::as_loader ? level_zero_folder : level_zero_driver;
  throw std::invalid_argument("there is no double of " + backend);
}

std::string prefix_of(const std::string& backend) {
  return backend == "cuda" ? "CUDA_DOUBLE" : backend == "hip" ? "HIP_DOUBLE" : "LEVELZERO_DOUBLE";
}

std::string report_of(const std::string& backend, const Folder& folder) { return folder.file(backend + ".report"); }

}  // namespace

bool is_built(const Over& over) {
  for (const std::string& backend : over.backends) {
    if (!location(backend, over.form).empty()) continue;
    std::printf("ANYPLACE_TEST_SKIPPED: the double of %s is not built%s\n", backend.c_str(),
                is_driver(backend, over.form) ? ", or there is no libze_loader.so.1 (Debian: libze1)" : "");
    return false;
  }
  return true;
}

test::Variables variables_of(const Over& over, const Folder& folder) {
  test::Variables variables{{"HIP_DOUBLE_ARCH", "gfx000"}, {"LEVELZERO_DOUBLE_SPIRV", "255.0"}};
  std::string libraries;
  for (const std::string& backend : over.backends) {
    const std::string at(location(backend, over.form));
    if (is_driver(backend, over.form)) {
      variables.insert({{"ZE_ENABLE_ALT_DRIVERS", at},
                        {"ZE_ENABLE_VALIDATION_LAYER", "1"},
                        {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}});
    } else {
      libraries += (libraries.empty() ? "" : ":") + at;
    }
    variables.emplace(prefix_of(backend) + "_SEED", over.seed);
    variables.emplace(prefix_of(backend) + "_REPORT", report_of(backend, folder));
  }
  if (!libraries.empty()) variables.emplace("LD_LIBRARY_PATH", libraries);
  return variables;
}

std::vector<std::string> libraries_of(const Over& over) {
  std::vector<std::string> libraries;
  for (const std::string& backend : over.backends) {
    std::string library(location(backend, over.form));
    if (backend == "cuda") library += "/libcuda.so.1";
    if (backend == "hip") library += "/libamdhip64.so.6";
    if (backend == "levelzero" && over.form == LevelZero::as_loader) library += "/libze_loader.so.1";
    libraries.push_back(std::move(library));
  }
  return libraries;
}

void check_reports(const Over& over, const Folder& folder) {
  for (const std::string& backend : over.backends) {
    INFO("the double of " << backend);
    std::ifstream lines(report_of(backend, folder));
    bool launched = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("call ") && contains(line, "LaunchKernel")) launched = true;
      if (line.starts_with("live ") || line.starts_with("misuse ")) FAIL_CHECK(line);
    }
    CHECK(launched);
  }
}

std::string blur(const Folder& folder, const std::string& in, const std::vector<std::string>& options,
                 const RunOptions& how) {
  const std::string out = folder.file("out.png");
  std::vector<std::string> arguments{"--in", in, "--out", out};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = run_program(arguments, how);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "checked: all "));
  CHECK(run.err.empty());
  return read_file(out);
}

std::string blur_over(const Over& over, const Folder& folder, const std::string& in,
                      const std::vector<std::string>& options) {
  for (const std::string& backend : over.backends) std::filesystem::remove(report_of(backend, folder));
  RunOptions how;
  how.variables = variables_of(over, folder);
  const std::string bytes = blur(folder, in, options, how);
  check_reports(over, folder);
  return bytes;
}

void check_pixels(Over over, const Stored& picture, const std::vector<std::vector<std::string>>& options,
                  const std::vector<std::string>& seeds) {
  if (!is_built(over)) return;
  const Folder folder;
  const std::string in = folder.write("in.png", encode(picture));
  const std::string expected = blur(folder, in, {"--place", "cpu_sim:0"});
  for (const std::string& seed : seeds) {
    over.seed = seed;
    for (std::size_t i = 0; i < options.size(); ++i) {
      INFO("seed " << seed << ", options " << i);
      CHECK(blur_over(over, folder, in, options[i]) == expected);
    }
  }
}

}  // namespace example_test
