// SPDX-License-Identifier: Apache-2.0
// What `anyplace top` shows of a snapshot, at any width; what keys change; what it writes for programs. No device and
// no terminal takes part.
#include "tools/top_view.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/top_output.h"

namespace top_view_test {

using namespace anyplace::tool;
using anyplace::DeviceProcess;
using anyplace::DeviceSample;
using nlohmann::json;

namespace {

constexpr std::uint64_t gib = 1ull << 30;

TopDevice busy_device() {
  DeviceSample sample;
  sample.compute_utilization = 0.5;
  sample.memory_used_bytes = 20 * gib;
  sample.memory_total_bytes = 80 * gib;
  sample.temperature_celsius = 61.4;
  sample.power_watts = 310;
  sample.power_limit_watts = 700;
  sample.core_clock_hz = 1'980'000'000;
  sample.memory_clock_hz = 2'619'000'000;
  sample.throttle_reasons = std::vector{anyplace::ThrottleReason::power};
  DeviceProcess trainer;
  trainer.id = 4711;
  trainer.name = "train";
  trainer.memory_bytes = 18 * gib;
  trainer.compute = true;
  trainer.compute_utilization = 0.4;
  DeviceProcess desktop;
  desktop.id = 99;
  desktop.name = "Xorg";
  desktop.memory_bytes = gib;
  desktop.graphics = true;
  return {"cuda:0", "Example GPU 80 GB", sample, "", std::vector{desktop, trainer}};
}

TopDevice full_device() {
  DeviceSample sample;
  sample.compute_utilization = 0.02;
  sample.memory_used_bytes = 79 * gib;
  sample.memory_total_bytes = 80 * gib;
  sample.temperature_celsius = 40;
  DeviceProcess server;
  server.id = 500;
  server.name = "serve";
  server.memory_bytes = 70 * gib;
  return {"cuda:10", "Example GPU 80 GB", sample, "", std::vector{server}};
}

TopDevice unknown_device() { return {"levelzero:0", "", DeviceSample{}, "", std::nullopt}; }
TopDevice lost_device() { return {"hip:0", "Another GPU", std::nullopt, "lost: it fell off the bus", std::nullopt}; }

TopSnapshot snapshot_of(std::vector<TopDevice> devices) {
  return {std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123)), std::move(devices)};
}

TopSnapshot all_kinds() { return snapshot_of({full_device(), busy_device(), unknown_device(), lost_device()}); }

std::vector<std::string> shown(const TopSnapshot& snapshot, TopState& state, const TopFrame& frame) {
  std::vector<std::string> texts;
  for (const Line& line : top_lines(snapshot, state, frame)) texts.push_back(plain_text(line));
  return texts;
}

std::vector<std::string> shown(const TopSnapshot& snapshot, std::size_t columns, std::size_t rows = 0) {
  TopState state;
  return shown(snapshot, state, {columns, rows, ""});
}

std::string line_with(const std::vector<std::string>& lines, const std::string& begin) {
  for (const std::string& line : lines) {
    if (line.starts_with(begin)) return line;
  }
  return "";
}

std::vector<std::string> places_of(const TopSnapshot& snapshot, SortKey key) {
  TopState state;
  state.sort = key;
  std::vector<std::string> places;
  for (const TopDevice& device : sorted_devices(snapshot, state)) places.push_back(device.place);
  return places;
}

std::vector<std::uint64_t> processes_of(const TopSnapshot& snapshot, SortKey key, const std::string& filter = "") {
  TopState state;
  state.sort = key;
  state.filter = filter;
  std::vector<std::uint64_t> numbers;
  for (const TopProcess& process : shown_processes(snapshot, state)) numbers.push_back(process.process.id);
  return numbers;
}

using Places = std::vector<std::string>;
using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("At 80 columns a device has bars and temperature and power and clocks") {
  const std::vector<std::string> lines = shown(snapshot_of({busy_device()}), 80);
  CHECK(line_with(lines, "PLACE   UTIL") ==
        "PLACE   UTIL                    MEMORY            TEMP      POWER         CLOCKS");
  CHECK(line_with(lines, "cuda:0") ==
        "cuda:0   50% [||||    ]  20.0/80.0 GiB [||     ]  61 C  310/700 W  1980/2619 MHz");
}

