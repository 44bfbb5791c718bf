// SPDX-License-Identifier: Apache-2.0
//
// An application that runs while anyplace is removed: it uses a device, waits for the end of its input, uses it again,
// and then asks for what would have to be loaded. What it has loaded stays with it; what is gone is an error that it
// can catch.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

bool works(const anyplace::Device& device) {
  const anyplace::Stream stream(device);
  const anyplace::Buffer buffer(stream, 4096);
  std::vector<std::uint8_t> host(4096);
  stream.memset8(buffer, 42);
  stream.copy(host, buffer);
  stream.synchronize();
  return std::all_of(host.begin(), host.end(), [](std::uint8_t byte) { return byte == 42; });
}

bool is_refused(const char* place) try {
  const anyplace::Device device(place);
  return false;
} catch (const anyplace::Error& error) {
  std::printf("%s\n", error.what());
  return true;
}

}  // namespace

int main() try {
  const anyplace::Device device("cpu_sim:0");
  if (!works(device)) return 1;
  std::puts("in use");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return works(device) && works(anyplace::Device("cpu_sim:1")) && is_refused("hip:0") ? 0 : 1;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
