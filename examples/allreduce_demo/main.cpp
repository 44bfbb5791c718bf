// SPDX-License-Identifier: Apache-2.0
// allreduce_demo: every collective operation with every type, checked, and how fast all_reduce is beside MPI's.
//
//   mpirun -n 4 allreduce_demo [--place cpu_sim] [--engine NAME] [--megabytes 256] [--check]
//
// With --check it measures nothing. Exits with 1 if anything is wrong.
#include <anyplace/anyplace.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cases.h"
#include "speed.h"

namespace {

struct Options {
  std::string place = "auto";
  std::string engine;
  unsigned long megabytes = 256;
  bool check_only = false;
};

/// False for what it doesn't understand.
bool read(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--check") {
      options.check_only = true;
    } else if (i + 1 == count) {
      return false;
    } else if (name == "--place") {
      options.place = arguments[++i];
    } else if (name == "--engine") {
      options.engine = arguments[++i];
    } else if (name == "--megabytes") {
      options.megabytes = std::strtoul(arguments[++i], nullptr, 10);
    } else {
      return false;
    }
  }
  return options.megabytes != 0;
}

void show(const char* what, double bytes, const demo::Speed& speed) {
  std::printf("%-8s anyplace %9.2f us, %7.3f GB/s", what, speed.anyplace * 1e6, bytes / speed.anyplace * 1e-9);
  if (speed.mpi) {
    std::printf("; MPI_Allreduce %9.2f us, %7.3f GB/s; time %.2f of MPI's", *speed.mpi * 1e6, bytes / *speed.mpi * 1e-9,
                speed.anyplace / *speed.mpi);
  }
  std::printf("\n");
}

int run(const Options& options) {
  const anyplace::Device device(options.place);
  const anyplace::Communicator all(device, {.engine = options.engine});
  const anyplace::Stream stream(device);
  const demo::Outcome outcome = demo::check_all(all, stream);
  if (!outcome.wrong.empty()) {
    std::fprintf(stderr, "rank %d:\n%s", all.rank(), outcome.wrong.c_str());
    return 1;
  }
  if (all.rank() == 0) {
    std::printf("%d ranks on %s over %s: %d operations right, %d left out\n", all.size(), device.to_string().c_str(),
                all.engine().c_str(), outcome.right, outcome.left_out);
  }
  if (options.check_only) return 0;
  const demo::Speed small = demo::measure(all, stream, 8, 21, 500);
  const std::uint64_t bytes = std::uint64_t{options.megabytes} << 20;
  const demo::Speed large = demo::measure(all, stream, bytes, 3, 1);
  if (all.rank() == 0) {
    show("8 B", 8, small);
    show((std::to_string(options.megabytes) + " MiB").c_str(), static_cast<double>(bytes), large);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!read(count, arguments, options)) {
    std::fprintf(stderr, "usage: %s [--place PLACE] [--engine NAME] [--megabytes N] [--check]\n", arguments[0]);
    return 2;
  }
  try {
    return run(options);
  } catch (const anyplace::Error& error) {
    std::fprintf(stderr, "allreduce_demo: %s\n", error.what());
    return 1;
  }
}
