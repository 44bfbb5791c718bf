// SPDX-License-Identifier: Apache-2.0
//
// Modules of OpenCL C: what compiles, what doesn't, and what a launch passes on.
#include <span>
#include <string_view>
#include <thread>

#include "anyplace/compile.h"
#include "support.h"

namespace {

constexpr std::string_view source = R"(
typedef struct { int factor; int offset; } Shape;
__kernel void scale(__global const int* from, __global int* to, Shape shape, int n) {
  const int i = get_global_id(0);
  if (i < n) to[i] = from[i] * shape.factor + shape.offset;
}
__kernel void reverse(__global int* values, __local int* tile) {
  const int i = get_local_id(0);
  tile[i] = values[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  values[get_global_id(0)] = tile[get_local_size(0) - 1 - i];
}
__kernel void where(__global uint* at) {
  const uint i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  at[i] = get_group_id(0) | get_group_id(1) << 8 | get_group_id(2) << 16;
}
__kernel void store(__global ulong* to, ulong value) { to[0] = value; }
)";

anyplace::Module load(const anyplace::Device& on, std::string_view text, const anyplace::ModuleOptions& options = {}) {
  return anyplace::Module(on, std::as_bytes(std::span(text)), options);
}

struct Shape {
  std::int32_t factor;
  std::int32_t offset;
};

}  // namespace

TEST_CASE(
    "Given a kernel of OpenCL C when launched with buffers parts of buffers structs and numbers then it gets them") {
  const anyplace::Device on = device();
  const anyplace::Module module = load(on, source);
  const anyplace::Stream stream(on);
  const std::vector<std::uint32_t> values = numbers(1000);
  const anyplace::Buffer from(stream, 8000);
  const anyplace::Buffer to(stream, 4000);
  stream.copy(from.sub(4000), values);
  stream.launch(module.kernel("scale"), {8, 128}, from.sub(4000), to, Shape{3, 7}, 1000);
  std::vector<std::uint32_t> expected = values;
  for (std::uint32_t& value : expected) value = value * 3 + 7;
  CHECK(read(stream, to) == expected);
}

TEST_CASE("Given a __local parameter when launched with shared memory then each block has as much of its own") {
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  const std::vector<std::uint32_t> values = numbers(512);
  const anyplace::Buffer buffer(stream, 2048);
  std::vector<std::uint32_t> expected;
  for (std::size_t block = 0; block < 512; block += 64) {
    for (std::size_t i = 0; i < 64; ++i) expected.push_back(values[block + 63 - i]);
  }
  for (const bool told : {false, true}) {
    anyplace::ModuleOptions options;
    if (told) options.metadata.push_back({"reverse", 1});
    const anyplace::Module module = load(on, source, options);
    stream.copy(buffer, values);
    stream.launch(module.kernel("reverse"), {8, 64, 64 * 4}, buffer);
    CHECK(read(stream, buffer) == expected);
  }
}

TEST_CASE(
    "Given metadata that name a parameter that is no shared memory when the kernel is asked for then it is refused") {
  const anyplace::ModuleOptions options{.compiler_options = "", .metadata = {{"scale", 0}}};
  const anyplace::Error error = error_of([&] {
    const anyplace::Module module = load(device(), source, options);
    static_cast<void>(module.kernel("scale"));
  });
  CHECK(error.code() == anyplace::ErrorCode::invalid_image);
  CHECK_THAT(error.what(), Catch::Contains("__local"));
}

TEST_CASE("Given a grid in three directions when launched then every block has its index") {
  const anyplace::Device on = device();
  const anyplace::Module module = load(on, source);
  const anyplace::Stream stream(on);
  const anyplace::Buffer at(stream, 4 * 6 * 6 * 6);
  stream.launch(module.kernel("where"), {{3, 2, 2}, {2, 3, 3}}, at);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t z = 0; z < 6; ++z) {
    for (std::uint32_t y = 0; y < 6; ++y) {
      for (std::uint32_t x = 0; x < 6; ++x) expected.push_back(x / 2 | (y / 3) << 8 | (z / 3) << 16);
    }
  }
  CHECK(read(stream, at) == expected);
}

