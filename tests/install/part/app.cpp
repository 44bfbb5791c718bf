// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  anyplace::Buffer data(stream, 16);
  stream.memset8(data, 42);
  std::vector<std::uint8_t> host(16);
  stream.copy(host, data);
  stream.synchronize();
  std::printf("%d on cpu_sim:0\n", host[15]);
}
