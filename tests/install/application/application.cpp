// SPDX-License-Identifier: Apache-2.0
//
// An application against an installed anyplace: fills memory of the place it is given, reads it back, and says so.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "auto");
  const anyplace::Stream stream(device);
  const anyplace::Buffer buffer(stream, 4096);
  std::vector<std::uint8_t> host(4096);
  stream.memset8(buffer, 42);
  stream.copy(host, buffer);
  stream.synchronize();
  if (std::any_of(host.begin(), host.end(), [](std::uint8_t byte) { return byte != 42; })) return 1;
  std::printf("anyplace %s: 4096 bytes through %s (%s)\n", anyplace::version(), device.to_string().c_str(),
              device.properties().name.c_str());
  return 0;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
