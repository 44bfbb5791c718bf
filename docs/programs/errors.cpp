// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <cstdio>
#include <stdexcept>

int main() {
  try {
    const anyplace::Device device("cpu_sin:0");
  } catch (const anyplace::Error& error) {
    std::printf("%s: %s\n", to_string(error.code()), error.text().c_str());
  }

  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  int later = 0;
  stream.launch_host_func([] { throw std::runtime_error("the disk is full"); });
  stream.launch_host_func([&] { later = 1; });  // a fault of the stream stops nothing that comes after
  try {
    stream.synchronize();
  } catch (const anyplace::Error& error) {
    std::printf("%s: %s\n", to_string(error.code()), error.text().c_str());
  }
  stream.synchronize();  // the fault was handed out, once
  std::printf("later work %s\n", later == 1 ? "ran" : "didn't run");
  return later == 1 ? 0 : 1;
}
