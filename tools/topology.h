// SPDX-License-Identifier: Apache-2.0
//
// Where a device sits in the machine, as Linux tells it in /sys/bus/pci/devices/ADDRESS: its NUMA node, the CPUs near
// it, and which way over PCIe leads from one device to another. No library is needed for it, and no vendor. What the
// kernel doesn't tell is unknown: a device without a PCI address of its own (a simulated one), a virtual machine that
// hides its buses, a system without sysfs.
// Source: Documentation/ABI/testing/sysfs-bus-pci of Linux (numa_node, local_cpulist, class).
#pragma once

#include <optional>
#include <string>

namespace anyplace::tool {

/// Where Linux shows the PCI devices. Each of the functions below takes another folder, for tests.
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

/// Of a device with this PCI address. Unknown for an address at which there is no display controller or accelerator:
/// what a simulated device calls its address may be a network card's here.
Locality locality_of(const std::string& pci_address, const std::string& folder = pci_devices_folder);

/// Between two devices. Whether a link of the vendor's own joins them too isn't known here.
PciPath pci_path(const std::string& from, const std::string& to, const std::string& folder = pci_devices_folder);

/// "PIX"; "" for unknown.
const char* short_name(PciPath path) noexcept;
/// "one switch"; "" for unknown.
const char* to_string(PciPath path) noexcept;

}  // namespace anyplace::tool
