// SPDX-License-Identifier: Apache-2.0
#include "speed.h"

#include <anyplace/memory.h>

#include <algorithm>
#include <chrono>
#include <vector>

#ifdef ALLREDUCE_DEMO_MPI
#include <mpi.h>
#endif

namespace demo {

using namespace anyplace;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

Speed measure(const Communicator& all, const Stream& stream, std::uint64_t bytes, int rounds, int repeats) {
  const std::uint64_t count = bytes / sizeof(float);
  const Buffer source = Buffer::of<float>(stream, count);
  const Buffer destination = Buffer::of<float>(stream, count);
  stream.fill(source.as<float>(), 1.0f);
  stream.fill(destination.as<float>(), 0.0f);
  std::vector<double> ours, theirs;
#ifdef ALLREDUCE_DEMO_MPI
  std::vector<float> mine(count, 1.0f), sum(count, 0.0f);
#endif
  for (int round = 0; round < rounds; ++round) {
    all.barrier(stream);
    stream.synchronize();
    Clock::time_point start = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      all.all_reduce(stream, destination.as<float>(), source.as<float>());
      stream.synchronize();
    }
    ours.push_back(seconds_since(start) / repeats);
#ifdef ALLREDUCE_DEMO_MPI
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized == 0) continue;  // another engine
    all.barrier(stream);
    stream.synchronize();
    start = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      MPI_Allreduce(mine.data(), sum.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    theirs.push_back(seconds_since(start) / repeats);
#endif
  }
  Speed speed{median(ours), std::nullopt};
  if (!theirs.empty()) speed.mpi = median(theirs);
  return speed;
}

}  // namespace demo
