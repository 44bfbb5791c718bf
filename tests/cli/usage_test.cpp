// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, versions, exit statuses, and an output that can't be written.
#include <anyplace/anyplace.h>
#include <anyplace/library_images.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "run_command.h"

namespace usage_test {

using namespace anyplace::test;
using nlohmann::json;

TEST_CASE("version tells the library from the headers and names the plugin ABI") {
  const Run run = run_command({"version", "--json"});
  CHECK(run.status == 0);
  CHECK(run.json().at("library") == anyplace::version());
  CHECK(run.json().at("headers") == ANYPLACE_VERSION);
  CHECK(run.json().at("abi") == json{{"major", 1}, {"minor", 0}});
  const Run text = run_command({"version"});
  CHECK(text.status == 0);
  CHECK(text.out.starts_with(std::string("anyplace ") + anyplace::version() + "\n"));
  CHECK(run_command({"--version"}).out == text.out);
}

TEST_CASE("version and doctor say which images of its own kernels the library has") {
  const json images = run_command({"version", "--json"}).json().at("images");
  for (const char* kernels : {"anyplace_random_kernels", "anyplace_sum_kernels"}) {
    CAPTURE(kernels);
    CHECK(std::any_of(images.begin(), images.end(), [&](const json& image) {
      return image.at("kernels") == kernels && image.at("format") == "shared_object" && image.at("bytes") > 1000;
    }));
    CHECK(contains(run_command({"version"}).out, std::string("kernels  ") + kernels + ": "));
    CHECK(contains(run_command({"doctor"}).out, std::string(kernels) + ": "));
  }
}

TEST_CASE("The architectures of an image are its own, or those of the code objects in a bundle") {
  using anyplace::architectures_of;
  using anyplace::KernelImage;
  const auto entry = [](const std::string& target) {
    std::string text(16, '\0');  // where its bytes are, and how many
    std::uint64_t length = target.size();
    text.append(reinterpret_cast<const char*>(&length), sizeof(length));
    return text + target;
  };
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__";
  const std::uint64_t count = 3;
  bundle.append(reinterpret_cast<const char*>(&count), sizeof(count));
  bundle += entry("host-x86_64-unknown-linux--") + entry("hipv4-amdgcn-amd-amdhsa--gfx1030") +
            entry("hipv4-amdgcn-amd-amdhsa--gfx90a");
  const auto of = [](const std::string& bytes) {
    return architectures_of(KernelImage{"hsaco", "", bytes.data(), bytes.size()});
  };
  CHECK(of(bundle) == std::vector<std::string>{"gfx1030", "gfx90a"});
  CHECK(of(bundle.substr(0, bundle.size() - 1)) == std::vector<std::string>{"gfx1030"});  // cut off
  CHECK(of(bundle.substr(0, 30)).empty());
  CHECK(of("a text").empty());
  CHECK(architectures_of(KernelImage{"ptx", "sm_52", "", 0}) == std::vector<std::string>{"sm_52"});
}

TEST_CASE("--help lists the commands and the exit statuses") {
  const Run run = run_command({"--help"});
  CHECK(run.status == 0);
  for (const char* part : {"devices", "info", "doctor", "version", "Exit status:", "ANYPLACE_PROBE_TIMEOUT"}) {
    CAPTURE(part);
    CHECK(contains(run.out, part));
  }
  const Run one = run_command({"info", "--help"});
  CHECK(one.status == 0);
  CHECK(contains(one.out, "PLACE"));
  CHECK(contains(one.out, "--json"));
}

TEST_CASE("A wrong command line exits 2 and says what would be right") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{}, "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"devcies"}, "did you mean 'devices'?"},
      {{"everything"},
       "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"--jsn"},
       "commands: devices, info, doctor, version, conformance, compile, cache, new-backend, new-compiler, replay"},
      {{"devices", "--jsn"}, "usage: anyplace devices [--json]"},
      {{"devices", "--jsn"}, "devices has no option --jsn; did you mean --json?"},
      {{"explore", "--runs", "3", "--sede=4", "--", "true"}, "explore has no option --sede; did you mean --seed?"},
      {{"explore", "--bogus", "5", "--", "true", "--json"}, "anyplace: explore has no option --bogus\n"},
      {{"devices", "cpu_sim"}, "usage: anyplace devices [--json]"},
      {{"info"}, "usage: anyplace info PLACE [--json]"},
      {{"info", "cpu_sim:0", "cpu_sim:1"}, "usage: anyplace info PLACE [--json]"},
      {{"devices", "version"}, "usage: anyplace devices [--json]"},
      {{"replay", "--everything"}, "usage: anyplace replay TRACE --place PLACE [option...] [--json]"},
  };
  for (const auto& [arguments, right] : wrong) {
    CAPTURE(arguments);
    const Run run = run_command(arguments);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, right));
  }
}

TEST_CASE("A probe timeout that is no number of seconds exits 2 and names the variable") {
  for (const char* value : {"soon", "-1", "0", "1e9", "nan", "5x", " 5"}) {
    CAPTURE(value);
    const Run run = run_command({"devices"}, {{"ANYPLACE_PROBE_TIMEOUT", value}});
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "ANYPLACE_PROBE_TIMEOUT"));
    CHECK(contains(run.err, "1 to 3600"));
  }
  // What a command doesn't use it doesn't complain about.
  CHECK(run_command({"version"}, {{"ANYPLACE_PROBE_TIMEOUT", "soon"}}).status == 0);
}

TEST_CASE("An output that can't be written is an error") {
  const Output output = GENERATE(Output::full, Output::closed, Output::broken_pipe);
  for (const char* command : {"devices", "doctor", "version"}) {
    CAPTURE(command, static_cast<int>(output));
    const Run run = run_command({command}, {}, output);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "can't write to standard output"));
  }
}

}  // namespace usage_test
