// SPDX-License-Identifier: Apache-2.0
// Kernels that are C++ callables, on devices that run functions of the host.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "support.h"

namespace anyplace::conformance::kernels_cases {
namespace {

struct Shape {
  std::string label;
  Dim3 grid;
  Dim3 block;
};

const std::vector<Shape> shapes = {{"one thread", {1}, {1}},
                                   {"one block of 64", {1}, {64}},
                                   {"1000 blocks of one", {1000}, {1}},
                                   {"7 blocks of 33", {7}, {33}},
                                   {"blocks in y", {1, 9}, {1, 5}},
                                   {"blocks in z", {1, 1, 6}, {1, 1, 4}},
                                   {"a grid in three directions", {3, 4, 5}, {4, 3, 2}}};

std::uint64_t threads(const Shape& shape) {
  return std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z * shape.block.x * shape.block.y * shape.block.z;
}

ANYPLACE_CASES(shapes, "kernels", "kernels.launch", "a callable over {} runs every thread once with its indices",
               Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::vector<std::atomic<int>> runs(threads(parameter));
  std::atomic<int> wrong{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block& block) {
    if (!(block.grid_size() == parameter.grid) || !(block.size() == parameter.block)) ++wrong;
    block.for_each_thread([&](const Thread& thread) {
      const Dim3 at = block.index();
      if (thread.global[0] != std::uint64_t{at.x} * parameter.block.x + thread.index[0]) ++wrong;
      if (thread.global[1] != std::uint64_t{at.y} * parameter.block.y + thread.index[1]) ++wrong;
      if (thread.global[2] != std::uint64_t{at.z} * parameter.block.z + thread.index[2]) ++wrong;
      const std::uint64_t width = std::uint64_t{parameter.grid.x} * parameter.block.x;
      const std::uint64_t height = std::uint64_t{parameter.grid.y} * parameter.block.y;
      ++runs[(thread.global[2] * height + thread.global[1]) * width + thread.global[0]];
    });
  }));
  CALL(stream.launch(kernel, {parameter.grid, parameter.block}));
  CALL(stream.synchronize());
  CHECK_EQUAL(wrong.load(), 0);
  for (const auto& one : runs) CHECK_EQUAL(one.load(), 1);
}

ANYPLACE_CASE("kernels", "kernels.launch", "a callable gets its arguments in order, whatever their sizes",
              Capability::host_kernels) {
  struct Odd {
    char text[11];
  };
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<bool> right{false};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&, std::uint8_t a, std::uint16_t b, std::uint32_t c,
                                                std::uint64_t d, float e, double f, Odd g, std::int8_t h) {
    right = a == 0x12 && b == 0x3456 && c == 0x789abcde && d == 0x1122334455667788 && e == 1.5f && f == -2.25 &&
            std::strcmp(g.text, "anyplace!!") == 0 && h == -7;
  }));
  const Odd odd{"anyplace!!"};
  CALL(stream.launch(kernel, {1, 1}, std::uint8_t{0x12}, std::uint16_t{0x3456}, std::uint32_t{0x789abcde},
                     std::uint64_t{0x1122334455667788}, 1.5f, -2.25, odd, std::int8_t{-7}));
  CALL(stream.synchronize());
  CHECK(right.load());
}

ANYPLACE_CASE("kernels", "kernels.launch", "arguments are copied at the launch", Capability::host_kernels,
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  std::atomic<std::uint64_t> seen{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&, std::uint64_t value) { seen = value; }));
  CALL(stream.launch(kernel, {1, 1}, std::uint64_t{1}));
  CALL(stream.synchronize());
  gate.hold(stream);
  auto value = std::make_unique<std::uint64_t>(42);
  const std::array<LaunchArgument, 1> arguments{LaunchArgument{LaunchArgument::Kind::value, 8, value.get()}};
  CALL(stream.launch_arguments(kernel, {1, 1}, arguments));
  *value = 43;
  value.reset();
  gate.open();
  CALL(stream.synchronize());
  CHECK_EQUAL(seen.load(), 42u);
}

