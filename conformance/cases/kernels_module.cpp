// SPDX-License-Identifier: Apache-2.0
// Kernels of a module: the test kernels (kernels/README.md), and wrong images and names.
#include <cstring>
#include <fstream>
#include <iterator>

#include "support.h"

namespace anyplace::conformance::kernels_module_cases {
namespace {

/// block_sum's shared memory is an argument if the image is OpenCL's.
ModuleOptions options_for(const std::string& file) {
  ModuleOptions options;
  const bool argument = file.ends_with(".cl") || file.ends_with(".spv");
  if (argument) options.metadata.push_back({"block_sum", 2});
  return options;
}

Module load(const Run& run, const Device& device) {
  return CALL(Module::from_file(device, run.module_file(), options_for(run.module_file())));
}

std::vector<std::byte> image_of(const Run& run) {
  std::ifstream in(run.module_file(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> elements(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// ---- Launches

struct Count {
  std::string label;
  std::uint32_t count;
  std::uint32_t block;
};

const std::vector<Count> counts = {{"1 element", 1, 1}, {"100 elements", 100, 32}, {"100003 elements", 100003, 64}};

ANYPLACE_CASES(counts, "modules", "kernels.launch", "fill sets {} and no more", Capability::modules, test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const Buffer buffer = filled(stream, (parameter.count + 64) * 4, 0);
  const std::uint32_t blocks = (parameter.count + parameter.block - 1) / parameter.block;
  CALL(stream.launch(module.kernel("fill"), {blocks, parameter.block}, buffer, parameter.count, 0xabcd1234u));
  std::vector<std::uint32_t> expected(parameter.count + 64, 0);
  std::fill_n(expected.begin(), parameter.count, 0xabcd1234u);
  CHECK(elements<std::uint32_t>(read(stream, buffer)) == expected);
}

ANYPLACE_CASE("modules", "kernels.launch", "axpy takes its arguments in order", Capability::modules, test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  constexpr std::uint32_t count = 5000;
  std::vector<float> x(count);
  std::vector<float> y(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(3 * i);
  }
  const Buffer x_buffer = CALL(Buffer(stream, count * 4));
  const Buffer y_buffer = CALL(Buffer(stream, count * 4));
  CALL(stream.copy(x_buffer, x));
  CALL(stream.copy(y_buffer, y));
  CALL(stream.launch(module.kernel("axpy"), {(count + 63) / 64, 64}, y_buffer, x_buffer, 2.0f, count));
  const std::vector<float> got = elements<float>(read(stream, y_buffer));
  for (std::uint32_t i = 0; i < count; ++i) CHECK_EQUAL(got[i], static_cast<float>(5 * i));
  CHECK(elements<float>(read(stream, x_buffer)) == x);
}

struct Shape {
  std::string label;
  Dim3 grid;
  Dim3 block;
};

const std::vector<Shape> shapes = {{"one thread", {1}, {1}},
                                   {"blocks in x", {13}, {8}},
                                   {"blocks in y", {1, 7}, {1, 6}},
                                   {"blocks in z", {1, 1, 5}, {1, 1, 4}},
                                   {"three directions", {2, 3, 4}, {4, 3, 2}}};

ANYPLACE_CASES(shapes, "modules", "kernels.launch", "indices over {} are each thread's own", Capability::modules,
               test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const std::uint32_t width = parameter.grid.x * parameter.block.x;
  const std::uint32_t height = parameter.grid.y * parameter.block.y;
  const std::uint32_t depth = parameter.grid.z * parameter.block.z;
  const Buffer buffer = filled(stream, std::uint64_t{48} * width * height * depth, 0xff);
  CALL(stream.launch(module.kernel("indices"), {parameter.grid, parameter.block}, buffer));
  const std::vector<std::uint32_t> got = elements<std::uint32_t>(read(stream, buffer));
  std::vector<std::uint32_t> expected;
  for (std::uint32_t z = 0; z < depth; ++z) {
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        const Dim3& b = parameter.block;
        const Dim3& g = parameter.grid;
        expected.insert(expected.end(),
                        {x / b.x, y / b.y, z / b.z, x % b.x, y % b.y, z % b.z, g.x, g.y, g.z, b.x, b.y, b.z});
      }
    }
  }
  CHECK(got == expected);
}

ANYPLACE_CASE("modules", "kernels.launch", "block_sum has the shared memory that the launch says", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  constexpr std::uint32_t blocks = 50;
  constexpr std::uint32_t threads = 64;
  std::vector<std::uint32_t> values(blocks * threads);
  std::vector<std::uint32_t> expected(blocks, 0);
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = i * i + 1;
    expected[i / threads] += values[i];
  }
  const Buffer input = CALL(Buffer(stream, values.size() * 4));
  const Buffer sums = filled(stream, blocks * 4, 0);
  CALL(stream.copy(input, values));
  CALL(stream.launch(module.kernel("block_sum"), {blocks, threads, threads * 4}, sums, input));
  CHECK(elements<std::uint32_t>(read(stream, sums)) == expected);
}

ANYPLACE_CASE("modules", "kernels.launch", "arguments of every size arrive whole and in order", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const Buffer out = filled(stream, 48, 0);
  CALL(stream.launch(module.kernel("arguments"), {2, 1}, out, std::uint8_t{0xf1}, std::uint16_t{0xf2e3},
                     std::uint32_t{0xf3d4c5b6}, std::uint64_t{0xf1e2d3c4b5a69788}, 1.5f, std::int32_t{-5}));
  const std::vector<std::uint64_t> expected{
      0xf1, 0xf2e3, 0xf3d4c5b6, 0xf1e2d3c4b5a69788, 0x3fc00000, static_cast<std::uint64_t>(-5)};
  CHECK(elements<std::uint64_t>(read(stream, out)) == expected);
}

ANYPLACE_CASE("modules", "kernels.launch", "a module's arguments are copied at the launch", Capability::modules,
              test_module, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const KernelView kernel = CALL(module.kernel("fill"));
  const Buffer buffer = filled(stream, 400, 0);
  // The kernel is launched once before the gate closes, because a first launch may have to load the code.
  CALL(stream.launch(kernel, {1, 64}, buffer, 64u, 1u));
  CALL(stream.synchronize());
  std::uint64_t address = buffer.address();
  std::uint32_t count = 100;
  std::uint32_t value = 7;
  const std::array<LaunchArgument, 3> arguments{LaunchArgument{LaunchArgument::Kind::address, 8, &address},
                                                LaunchArgument{LaunchArgument::Kind::value, 4, &count},
                                                LaunchArgument{LaunchArgument::Kind::value, 4, &value}};
  gate.hold(stream);
  CALL(stream.launch_arguments(kernel, {4, 32}, arguments));
  address = 0;
  count = 0;
  value = 8;
  gate.open();
  CHECK(elements<std::uint32_t>(read(stream, buffer)) == std::vector<std::uint32_t>(100, 7));
}

ANYPLACE_CASE("modules", "kernels.launch", "launches of one stream run in order", Capability::modules, test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const KernelView fill = CALL(module.kernel("fill"));
  constexpr std::uint32_t count = 200000;
  const Buffer buffer = filled(stream, count * 4, 0);
  const Buffer copy = filled(stream, count * 4, 0);
  for (std::uint32_t i = 1; i <= 20; ++i) {
    CALL(stream.launch(fill, {(count + 63) / 64, 64}, buffer, count, i));
    CALL(stream.copy(copy, buffer));
    CALL(stream.memset8(buffer, 0));
  }
  CHECK(elements<std::uint32_t>(read(stream, copy)) == std::vector<std::uint32_t>(count, 20));
}

ANYPLACE_CASE("modules", "kernels.launch", "a kernel on one stream waits for an event of another", Capability::modules,
              test_module, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream producer = CALL(Stream(device));
  const Stream consumer = CALL(Stream(device));
  const Module module = load(run, device);
  const KernelView axpy = CALL(module.kernel("axpy"));
  constexpr std::uint32_t count = 1000;
  const Buffer x = filled(producer, count * 4, 0);
  const Buffer y = filled(consumer, count * 4, 0);
  const std::vector<float> ones(count, 1.0f);
  const Buffer source = CALL(Buffer(producer, count * 4));
  CALL(producer.copy(source, ones));
  CALL(producer.synchronize());
  CALL(consumer.launch(axpy, {16, 64}, y, x, 0.0f, count));
  CALL(consumer.synchronize());
  gate.hold(producer);
  CALL(producer.copy(x, source));
  CALL(consumer.wait_event(producer.record_event()));
  CALL(consumer.launch(axpy, {16, 64}, y, x, 3.0f, count));
  CHECK_STAYS_FALSE(consumer.query());
  gate.open();
  CHECK(elements<float>(read(consumer, y)) == std::vector<float>(count, 3.0f));
}

ANYPLACE_CASE("modules", "kernels.launch", "a module may be unloaded while its launches are queued",
              Capability::modules, test_module, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 400, 0);
  Module module = load(run, device);
  const KernelView kernel = CALL(module.kernel("fill"));
  CALL(stream.launch(kernel, {4, 32}, buffer, 100u, 1u));
  CALL(stream.synchronize());
  gate.hold(stream);
  CALL(stream.launch(kernel, {4, 32}, buffer, 100u, 9u));
  module = Module();
  CHECK_ERROR(invalid_handle, stream.launch(kernel, {1, 1}, buffer, 1u, 1u));
  gate.open();
  CHECK(elements<std::uint32_t>(read(stream, buffer)) == std::vector<std::uint32_t>(100, 9));
}

ANYPLACE_CASE("modules", "kernels.launch", "several threads may launch one kernel at once", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Module module = load(run, device);
  const KernelView fill = CALL(module.kernel("fill"));
  run_threads(4, [&](int thread) {
    const Stream stream = CALL(Stream(device));
    const Buffer buffer = filled(stream, 4000, 0);
    for (std::uint32_t i = 0; i < 50; ++i) {
      const std::uint32_t value = static_cast<std::uint32_t>(thread) * 1000 + i;
      CALL(stream.launch(fill, {16, 64}, buffer, 1000u, value));
      CHECK(elements<std::uint32_t>(read(stream, buffer)) == std::vector<std::uint32_t>(1000, value));
    }
  });
}

// ---- Modules

ANYPLACE_CASE("modules", "kernels.images", "a module's kernels have names and a device", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Module module = load(run, device);
  CHECK(static_cast<bool>(module));
  CHECK_EQUAL(CALL(module.device()), device);
  for (const char* const name : {"fill", "axpy", "indices", "block_sum", "arguments"}) {
    const KernelView kernel = CALL(module.kernel(name));
    CHECK_EQUAL(CALL(kernel.name()), std::string(name));
    CHECK_EQUAL(CALL(kernel.device()), device);
    CHECK(CALL(module.kernel(name)) == kernel);
  }
}

ANYPLACE_CASE("modules", "kernels.images", "an image from memory is as good as one from a file", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  Module module;
  {
    const std::vector<std::byte> image = image_of(run);
    module = CALL(Module(device, image, options_for(run.module_file())));
  }
  const Buffer buffer = filled(stream, 400, 0);
  CALL(stream.launch(module.kernel("fill"), {4, 32}, buffer, 100u, 6u));
  CHECK(elements<std::uint32_t>(read(stream, buffer)) == std::vector<std::uint32_t>(100, 6));
}

ANYPLACE_CASE("modules", "kernels.images", "an image may be loaded several times", Capability::modules, test_module) {
  const Device device = run.device();
  const Module first = load(run, device);
  const Module second = load(run, device);
  CHECK(first.id() != second.id());
  CHECK(!(CALL(first.kernel("fill")) == CALL(second.kernel("fill"))));
}

struct Name {
  std::string label;
  std::string name;
};

const std::vector<Name> unknown_names = {{"that it lacks", "no_such_kernel"},
                                         {"of no letters", ""},
                                         {"with a NUL", std::string("fill\0x", 6)},
                                         {"of 10000 letters", std::string(10000, 'k')},
                                         {"of the C library", "malloc"}};

ANYPLACE_CASES(unknown_names, "modules", "kernels.images", "a kernel of a name {} is no_such_kernel",
               Capability::modules, test_module) {
  const Device device = run.device();
  const Module module = load(run, device);
  CHECK_ERROR(no_such_kernel, module.kernel(parameter.name));
  CHECK(static_cast<bool>(CALL(module.kernel("fill"))));
}

struct Image {
  std::string label;
  std::string bytes;
};

const std::vector<Image> wrong_images = {{"of no bytes", ""},
                                         {"of one byte", "x"},
                                         {"of text", "this is no image of any kind"},
                                         {"of zeroes", std::string(4096, '\0')},
                                         {"that is an ELF header alone", std::string("\x7f"
                                                                                     "ELF\x02\x01\x01",
                                                                                     7)},
                                         {"that is half a SPIR-V", std::string("\x03\x02\x23\x07\x00\x00", 6)}};

ANYPLACE_CASES(wrong_images, "modules", "kernels.images", "an image {} is invalid_image", Capability::modules) {
  const Device device = run.device();
  const Error error = CHECK_ERROR(invalid_image, Module(device, std::as_bytes(std::span(parameter.bytes))));
  CHECK(!error.text().empty());
}

ANYPLACE_CASE("modules", "kernels.images", "a truncated image is invalid_image", Capability::modules, test_module) {
  if (!run.module_file().ends_with(".so")) skip("an image whose truncation can't be a good one");
  const Device device = run.device();
  std::vector<std::byte> image = image_of(run);
  image.resize(image.size() / 3);
  CHECK_ERROR(invalid_image, Module(device, image));
}

ANYPLACE_CASE("modules", "kernels.images", "a file that isn't there is invalid_argument", Capability::modules) {
  CHECK_ERROR(invalid_argument, Module::from_file(run.device(), "/no/such/file/anywhere"));
}

ANYPLACE_CASE("modules", "streams.handles", "a null or unloaded module is invalid_handle", Capability::modules,
              test_module) {
  const Device device = run.device();
  const Module none;
  CHECK_ERROR(invalid_handle, none.kernel("fill"));
  CHECK_ERROR(invalid_handle, none.device());
  KernelView kernel;
  {
    const Module module = load(run, device);
    kernel = CALL(module.kernel("fill"));
  }
  CHECK_ERROR(invalid_handle, kernel.device());
}

ANYPLACE_CASE("modules", "streams.handles", "another device's kernel is invalid_argument", Capability::modules,
              test_module, second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Module module = load(run, run.second());
  const Buffer buffer = filled(stream, 64, 0);
  CHECK_ERROR(invalid_argument, stream.launch(module.kernel("fill"), {1, 1}, buffer, 1u, 1u));
}

// ---- Attributes and native handles

/// Runs `ask`, and skips the case if the vendor has no answer.
template <class Ask>
auto known(const char* what, Ask ask) {
  try {
    return ask();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) skip(what);
    throw;
  }
}

ANYPLACE_CASE("modules", "kernels.globals", "a variable is found by its name, read and written", Capability::modules,
              test_module) {
  if (run.module_file().ends_with(".cl")) skip("a variable in the test kernels");
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Module module = load(run, device);
  const ModuleGlobal found = known("where the variables of modules are", [&] { return module.global("numbers"); });
  CHECK(found.size_bytes == 16);
  CHECK(found.address != 0);
  const Buffer numbers = CALL(Buffer::from_native(device, found.address, found.size_bytes));
  CHECK((elements<std::uint32_t>(read(stream, numbers)) == std::vector<std::uint32_t>{2, 3, 5, 7}));
  CALL(stream.memset32(numbers, 11));
  CHECK((elements<std::uint32_t>(read(stream, numbers)) == std::vector<std::uint32_t>{11, 11, 11, 11}));
  const ModuleGlobal again = CALL(module.global("numbers"));
  CHECK(again.address == found.address && again.size_bytes == found.size_bytes);
}

ANYPLACE_CASE("modules", "kernels.globals", "a name that no variable has is no_such_global", Capability::modules,
              test_module) {
  const Module module = load(run, run.device());
  known("where the variables of modules are", [&] {
    try {
      module.global("no_such_variable_anywhere");
      return false;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::no_such_global) return true;
      throw;
    }
  });
  CHECK_ERROR(no_such_global, module.global("no_such_variable_anywhere"));
  CHECK_ERROR(no_such_global, module.global(""));
  CHECK_ERROR(no_such_global, module.global(std::string_view("numbers\0", 8)));
}

