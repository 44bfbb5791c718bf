// SPDX-License-Identifier: Apache-2.0
//
// Which libraries there are: those that the build found (SPEED_HAS_...), and that can be used on this machine.
#include <exception>

#include "peer.h"

namespace bench {
namespace {

template <class Make>
void add(std::vector<std::unique_ptr<Peer>>& peers, std::vector<LeftOut>& left_out, const char* name, Make make) {
  try {
    peers.push_back(make());
  } catch (const std::exception& error) {
    left_out.push_back({name, error.what()});
  }
}

}  // namespace

std::vector<std::unique_ptr<Peer>> make_peers(const std::string& place, std::vector<LeftOut>& left_out) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(make_anyplace(place));
  peers.push_back(make_naive());
#ifdef SPEED_HAS_TBB
  add(peers, left_out, "tbb", make_tbb);
#else
  left_out.push_back({"tbb", "not built, oneTBB was missing (Debian: apt-get install libtbb-dev)"});
#endif
#ifdef SPEED_HAS_ASIO
  add(peers, left_out, "asio", make_asio);
#else
  left_out.push_back({"asio", "not built, Boost.Asio was missing (Debian: apt-get install libboost-dev)"});
#endif
#ifdef SPEED_HAS_OPENCL
  add(peers, left_out, "pocl", make_opencl);
#else
  left_out.push_back(
      {"pocl", "not built, OpenCL was missing (Debian: apt-get install opencl-headers ocl-icd-opencl-dev)"});
#endif
  return peers;
}

}  // namespace bench
