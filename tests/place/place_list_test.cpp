// SPDX-License-Identifier: Apache-2.0
// Lists of places, as the adapters' environment variables have them (adapters/shared/place_list.h).
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "place_list.h"
#include "support/errors.h"

namespace place_list_test {

using anyplace_adapters::devices_of;
using anyplace_adapters::entries_of;
using Texts = std::vector<std::string>;

TEST_CASE("A list of places is split at its commas, and blanks around an entry don't count") {
  CHECK(entries_of("cuda:1") == Texts{"cuda:1"});
  CHECK(entries_of(" cuda:1,\tcpu_sim ,hip:uuid=a b") == Texts{"cuda:1", "cpu_sim", "hip:uuid=a b"});
  CHECK(entries_of("") == Texts{""});
  CHECK(entries_of(" , ,") == Texts{"", "", ""});
}

TEST_CASE("An entry is one device, or all devices of the backend that it names or that auto finds") {
  const std::vector<anyplace::Device> all = anyplace::devices("cpu_sim");
  CHECK(devices_of("cpu_sim:1") == std::vector{all.at(1)});
  CHECK(devices_of("cpu_sim") == all);
  CHECK(devices_of("custom_cpu") == all);
  const std::string found = anyplace::Device("auto").backend();
  CHECK(devices_of("auto") == anyplace::devices(found));
  CHECK(anyplace_adapters::known_devices().find(all.front().to_string()) != std::string::npos);
}

TEST_CASE("An entry that is no place, or whose device isn't there, is refused as Device refuses it") {
  const auto code_of = [](const std::string& entry) { return test::code_of([&] { devices_of(entry); }); };
  CHECK(code_of("cpu_sim:0:0") == anyplace::ErrorCode::invalid_argument);
  CHECK(code_of("cpu_sim:99") == anyplace::ErrorCode::no_such_device);
  CHECK(code_of("nosuch") == anyplace::ErrorCode::no_such_backend);
}

}  // namespace place_list_test
