// SPDX-License-Identifier: Apache-2.0
//
// What a SYCL program sees of failures: sycl_failures memory | exit | lost
//   memory  more than the device has: malloc_device gives null, a buffer throws SYCL's exception;
//          anyplace's figures are on standard error
//   exit    the program ends with commands pending
//   lost    every call fails from some copy on (the caller lets the device get lost): an exception, and the process
//   lives
#include <sycl/sycl.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t chunk = 1 << 20;

bool says(const sycl::exception& error, const char* word) {
  return std::string(error.what()).find(word) != std::string::npos;
}

int run_out_of_memory(sycl::queue& queue) {
  const std::size_t whole = queue.get_device().get_info<sycl::info::device::global_mem_size>();
  const std::size_t too_much = whole + whole / 2;
  if (sycl::malloc_device<char>(too_much, queue) != nullptr) return std::puts("malloc_device gave memory"), 1;
  try {
    sycl::buffer<char> buffer{sycl::range<1>(too_much)};
    queue.submit([&](sycl::handler& handler) {
      const sycl::accessor all(buffer, handler, sycl::write_only, sycl::no_init);
      handler.fill(all, 'x');
    });
    queue.wait_and_throw();
  } catch (const sycl::exception& error) {
    std::printf("%s\n", error.what());
    return says(error, "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY") ? 0 : 1;
  }
  return std::puts("the buffer was made"), 1;
}

int exit_with_work(sycl::queue& queue) {
  char* const memory = sycl::malloc_device<char>(64 * chunk, queue);
  for (int i = 0; i < 50; ++i) queue.memset(memory, i, 64 * chunk);
  return 0;
}

int lose_the_device(sycl::queue& queue) {
  std::vector<char> host(chunk, 'x');
  try {
    char* const memory = sycl::malloc_device<char>(chunk, queue);
    for (int i = 0; i < 1000; ++i) queue.memcpy(memory, host.data(), chunk).wait();
  } catch (const sycl::exception& error) {
    std::printf("%s\n", error.what());
    return says(error, "device_lost") ? 0 : 1;
  }
  return std::puts("nothing failed"), 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  try {
    // The runtime keeps what fails after the submission for this handler.
    sycl::queue queue{sycl::default_selector_v, [](const sycl::exception_list& errors) {
                        for (const std::exception_ptr& error : errors) std::rethrow_exception(error);
                      }};
    if (what == "memory") return run_out_of_memory(queue);
    if (what == "exit") return exit_with_work(queue);
    if (what == "lost") return lose_the_device(queue);
  } catch (const sycl::exception& error) {
    std::printf("elsewhere: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "sycl_failures memory | exit | lost\n");
  return 2;
}
