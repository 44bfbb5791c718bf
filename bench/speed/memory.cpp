// SPDX-License-Identifier: Apache-2.0
//
// Bytes of one queued operation, of a stream that was made and never used, and of one that was used and is idle. One
// answer a process, so that no answer finds what another left free.
//
//   speed_memory WHO queued|queued_3|queued_8|idle|used COUNT [--place=cpu_sim:0]
//
// Two figures, of the whole process: what malloc has handed out, and what became resident. Memory that is asked of the
// system without malloc shows in the second alone, small pieces of a large piece in the first.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "../options.h"
#include "peer.h"

namespace {

struct Bytes {
  double heap = 0;
  double resident = 0;
};

Bytes bytes_now() {
  const struct mallinfo2 info = mallinfo2();
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return {static_cast<double>(info.uordblks + info.hblkhd), resident * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

Bytes measure(bench::Peer& peer, const std::string& what, std::size_t count) {
  // Whatever is made once is there: threads, and what a library keeps for each.
  const bool with_arguments = what.starts_with("queued_");
  const auto first = with_arguments ? peer.make_user_streams(2) : peer.make_streams(2);
  first->submit(0, 100);
  first->synchronize_all();
  if (what.starts_with("queued")) {
    const bool plain = what == "queued";
    const auto arguments = what == "queued_8" ? bench::Arguments::eight : bench::Arguments::three;
    if (!plain) first->submit_with(0, 100, arguments);
    first->synchronize_all();
    const std::uint64_t ran = first->ran();
    first->block(0);
    const Bytes before = bytes_now();
    if (plain) {
      first->submit(0, count);
    } else {
      first->submit_with(0, count, arguments);
    }
    const Bytes after = bytes_now();
    first->unblock(0);
    first->synchronize_all();
    if (first->ran() - ran != count) throw std::runtime_error("not every operation ran once");
    return {after.heap - before.heap, after.resident - before.resident};
  }
  const Bytes before = bytes_now();
  const auto streams = peer.make_streams(count);
  if (what == "used") {
    streams->submit_in_turn(count);
    streams->synchronize_all();
  }
  const Bytes after = bytes_now();
  return {after.heap - before.heap, after.resident - before.resident};
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s WHO queued|queued_3|queued_8|idle|used COUNT [--place=cpu_sim:0]\n", argv[0]);
    return 2;
  }
  std::vector<bench::LeftOut> left_out;
  const auto peers = bench::make_peers(place, left_out);
  const auto found =
      std::find_if(peers.begin(), peers.end(), [&](const auto& peer) { return peer->name() == argv[1]; });
  if (found == peers.end()) {
    std::fprintf(stderr, "speed_memory: there is no %s here\n", argv[1]);
    return 3;
  }
  const std::string what = argv[2];
  if (what == "queued_8" && !(*found)->lacks(bench::Feature::image).empty()) {
    std::fprintf(stderr, "speed_memory: %s %s\n", argv[1], (*found)->lacks(bench::Feature::image).c_str());
    return 3;
  }
  std::size_t count = static_cast<std::size_t>(std::atoll(argv[3]));
  if (!what.starts_with("queued")) count = std::min(count, (*found)->most_streams());
  const Bytes bytes = measure(**found, what, count);
  std::printf("{\"count\": %zu, \"heap\": %.1f, \"resident\": %.1f}\n", count, bytes.heap / static_cast<double>(count),
              bytes.resident / static_cast<double>(count));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "speed_memory: %s\n", error.what());
  return 1;
}
