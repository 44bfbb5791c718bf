// SPDX-License-Identifier: Apache-2.0
#include "tools/network_links.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anyplace::tool {

// ---- Links ---------------------------------------------------------------------------------------------------------

NetworkLinks::NetworkLinks(const NetworkProfile& profile, const Ranks& ranks) : profile_(profile), ranks_(ranks) {
  if (profile.levels.size() > most_levels) {
    throw NetworkProfileError(profile.name + " has " + std::to_string(profile.levels.size()) +
                              " levels of switches; there are " + std::to_string(most_levels) + " at most");
  }
  const auto machines = static_cast<std::uint32_t>(ranks.machines);
  const auto all = static_cast<std::uint32_t>(ranks.count());
  devices_ = add(all, profile.device_bytes_per_second, "links of devices");
  if (profile.pair_bytes_per_second > 0) {
    // Both directions of a pair are among all ordered pairs.
    pairs_ = add((all * profile.devices_per_machine + 1) / 2, profile.pair_bytes_per_second, "links between pairs");
  }
  nics_ = add(machines * profile.nics_per_machine, profile.nic_bytes_per_second, "NICs");
  for (std::size_t level = 0; level < profile.levels.size(); ++level) {
    const std::uint32_t groups = (machines + profile.levels[level].machines - 1) / profile.levels[level].machines;
    uplinks_.push_back(
        add(groups, profile.levels[level].uplink_bytes_per_second, "uplinks of level " + std::to_string(level + 1)));
  }
}

/// Adds as many links in each direction, and returns the first one's number.
std::uint32_t NetworkLinks::add(std::uint32_t count, double bytes_per_second, const std::string& kind) {
  const auto first = static_cast<std::uint32_t>(links_.size());
  const auto number = static_cast<std::uint32_t>(kinds_.size());
  kinds_.push_back(kind);
  links_.resize(first + std::size_t{2} * count, Link{bytes_per_second / 1e9, number, 0, {}});
  return first;
}

Way NetworkLinks::way(int from, int to) const {
  Way way;
  const auto pass = [&way](std::uint32_t link) { way.links[way.count++] = link; };
  const auto own = [](int number) { return static_cast<std::uint32_t>(number); };
  const std::uint32_t devices = profile_.devices_per_machine, nics = profile_.nics_per_machine;
  const std::uint32_t source = own(from), target = own(to);
  const std::uint32_t sender = source / devices, receiver = target / devices;
  if (sender == receiver) {
    pass(devices_ + source);
    if (profile_.pair_bytes_per_second > 0) pass(pairs_ + source * devices + target % devices);
    pass(devices_ + own(ranks_.count()) + target);
    way.latency_ns = profile_.device_latency_ns;
    return way;
  }
  way.leaves_machine = true;
  way.latency_ns = profile_.network_latency_ns;
  const std::uint32_t all_nics = own(ranks_.machines) * nics;
  pass(nics_ + sender * nics + source % devices * nics / devices);
  for (std::size_t level = 0; level < uplinks_.size(); ++level) {
    const std::uint32_t each = profile_.levels[level].machines;
    if (sender / each == receiver / each) break;
    const std::uint32_t groups = (own(ranks_.machines) + each - 1) / each;
    pass(uplinks_[level] + sender / each);
    pass(uplinks_[level] + groups + receiver / each);
    way.latency_ns += profile_.levels[level].latency_ns;
  }
  pass(nics_ + all_nics + receiver * nics + target % devices * nics / devices);
  return way;
}

// ---- Shares --------------------------------------------------------------------------------------------------------

void LinkShares::enter(std::vector<Flow>& flows, std::uint32_t flow) {
  for (std::uint32_t i = 0; i < flows[flow].way.count; ++i) {
    links_[flows[flow].way.links[i]].flows.push_back(flow);
    changed_links_.push_back(flows[flow].way.links[i]);
  }
}

void LinkShares::leave(std::vector<Flow>& flows, std::uint32_t flow) {
  for (std::uint32_t i = 0; i < flows[flow].way.count; ++i) {
    std::vector<std::uint32_t>& there = links_[flows[flow].way.links[i]].flows;
    *std::find(there.begin(), there.end(), flow) = there.back();
    there.pop_back();
    changed_links_.push_back(flows[flow].way.links[i]);
  }
}

/// Finds the flows that share a link with what has changed, or with flows that do.
void LinkShares::collect(std::vector<Flow>& flows) {
  ++round_;
  flow_rounds_.resize(flows.size());
  near_links_.clear();
  near_flows_.clear();
  const auto take_link = [this](std::uint32_t link) {
    if (marks_[link].round == round_) return;
    marks_[link] = {round_, links_[link].bytes_per_ns, static_cast<std::uint32_t>(links_[link].flows.size())};
    near_links_.push_back(link);
  };
  for (const std::uint32_t link : changed_links_) take_link(link);
  for (std::size_t next = 0; next < near_links_.size(); ++next) {
    for (const std::uint32_t flow : links_[near_links_[next]].flows) {
      if (flow_rounds_[flow] == round_) continue;
      flow_rounds_[flow] = round_;
      near_flows_.push_back(flow);
      for (std::uint32_t i = 0; i < flows[flow].way.count; ++i) take_link(flows[flow].way.links[i]);
    }
  }
  changed_links_.clear();
}

/// Gives all flows of the link that has least for each the same rate, and goes on with what they leave to the others.
void LinkShares::share(std::vector<Flow>& flows, double now_ns) {
  std::size_t left = near_flows_.size();
  while (left > 0) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t link : near_links_) {
      if (marks_[link].open > 0) least = std::min(least, marks_[link].left / marks_[link].open);
    }
    for (const std::uint32_t link : near_links_) {
      const Mark& mark = marks_[link];
      if (mark.open == 0 || mark.left / mark.open > least * (1 + 1e-9)) continue;
      for (const std::uint32_t each : links_[link].flows) {
        if (flow_rounds_[each] != round_) continue;  // it has its rate
        flow_rounds_[each] = 0;
        --left;
        Flow& flow = flows[each];
        for (std::uint32_t i = 0; i < flow.way.count; ++i) {
          Mark& passed = marks_[flow.way.links[i]];
          passed.left = std::max(passed.left - least, 0.0);
          --passed.open;
        }
        flow.slowest = links_[link].kind;
        if (std::abs(flow.rate - least) <= least * 1e-9) continue;
        flow.left = std::max(flow.left - flow.rate * (now_ns - flow.since_ns), 0.0);
        flow.since_ns = now_ns;
        flow.rate = least;
        ++flow.version;
        changed_.push_back(each);
      }
    }
  }
}

const std::vector<std::uint32_t>& LinkShares::settle(std::vector<Flow>& flows, double now_ns) {
  changed_.clear();
  if (changed_links_.empty()) return changed_;
  collect(flows);
  share(flows, now_ns);
  return changed_;
}

}  // namespace anyplace::tool
