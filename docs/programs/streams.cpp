// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <cstdio>

int main() {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream first(device);
  const anyplace::Stream second(device, {.priority = device.priority_range().greatest});

  const anyplace::Event start = first.record_event({.timing = true});
  int order = 0, when_first_ran = 0, when_second_ran = 0;
  first.launch_host_func([&] { when_first_ran = ++order; });
  const anyplace::Event done = first.record_event({.timing = true});

  second.wait_event(done);  // `second` goes on when `first` got to `done`; this thread doesn't wait
  second.launch_host_func([&] { when_second_ran = ++order; });
  second.synchronize();

  std::printf("first ran as number %d, second as number %d\n", when_first_ran, when_second_ran);
  std::printf("%s\n", anyplace::elapsed_time(start, done) >= 0 ? "time went on" : "time went back");
  return when_first_ran == 1 && when_second_ran == 2 ? 0 : 1;
}
