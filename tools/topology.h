// SPDX-License-Identifier: Apache-2.0
//
// The place of a device in the machine, as Linux tells it in /sys/bus/pci/devices/ADDRESS: its NUMA node, the CPUs near
// it, and the way over PCIe from one device to another. That needs no library, and no vendor. Some facts are unknown:
// of a device without a PCI address of its own (a simulated one), in a virtual machine that hides its buses, on a
// system without sysfs. Source: Documentation/ABI/testing/sysfs-bus-pci of Linux (numa_node, local_cpulist, class).
#pragma once

#include <optional>
#include <string>

namespace anyplace::tool {

/// The folder where Linux shows the PCI devices. Each of the functions below takes another folder, for tests.
constexpr const char* pci_devices_folder = "/sys/bus/pci/devices";

struct Locality {
  std::optional<int> numa_node;
  std::string near_cpus;  ///< "0-31,64-95"; "" if unknown
};

/// The ways over PCIe, from the nearest. The names in brackets are those of `nvidia-smi topo -m`.
enum class PciPath {
  unknown,
  one_switch,   ///< through one switch (PIX)
  switches,     ///< through several switches, below one host bridge (PXB)
  host_bridge,  ///< through one host bridge (PHB)
  one_node,     ///< through several host bridges of one NUMA node (NODE)
  system,       ///< from one NUMA node to another (SYS)
};

/// The locality of the device with this PCI address. It is unknown if the address has no display controller or
/// accelerator, because the address that a simulated device reports may be a network card's on this machine.
Locality locality_of(const std::string& pci_address, const std::string& folder = pci_devices_folder);

/// The way between two devices. It doesn't show whether a link of the vendor's joins them, too.
PciPath pci_path(const std::string& from, const std::string& to, const std::string& folder = pci_devices_folder);

/// The short name: "PIX"; "" for unknown.
const char* short_name(PciPath path) noexcept;
/// The name in words: "one switch"; "" for unknown.
const char* to_string(PciPath path) noexcept;

}  // namespace anyplace::tool
