// SPDX-License-Identifier: Apache-2.0
// `anyplace top` over the doubles of the vendors' libraries: what it shows is what the double says.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_command.h"

namespace top_doubles_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

json devices_of(const std::string& place, const Variables& variables) {
  const Run run = run_command({"top", "--place", place, "--once", "--json"}, variables);
  CAPTURE(place, run.out, run.err);
  REQUIRE(run.status == 0);
  return run.json().at("devices");
}

}  // namespace

TEST_CASE("top shows what NVML says of each device of cuda") {
  const std::string folder = ANYPLACE_CUDA_DOUBLE_FOLDER;
  if (folder.empty()) return;
  const json devices = devices_of("cuda", {{"LD_LIBRARY_PATH", folder},
                                           {"CUDA_DOUBLE_MEMORY", "96M"},
                                           {"NVML_DOUBLE_FIGURES", "0.temperature=40,1.temperature=41,1.gpu=99"}});
  REQUIRE(devices.size() == 2);
  const json& first = devices.at(0);
  CHECK(first.at("place") == "cuda:0");
  CHECK(first.at("compute_utilization").get<double>() == Approx(0.37));
  CHECK(first.at("memory_used_bytes") == 1u << 20);
  CHECK(first.at("memory_total_bytes") == 96u << 20);
  CHECK(first.at("temperature_celsius").get<double>() == Approx(40));
  CHECK(first.at("power_watts").get<double>() == Approx(65.123));
  CHECK(first.at("power_limit_watts") == 300);
  CHECK(first.at("energy_joules").get<double>() == Approx(123456.789));
  CHECK(first.at("core_clock_hz") == 1410000000u);
  CHECK(first.at("memory_clock_hz") == 2619000000u);
  CHECK(first.at("throttle_reasons") == json::array({"power"}));
  CHECK(first.at("ecc_corrected") == 2);
  CHECK(first.at("pcie_rx_bytes_per_second") == 0);
  CHECK(devices.at(1).at("temperature_celsius").get<double>() == Approx(41));
  CHECK(devices.at(1).at("compute_utilization").get<double>() == Approx(0.99));
}

TEST_CASE("top shows what Sysman says of each device of levelzero") {
  const std::string folder = ANYPLACE_LEVELZERO_DOUBLE_FOLDER;
  if (folder.empty()) return;
  const json devices = devices_of("levelzero", {{"LD_LIBRARY_PATH", folder}, {"LEVELZERO_DOUBLE_MEMORY", "96M"}});
  REQUIRE_FALSE(devices.empty());
  const json& first = devices.at(0);
  CHECK(first.at("place") == "levelzero:0");
  CHECK(first.at("memory_used_bytes") == 2u << 20);
  CHECK(first.at("memory_total_bytes") == 96u << 20);
  CHECK(first.at("temperature_celsius").get<double>() == Approx(61));
  CHECK(first.at("power_limit_watts") == 120);
  CHECK(first.at("core_clock_hz") == 2050000000u);
  CHECK(first.at("memory_clock_hz").is_null());
  CHECK(first.at("throttle_reasons") == json::array({"temperature"}));
  CHECK(first.at("ecc_corrected") == 3);
  CHECK(first.at("link_rx_bytes_per_second").is_null());
}

TEST_CASE("top shows what ROCm SMI says of each device of hip") {
  const std::string folder = ANYPLACE_HIP_DOUBLE_FOLDER;
  if (folder.empty()) return;
  const json devices = devices_of("hip", {{"LD_LIBRARY_PATH", folder},
                                          {"HIP_DOUBLE_MEMORY", "96M"},
                                          {"ROCM_SMI_DOUBLE_FIGURES", "0.junction=48500,1.junction=33000,1.gpu=5"}});
  REQUIRE(devices.size() == 2);
  const json& first = devices.at(0);
  CHECK(first.at("place") == "hip:0");
  CHECK(first.at("compute_utilization").get<double>() == Approx(0.44));
  CHECK(first.at("memory_used_bytes") == 1u << 20);
  CHECK(first.at("memory_total_bytes") == 96u << 20);
  CHECK(first.at("temperature_celsius").get<double>() == Approx(48.5));
  CHECK(first.at("power_watts").get<double>() == Approx(98.765432));
  CHECK(first.at("power_limit_watts") == 500);
  CHECK(first.at("core_clock_hz") == 1700000000u);
  CHECK(first.at("memory_clock_hz") == 1600000000u);
  CHECK(first.at("ecc_corrected") == 5);
  CHECK(devices.at(1).at("temperature_celsius").get<double>() == Approx(33));
  CHECK(devices.at(1).at("compute_utilization").get<double>() == Approx(0.05));
}

TEST_CASE("top of a device of cuda that is lost says so and shows the others") {
  const std::string folder = ANYPLACE_CUDA_DOUBLE_FOLDER;
  if (folder.empty()) return;
  const json devices = devices_of("cuda", {{"LD_LIBRARY_PATH", folder}, {"NVML_DOUBLE_FIGURES", "1.lost=1"}});
  REQUIRE(devices.size() == 2);
  CHECK(devices.at(0).at("problem").is_null());
  CHECK(devices.at(1).at("problem").get<std::string>().starts_with("lost: "));
}

TEST_CASE("devices of a vendor shows what is used without a context and the links between its devices") {
  const std::string folder = ANYPLACE_CUDA_DOUBLE_FOLDER;
  if (folder.empty()) return;
  const json devices =
      run_command({"devices", "--json"}, {{"LD_LIBRARY_PATH", folder}, {"NVML_DOUBLE_FIGURES", "0.reserved=12345"}})
          .json()
          .at("devices");
  json first;
  for (const json& device : devices) {
    if (device.at("place") == "cuda:0") first = device;
  }
  REQUIRE(first.is_object());
  CHECK(first.at("memory").at("used") == 12345);
  REQUIRE(first.at("links").size() == 1);
  CHECK(first.at("links").at(0).at("place") == "cuda:1");
  CHECK(first.at("links").at(0).at("link") == "peer");
}

}  // namespace top_doubles_test
