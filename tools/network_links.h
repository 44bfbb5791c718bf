// SPDX-License-Identifier: Apache-2.0
//
// The links of a network that machines with one NetworkProfile are in, and the way that a message takes over them. Each
// direction of a link is a link of its own. Messages between machines go from the device's NIC to the other's, not over
// the machine's own fabric.
//
// LinkShares says how fast messages that use links at one time go: they share each link fairly, by max-min fairness. No
// message gets less of its slowest link than another one of that link's, and what one can't use others get.
// Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, section 6.5.2.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/collective_plan.h"
#include "tools/network_profile.h"

namespace anyplace::tool {

struct Link {
  double bytes_per_ns = 0;
  std::uint32_t kind = 0;            ///< the index of its kind: NetworkLinks::kinds()
  double carried = 0;                ///< bytes
  std::vector<std::uint32_t> flows;  ///< the messages on it now
};

/// The way of a message.
struct Way {
  static constexpr std::size_t most_links = 12;
  std::array<std::uint32_t, most_links> links{};
  std::uint32_t count = 0;
  double latency_ns = 0;
  bool leaves_machine = false;
};

class NetworkLinks {
 public:
  /// The number of levels of a profile is limited by the links of a Way.
  static constexpr std::size_t most_levels = (Way::most_links - 2) / 2;

  /// Throws NetworkProfileError if the profile has too many levels.
  NetworkLinks(const NetworkProfile& profile, const Ranks& ranks);

  Way way(int from, int to) const;
  std::vector<Link>& links() noexcept { return links_; }
  const std::vector<Link>& links() const noexcept { return links_; }
  /// "links of devices", "links between pairs", "NICs", "uplinks of level 1" and so on.
  const std::vector<std::string>& kinds() const noexcept { return kinds_; }

 private:
  std::uint32_t add(std::uint32_t count, double bytes_per_second, const std::string& kind);

  NetworkProfile profile_;
  Ranks ranks_;
  std::vector<Link> links_;
  std::vector<std::string> kinds_;
  // The first link of each kind: those that send, followed by as many that receive.
  std::uint32_t devices_ = 0, pairs_ = 0, nics_ = 0;
  std::vector<std::uint32_t> uplinks_;
};

/// A message on its way.
struct Flow {
  Way way;
  double left = 0;  ///< bytes
  double rate = 0;  ///< bytes in a nanosecond
  double since_ns = 0;
  std::uint32_t slowest = 0;  ///< the kind of the link that gave it its rate
  std::uint32_t version = 0;  ///< of the rate: an end that was computed with an earlier one doesn't hold
};

class LinkShares {
 public:
  explicit LinkShares(std::vector<Link>& links) : links_(links), marks_(links.size()) {}

  void enter(std::vector<Flow>& flows, std::uint32_t flow);
  void leave(std::vector<Flow>& flows, std::uint32_t flow);
  /// Gives new rates to the flows that what entered and left since the last call may have changed, and returns those
  /// whose rate is another one. Their `left` is brought up to `now_ns`.
  const std::vector<std::uint32_t>& settle(std::vector<Flow>& flows, double now_ns);

 private:
  struct Mark {
    std::uint64_t round = 0;
    double left = 0;         // of the rate
    std::uint32_t open = 0;  // flows without a rate
  };

  void collect(std::vector<Flow>& flows);
  void share(std::vector<Flow>& flows, double now_ns);

  std::vector<Link>& links_;
  std::vector<Mark> marks_;
  std::vector<std::uint64_t> flow_rounds_;
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> changed_links_, near_links_, near_flows_, changed_;
};

}  // namespace anyplace::tool
