// SPDX-License-Identifier: Apache-2.0
//
// A SYCL program without device code, which a plain C++ compiler builds: buffers, USM of all kinds, dependencies, host
// tasks, profiling, queues in and out of order. It runs on the default device and says "ok" if all results are right.
#include <sycl/sycl.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t count = 1 << 16;

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("wrong: " + what);
}

std::vector<int> numbers() {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

void copy_through_usm(sycl::queue& queue) {
  const std::vector<int> in = numbers();
  std::vector<int> out(count, 0);
  int* const device = sycl::malloc_device<int>(count, queue);
  int* const other = sycl::malloc_device<int>(count, queue);
  int* const host = sycl::malloc_host<int>(count, queue);
  require(device != nullptr && other != nullptr && host != nullptr, "an allocation");
  require(sycl::get_pointer_type(device, queue.get_context()) == sycl::usm::alloc::device, "the kind of device memory");
  require(sycl::get_pointer_type(host, queue.get_context()) == sycl::usm::alloc::host, "the kind of host memory");

  const sycl::event up = queue.memcpy(device, in.data(), count * sizeof(int));
  const sycl::event across = queue.submit([&](sycl::handler& handler) {
    handler.depends_on(up);
    handler.memcpy(other, device, count * sizeof(int));
  });
  const sycl::event down = queue.memcpy(host, other, count * sizeof(int), across);
  const sycl::event task = queue.submit([&](sycl::handler& handler) {
    handler.depends_on(down);
    handler.host_task([=] {
      for (std::size_t i = 0; i < count; ++i) host[i] *= 2;
    });
  });
  queue.memcpy(out.data(), host, count * sizeof(int), task).wait();
  for (std::size_t i = 0; i < count; ++i) require(out[i] == 2 * in[i], "the numbers that went through USM");
  sycl::free(device, queue);
  sycl::free(other, queue);
  sycl::free(host, queue);
}

void fill_usm(sycl::queue& queue) {
  std::vector<double> out(count, 0.0);
  double* const device = sycl::malloc_device<double>(count, queue);
  const sycl::event whole = queue.fill(device, 2.5, count);
  const sycl::event half = queue.memset(device, 0, count / 2 * sizeof(double), whole);
  queue.memcpy(out.data(), device, count * sizeof(double), half).wait();
  const bool zeros = std::all_of(out.begin(), out.begin() + count / 2, [](double value) { return value == 0.0; });
  const bool pattern = std::all_of(out.begin() + count / 2, out.end(), [](double value) { return value == 2.5; });
  require(zeros && pattern, "what was filled");
  sycl::free(device, queue);
}

void share_usm(sycl::queue& queue) {
  if (!queue.get_device().has(sycl::aspect::usm_shared_allocations)) return;
  int* const shared = sycl::malloc_shared<int>(count, queue);
  queue.fill(shared, 7, count).wait();
  require(std::accumulate(shared, shared + count, 0L) == 7L * static_cast<long>(count), "shared memory");
  sycl::free(shared, queue);
}

void use_buffers(sycl::queue& queue) {
  std::vector<int> data = numbers();
  {
    sycl::buffer<int> first(data.data(), sycl::range<1>(count));
    sycl::buffer<int> second{sycl::range<1>(count)};
    sycl::buffer<int> tail(second, sycl::id<1>(count / 2), sycl::range<1>(count / 2));
    queue.submit([&](sycl::handler& handler) {
      const sycl::accessor from(first, handler, sycl::read_only);
      const sycl::accessor to(second, handler, sycl::write_only, sycl::no_init);
      handler.copy(from, to);
    });
    queue.submit([&](sycl::handler& handler) {
      const sycl::accessor part(tail, handler, sycl::write_only);
      handler.fill(part, -1);
    });
    queue.submit([&](sycl::handler& handler) {
      const sycl::accessor all(second, handler, sycl::read_write_host_task);
      handler.host_task([=] {
        for (std::size_t i = 0; i < count; ++i) all[i] += 10;
      });
    });
    queue.submit([&](sycl::handler& handler) {
      const sycl::accessor from(second, handler, sycl::read_only);
      const sycl::accessor to(first, handler, sycl::write_only);
      handler.copy(from, to);
    });
    const sycl::host_accessor result(first, sycl::read_only);
    require(result[0] == 11 && result[count - 1] == 9, "a buffer that the host looks at");
  }
  require(data[1] == 12 && data[count - 1] == 9, "what a buffer writes back");
}

void profile(const sycl::device& device) {
  if (!device.has(sycl::aspect::queue_profiling)) return;
  sycl::queue queue(device, {sycl::property::queue::enable_profiling(), sycl::property::queue::in_order()});
  char* const memory = sycl::malloc_device<char>(1 << 22, queue);
  sycl::event event = queue.memset(memory, 1, 1 << 22);
  event.wait();
  using namespace sycl::info::event_profiling;
  const std::uint64_t submitted = event.get_profiling_info<command_submit>();
  const std::uint64_t started = event.get_profiling_info<command_start>();
  const std::uint64_t ended = event.get_profiling_info<command_end>();
  require(submitted <= started && started < ended, "the order of a command's times");
  sycl::free(memory, queue);
}

}  // namespace

int main() {
  try {
    const sycl::device device{sycl::default_selector_v};
    std::printf("%s, %s\n", device.get_info<sycl::info::device::name>().c_str(),
                device.get_platform().get_info<sycl::info::platform::name>().c_str());
    for (const bool in_order : {false, true}) {
      sycl::queue queue = in_order ? sycl::queue(device, sycl::property::queue::in_order()) : sycl::queue(device);
      copy_through_usm(queue);
      fill_usm(queue);
      share_usm(queue);
      use_buffers(queue);
    }
    profile(device);
    std::printf("ok\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
