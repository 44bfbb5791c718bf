// SPDX-License-Identifier: Apache-2.0
//
// schedules: runs one of the programs in one of its forms.
//
//   schedules --list               their names, depths and bugs, a program in a line
//   schedules NAME wrong|right     one form of one program
//   schedules counted N M K        fills of K allocations (1 or 2) by two streams, N by the first and M by the second:
//                                  a program whose schedules can be counted
//   schedules graph N K            a launch of a graph of N fills without an order, of K allocations (1 or N)
//
// Exit status: 0 the result is right; 1 it is wrong; 2 there is no such program.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "program.h"

namespace {

int run_counted(int first, int second, bool shares) {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream a(device), b(device);
  const anyplace::Buffer x(a, 64), y(a, 64);
  for (int i = 0; i < first; ++i) a.memset8(x, 1);
  for (int i = 0; i < second; ++i) b.memset8(shares ? x : y, 2);
  a.synchronize();
  b.synchronize();
  return 0;
}

int run_graph(int nodes, bool shares) {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  const anyplace::Buffer memory(stream, 64 * static_cast<std::uint64_t>(nodes));
  anyplace::Graph graph(device);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(nodes); ++i) {
    graph.add_memset8({}, memory.sub(shares ? 0 : 64 * i, 64), 1);
  }
  const anyplace::GraphExec exec = graph.instantiate();
  stream.synchronize();
  exec.launch(stream);
  stream.synchronize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const schedules::Program& program : schedules::programs()) {
      std::printf("%s\t%u\t%s\n", program.name, program.depth, program.bug);
    }
    return 0;
  }
  const bool is_right = argc == 3 && std::strcmp(argv[2], "right") == 0;
  if (argc == 3 && (is_right || std::strcmp(argv[2], "wrong") == 0)) {
    for (const schedules::Program& program : schedules::programs()) {
      if (std::strcmp(program.name, argv[1]) != 0) continue;
      if (program.faults != nullptr) anyplace::use_layers({"cpu_sim+faults"});
      schedules::Bed bed;
      if (program.faults != nullptr) anyplace::layer_command("faults", "add", program.faults);
      const bool was_right = program.run(bed, is_right);
      if (program.faults != nullptr) anyplace::layer_command("faults", "clear");
      if (was_right) return 0;
      std::fprintf(stderr, "the result is wrong\n");
      return 1;
    }
  }
  if (argc == 5 && std::strcmp(argv[1], "counted") == 0) {
    return run_counted(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]) == 1);
  }
  if (argc == 4 && std::strcmp(argv[1], "graph") == 0) return run_graph(std::atoi(argv[2]), std::atoi(argv[3]) == 1);
  std::fprintf(stderr, "schedules --list | NAME wrong|right | counted N M K | graph N K\n");
  return 2;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
