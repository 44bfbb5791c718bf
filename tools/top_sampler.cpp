// SPDX-License-Identifier: Apache-2.0
#include "top_sampler.h"

#include <algorithm>

#include "probe.h"
#include "text.h"

namespace anyplace::tool {
namespace {

/// The figures that a device has without monitoring: its memory.
DeviceSample sample_without_monitoring(const Device& device) {
  DeviceSample sample;
  sample.steady_time = std::chrono::steady_clock::now();
  sample.wall_time = std::chrono::system_clock::now();
  const MemoryInfo memory = device.memory_info();
  sample.memory_total_bytes = memory.total;
  if (memory.free && memory.total && *memory.free <= *memory.total)
    sample.memory_used_bytes = *memory.total - *memory.free;
  return sample;
}

std::optional<std::vector<DeviceProcess>> processes_of(const Device& device) {
  if (!device.has(Capability::list_processes)) return std::nullopt;
  try {
    return device.processes();
  } catch (const Error&) {
    return std::nullopt;  // the figures are shown all the same
  }
}

/// Why a device that was sampled before can't be sampled any more: "lost: ..." on one line.
std::string problem_of(const Error& error) {
  std::string text(error.problem());
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::string(error.code() == ErrorCode::device_lost ? "lost: " : "not sampled: ") + text;
}

}  // namespace

TopSampler::TopSampler(const std::vector<std::string>& places, std::chrono::milliseconds probe_timeout) {
  for (const std::string& place : places) add(place);
  if (places.empty()) find_all(probe_timeout);
}

void TopSampler::add(const std::string& text) {
  const Place place(text);
  // Elsewhere a bare name is the current device. Nobody has chosen one here, so it stands for all devices of the
  // backend.
  if (place.kind() == Place::Kind::current) {
    watch_all(place.name());
  } else {
    watch(Device(place));
  }
}

void TopSampler::watch(const Device& device) {
  const auto is_same = [&device](const Watched& watched) { return watched.device == device; };
  if (std::any_of(watched_.begin(), watched_.end(), is_same)) return;
  std::string name;
  try {
    name = device.properties().name;
  } catch (const Error&) {
    // The device is watched without its name, because its samples say what is wrong with it.
  }
  watched_.push_back({device, name, std::nullopt});
}

void TopSampler::watch_all(const std::string& backend) {
  for (const Device& device : devices(backend)) watch(device);
}

void TopSampler::find_all(std::chrono::milliseconds probe_timeout) {
  for (const std::string& name : backend_names()) {
    const Probe probe = probe_backend(name, probe_timeout);
    for (const Problem& problem : probe.problems) {
      notes_ += printable((problem.place.empty() ? name : problem.place) + ": " + in_brief(problem)) + "\n";
    }
    if (!probe.complete || probe.devices.empty()) continue;
    try {
      watch_all(name);
    } catch (const Error& error) {
      notes_ += printable(name + ": " + std::string(error.problem())) + "\n";
    }
  }
  if (!notes_.empty()) notes_ += "`anyplace doctor` says why, and what to do about it\n";
}

TopDevice TopSampler::sample_one(Watched& watched) {
  TopDevice shown;
  shown.place = watched.device.to_string();
  shown.name = watched.name;
  try {
    if (!watched.device.has(Capability::monitoring)) {
      shown.sample = sample_without_monitoring(watched.device);
    } else if (watched.last) {
      shown.sample = anyplace::sample(watched.device, *watched.last);
    } else {
      shown.sample = anyplace::sample(watched.device);
    }
    watched.last = shown.sample;
    shown.processes = processes_of(watched.device);
  } catch (const Error& error) {
    watched.last.reset();
    shown.problem = problem_of(error);
  }
  return shown;
}

TopSnapshot TopSampler::sample() {
  TopSnapshot snapshot;
  snapshot.time = std::chrono::system_clock::now();
  for (Watched& watched : watched_) snapshot.devices.push_back(sample_one(watched));
  return snapshot;
}

}  // namespace anyplace::tool
