// SPDX-License-Identifier: Apache-2.0
// The layer `faults` over cpu_sim: what a program sees of its rules.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "anyplace/anyplace.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace faults_test {

using namespace anyplace;
using Catch::Contains;
using test::code_of;
using test::set_env;

namespace {

/// Puts the layer on, with these rules.
void use_faults(const std::string& rules) {
  set_env("ANYPLACE_LAYERS", "faults");
  set_env("ANYPLACE_FAULTS", rules);
}

/// The codes of `count` records of an event on a stream.
std::vector<ErrorCode> records(const StreamView& stream, const EventView& event, int count) {
  std::vector<ErrorCode> codes;
  for (int i = 0; i < count; ++i) codes.push_back(code_of([&] { stream.record_event(event); }));
  return codes;
}

constexpr ErrorCode ok = ErrorCode::ok;
constexpr ErrorCode failed = ErrorCode::backend_failed;
using Codes = std::vector<ErrorCode>;

}  // namespace

TEST_CASE("Given the layer without rules then everything works") {
  set_env("ANYPLACE_LAYERS", "faults");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  CHECK(records(stream, event, 3) == Codes{ok, ok, ok});
  stream.synchronize();
}

TEST_CASE("The nth use fails, with a message that says why") {
  use_faults("event_record=backend_failed nth=2");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  stream.record_event(event);
  const Error error = test::required_error(failed, [&] { stream.record_event(event); });
  CHECK_THAT(error.text(),
             Contains("the layer faults made this fail") && Contains("event_record=backend_failed nth=2"));
  CHECK(error.place() == "cpu_sim:0");
  CHECK(records(stream, event, 2) == Codes{ok, ok});
}

TEST_CASE("A sticky rule fails each use from the nth on") {
  use_faults("event_record=backend_failed nth=2 sticky");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  CHECK(records(stream, event, 4) == Codes{ok, failed, failed, failed});
}

TEST_CASE("A rule for a device leaves the others alone") {
  use_faults("event_record=backend_failed place=cpu_sim:1");
  const Stream good(Device("cpu_sim:0")), bad(Device("cpu_sim:1"));
  const Event good_event(good.device()), bad_event(bad.device());
  CHECK(records(good, good_event, 1) == Codes{ok});
  CHECK(records(bad, bad_event, 1) == Codes{failed});
}

TEST_CASE("A rule for a stream leaves the others alone") {
  set_env("ANYPLACE_LAYERS", "faults");
  const Device device("cpu_sim:0");
  const Stream one(device), other(device);
  const Event event(device);
  layer_command("faults", "add", "event_record=backend_failed stream_id=" + std::to_string(other.id()));
  CHECK(records(one, event, 1) == Codes{ok});
  CHECK(records(other, event, 1) == Codes{failed});
  CHECK(records(device.default_stream(), event, 1) == Codes{ok});
  layer_command("faults", "clear");
  layer_command("faults", "add", "event_record=backend_failed stream=0");
  CHECK(records(other, event, 1) == Codes{ok});
  CHECK(records(device.default_stream(), event, 1) == Codes{failed});
}

TEST_CASE("A call that fails after its effect has had it") {
  use_faults("memory_set=backend_failed after nth=2");
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 4096);
  const auto numbers = data.as<std::uint32_t>();
  stream.fill(numbers, 1u);
  CHECK(code_of([&] { stream.fill(numbers, 2u); }) == failed);
  std::vector<std::uint32_t> host(numbers.size());
  stream.copy(host, data);
  stream.synchronize();
  CHECK(host.front() == 2);
}

TEST_CASE("A call that fails before its effect hasn't had it") {
  use_faults("memory_set=backend_failed nth=2");
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 4096);
  const auto numbers = data.as<std::uint32_t>();
  stream.fill(numbers, 1u);
  CHECK(code_of([&] { stream.fill(numbers, 2u); }) == failed);
  std::vector<std::uint32_t> host(numbers.size());
  stream.copy(host, data);
  stream.synchronize();
  CHECK(host.front() == 1);
}

TEST_CASE("A fault in the stream is the stream's, and later work runs") {
  use_faults("memory_set=kernel_failed in_stream nth=1");
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 4096);
  const auto numbers = data.as<std::uint32_t>();
  stream.fill(numbers, 1u);
  const Error error = test::required_error(ErrorCode::kernel_failed, [&] { stream.synchronize(); });
  CHECK_THAT(error.text(), Contains("the layer faults made this fail"));
  stream.fill(numbers, 2u);
  stream.synchronize();
}

TEST_CASE("A delay takes at least its time") {
  use_faults("event_record delay=20ms");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  const auto begin = std::chrono::steady_clock::now();
  stream.record_event(event);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20));
}