ANYPLACE_CASE("modules", "kernels.attributes", "a kernel's attributes are within what the device has",
              Capability::modules, test_module) {
  const Device device = run.device();
  const DeviceProperties properties = CALL(device.properties());
  const Module module = load(run, device);
  for (const char* name : {"fill", "axpy", "indices", "block_sum", "arguments"}) {
    const KernelAttributes attributes = CALL(module.kernel(name).attributes());
    CHECK(attributes.max_threads_per_block > 0);
    CHECK(attributes.max_threads_per_block <= properties.max_threads_per_block);
    CHECK(attributes.shared_bytes.value_or(0) <= properties.max_shared_bytes);
    CHECK(attributes.sub_group_size != 0U);
  }
}

ANYPLACE_CASE("modules", "kernels.attributes",
              "a multiprocessor runs at least one block of a kernel, and no more blocks as they grow",
              Capability::modules, test_module) {
  const Device device = run.device();
  const Module module = load(run, device);
  const KernelView kernel = CALL(module.kernel("block_sum"));
  const std::uint32_t few = known("how many blocks run at the same time", [&] { return kernel.max_active_blocks(32); });
  CHECK(few >= 1);
  const std::uint32_t most = CALL(kernel.attributes()).max_threads_per_block;
  CHECK(CALL(kernel.max_active_blocks(most)) <= few);
  CHECK(CALL(kernel.max_active_blocks(32, CALL(device.properties()).max_shared_bytes / 2)) <= few);
  CHECK_ERROR(invalid_argument, kernel.max_active_blocks(0));
  CHECK_ERROR(invalid_argument, kernel.max_active_blocks(UINT32_MAX));
  CHECK_ERROR(invalid_argument, kernel.max_active_blocks(32, UINT64_MAX));
}

ANYPLACE_CASE("modules", "kernels.native", "the vendor's handles of a module and of its kernels are given",
              Capability::modules, test_module) {
  const Module module = load(run, run.device());
  const std::uint64_t native = known("the handles of modules", [&] { return module.native_handle(); });
  CHECK(native != 0);
  CHECK(CALL(module.native_handle()) == native);
  const KernelView fill = CALL(module.kernel("fill"));
  const KernelView axpy = CALL(module.kernel("axpy"));
  const std::uint64_t first = known("the handles of kernels", [&] { return fill.native_handle(); });
  CHECK(first != 0);
  CHECK(CALL(fill.native_handle()) == first);
  CHECK(CALL(axpy.native_handle()) != first);
}

ANYPLACE_CASE("modules", "kernels.native", "a callable has no handle of the vendor's", Capability::host_kernels) {
  const Kernel kernel = CALL(Kernel(run.device(), [](const Block&) {}));
  CHECK_ERROR(unsupported, kernel.native_handle());
  CHECK(CALL(kernel.attributes()).max_threads_per_block > 0);
}

}  // namespace
}  // namespace anyplace::conformance::kernels_module_cases
