// SPDX-License-Identifier: Apache-2.0
//
// What a layer remembers of a long program: the operations of a day in a row, of all kinds, over streams, buffers,
// events and threads that come and go. The host waits now and then. Prints the process's memory after each tenth.
//
//   ANYPLACE_LAYERS=validate layer_day [--place=cpu_sim:0] [--operations=2000000] [--live=1000]
//
// Exit status: 0; 1 if the process takes more than 200 MiB, the target of `validate`.
#include <anyplace/access.h>
#include <anyplace/anyplace.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "options.h"

namespace {

using namespace anyplace;

constexpr std::uint64_t bytes = 4096;
constexpr double most_mib = 200;

double resident_mib() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct Day {
  Device device;
  std::array<Stream, 4> streams;
  HostBuffer pinned;
  Kernel kernel;
  std::vector<Buffer> buffers;
  GraphExec graph;
  std::uint64_t done = 0;

  Day(const std::string& place, std::size_t live)
      : device(place),
        streams{Stream(device), Stream(device), Stream(device), Stream(device)},
        pinned(device, bytes),
        kernel(device, [](const Block&, const std::uint32_t*, std::uint32_t*) {}) {
    for (std::size_t i = 0; i < live; ++i) buffers.emplace_back(streams[i % streams.size()], bytes);
    Graph made(device);
    const GraphNode fill = made.add_memset32({}, buffers[0], 1);
    made.add_copy(fill, buffers[1], buffers[0]);
    graph = made.instantiate();
    device.synchronize();
  }

  /// Some twenty operations on one stream, behind the one before it.
  void round(std::uint64_t number) {
    const Stream& stream = streams[number % streams.size()];
    stream.wait_stream(streams[(number + streams.size() - 1) % streams.size()]);
    const std::uint64_t before = number * 7;
    for (std::uint64_t i = 0; i < 6; ++i) {
      Buffer& from = buffers[(before + i) % buffers.size()];
      Buffer& to = buffers[(before + 3 * i + 1) % buffers.size()];
      from.record_stream(stream);
      to.record_stream(stream);
      stream.memset32(from.sub(0, bytes / 2), 1);
      if (&from != &to) stream.launch(kernel, {1, 1}, in(from), out(to));
      stream.copy(to.sub(bytes / 2), from.sub(0, bytes / 2));
    }
    stream.copy(pinned, buffers[before % buffers.size()]);
    done += 20;
    if (number % 10 == 0) buffers[2 + number % (buffers.size() - 2)] = Buffer(stream, bytes);
    if (number % 20 == 0) graph.launch(stream);
    if (number % 50 == 0) stream.launch_host_func([data = pinned.data()] { host_read(data, bytes); });
    if (number % 100 == 0) {
      stream.synchronize();
      host_write(pinned.data(), bytes);
    }
    if (number % 500 == 0) std::thread([&] { stream.memset32(buffers[3], 2); }).join();
    // The round before last's stream, for which the last one has waited.
    if (number % 1001 == 0) streams[(number + 2) % streams.size()] = Stream(device);
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string place = bench::take_option(argc, argv, "place", "cpu_sim:0");
  const std::uint64_t operations = std::stoull(bench::take_option(argc, argv, "operations", "2000000"));
  Day day(place, std::stoul(bench::take_option(argc, argv, "live", "1000")));
  double mib = 0;
  for (std::uint64_t tenth = 1, round = 0; tenth <= 10; ++tenth) {
    while (day.done < operations * tenth / 10) day.round(round++);
    mib = resident_mib();
    std::printf("%12llu operations: %6.1f MiB\n", static_cast<unsigned long long>(day.done), mib);
  }
  day.device.synchronize();
  return mib <= most_mib ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "layer_day: %s\n", error.what());
  return 1;
}