TEST_CASE("A device that a rule loses stays lost, and the others work") {
  use_faults("event_record=device_lost place=cpu_sim:1 nth=2");
  const Stream good(Device("cpu_sim:0")), bad(Device("cpu_sim:1"));
  const Event good_event(good.device()), bad_event(bad.device());
  const Buffer data(bad, 4096);
  std::vector<std::uint32_t> host(1024, 7);
  bad.copy(data, host);
  bad.record_event(bad_event);
  CHECK(code_of([&] { bad.record_event(bad_event); }) == ErrorCode::device_lost);
  CHECK(code_of([&] { bad.synchronize(); }) == ErrorCode::device_lost);
  CHECK(code_of([&] { const Stream another(Device("cpu_sim:1")); }) == ErrorCode::device_lost);
  CHECK(records(good, good_event, 1) == Codes{ok});
  good.synchronize();
}

TEST_CASE("Memory that can't be had is no memory, and then there is some") {
  use_faults("memory_allocate=out_of_memory; virtual_*=out_of_memory; physical_create=out_of_memory");
  const Stream stream(Device("cpu_sim:0"));
  CHECK(code_of([&] { const Buffer data(stream, 4096); }) == ErrorCode::out_of_memory);
  layer_command("faults", "clear");
  const Buffer data(stream, 4096);
}

TEST_CASE("Rules are counted") {
  use_faults("event_record=backend_failed nth=3");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  records(stream, event, 4);
  const auto rules = nlohmann::json::parse(layer_command("faults", "counts")).at("rules");
  REQUIRE(rules.size() == 1);
  CHECK(rules.at(0).at("rule") == "event_record=backend_failed nth=3");
  CHECK(rules.at(0).at("uses") == 4);
  CHECK(rules.at(0).at("hits") == 1);
}

TEST_CASE("A file has the rules") {
  const test::TempDir folder;
  use_faults("@" + folder.write("rules.json", R"({"rules": [{"entry": "event_record", "status": "backend_failed"}]})"));
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  CHECK(records(stream, event, 1) == Codes{failed});
}

TEST_CASE("Rules that are wrong keep the backend from being used, and say where") {
  use_faults("event_record=backend_failed; memory_set=wrong");
  const Error error = test::required_error(ErrorCode::invalid_argument, [] { const Device device("cpu_sim:0"); });
  CHECK_THAT(error.text(), Contains("ANYPLACE_FAULTS, column 41: there is no status \"wrong\"") &&
                               Contains("statuses are invalid_argument"));
}

TEST_CASE("Rules of the program that are wrong are refused, and the others stay") {
  use_faults("event_record=backend_failed");
  const Error error =
      test::required_error(ErrorCode::invalid_argument, [] { layer_command("faults", "add", "memory_set=wrong"); });
  CHECK_THAT(error.text(), Contains("the text, column 12: there is no status \"wrong\""));
  CHECK(code_of([] { layer_command("faults", "sing"); }) == ErrorCode::invalid_argument);
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  CHECK(records(stream, event, 1) == Codes{failed});
}

TEST_CASE("A shutdown that fails is said at exit") {
  const test::Ended ended = test::in_child([] {
    use_faults("shutdown=backend_failed after");
    const Stream stream(Device("cpu_sim:0"));
    stream.synchronize();
    return 0;
  });
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, Contains("the layer faults made this fail"));
}

TEST_CASE("A forked child can't use the backend, and counts no uses of the parent's rules") {
  use_faults("event_record=backend_failed nth=2");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  stream.record_event(event);
  const test::Ended child = test::in_child([&] {
    return records(stream, event, 2) == Codes{ErrorCode::forked, ErrorCode::forked} ? 0 : 1;
  });
  CHECK(child.status == 0);
  CHECK(records(stream, event, 2) == Codes{failed, ok});
}

TEST_CASE("A program that is executed has the rules of its environment, from the first use on") {
  use_faults("event_record=backend_failed nth=2");
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  stream.record_event(event);
  const test::Ended ended = test::Process({"/proc/self/exe", "The executed program"}).end();
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK(records(stream, event, 2) == Codes{failed, ok});
}
TEST_CASE("The executed program", "[.]") {
  const Stream stream(Device("cpu_sim:0"));
  const Event event(stream.device());
  CHECK(records(stream, event, 3) == Codes{ok, failed, ok});
}

TEST_CASE("A program that lost its device at any call exits cleanly") {
  for (int nth = 1; nth <= 40; ++nth) {
    INFO(nth);
    const test::Ended ended = test::in_child([nth] {
      use_faults("*=device_lost nth=" + std::to_string(nth));
      try {
        const Stream stream(Device("cpu_sim:0"));
        const Buffer data(stream, 4096);
        const auto numbers = data.as<std::uint32_t>();
        stream.fill(numbers, 42u);
        std::vector<std::uint32_t> host(numbers.size());
        stream.copy(host, data);
        stream.launch_host_func([] {});
        stream.synchronize();
        return std::count(host.begin(), host.end(), 42u) == std::ssize(host) ? 0 : 2;
      } catch (const Error& error) {
        return error.code() == ErrorCode::device_lost ? 0 : 3;
      }
    });
    CHECK(ended.status == 0);
    CHECK(ended.signal == 0);
    CHECK_FALSE(ended.hung);
  }
}

}  // namespace faults_test
