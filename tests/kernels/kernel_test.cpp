// SPDX-License-Identifier: Apache-2.0
// Kernels made of callables: what they are given, how they end, what becomes of those that throw.
#include <atomic>
#include <mutex>
#include <set>
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

TEST_CASE("A callable runs over the grid with the buffer's address and copies of the values") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  constexpr std::uint32_t count = 1000;
  const Buffer buffer(stream, count * sizeof(float));
  const Kernel kernel(device, [](const Block& block, float* data, std::uint32_t size, float factor) {
    block.for_each_thread([&](const Thread& thread) {
      if (thread.global[0] < size) data[thread.global[0]] = static_cast<float>(thread.global[0]) * factor;
    });
  });
  CHECK(kernel.device() == device);
  CHECK(kernel.name().empty());
  {
    float factor = 2.5f;
    stream.launch(kernel, {(count + 63) / 64, 64}, buffer, count, factor);
    factor = 0;  // the launch has its copy
  }
  std::vector<float> result(count);
  stream.copy(result, buffer);
  stream.synchronize();
  for (std::uint32_t i = 0; i < count; ++i) CHECK(result[i] == static_cast<float>(i) * 2.5f);
}

TEST_CASE("Each block of the grid runs once with its sizes and its place") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::mutex mutex;
  std::multiset<std::array<std::uint32_t, 3>> seen;
  bool sizes_right = true;
  const Kernel kernel(device, [&](const Block& block) {
    const std::lock_guard lock(mutex);
    seen.insert({block.index().x, block.index().y, block.index().z});
    sizes_right = sizes_right && block.grid_size() == Dim3{3, 4, 5} && block.size() == Dim3{2, 3, 4};
  });
  stream.launch(kernel, {{3, 4, 5}, {2, 3, 4}});
  stream.synchronize();
  CHECK(sizes_right);
  CHECK(seen.size() == 60);
  CHECK(std::set(seen.begin(), seen.end()).size() == 60);
}

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

TEST_CASE("A block has shared memory of its own as large as the launch said") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::atomic<int> right{0};
  const Kernel kernel(device, [&](const Block& block) {
    const auto shared = block.shared();
    const bool aligned = reinterpret_cast<std::uintptr_t>(shared.data()) % 64 == 0;
    std::fill(shared.begin(), shared.end(), static_cast<std::byte>(block.index().x));
    const bool own = std::all_of(shared.begin(), shared.end(),
                                 [&](std::byte byte) { return byte == static_cast<std::byte>(block.index().x); });
    if (shared.size() == 100 * 1024 && aligned && own) ++right;
  });
  stream.launch(kernel, {16, 1, 100 * 1024});
  stream.synchronize();
  CHECK(right == 16);
  const Kernel none(device, [&](const Block& block) { right = block.shared().empty() ? -1 : -2; });
  stream.launch(none, {1, 1});
  stream.synchronize();
  CHECK(right == -1);
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

TEST_CASE("A buffer of 0 bytes is address 0 to a kernel") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::atomic<bool> null{false};
  const Kernel kernel(device, [&](const Block&, const void* data) { null = data == nullptr; });
  stream.launch(kernel, {1, 1}, Buffer(stream, 0));
  stream.synchronize();
  CHECK(null);
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

TEST_CASE("A kernel's fault stays with its stream") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  const Kernel throwing(device, [](const Block&) { throw std::runtime_error("no"); });
  stream.launch(throwing, {1, 1});
  CHECK_NOTHROW(device.synchronize());
  CHECK_NOTHROW(other.synchronize());
  CHECK(error_of([&] { static_cast<void>(stream.query()); }).code() == ErrorCode::kernel_failed);
  CHECK(error_of([&] { stream.synchronize(); }).code() == ErrorCode::kernel_failed);
}

TEST_CASE("A kernel that calls back into anyplace gets not_permitted") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel target(device, [](const Block&) {});
  std::atomic<int> not_permitted{0};
  const auto count = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_permitted) ++not_permitted;
    }
  };
  const Kernel calling(device, [&](const Block&) {
    count([&] { stream.synchronize(); });
    count([&] { stream.launch(target, {1, 1}); });
    count([&] { const Kernel made(device, [](const Block&) {}); });
    count([&] { static_cast<void>(target.name()); });
    count([&] { static_cast<void>(target.device()); });
    count([&] { Module::from_file(device, "/nowhere"); });
    count([&] { const Buffer made(stream, 8); });
  });
  stream.launch(calling, {1, 1});
  stream.synchronize();
  CHECK(not_permitted == 7);
}

TEST_CASE("A kernel destroyed while it is queued still runs and what it holds goes afterwards") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::atomic<int> living{0};
  std::atomic<int> runs{0};
  {
    HostGate gate(stream);
    {
      const Kernel kernel(device, [&runs, counted = Counted(living)](const Block&) { ++runs; });
      CHECK(living == 1);
      stream.launch(kernel, {3, 1});
    }
    CHECK(living == 1);
    CHECK(runs == 0);
  }
  stream.synchronize();
  CHECK(runs == 3);
  // Who ran the last block lets go of the callable a moment later.
  while (living != 0) std::this_thread::yield();
  SUCCEED();
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

TEST_CASE("Moving a kernel leaves an empty one") {
  const Device device("cpu_sim:0");
  std::atomic<int> living{0};
  Kernel first(device, [counted = Counted(living)](const Block&) {});
  const KernelView view = first;
  Kernel second(std::move(first));
  CHECK_FALSE(first);  // NOLINT: the moved-from state is promised
  CHECK(second.view() == view);
  Kernel third(device, [counted = Counted(living)](const Block&) {});
  CHECK(living == 2);
  third = std::move(second);
  CHECK(living == 1);
  CHECK(third.view() == view);
  Kernel& same = third;
  third = std::move(same);
  CHECK(third.device() == device);
  third = Kernel();
  CHECK(living == 0);
}

TEST_CASE("A device that runs no host code says so") {
  const Device device("sim_bare:0");
  std::atomic<int> living{0};
  CHECK_THAT(refused(ErrorCode::unsupported,
                     [&] { const Kernel kernel(device, [counted = Counted(living)](const Block&) {}); }),
             Catch::Contains("host_kernels"));
  CHECK(living == 0);
}

TEST_CASE("Null and destroyed kernels are invalid handles") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  KernelView gone;
  {
    const Kernel kernel(device, [](const Block&) {});
    gone = kernel;
  }
  for (const KernelView view : {KernelView(), gone, KernelView(0x1234567)}) {
    refused(ErrorCode::invalid_handle, [&] { view.device(); });
    refused(ErrorCode::invalid_handle, [&] { static_cast<void>(view.name()); });
    refused(ErrorCode::invalid_handle, [&] { stream.launch(view, {1, 1}); });
  }
}

}  // namespace kernel_test
