// SPDX-License-Identifier: Apache-2.0
#include "links.h"

#include <set>
#include <string>
#include <vector>

#include "terminal.h"
#include "text.h"
#include "topology.h"

namespace anyplace::tool {
namespace {

constexpr std::size_t most_in_matrix = 16;

Json link_between(const Device& device, const Device& peer) {
  if (!device.has(Capability::peer_access)) return "host";
  try {
    return device.can_access_peer(peer) ? "peer" : "host";
  } catch (const Error&) {
    return nullptr;  // the vendor's driver doesn't say; the devices are listed all the same
  }
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::string short_path(const std::string& text) {
  for (const PciPath path :
       {PciPath::one_switch, PciPath::switches, PciPath::host_bridge, PciPath::one_node, PciPath::system}) {
    if (text == to_string(path)) return short_name(path);
  }
  return "";
}

/// One cell of the matrix. Adds to `paths` the short names that need an explanation.
std::string cell_of(const Json& from, const Json& to, std::set<std::string>& paths) {
  if (from.at("place") == to.at("place")) return "self";
  if (from.at("backend") != to.at("backend")) return "host";
  if (from.at("links").is_null()) return "unknown";
  for (const Json& link : from.at("links")) {
    if (link.at("place") != to.at("place")) continue;
    const std::string kind = text_of(link.at("link"));
    const std::string path = short_path(text_of(link.at("pci_path")));
    if (!path.empty()) paths.insert(path);
    return (kind.empty() ? "unknown" : kind) + (path.empty() ? "" : " " + path);
  }
  return "unknown";  // the device appeared between the two probes
}

std::string legend(const std::set<std::string>& paths) {
  std::string text = "peer: direct access; host: through the host's memory";
  for (const PciPath path :
       {PciPath::one_switch, PciPath::switches, PciPath::host_bridge, PciPath::one_node, PciPath::system}) {
    if (paths.count(short_name(path)) != 0) text += std::string("; ") + short_name(path) + ": over " + to_string(path);
  }
  return text + "\n";
}

}  // namespace

Json links_json(const Device& device) {
  const std::vector<Device> all = devices(device.backend());
  if (all.size() > static_cast<std::size_t>(most_linked)) return nullptr;
  Json links = Json::array();
  const std::string address = device.properties().pci;
  for (const Device& peer : all) {
    if (peer == device) continue;
    std::string path;
    try {
      path = to_string(pci_path(address, peer.properties().pci));
    } catch (const Error&) {
      // A device whose properties can't be read has no known address; the others are listed.
    }
    links.push_back(
        Json{{"place", peer.to_string()}, {"link", link_between(device, peer)}, {"pci_path", text_or_null(path)}});
  }
  return links;
}

std::string link_matrix(const std::vector<Json>& devices) {
  if (devices.size() < 2 || devices.size() > most_in_matrix) return "";
  std::set<std::string> paths;
  std::vector<std::vector<std::string>> rows{{"LINKS"}};
  for (const Json& to : devices) rows.front().push_back(text_of(to.at("place")));
  for (const Json& from : devices) {
    auto& row = rows.emplace_back();
    row.push_back(text_of(from.at("place")));
    for (const Json& to : devices) row.push_back(cell_of(from, to, paths));
  }
  return table(rows,
               [](std::size_t row, std::size_t column, const std::string& text) {
                 if (row == 0) return painted(Paint::heading, text);
                 return column == 0 ? painted(Paint::name, text) : text;
               }) +
         legend(paths);
}

std::string link_text(const Json& link) {
  const std::string kind = text_of(link.at("link"));
  const std::string path = text_of(link.at("pci_path"));
  return (kind == "peer"   ? "peer access"
          : kind == "host" ? "through the host's memory"
                           : "unknown") +
         (path.empty() ? "" : ", PCIe over " + path);
}

}  // namespace anyplace::tool