ANYPLACE_CASE("kernels", "kernels.launch", "a buffer as an argument is its device address", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 4096, 0);
  std::atomic<std::uint64_t> whole{0};
  std::atomic<std::uint64_t> part{0};
  std::atomic<std::uint64_t> none{1};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    whole = a;
    part = b;
    none = c;
  }));
  CALL(stream.launch(kernel, {1, 1}, buffer, buffer.sub(100, 10), BufferView()));
  CALL(stream.synchronize());
  CHECK_EQUAL(whole.load(), buffer.address());
  CHECK_EQUAL(part.load(), buffer.address() + 100);
  CHECK_EQUAL(none.load(), 0u);
}

ANYPLACE_CASE("kernels", "kernels.launch", "a callable reads and writes device memory", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Bytes contents = pattern(100000);
  const Buffer buffer = upload(stream, contents);
  const Kernel invert = CALL(Kernel(device, [](const Block& block, std::uint8_t* data, std::uint64_t count) {
    block.for_each_thread([&](const Thread& thread) {
      if (thread.global[0] < count) data[thread.global[0]] = static_cast<std::uint8_t>(~data[thread.global[0]]);
    });
  }));
  CALL(stream.launch(invert, {(100000 + 255) / 256, 256}, buffer, std::uint64_t{100000}));
  Bytes expected = contents;
  for (std::uint8_t& byte : expected) byte = static_cast<std::uint8_t>(~byte);
  CHECK_BYTES(read(stream, buffer), expected);
}

struct Shared {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Shared> shared_sizes = {{"4 bytes", 4}, {"100 bytes", 100}, {"16 KiB", 16384}, {"48 KiB", 49152}};

ANYPLACE_CASES(shared_sizes, "kernels", "kernels.launch", "{} of shared memory are each block's own and aligned",
               Capability::host_kernels) {
  const Device device = run.device();
  if (device.properties().max_shared_bytes < parameter.bytes) skip("so much shared memory");
  const Stream stream = CALL(Stream(device));
  std::atomic<int> wrong{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block& block) {
    const auto shared = block.shared();
    if (shared.size() != parameter.bytes) ++wrong;
    if (reinterpret_cast<std::uintptr_t>(shared.data()) % 64 != 0) ++wrong;
    const auto mine = static_cast<std::byte>(block.index().x);
    std::fill(shared.begin(), shared.end(), mine);
    for (const std::byte byte : shared) wrong += byte != mine;
  }));
  CALL(stream.launch(kernel, {200, 8, parameter.bytes}));
  CALL(stream.synchronize());
  CHECK_EQUAL(wrong.load(), 0);
}

ANYPLACE_CASE("kernels", "kernels.launch", "as much shared memory as the device says can be had",
              Capability::host_kernels) {
  const Device device = run.device();
  const std::uint64_t most = device.properties().max_shared_bytes;
  if (most == 0) skip("shared memory");
  const Stream stream = CALL(Stream(device));
  std::atomic<std::uint64_t> seen{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block& block) {
    std::fill(block.shared().begin(), block.shared().end(), std::byte{1});
    seen = block.shared().size();
  }));
  CALL(stream.launch(kernel, {2, 1, most}));
  CALL(stream.synchronize());
  CHECK_EQUAL(seen.load(), most);
  CHECK_ERROR(invalid_argument, stream.launch(kernel, {1, 1, most + 1}));
}

ANYPLACE_CASE("kernels", "kernels.launch", "a callable may be destroyed while its launches are queued",
              Capability::host_kernels, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  auto kept = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> watch = kept;
  {
    const Kernel kernel = CALL(Kernel(device, [kept](const Block&) { ++*kept; }));
    CALL(stream.launch(kernel, {8, 1}));
    CALL(stream.synchronize());
    gate.hold(stream);
    CALL(stream.launch(kernel, {8, 1}));
  }
  gate.open();
  CALL(stream.synchronize());
  CHECK_EQUAL(kept->load(), 16);
  kept.reset();
  step(__FILE__, __LINE__, "waiting for the callable to be let go");
  while (!watch.expired()) std::this_thread::yield();
}

