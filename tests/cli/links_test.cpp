// SPDX-License-Identifier: Apache-2.0
// The matrix of the links between devices, of what probes reported.
#include "tools/links.h"

#include <catch2/catch.hpp>

namespace links_test {

using anyplace::tool::Json;
using anyplace::tool::link_matrix;
using anyplace::tool::link_text;

namespace {

Json link(const std::string& place, const Json& kind, const Json& path) {
  return Json{{"place", place}, {"link", kind}, {"pci_path", path}};
}

Json device(const std::string& backend, int index, const Json& links) {
  return Json{{"place", backend + ":" + std::to_string(index)}, {"backend", backend}, {"links", links}};
}

}  // namespace

TEST_CASE("The matrix has self and peer access over what is known and the way through the host") {
  const std::vector<Json> devices{
      device("cuda", 0,
             Json::array({link("cuda:1", "peer", "one switch"), link("cuda:2", "host", "several NUMA nodes")})),
      device("cuda", 1, Json::array({link("cuda:0", "peer", "one switch"), link("cuda:2", nullptr, nullptr)})),
      device("cuda", 2, nullptr),
      device("hip", 0, Json::array()),
  };
  CHECK(link_matrix(devices) ==
        "LINKS   cuda:0    cuda:1    cuda:2    hip:0\n"
        "cuda:0  self      peer PIX  host SYS  host\n"
        "cuda:1  peer PIX  self      unknown   host\n"
        "cuda:2  unknown   unknown   self      host\n"
        "hip:0   host      host      host      self\n"
        "peer: direct access; host: through the host's memory; PIX: over one switch; SYS: over several NUMA nodes\n");
}

TEST_CASE("There is no matrix of one device and none of more than a screen shows") {
  std::vector<Json> devices{device("cuda", 0, Json::array())};
  CHECK(link_matrix({}).empty());
  CHECK(link_matrix(devices).empty());
  for (int i = 1; i < 17; ++i) devices.push_back(device("cuda", i, nullptr));
  CHECK(link_matrix(devices).empty());
  devices.pop_back();
  CHECK_FALSE(link_matrix(devices).empty());
}

TEST_CASE("A link is said in words") {
  CHECK(link_text(link("cuda:1", "peer", "one switch")) == "peer access, PCIe over one switch");
  CHECK(link_text(link("cuda:1", "host", nullptr)) == "through the host's memory");
  CHECK(link_text(link("cuda:1", nullptr, "one NUMA node")) == "unknown, PCIe over one NUMA node");
}

}  // namespace links_test
