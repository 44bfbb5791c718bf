// SPDX-License-Identifier: Apache-2.0
// Kernels made of callables: how a launch names its sizes, what callables there are, what is said of those that throw,
// and when what they own goes.
#include <atomic>
#include <stdexcept>

#include "memory/memory_support.h"

namespace kernel_test {

using namespace anyplace;
using namespace memory_test;

namespace {

std::atomic<int> plain_calls{0};
void plain_function(const Block&, std::uint32_t by) { plain_calls += static_cast<int>(by); }

/// Counts how many of it live.
struct Counted {
  explicit Counted(std::atomic<int>& living) : living_(&living) { ++*living_; }
  Counted(const Counted& other) : living_(other.living_) { ++*living_; }
  Counted& operator=(const Counted&) = delete;  // no test needs it
  ~Counted() { --*living_; }

 private:
  std::atomic<int>* living_;
};

}  // namespace

TEST_CASE("A launch says its sizes by number, by direction or by name, and what it leaves out is 1 or none") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Dim3 grid;
  Dim3 size;
  std::size_t shared_bytes = 0;
  const Kernel kernel(device, [&](const Block& block) {
    if (!(block.index() == Dim3{0, 0, 0})) return;
    grid = block.grid_size();
    size = block.size();
    shared_bytes = block.shared().size();
  });
  const auto check_ran = [&](Dim3 expected_grid, Dim3 expected_size, std::size_t expected_bytes) {
    stream.synchronize();
    CHECK(grid == expected_grid);
    CHECK(size == expected_size);
    CHECK(shared_bytes == expected_bytes);
  };
  stream.launch(kernel, {2, 4});
  check_ran({2, 1, 1}, {4, 1, 1}, 0);
  stream.launch(kernel, {{2, 3}, 4, 64});
  check_ran({2, 3, 1}, {4, 1, 1}, 64);
  stream.launch(kernel, {.grid = 5, .block = {2, 2, 2}, .shared_bytes = 128});
  check_ran({5, 1, 1}, {2, 2, 2}, 128);
  stream.launch(kernel, {});
  check_ran({1, 1, 1}, {1, 1, 1}, 0);
  const LaunchConfig config{.grid = std::uint8_t{3}, .block = 7u};
  stream.launch(kernel, config);
  check_ran({3, 1, 1}, {7, 1, 1}, 0);
}

TEST_CASE("A negative size is refused as too large") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel kernel(device, [](const Block&) {});
  const int negative = -1;
  for (const LaunchConfig& config : {LaunchConfig{negative, 1}, LaunchConfig{1, negative}}) {
    CHECK_THROWS_AS(stream.launch(kernel, config), Error);
  }
}

TEST_CASE("Functions and noexcept and mutable callables are kernels") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::atomic<int> calls{0};
  const Kernel function(device, plain_function);
  const Kernel careful(device, [&](const Block&) noexcept { ++calls; });
  const Kernel changing(device, [&calls, own = 0](const Block&, std::uint8_t, double) mutable { calls += ++own; });
  stream.launch(function, {1, 1}, std::uint32_t{7});
  stream.launch(careful, {1, 1});
  stream.launch(changing, {1, 1}, std::uint8_t{1}, 2.0);
  stream.synchronize();
  CHECK(plain_calls == 7);
  CHECK(calls == 2);
}

TEST_CASE("A kernel that throws is the stream's fault once and later work runs") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel throwing(device, [](const Block& block) {
    if (block.index().x == 3) throw std::runtime_error("block three is unhappy");
  });
  std::atomic<int> later{0};
  const Kernel counting(device, [&](const Block&) { ++later; });
  stream.launch(throwing, {8, 1});
  stream.launch(counting, {4, 1});
  const Error error = error_of([&] { stream.synchronize(); });
  CHECK(error.code() == ErrorCode::kernel_failed);
  CHECK(error.place() == "cpu_sim:0");
  CHECK_THAT(std::string(error.what()), Catch::Contains("block three is unhappy"));
  // A callable has no name but its type's: a lambda's says where it was written.
  CHECK_THAT(std::string(error.what()), Catch::Contains("lambda(anyplace::Block const&)") || Catch::Contains("$_"));
  CHECK_THAT(std::string(error.what()), Catch::Contains("block (3, 0, 0)") && !Catch::Contains("make_host_kernel"));
  CHECK(later == 4);
  CHECK_NOTHROW(stream.synchronize());
  CHECK(stream.query());
}

TEST_CASE("What is thrown need not be an exception") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel throwing(device, [](const Block&) { throw 42; });
  stream.launch(throwing, {1, 1});
  const Error error = error_of([&] { stream.synchronize(); });
  CHECK(error.code() == ErrorCode::kernel_failed);
  CHECK_THAT(error.text(), Catch::Contains("block (0, 0, 0)") && Catch::Contains("no std::exception"));
}

namespace {
struct NamedKernel {
  template <class T>
  struct Of {
    void operator()(const Block&, int) const { throw std::runtime_error("no"); }
  };
};
void named_function(const Block&) { throw std::runtime_error("no"); }
}  // namespace

TEST_CASE("A fault says which callable it was") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel object(device, NamedKernel::Of<std::pair<int, float>>());
  stream.launch(object, {1, 1}, 1);
  CHECK_THAT(error_of([&] { stream.synchronize(); }).text(),
             Catch::Contains("NamedKernel::Of<std::pair<int, float> >, block"));
  const Kernel function(device, named_function);
  stream.launch(function, {1, 1});
  CHECK_THAT(error_of([&] { stream.synchronize(); }).text(),
             Catch::Contains("void (*)(anyplace::Block const&), block"));
}

TEST_CASE("A callable may own handles and they end with it") {
  memory_test::without_cache();  // the backend sees the buffer go
  const Device device("sim_full:0");
  const Stream stream(device);
  Controls& controls = controls_of(device);
  {
    auto buffer = std::make_shared<Buffer>(stream, 100);
    const Kernel kernel(device, [buffer](const Block&) {});
    buffer.reset();
    stream.launch(kernel, {1, 1});
  }
  stream.synchronize();
  while (controls.async_frees == 0) device.synchronize();
  CHECK(controls.async_frees == 1);
}

TEST_CASE("A kernel destroyed inside a host function is destroyed once") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::atomic<int> living{0};
  auto kernel = std::make_shared<Kernel>(device, [counted = Counted(living)](const Block&) {});
  stream.launch_host_func([owned = std::move(kernel)]() mutable { owned.reset(); });
  stream.synchronize();
  while (living != 0) std::this_thread::yield();
  SUCCEED();
}

TEST_CASE("A device that runs no host code says so") {
  const Device device("sim_bare:0");
  std::atomic<int> living{0};
  CHECK_THAT(refused(ErrorCode::unsupported,
                     [&] { const Kernel kernel(device, [counted = Counted(living)](const Block&) {}); }),
             Catch::Contains("host_kernels"));
  CHECK(living == 0);
}

}  // namespace kernel_test
