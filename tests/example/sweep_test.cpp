// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline under `anyplace sweep`: each of its calls to the backend fails in a run of its own.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_command.h"
#include "png_files.h"
#include "run_program.h"

namespace sweep_test {

using namespace example_test;

TEST_CASE("Whichever call of the pipeline fails, it ends with an error or the right picture, and leaks nothing") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(300, 40, Color::rgb)));  // two tiles
  // Each status fails every so manieth call; all of them take half a minute.
  for (const char* const status : {"backend_failed", "out_of_memory", "device_lost"}) {
    const auto run =
        anyplace::test::run_command({"sweep", "--json", "--status", status, "--every", "7", "--", IMAGE_PIPELINE,
                                     "--place", "cpu_sim:0", "--in", in, "--out", "out.png"},
                                    {{"TMPDIR", folder.path().string()}});
    INFO(run.out << run.err);
    CHECK(run.status == 0);
    int errors = 0;
    const nlohmann::json answer = run.json();
    for (const nlohmann::json& one : answer.at("runs")) errors += one.at("outcome") == "clean error" ? 1 : 0;
    CHECK(errors > 0);
  }
}

}  // namespace sweep_test
