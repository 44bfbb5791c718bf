// SPDX-License-Identifier: Apache-2.0
#include "streams/node_addresses.h"

#include <cstring>
#include <variant>

namespace anyplace::detail {
namespace {

struct Collector {
  std::vector<anyplace_address>& found;

  void operator()(const LaunchWork& work) const {
    const anyplace_launch& launch = *work.launch;
    for (std::uint32_t i = 0; i < launch.argument_count; ++i) {
      if (launch.arguments[i].kind != ANYPLACE_ARGUMENT_ADDRESS) continue;
      anyplace_address address = 0;
      std::memcpy(&address, launch.arguments[i].value, sizeof(address));
      found.push_back(address);
    }
  }
  void operator()(const CopyWork& work) const { add(work.copy); }
  void operator()(const StagedWork& work) const { add(work.what->copy); }
  void operator()(const FillWork& work) const { found.push_back(work.address); }
  void operator()(const auto&) const {}

  void add(const anyplace_copy_2d& copy) const {
    found.push_back(copy.destination);
    found.push_back(copy.source);
  }
};

}  // namespace

std::vector<anyplace_address> addresses_of(const NodeList& list, std::size_t first) {
  std::vector<anyplace_address> found;
  for (std::size_t i = first; i < list.nodes.size(); ++i) std::visit(Collector{found}, list.nodes[i].work);
  return found;
}

}  // namespace anyplace::detail