ANYPLACE_CASE("kernels", "kernels.launch", "one kernel may be launched on several streams", Capability::host_kernels) {
  const Device device = run.device();
  std::vector<Stream> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(CALL(Stream(device)));
  std::vector<std::atomic<int>> runs(5);
  const Kernel kernel = CALL(Kernel(device, [&](const Block&, std::uint32_t which) { ++runs[which]; }));
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i) CALL(streams[i].launch(kernel, {16, 1}, i));
  }
  CALL(device.synchronize());
  for (const auto& one : runs) CHECK_EQUAL(one.load(), 320);
}

ANYPLACE_CASE("kernels", "kernels.launch", "a kernel runs after earlier work of its stream and before later",
              Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 1 << 20));
  const Kernel add = CALL(Kernel(device, [](const Block& block, std::uint8_t* data) {
    for (std::uint32_t i = 0; i < 4096; ++i) ++data[std::uint64_t{block.index().x} * 4096 + i];
  }));
  for (int i = 0; i < 20; ++i) {
    CALL(stream.memset8(buffer, static_cast<std::uint8_t>(i)));
    CALL(stream.launch(add, {256, 1}, buffer));
  }
  CHECK_BYTES(read(stream, buffer), Bytes(1 << 20, 20));
}

ANYPLACE_CASE("kernels", "kernels.launch", "a kernel may not call back into the API", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<int> code{-1};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&) {
    try {
      stream.synchronize();
      code = 0;
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
    }
  }));
  CALL(stream.launch(kernel, {1, 1}));
  CALL(stream.synchronize());
  CHECK_EQUAL(static_cast<ErrorCode>(code.load()), ErrorCode::not_permitted);
}

ANYPLACE_CASE("kernels", "kernels.launch", "a function can be launched as a callable", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  static std::atomic<int> ran{0};
  struct Functions {
    static void count(const Block&, int by) { ran += by; }
  };
  const Kernel kernel = CALL(Kernel(device, &Functions::count));
  CALL(stream.launch(kernel, {3, 1}, 5));
  CALL(stream.synchronize());
  CHECK_EQUAL(ran.load(), 15);
  CHECK_EQUAL(CALL(kernel.name()), std::string());
  CHECK_EQUAL(CALL(kernel.device()), device);
}

// ---- Refused launches

struct BadLaunch {
  std::string label;
  std::function<void(const Stream&, const Kernel&)> launch;
};

/// The kernel takes (std::uint32_t, float).
const std::vector<BadLaunch> bad_launches = {
    {"a grid of no blocks",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {0, 1}, 1u, 1.0f);
     }},
    {"a grid of no blocks in y",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {{1, 0}, 1}, 1u, 1.0f);
     }},
    {"a grid of no blocks in z",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {{1, 1, 0}, 1}, 1u, 1.0f);
     }},
    {"a block of no threads",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 0}, 1u, 1.0f);
     }},
    {"a block of no threads in z",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, {1, 1, 0}}, 1u, 1.0f);
     }},
    {"a block of more threads than 64 bits hold",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, {~0u, ~0u, ~0u}}, 1u, 1.0f);
     }},
    {"more shared memory than 64 bits hold",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 1, ~std::uint64_t{0}}, 1u, 1.0f);
     }},
    {"an argument too few",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 1}, 1u);
     }},
    {"an argument too many",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 1}, 1u, 1.0f, 1u);
     }},
    {"an argument of another size",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 1}, 1u, 1.0);
     }},
    {"no arguments",
     [](const Stream& s, const Kernel& k) {
       s.launch(k, {1, 1});
     }},
};

ANYPLACE_CASES(bad_launches, "kernels", "kernels.images", "launching with {} is invalid_argument and runs nothing",
               Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::atomic<bool> ran{false};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&, std::uint32_t, float) { ran = true; }));
  CHECK_ERROR(invalid_argument, parameter.launch(stream, kernel));
  CALL(stream.synchronize());
  CHECK(!ran.load());
}

struct Limit {
  std::string label;
  int direction;
  bool grid;
};

const std::vector<Limit> limits = {
    {"a grid over the limit in x", 0, true},   {"a grid over the limit in y", 1, true},
    {"a grid over the limit in z", 2, true},   {"a block over the limit in x", 0, false},
    {"a block over the limit in y", 1, false}, {"a block over the limit in z", 2, false}};

