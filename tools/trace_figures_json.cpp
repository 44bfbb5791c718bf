// SPDX-License-Identifier: Apache-2.0
#include "trace_figures_json.h"

#include <utility>

namespace anyplace::tool {
namespace {

Json device_figures_json(const DeviceFigures& device) {
  Json operations = Json::object(), gaps = Json::array();
  for (const auto& [name, one] : device.operations) {
    operations[name] = {{"count", one.count}, {"bytes", one.bytes}, {"total_ns", one.total_ns}};
  }
  for (const IdleGap& gap : device.gaps) {
    gaps.push_back(Json{{"begin_ns", gap.begin_ns}, {"length_ns", gap.length_ns}, {"ended_by", gap.ended_by}});
  }
  return Json{{"busy_ns", device.busy_ns},          {"kernels_ns", device.kernels_ns}, {"copies_ns", device.copies_ns},
              {"overlap_ns", device.overlap_ns},    {"idle_ns", device.idle_ns},       {"gaps", std::move(gaps)},
              {"operations", std::move(operations)}};
}

}  // namespace

Json figures_json(const TraceFigures& figures, bool is_cut) {
  Json devices = Json::object(), stalls = Json::object(), calls = Json::object(), ranges = Json::object();
  for (const auto& [place, device] : figures.devices) devices[place] = device_figures_json(device);
  for (const auto& [name, stall] : figures.stalls) {
    stalls[name] = {{"implicit", stall.is_implicit},
                    {"count", stall.count},
                    {"total_ns", stall.total_ns},
                    {"longest_ns", stall.longest_ns},
                    {"longest_for", text_or_null(stall.longest_for)}};
  }
  for (const auto& [name, range] : figures.ranges) {
    ranges[name] = {{"count", range.count},
                    {"total_ns", range.total_ns},
                    {"longest_ns", range.longest_ns},
                    {"submissions", range.submissions},
                    {"device_ns", range.device_ns}};
  }
  for (const auto& [name, call] : figures.calls) {
    calls[name] = {{"count", call.count},
                   {"failures", call.failures},
                   {"total_ns", call.total_ns},
                   {"longest_ns", call.longest_ns}};
  }
  return Json{{"length_ns", figures.length_ns},     {"cut", is_cut},
              {"submissions", figures.submissions}, {"executions", figures.executions},
              {"submit_ns", figures.submit_ns},     {"launch_ns", figures.launch_ns},
              {"critical_ns", figures.critical_ns}, {"critical", figures.critical},
              {"devices", std::move(devices)},      {"stalls", std::move(stalls)},
              {"ranges", std::move(ranges)},        {"marks", figures.marks},
              {"calls", std::move(calls)}};
}

}  // namespace anyplace::tool