TEST_CASE("At 200 columns a device has its name and longer bars") {
  const std::string line = line_with(shown(snapshot_of({busy_device()}), 200), "cuda:0");
  CHECK(line.find("Example GPU 80 GB") != std::string::npos);
  CHECK(line.find("[||||||||||||||||||||                    ]") != std::string::npos);
  CHECK(line.ends_with("1980/2619 MHz"));
}

TEST_CASE("At 20 columns a device has its place and utilisation and a process its number") {
  const std::vector<std::string> lines = shown(all_kinds(), 20);
  CHECK(line_with(lines, "cuda:0") == "cuda:0        50%");
  CHECK(line_with(lines, "levelzero:0") == "levelzero:0     -");
  CHECK(line_with(lines, "hip:0") == "hip:0        lost: ~");
  CHECK(std::count(lines.begin(), lines.end(), "cuda:0   4711") == 1);
}

TEST_CASE("No line is longer than the screen is wide and there are no more than it has") {
  for (const std::size_t columns : {1, 2, 5, 10, 20, 21, 39, 40, 60, 79, 80, 81, 120, 200, 1000}) {
    for (const std::size_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 24, 100}) {
      for (const bool typing : {false, true}) {
        TopState state;
        state.filter = typing ? "a" : "";
        state.typing = typing;
        const auto lines = top_lines(all_kinds(), state, {columns, rows, "every 1 s"});
        CAPTURE(columns, rows);
        if (rows != 0) CHECK(lines.size() <= rows);
        for (const Line& line : lines) CHECK(width_of(plain_text(line)) <= columns);
      }
    }
  }
}

TEST_CASE("What isn't known is shown as unknown and never as nothing used") {
  const std::vector<std::string> lines = shown(snapshot_of({busy_device(), unknown_device()}), 80);
  std::istringstream words(line_with(lines, "levelzero:0"));
  std::string place, busy, busy_bar, memory, memory_bar, temperature;
  words >> place >> busy >> busy_bar >> memory >> memory_bar >> temperature;
  CHECK(busy == "-");
  CHECK(busy_bar.starts_with("[......."));
  CHECK(memory == "-");
  CHECK(memory_bar.starts_with("[......."));
  CHECK(temperature == "-");
  CHECK(lines.front().ends_with("-: unknown"));
  CHECK(lines.back() == "processes unknown of levelzero:0");
  // Of nobody known isn't nobody.
  const std::vector<std::string> alone = shown(snapshot_of({unknown_device()}), 80);
  CHECK(std::count(alone.begin(), alone.end(), "no processes") == 0);
  TopDevice unused = busy_device();
  unused.processes->clear();
  CHECK(shown(snapshot_of({unused}), 80).back() == "no processes");
}

TEST_CASE("A device that vanished says so in its line and the others go on") {
  const std::vector<std::string> lines = shown(all_kinds(), 80);
  CHECK(line_with(lines, "hip:0") == "hip:0        lost: it fell off the bus");
  CHECK(line_with(lines, "cuda:0 ").find("50%") != std::string::npos);
}

TEST_CASE("Texts of a driver or of a process bring no sequence to the terminal") {
  TopDevice device = busy_device();
  device.name = "\x1b[31mred";
  device.processes->front().name = "\x1b]0;title\x07";
  TopDevice lost = lost_device();
  lost.problem = "lost:\n\x1b[2J";
  for (const std::string& line : shown(snapshot_of({device, lost}), 200)) {
    for (const char c : line) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  }
}