ANYPLACE_CASES(limits, "kernels", "kernels.images", "launching {} is invalid_argument", Capability::host_kernels) {
  const Device device = run.device();
  const DeviceProperties properties = device.properties();
  const std::uint32_t limit =
      parameter.grid ? properties.max_grid[parameter.direction] : properties.max_block[parameter.direction];
  if (limit == ~0u) skip("a limit below 32 bits");
  std::uint32_t size[3] = {1, 1, 1};
  size[parameter.direction] = limit + 1;
  const Dim3 over{size[0], size[1], size[2]};
  const Stream stream = CALL(Stream(device));
  std::atomic<bool> ran{false};
  const Kernel kernel = CALL(Kernel(device, [&](const Block&) { ran = true; }));
  CHECK_ERROR(invalid_argument,
              stream.launch(kernel, {parameter.grid ? over : Dim3{1}, parameter.grid ? Dim3{1} : over}));
  CALL(stream.synchronize());
  CHECK(!ran.load());
}

ANYPLACE_CASE("kernels", "kernels.images", "a block of too many threads in all is invalid_argument",
              Capability::host_kernels) {
  const Device device = run.device();
  const DeviceProperties properties = device.properties();
  const std::uint32_t x = properties.max_block[0];
  const std::uint32_t y = properties.max_threads_per_block / x + 1;
  if (y > properties.max_block[1]) skip("a block that only the product is too big of");
  const Stream stream = CALL(Stream(device));
  const Kernel kernel = CALL(Kernel(device, [](const Block&) {}));
  CHECK_ERROR(invalid_argument, stream.launch(kernel, {1, {x, y}}));
}

ANYPLACE_CASE("kernels", "kernels.launch", "the largest block in x can be launched", Capability::host_kernels) {
  const Device device = run.device();
  const std::uint32_t x = std::min(device.properties().max_block[0], device.properties().max_threads_per_block);
  const Stream stream = CALL(Stream(device));
  std::atomic<std::uint64_t> threads_run{0};
  const Kernel kernel = CALL(Kernel(device, [&](const Block& block) { threads_run += block.size().x; }));
  CALL(stream.launch(kernel, {3, x}));
  CALL(stream.synchronize());
  CHECK_EQUAL(threads_run.load(), std::uint64_t{3} * x);
}

ANYPLACE_CASE("kernels", "streams.handles", "launching a null or destroyed kernel is invalid_handle",
              Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  CHECK_ERROR(invalid_handle, stream.launch(KernelView(), {1, 1}));
  KernelView gone;
  {
    const Kernel kernel = CALL(Kernel(device, [](const Block&) {}));
    gone = kernel;
  }
  CHECK_ERROR(invalid_handle, stream.launch(gone, {1, 1}));
  CHECK_ERROR(invalid_handle, gone.device());
  CHECK_ERROR(invalid_handle, gone.name());
  CALL(stream.synchronize());
}

ANYPLACE_CASE("kernels", "streams.handles", "launching on a null or destroyed stream is invalid_handle",
              Capability::host_kernels) {
  const Device device = run.device();
  const Kernel kernel = CALL(Kernel(device, [](const Block&) {}));
  CHECK_ERROR(invalid_handle, StreamView().launch(kernel, {1, 1}));
  const StreamView gone = CALL(Stream(device)).view();
  CHECK_ERROR(invalid_handle, gone.launch(kernel, {1, 1}));
}

ANYPLACE_CASE("kernels", "streams.handles", "launching another device's kernel is invalid_argument",
              Capability::host_kernels, second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Kernel kernel = CALL(Kernel(run.second(), [](const Block&) {}));
  const Error error = CHECK_ERROR(invalid_argument, stream.launch(kernel, {1, 1}));
  CHECK(error.text().find(run.second().to_string()) != std::string::npos);
}

ANYPLACE_CASE("kernels", "streams.handles", "a destroyed buffer as an argument is invalid_handle",
              Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Kernel kernel = CALL(Kernel(device, [](const Block&, std::uint64_t) {}));
  const BufferView gone = CALL(Buffer(stream, 64)).view();
  CHECK_ERROR(invalid_handle, stream.launch(kernel, {1, 1}, gone));
}

}  // namespace
}  // namespace anyplace::conformance::kernels_cases
