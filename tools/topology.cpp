// SPDX-License-Identifier: Apache-2.0
#include "topology.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

namespace anyplace::tool {
namespace {

/// The address as sysfs spells it, "0000:3b:00.0"; "" if the text is no address, so that no text of a plugin becomes a
/// path.
std::string sysfs_address(std::string text) {
  const std::string shape = "hhhh:hh:hh.h";
  // NVIDIA's libraries write eight digits for the domain.
  if (text.size() == shape.size() + 4 && text.starts_with("0000")) text.erase(0, 4);
  if (text.size() != shape.size()) return "";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (shape[i] == 'h' ? std::isxdigit(c) == 0 : text[i] != shape[i]) return "";
    text[i] = static_cast<char>(std::tolower(c));
  }
  return text;
}

/// The first line of the file; "" if it can't be read.
std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The device's folder; empty if there is no display controller (class 0x03) or accelerator (0x12) at the address.
std::filesystem::path device_folder(const std::string& pci_address, const std::string& folder) {
  const std::string address = sysfs_address(pci_address);
  if (address.empty()) return {};
  const std::filesystem::path path = std::filesystem::path(folder) / address;
  const std::string kind = first_line(path / "class");
  return kind.starts_with("0x03") || kind.starts_with("0x12") ? path : std::filesystem::path();
}

std::optional<int> numa_node_in(const std::filesystem::path& device) {
  const std::string text = first_line(device / "numa_node");
  int node = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), node);
  // The kernel writes -1 for an unknown node.
  if (failed != std::errc() || end != text.data() + text.size() || node < 0) return std::nullopt;
  return node;
}

/// The parts of the device's real path from its root bus on: "pci0000:3a", "0000:3a:00.0", ..., its own address.
std::vector<std::string> way_to(const std::filesystem::path& device) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(device, failed);
  std::vector<std::string> parts;
  for (const auto& part : real) {
    if (!parts.empty() || part.string().starts_with("pci")) parts.push_back(part.string());
  }
  return parts;
}

}  // namespace

Locality locality_of(const std::string& pci_address, const std::string& folder) {
  const std::filesystem::path device = device_folder(pci_address, folder);
  if (device.empty()) return {};
  return {numa_node_in(device), first_line(device / "local_cpulist")};
}

PciPath pci_path(const std::string& from, const std::string& to, const std::string& folder) {
  const std::filesystem::path a = device_folder(from, folder);
  const std::filesystem::path b = device_folder(to, folder);
  if (a.empty() || b.empty()) return PciPath::unknown;
  const std::vector<std::string> way_a = way_to(a);
  const std::vector<std::string> way_b = way_to(b);
  if (way_a.size() < 2 || way_b.size() < 2) return PciPath::unknown;
  const std::size_t shorter = std::min(way_a.size(), way_b.size());
  std::size_t common = 0;
  while (common < shorter && way_a[common] == way_b[common]) ++common;
  if (common == 0) {
    const auto node_a = numa_node_in(a);
    const auto node_b = numa_node_in(b);
    if (!node_a || !node_b) return PciPath::unknown;
    return *node_a == *node_b ? PciPath::one_node : PciPath::system;
  }
  if (common == 1) return PciPath::host_bridge;
  // The devices share a root port. Behind one switch, each path has the switch's downstream port and the device left;
  // on one card, only the device.
  const std::size_t left_a = way_a.size() - common;
  const std::size_t left_b = way_b.size() - common;
  return left_a <= 2 && left_b <= 2 ? PciPath::one_switch : PciPath::switches;
}

const char* short_name(PciPath path) noexcept {
  switch (path) {
    case PciPath::one_switch:
      return "PIX";
    case PciPath::switches:
      return "PXB";
    case PciPath::host_bridge:
      return "PHB";
    case PciPath::one_node:
      return "NODE";
    case PciPath::system:
      return "SYS";
    case PciPath::unknown:
      break;
  }
  return "";
}

const char* to_string(PciPath path) noexcept {
  switch (path) {
    case PciPath::one_switch:
      return "one switch";
    case PciPath::switches:
      return "several switches";
    case PciPath::host_bridge:
      return "one host bridge";
    case PciPath::one_node:
      return "one NUMA node";
    case PciPath::system:
      return "several NUMA nodes";
    case PciPath::unknown:
      break;
  }
  return "";
}

}  // namespace anyplace::tool
