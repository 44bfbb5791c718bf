// SPDX-License-Identifier: Apache-2.0
// Where a device sits, read of a tree like that of /sys: NUMA nodes, CPUs near it, and the ways over PCIe.
#include "tools/topology.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/temp_dir.h"

namespace topology_test {

using anyplace::tool::Locality;
using anyplace::tool::locality_of;
using anyplace::tool::pci_path;
using anyplace::tool::PciPath;

namespace {

/// Two root buses on two nodes. Below the first: a switch with two devices, a switch behind it with one more, and one
/// device on a root port of its own.
class Machine {
 public:
  Machine() {
    const std::string root = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/";
    add(root + "0000:3c:00.0/0000:3d:00.0", "0x030200", "0", "0-31,64-95");
    add(root + "0000:3c:01.0/0000:3e:00.0", "0x030000", "0", "0-31,64-95");
    add(root + "0000:3c:02.0/0000:3f:00.0/0000:40:00.0/0000:41:00.0", "0x120000", "0", "0-31,64-95");
    add("pci0000:3a/0000:3a:01.0/0000:45:00.0", "0x030200", "0", "0-31,64-95");
    add("pci0000:50/0000:50:00.0/0000:51:00.0", "0x030200", "0", "0-31,64-95");
    add("pci0000:ae/0000:ae:00.0/0000:af:00.0", "0x038000", "1", "32-63,96-127");
    add("pci0000:00/0000:00:00.0", "0x060000", "0", "0-31");
    add("pci0000:c0/0000:c0:00.0/0000:c1:00.0", "0x030200", "-1", "0-127");
    add("pci0000:d0/0000:d0:00.0/0000:d1:00.0", "0x030200", "many", "");
  }

  std::string folder() const { return folder_ / "devices"; }

 private:
  void add(const std::string& way, const std::string& kind, const std::string& node, const std::string& cpus) {
    const std::filesystem::path real = folder_ / ("all/" + way);
    std::filesystem::create_directories(real);
    test::write_file(real / "class", kind + "\n");
    test::write_file(real / "numa_node", node + "\n");
    test::write_file(real / "local_cpulist", cpus + "\n");
    std::filesystem::create_directories(folder());
    std::filesystem::create_directory_symlink(real, folder() + "/" + real.filename().string());
  }

  test::TempDir folder_;
};

}  // namespace

TEST_CASE("A device has the NUMA node and the near CPUs that the kernel tells") {
  const Machine machine;
  const Locality near = locality_of("0000:3d:00.0", machine.folder());
  CHECK(near.numa_node == 0);
  CHECK(near.near_cpus == "0-31,64-95");
  CHECK(locality_of("0000:AF:00.0", machine.folder()).numa_node == 1);
  CHECK(locality_of("00000000:AF:00.0", machine.folder()).near_cpus == "32-63,96-127");
}

TEST_CASE("What the kernel doesn't tell of a device is unknown") {
  const Machine machine;
  CHECK_FALSE(locality_of("0000:c1:00.0", machine.folder()).numa_node);  // -1
  CHECK(locality_of("0000:c1:00.0", machine.folder()).near_cpus == "0-127");
  CHECK_FALSE(locality_of("0000:d1:00.0", machine.folder()).numa_node);
  // Not there; no display controller; no address; nothing at all; no sysfs.
  for (const std::string address : {"0000:99:00.0", "0000:00:00.0", "../../etc", "0000:3d:00", "", "unknown",
                                    "0000:3d:00.0/..", "0000-3d-00-0", "zzzz:3d:00.0"}) {
    CAPTURE(address);
    CHECK_FALSE(locality_of(address, machine.folder()).numa_node);
    CHECK(locality_of(address, machine.folder()).near_cpus.empty());
    CHECK(pci_path(address, "0000:3d:00.0", machine.folder()) == PciPath::unknown);
  }
  CHECK(locality_of("0000:3d:00.0", "/no such folder").near_cpus.empty());
}

TEST_CASE("The way over PCIe is named by what is common") {
  const Machine machine;
  const auto path = [&machine](const char* from, const char* to) {
    const PciPath there = pci_path(from, to, machine.folder());
    CHECK(pci_path(to, from, machine.folder()) == there);
    return there;
  };
  CHECK(path("0000:3d:00.0", "0000:3e:00.0") == PciPath::one_switch);
  CHECK(path("0000:3d:00.0", "0000:41:00.0") == PciPath::switches);
  CHECK(path("0000:3d:00.0", "0000:45:00.0") == PciPath::host_bridge);
  CHECK(path("0000:3d:00.0", "0000:51:00.0") == PciPath::one_node);
  CHECK(path("0000:3d:00.0", "0000:af:00.0") == PciPath::system);
  CHECK(path("0000:3d:00.0", "0000:c1:00.0") == PciPath::unknown);
}

}  // namespace topology_test