TEST_CASE("Devices are in the order of each key and what is unknown comes last") {
  const TopSnapshot snapshot = all_kinds();
  CHECK(places_of(snapshot, SortKey::place) == Places{"cuda:0", "cuda:10", "hip:0", "levelzero:0"});
  CHECK(places_of(snapshot, SortKey::utilization) == Places{"cuda:0", "cuda:10", "levelzero:0", "hip:0"});
  CHECK(places_of(snapshot, SortKey::memory) == Places{"cuda:10", "cuda:0", "levelzero:0", "hip:0"});
  CHECK(places_of(snapshot, SortKey::temperature) == Places{"cuda:0", "cuda:10", "levelzero:0", "hip:0"});
  CHECK(places_of(snapshot, SortKey::power) == Places{"cuda:0", "cuda:10", "levelzero:0", "hip:0"});
  TopDevice ninth = full_device();
  ninth.place = "cuda:9";
  CHECK(places_of(snapshot_of({full_device(), ninth}), SortKey::place) == Places{"cuda:9", "cuda:10"});
}

TEST_CASE("Processes are in the order of each key and a filter looks at place and number and name") {
  const TopSnapshot snapshot = all_kinds();
  CHECK(processes_of(snapshot, SortKey::place) == Numbers{4711, 99, 500});
  CHECK(processes_of(snapshot, SortKey::memory) == Numbers{500, 4711, 99});
  CHECK(processes_of(snapshot, SortKey::pid) == Numbers{99, 500, 4711});
  CHECK(processes_of(snapshot, SortKey::name) == Numbers{99, 500, 4711});
  CHECK(processes_of(snapshot, SortKey::utilization) == Numbers{4711, 99, 500});
  CHECK(processes_of(snapshot, SortKey::place, "cuda:1") == Numbers{500});
  CHECK(processes_of(snapshot, SortKey::place, "47") == Numbers{4711});
  CHECK(processes_of(snapshot, SortKey::place, "Xorg") == Numbers{99});
  CHECK(processes_of(snapshot, SortKey::place, "nobody").empty());
}

TEST_CASE("Keys sort and filter and scroll and quit") {
  TopState state;
  CHECK(press(state, 's') == KeyResult::changed);
  CHECK(state.sort == SortKey::utilization);
  for (std::size_t i = 1; i < all_sort_keys().size(); ++i) press(state, 's');
  CHECK(state.sort == SortKey::place);
  CHECK(press(state, 'x') == KeyResult::ignored);
  CHECK(press(state, 'r') == KeyResult::sample);

  CHECK(press(state, '/') == KeyResult::changed);
  for (const char c : std::string("qs/")) CHECK(press(state, c) == KeyResult::changed);
  CHECK(state.filter == "qs/");
  CHECK(press(state, key_backspace) == KeyResult::changed);
  CHECK(press(state, 0x7f) == KeyResult::changed);
  CHECK(press(state, key_up) == KeyResult::ignored);
  CHECK(press(state, '\r') == KeyResult::changed);
  CHECK(state.filter == "q");
  CHECK(press(state, 0x1b) == KeyResult::changed);
  CHECK(state.filter.empty());
  press(state, '/');
  for (int i = 0; i < 1000; ++i) press(state, 'a');
  CHECK(state.filter.size() < 100);
  press(state, 0x1b);
  CHECK_FALSE(state.typing);
  CHECK(press(state, 'q') == KeyResult::quit);
}

TEST_CASE("Processes that have no room are scrolled to and not beyond") {
  TopDevice device = busy_device();
  device.processes->clear();
  for (std::uint64_t id = 1; id <= 30; ++id) {
    DeviceProcess process;
    process.id = id;
    process.memory_bytes = (100 - id) << 20;
    device.processes->push_back(process);
  }
  const TopSnapshot snapshot = snapshot_of({device});
  TopState state;
  const TopFrame frame{80, 12, "every 1 s"};
  std::vector<std::string> lines = shown(snapshot, state, frame);
  REQUIRE(lines.size() == 12);
  CHECK(lines[4].starts_with("PLACE"));
  CHECK(lines[5].starts_with("cuda:0    1"));
  CHECK(lines[11].starts_with("q quit"));
  press(state, key_down);
  CHECK(shown(snapshot, state, frame)[5].starts_with("cuda:0    2"));
  for (int i = 0; i < 10; ++i) press(state, key_page_down);
  lines = shown(snapshot, state, frame);
  CHECK(lines[10].starts_with("cuda:0   30"));
  CHECK(state.first_process == 24);
  press(state, key_page_up);
  press(state, key_up);
  CHECK(state.first_process == 13);
  press(state, key_home);
  press(state, key_up);
  CHECK(state.first_process == 0);
}

