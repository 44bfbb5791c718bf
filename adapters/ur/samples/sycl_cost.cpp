// SPDX-License-Identifier: Apache-2.0
//
// What a copy and an event cost through SYCL, in microseconds: the median of 9 rounds on the default device.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <sycl/sycl.hpp>
#include <vector>

namespace {

constexpr int calls = 2000;
constexpr int rounds = 9;

template <class Work>
double microseconds(Work&& work) {
  std::array<double, rounds> times{};
  for (double& time : times) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

}  // namespace

int main() {
  sycl::queue queue{sycl::default_selector_v, sycl::property::queue::in_order()};
  std::printf("%s, %s\n", queue.get_device().get_info<sycl::info::device::name>().c_str(),
              queue.get_device().get_platform().get_info<sycl::info::platform::name>().c_str());
  std::vector<char> host(1 << 20, 'x');
  char* const memory = sycl::malloc_device<char>(host.size(), queue);
  for (const std::size_t bytes : {std::size_t{4096}, host.size()}) {
    const double one = microseconds([&] {
      for (int i = 0; i < calls; ++i) queue.memcpy(memory, host.data(), bytes).wait();
    });
    const double many = microseconds([&] {
      for (int i = 0; i < calls; ++i) queue.memcpy(memory, host.data(), bytes);
      queue.wait();
    });
    std::printf("a copy of %zu bytes to the device, waited for: %.2f us; one of many: %.2f us\n", bytes, one, many);
  }
  const double event = microseconds([&] {
    for (int i = 0; i < calls; ++i) queue.ext_oneapi_submit_barrier().wait();
  });
  const double events = microseconds([&] {
    for (int i = 0; i < calls; ++i) queue.ext_oneapi_submit_barrier();
    queue.wait();
  });
  std::printf("an event, waited for: %.2f us; one of many: %.2f us\n", event, events);
  sycl::free(memory, queue);
  return 0;
}
