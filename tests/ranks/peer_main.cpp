// SPDX-License-Identifier: Apache-2.0
// ranks_peer FILE: rank 1 of 2 on cuda, which calls all_reduce until it is killed, or until its rank 0 is gone.
#include "anyplace/anyplace.h"

int main(int count, char** arguments) {
  using namespace anyplace;
  if (count != 2) return 2;
  try {
    const Device device("cuda:0");
    const Communicator all(device, Bootstrap::file(1, 2, arguments[1]), {.timeout = std::chrono::minutes(2)});
    const Stream stream(device);
    const Buffer data = Buffer::of<float>(stream, 100);
    while (true) {
      all.all_reduce(stream, data.as<float>(), data.as<float>(), Reduction::max);
      stream.synchronize();
    }
  } catch (const Error&) {
    return 1;
  }
}
