// SPDX-License-Identifier: Apache-2.0
// auto: the first backend with a device, in the order of ANYPLACE_AUTO.
#include <catch2/catch.hpp>
#include <string>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace automatic_cases {

using anyplace::Device;
using anyplace::ErrorCode;
using anyplace_test::device_error;
using anyplace_test::Folder;
using anyplace_test::search_in;
using anyplace_test::set_variable;
using Catch::Contains;

TEST_CASE("auto is cpu_sim where nothing else is there") {
  ::unsetenv("ANYPLACE_AUTO");
  CHECK(Device("auto").place().to_string() == "cpu_sim:0");
}

TEST_CASE("auto takes cuda before cpu_sim by default") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "cuda", "good");
  search_in(folder.path());
  CHECK(Device("auto").place().to_string() == "cuda:0");
}

TEST_CASE("auto follows the order of ANYPLACE_AUTO also by aliases") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain");
  set_variable("ANYPLACE_AUTO", "rocm,plain,custom_cpu");
  CHECK(Device("auto").backend() == "plain");
  set_variable("ANYPLACE_AUTO", "custom_cpu,plain");
  CHECK(Device("auto").backend() == "cpu_sim");
}

TEST_CASE("auto passes over backends that are refused or have no device") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("cuda"), "");
  anyplace_test::add_mimic(folder, "hip", "count=0");
  search_in(folder.path());
  CHECK(Device("auto").backend() == "cpu_sim");
}

TEST_CASE("auto is the current device of the backend that it finds") {
  anyplace::set_current_device(anyplace::Device("cpu_sim:1"));
  CHECK(Device("auto").place().to_string() == "cpu_sim:1");
}

TEST_CASE("auto without any device says why each backend is none") {
  const Folder folder;
  anyplace_test::write_file(folder.plugin("cuda"), "");
  anyplace_test::add_mimic(folder, "hip", "count=0");
  search_in(folder.path());
  set_variable("ANYPLACE_AUTO", "cuda,hip,levelzero");
  const anyplace::Error error = device_error("auto");
  CHECK(error.code() == ErrorCode::no_such_device);
  CHECK_THAT(error.text(), Contains("ANYPLACE_AUTO") && Contains("empty") && Contains("hip: it has no device") &&
                               Contains("libanyplace_backend_levelzero.so"));
}

TEST_CASE("A name in ANYPLACE_AUTO that is bad or unknown is an error that names the variable") {
  for (const char* const value : {"cpu_sin", "cpu_sim,", ",cpu_sim", "cpu_sim, cuda", "CPU_SIM", "cpu_sim:0", "auto",
                                  "cpu_sim;cuda", "cpu_sim,nothing_like_it"}) {
    CAPTURE(value);
    set_variable("ANYPLACE_AUTO", value);
    const anyplace::Error error = device_error("auto");
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.text(), Contains("ANYPLACE_AUTO"));
  }
}

TEST_CASE("An empty ANYPLACE_AUTO is the default") {
  set_variable("ANYPLACE_AUTO", "");
  CHECK(Device("auto").backend() == "cpu_sim");
}

TEST_CASE("A long ANYPLACE_AUTO is an error and no more") {
  std::string value = "cpu_sim";
  for (int i = 0; i < 100'000; ++i) value += ",cpu_sim";
  set_variable("ANYPLACE_AUTO", value.substr(0, 120'000));
  CHECK(device_error("auto").code() == ErrorCode::invalid_argument);
}

}  // namespace automatic_cases
