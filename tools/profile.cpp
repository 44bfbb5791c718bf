// SPDX-License-Identifier: Apache-2.0
#include "tools/profile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "input_file.h"
#include "json.h"
#include "text.h"
#include "trace_figures.h"
#include "trace_reader.h"

namespace anyplace::tool {
namespace {

/// What copies of one kind took: for each size the shortest time, since longer ones have waited for others.
using CopyTimes = std::map<std::uint64_t, std::uint64_t>;

struct Measured {
  std::map<std::string, CopyTimes> copies;                    // by the names of executions
  std::map<std::string, std::vector<std::uint64_t>> kernels;  // by their names
  std::size_t operations = 0;
};

struct Link {
  double bytes_per_second = 0;
  double latency_ns = 0;
};

Measured measured(const RunTrace& trace) {
  Measured all;
  for (const TraceSlice& slice : trace.slices) {
    if (!slice.is_execution || slice.length_ns() == 0) continue;
    if (slice.category == "kernel") {
      all.kernels[slice.name].push_back(slice.length_ns());
    } else if (slice.category == "copy" && slice.number("bytes") != 0) {
      std::uint64_t& shortest = all.copies[slice.name].emplace(slice.number("bytes"), UINT64_MAX).first->second;
      shortest = std::min(shortest, slice.length_ns());
    } else {
      continue;
    }
    ++all.operations;
  }
  return all;
}

/// The line through the times, by least squares: its slope is the rate, and where it meets 0 bytes the latency. With
/// one size, or where the line means nothing, all of the time is the bytes'.
Link link_of(const CopyTimes& times) {
  double n = 0, bytes = 0, ns = 0, bytes_squared = 0, both = 0;
  for (const auto& [size, time] : times) {
    const auto x = static_cast<double>(size), y = static_cast<double>(time);
    n += 1, bytes += x, ns += y, bytes_squared += x * x, both += x * y;
  }
  const double spread = n * bytes_squared - bytes * bytes;
  const double ns_per_byte = spread > 0 ? (n * both - bytes * ns) / spread : 0;
  const double latency = (ns - ns_per_byte * bytes) / n;
  if (ns_per_byte > 0 && latency > 0) return {1e9 / ns_per_byte, latency};
  return {1e9 * bytes / ns, 0};
}

std::uint64_t median(std::vector<std::uint64_t> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void add_figure(Json& profile, const std::string& key, double value) {
  if (std::llround(value) > 0) profile[key] = {{"value", std::llround(value)}, {"source", "measured"}};
}

Json profile_of(const RunTrace& trace, const std::string& name, const std::string& base, const std::string& file) {
  const Measured all = measured(trace);
  if (all.operations == 0) throw std::runtime_error("it has no execution of a copy or a kernel to measure");
  const TraceFigures figures = figures_of(trace);
  Json profile{{"anyplace_device_profile", 1},
               {"name", name},
               {"description", base + " with what was measured in " + file},
               {"base", base},
               {"sources", {{"measured", file + ": " + std::to_string(all.operations) + " copies and kernels"}}}};
  const std::pair<const char*, const char*> links[] = {
      {"copy host to device", "to_device"}, {"copy device to host", "to_host"}, {"copy to peer", "peer"}};
  for (const auto& [copies, key] : links) {
    const auto found = all.copies.find(copies);
    if (found == all.copies.end()) continue;
    const Link link = link_of(found->second);
    add_figure(profile, std::string(key) + "_bytes_per_second", link.bytes_per_second);
    add_figure(profile, std::string(key) + "_latency_ns", link.latency_ns);
  }
  const auto submit = static_cast<double>(figures.submit_ns), launch = static_cast<double>(figures.launch_ns);
  add_figure(profile, "call_ns", submit);
  add_figure(profile, "launch_ns", launch - submit);
  Json kernels = Json::object();
  for (const auto& [kernel, times] : all.kernels) {
    kernels[kernel] = {{"launch_ns", median(times)}, {"source", "measured"}};
  }
  if (!kernels.empty()) profile["kernels"] = std::move(kernels);
  return profile;
}

}  // namespace

ProfileCommand::ProfileCommand(CLI::App& app)
    : command_(app.add_subcommand("profile", "Writes a profile for cpu_sim of what was measured on a device")) {
  command_->add_option("--calibrate", trace_, "The file that the layer trace wrote on the device; - is standard input")
      ->required();
  command_
      ->add_option("--base", base_,
                   "The profile that has what wasn't measured: h100, laptop, mi300x, pvc (docs/cpu_sim-profiles.md)")
      ->required();
  command_->add_option("--name", name_, "The profile's name (default: calibrated)");
}

bool ProfileCommand::chosen() const { return command_->parsed(); }

Answer ProfileCommand::run() const {
  try {
    const RunTrace trace = read_run_trace(InputFile(trace_).take_rest());
    return {dump(profile_of(trace, name_, base_, trace_name(trace_))), "", exit_ok};
  } catch (const std::runtime_error& error) {
    return {"", "anyplace: " + trace_name(trace_) + ": " + error.what() + "\n", exit_usage};
  }
}

}  // namespace anyplace::tool