TEST_CASE("More devices than a screen has lines are counted") {
  std::vector<TopDevice> devices(40, busy_device());
  const std::vector<std::string> lines = shown(snapshot_of(devices), 80, 24);
  REQUIRE(lines.size() == 24);
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("and ") && line.find("more devices") != std::string::npos;
  }));
  // Printed, there is no end.
  CHECK(shown(snapshot_of(devices), 80).size() > 40);
}

TEST_CASE("A bar shows its share and little isn't nothing") {
  CHECK(bar(0.5, 12) == "[|||||     ]");
  CHECK(bar(0.0, 12) == "[          ]");
  CHECK(bar(0.001, 12) == "[|         ]");
  CHECK(bar(7.0, 12) == "[||||||||||]");
  CHECK(bar(-1.0, 12) == "[          ]");
  CHECK(bar(std::nullopt, 12) == "[..........]");
  CHECK(bar(0.5, 0) == "[|]");
}

TEST_CASE("A text is cut between characters") {
  CHECK(cut("Gr\xc3\xb6\xc3\x9f"
            "e",
            5) ==
        "Gr\xc3\xb6\xc3\x9f"
        "e");
  CHECK(cut("Gr\xc3\xb6\xc3\x9f"
            "e",
            4) == "Gr\xc3\xb6~");
  CHECK(cut("abc", 0).empty());
}

TEST_CASE("JSON is an object a line with null for what is unknown") {
  const std::string text = top_json(all_kinds());
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  const json answer = json::parse(text);
  CHECK(answer.at("time") == "2023-11-14T22:13:20.123Z");
  REQUIRE(answer.at("devices").size() == 4);
  const json& busy = answer.at("devices").at(1);
  CHECK(busy.at("place") == "cuda:0");
  CHECK(busy.at("problem").is_null());
  CHECK(busy.at("compute_utilization") == 0.5);
  CHECK(busy.at("memory_used_bytes") == 20 * gib);
  CHECK(busy.at("core_clock_hz") == 1'980'000'000);
  CHECK(busy.at("energy_joules").is_null());
  CHECK(busy.at("throttle_reasons") == json::array({"power"}));
  CHECK(busy.at("processes").at(1).at("pid") == 4711);
  CHECK(busy.at("processes").at(1).at("graphics").is_null());
  for (const char* name :
       {"compute_utilization", "memory_used_bytes", "power_watts", "processes", "throttle_reasons"}) {
    CAPTURE(name);
    CHECK(answer.at("devices").at(2).at(name).is_null());
    CHECK(answer.at("devices").at(3).at(name).is_null());
  }
  CHECK(answer.at("devices").at(3).at("problem") == "lost: it fell off the bus");
}

TEST_CASE("CSV has a line for each device with empty fields for what is unknown") {
  TopDevice odd = busy_device();
  odd.name = "GPU, \"large\"";
  std::istringstream lines(top_csv_heading() + top_csv(snapshot_of({odd, lost_device()})));
  std::string heading, first, second, none;
  REQUIRE(std::getline(lines, heading));
  REQUIRE(std::getline(lines, first));
  REQUIRE(std::getline(lines, second));
  CHECK_FALSE(std::getline(lines, none));
  CHECK(heading.starts_with("time,place,name,problem,compute_utilization,memory_utilization,"));
  CHECK(first.starts_with("2023-11-14T22:13:20.123Z,cuda:0,\"GPU, \"\"large\"\"\",,0.5,,"));
  CHECK(second.starts_with("2023-11-14T22:13:20.123Z,hip:0,Another GPU,lost: it fell off the bus,,,"));
  const auto commas = std::count(heading.begin(), heading.end(), ',');
  CHECK(std::count(second.begin(), second.end(), ',') == commas);
  CHECK(std::count(first.begin(), first.end(), ',') == commas + 1);  // the one in the name
}

}  // namespace top_view_test