TEST_CASE("Given compiler options when the module is loaded then the compiler gets them") {
  constexpr std::string_view text = "__kernel void answer(__global int* to) { to[0] = ANSWER; }";
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  const anyplace::Buffer to(stream, 4);
  const anyplace::Module module = load(on, text, {.compiler_options = "-DANSWER=42", .metadata = {}});
  stream.launch(module.kernel("answer"), {1, 1}, to);
  CHECK(read(stream, to) == std::vector<std::uint32_t>{42});
  const anyplace::Error error = error_of([&] { load(on, text); });
  CHECK(error.code() == anyplace::ErrorCode::invalid_image);
  CHECK_THAT(error.what(), Catch::Contains("ANSWER"));
}

TEST_CASE(
    "Given a compiler that makes nothing for the device when a string is compiled then the error leads to OpenCL C") {
  const anyplace::Device on = device();
  const anyplace::Error error = error_of([&] {
    static_cast<void>(anyplace::Module::compile(on, "extern \"C\" __global__ void nothing() {}", {.compiler = "host"}));
  });
  CHECK(error.code() == anyplace::ErrorCode::unsupported);
  CHECK_THAT(error.what(), Catch::Contains("it takes OpenCL C"));
}

TEST_CASE("Given a kernel's name that isn't there when asked for then the error lists those that are") {
  const anyplace::Module module = load(device(), source);
  const anyplace::Error error = error_of([&] { static_cast<void>(module.kernel("nothing")); });
  CHECK(error.code() == anyplace::ErrorCode::no_such_kernel);
  CHECK_THAT(error.what(), Catch::Contains("reverse"));
}

TEST_CASE("Given arguments that don't fit when launched then it is refused and the next launch runs") {
  using anyplace::ErrorCode;
  const anyplace::Device on = device();
  const anyplace::Module module = load(on, source);
  const anyplace::KernelView store = module.kernel("store");
  const anyplace::Stream stream(on);
  const anyplace::Buffer to(stream, 8);
  CHECK(error_of([&] { stream.launch(store, {1, 1}, to); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { stream.launch(store, {1, 1}, to, 1ull, 2); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { stream.launch(store, {1, 1}, to, 1); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { stream.launch(store, {1, 1}, 1, 1ull); }).code() == ErrorCode::invalid_argument);
  stream.launch(store, {1, 1}, to.address(), 0x100000002ull);
  CHECK(read(stream, to) == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("Given one kernel launched by several threads when they are done then no launch had another's arguments") {
  const anyplace::Device on = device();
  const anyplace::Module module = load(on, source);
  const anyplace::KernelView store = module.kernel("store");
  constexpr std::uint64_t launches = 200;
  constexpr std::uint64_t threads = 4;
  std::vector<std::vector<std::uint64_t>> results(threads);
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const anyplace::Stream stream(on);
      const anyplace::Buffer to(stream, launches * 8);
      for (std::uint64_t i = 0; i < launches; ++i) {
        stream.launch(store, {1, 1}, to.sub(i * 8, 8), t * launches + i);
      }
      results[t].resize(launches);
      stream.copy(results[t], to);
      stream.synchronize();
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (std::uint64_t t = 0; t < threads; ++t) {
    for (std::uint64_t i = 0; i < launches; ++i) REQUIRE(results[t][i] == t * launches + i);
  }
}

TEST_CASE("Given a kernel that is held back when its module is unloaded then it still runs") {
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  const anyplace::Buffer to(stream, 8);
  Hold hold(stream);
  {
    const anyplace::Module module = load(on, source);
    stream.launch(module.kernel("store"), {1, 1}, to, 0x300000004ull);
  }
  hold.open();
  CHECK(read(stream, to) == std::vector<std::uint32_t>{4, 3});
}
