// SPDX-License-Identifier: Apache-2.0
// Printed in docs/random.md.
#include <anyplace/anyplace.h>

#include <cstdio>
#include <vector>

int main() {
  anyplace::manual_seed("cpu_sim:0", 42);  // remembered; loads nothing yet
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device);
  const anyplace::Generator random = anyplace::default_generator(device);
  const anyplace::Buffer buffer = anyplace::Buffer::of<float>(stream, 1000);
  std::vector<float> first(1000), again(1000);

  const std::vector<std::byte> state = random.get_state();
  random.normal(stream, buffer.as<float>());  // submitted, not done
  stream.copy(first, buffer);

  stream.begin_capture();
  random.normal(stream, buffer.as<float>());  // draws nothing now
  const anyplace::GraphExec exec = stream.end_capture().instantiate();
  random.set_state(state);
  exec.launch(stream);  // draws what a fill would draw now
  stream.copy(again, buffer);
  stream.synchronize();

  std::printf("%.9g and %.9g\n", static_cast<double>(first.front()), static_cast<double>(again.front()));
  return first == again ? 0 : 1;
}
