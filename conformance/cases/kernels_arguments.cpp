// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a launch as they cross the boundary: an array with a stride, sizes that are checked, and kernels of
// the same name in two images.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "table_module.h"

namespace anyplace::conformance::kernels_arguments_cases {
namespace {

constexpr std::uint32_t elements = 1000;

struct Loaded {
  anyplace_module module = 0;
  anyplace_kernel fill = 0;
};

Loaded load(const TableBackend& backend, const TableImage& image) {
  Loaded loaded;
  const anyplace_module_desc desc = image.desc();
  MUST(backend, module_load, backend.device(), &desc, &loaded.module);
  MUST(backend, module_kernel, loaded.module, "fill", &loaded.fill);
  return loaded;
}

Bytes words(std::uint32_t value) {
  Bytes expected(elements * 4);
  for (std::size_t i = 0; i < elements; ++i) std::memcpy(expected.data() + 4 * i, &value, 4);
  return expected;
}

// ---- Strides

struct Stride {
  std::string label;
  std::uint32_t bytes;
};
const std::vector<Stride> strides = {{"16", 16}, {"24", 24}, {"40", 40}, {"4096", 4096}};

ANYPLACE_CASES(strides, "arguments", "kernels.launch", "a module's arguments may lie {} bytes apart",
               Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const Loaded loaded = load(backend, image);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(elements * 4);
  for (const std::uint32_t value : {0x01020304u, 0x05060708u}) {
    FillLaunch fill(memory, elements, value, parameter.bytes);
    MUST(backend, kernel_launch, stream, loaded.fill, &fill.launch());
    CHECK_BYTES(backend.read(stream, memory, elements * 4), words(value));
  }
}

/// The arguments that a host kernel was called with.
struct Called {
  std::mutex mutex;
  std::vector<std::uint32_t> sizes;   // guarded by mutex
  std::vector<std::uint64_t> values;  // guarded by mutex
};

anyplace_status note_arguments(void* user, const anyplace_block*, void* const* arguments, const std::uint32_t* sizes,
                               std::uint32_t count) {
  Called& called = *static_cast<Called*>(user);
  const std::lock_guard lock(called.mutex);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments[i], std::min<std::size_t>(sizes[i], sizeof(value)));
    called.sizes.push_back(sizes[i]);
    called.values.push_back(value);
  }
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASES(strides, "arguments", "kernels.launch", "a host kernel's arguments may lie {} bytes apart",
               Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Called called;
  const anyplace_kernel kernel = backend.kernel(note_arguments, &called);
  const std::uint8_t byte = 0x12;
  const std::uint16_t half = 0x3456;
  const std::uint32_t word = 0x789abcde;
  const anyplace_address address = 0x1122334455667788;
  std::array<std::uint64_t, 20> large{};
  large[0] = 77;
  const anyplace_argument given[] = {{ANYPLACE_ARGUMENT_VALUE, 1, &byte},
                                     {ANYPLACE_ARGUMENT_VALUE, 2, &half},
                                     {ANYPLACE_ARGUMENT_ADDRESS, 8, &address},
                                     {ANYPLACE_ARGUMENT_VALUE, 4, &word},
                                     {ANYPLACE_ARGUMENT_VALUE, sizeof(large), large.data()}};
  std::vector<unsigned char> array(std::size_t{parameter.bytes} * std::size(given), 0xee);
  for (std::size_t i = 0; i < std::size(given); ++i) {
    std::memcpy(array.data() + i * parameter.bytes, &given[i], sizeof(given[i]));
  }
  anyplace_launch launch = launch_of(1);
  launch.argument_count = static_cast<std::uint32_t>(std::size(given));
  launch.argument_stride = parameter.bytes;
  launch.arguments = reinterpret_cast<const anyplace_argument*>(array.data());
  MUST(backend, kernel_launch, stream, kernel, &launch);
  backend.synchronize(stream);
  CHECK(called.sizes == std::vector<std::uint32_t>({1, 2, 8, 4, sizeof(large)}));
  CHECK(called.values == std::vector<std::uint64_t>({byte, half, address, word, 77}));
  MUST(backend, kernel_destroy, kernel);
}

ANYPLACE_CASE("arguments", "kernels.launch", "a host kernel may have no arguments, and as many as a C++ function can",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  for (const std::uint32_t count : {0u, 1u, 255u}) {
    Called called;
    const anyplace_kernel kernel = backend.kernel(note_arguments, &called);
    std::vector<std::uint64_t> values(count);
    std::vector<anyplace_argument> arguments(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      values[i] = 1000 + i;
      arguments[i] = {ANYPLACE_ARGUMENT_VALUE, 8, &values[i]};
    }
    anyplace_launch launch = launch_of(1);
    launch.argument_count = count;
    launch.arguments = count == 0 ? nullptr : arguments.data();
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    CHECK(called.values == values);
    MUST(backend, kernel_destroy, kernel);
  }
}

// ---- Numbers and sizes

/// Whether every backend for this kind of image knows the parameters of kernels. AMD's images don't contain them, and
/// NVIDIA's driver tells them since 12.4.
bool always_known(const TableImage& image) {
  return image.format() == ANYPLACE_IMAGE_SHARED_OBJECT || image.format() == ANYPLACE_IMAGE_OPENCL_C ||
         image.format() == ANYPLACE_IMAGE_SPIRV;
}

ANYPLACE_CASE("arguments", "kernels.launch",
              "arguments of another number or size than the kernel's are invalid_argument and nothing runs",
              Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const Loaded loaded = load(backend, image);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(elements * 4);
  backend.fill(stream, memory, 0, elements * 4);
  std::uint64_t wide = 7;
  FillLaunch good(memory, elements, 0x01020304);
  const anyplace_argument three[] = {good.argument(0), good.argument(1), good.argument(2)};
  const auto refused = [&](std::vector<anyplace_argument> arguments) {
    anyplace_launch launch = good.launch();
    launch.argument_count = static_cast<std::uint32_t>(arguments.size());
    launch.arguments = arguments.empty() ? nullptr : arguments.data();
    return ENTRY(backend, kernel_launch, stream, loaded.fill, &launch);
  };
  const anyplace_argument extra{ANYPLACE_ARGUMENT_VALUE, 8, &wide};
  // One argument too many does no harm if nobody checks.
  const anyplace_status many = refused({three[0], three[1], three[2], extra});
  if (many == ANYPLACE_STATUS_OK && !always_known(image)) skip("a driver that tells what a kernel's parameters are");
  CHECK_EQUAL(static_cast<ErrorCode>(many), ErrorCode::invalid_argument);
  CHECK_EQUAL(static_cast<ErrorCode>(refused({three[0], three[1]})), ErrorCode::invalid_argument);
  CHECK_EQUAL(static_cast<ErrorCode>(refused({})), ErrorCode::invalid_argument);
  CHECK_EQUAL(static_cast<ErrorCode>(refused({three[0], extra, three[2]})), ErrorCode::invalid_argument);
  CHECK_EQUAL(static_cast<ErrorCode>(refused({three[1], three[0], three[2]})), ErrorCode::invalid_argument);
  backend.synchronize(stream);
  CHECK_BYTES(backend.read(stream, memory, elements * 4), Bytes(elements * 4, 0));
  CHECK(TableBackend::faults().empty());
  MUST(backend, kernel_launch, stream, loaded.fill, &good.launch());
  CHECK_BYTES(backend.read(stream, memory, elements * 4), words(0x01020304));
}

// ---- Images of one name

/// Launches `fill` of both images; each launch must run its own image's kernel.
void check_apart(const TableBackend& backend, anyplace_stream stream, anyplace_address memory, anyplace_kernel own,
                 anyplace_kernel other) {
  FillLaunch fill(memory, elements, 0x01020304);
  backend.fill(stream, memory, 0, elements * 4);
  MUST(backend, kernel_launch, stream, own, &fill.launch());
  CHECK_BYTES(backend.read(stream, memory, elements * 4), words(0x01020304));
  backend.fill(stream, memory, 0, elements * 4);
  static_cast<void>(ENTRY(backend, kernel_launch, stream, other, &fill.launch()));
  CHECK(backend.read(stream, memory, elements * 4) != words(0x01020304));
}

ANYPLACE_CASE("arguments", "kernels.images",
              "two images whose kernels have one name are loaded at once, and each runs its own", Capability::modules,
              test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  TableImage changed(run);
  changed.make_other();
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(elements * 4);
  const Loaded first = load(backend, image);
  const Loaded other = load(backend, changed);
  check_apart(backend, stream, memory, first.fill, other.fill);
  MUST(backend, module_unload, first.module);
  const Loaded second = load(backend, image);
  check_apart(backend, stream, memory, second.fill, other.fill);
  MUST(backend, module_unload, other.module);
  FillLaunch fill(memory, elements, 5);
  MUST(backend, kernel_launch, stream, second.fill, &fill.launch());
  CHECK_BYTES(backend.read(stream, memory, elements * 4), words(5));
}

ANYPLACE_CASE("arguments", "kernels.images", "one image may be loaded twice, and unloaded once", Capability::modules,
              test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(elements * 4);
  const Loaded first = load(backend, image);
  const Loaded second = load(backend, image);
  CHECK(first.module != second.module);
  MUST(backend, module_unload, first.module);
  FillLaunch fill(memory, elements, 0x01020304);
  MUST(backend, kernel_launch, stream, second.fill, &fill.launch());
  CHECK_BYTES(backend.read(stream, memory, elements * 4), words(0x01020304));
}

// ---- Faults

ANYPLACE_CASE("arguments", "devices.faults",
              "a kernel's failure is reported once, before anything that waits for it goes on",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream_with(4711);
  const anyplace_stream waiter = backend.stream();
  const anyplace_event event = backend.event();
  const anyplace_kernel kernel = backend.kernel(fail);
  const anyplace_launch launch = launch_of(1);
  for (std::size_t round = 1; round <= 20; ++round) {
    MUST(backend, kernel_launch, stream, kernel, &launch);
    MUST(backend, event_record, event, stream);
    MUST(backend, stream_wait_event, waiter, event);
    std::int32_t done = 0;
    if (round % 4 == 0) MUST(backend, stream_synchronize, stream, ANYPLACE_FOREVER);
    if (round % 4 == 1) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    if (round % 4 == 2) MUST(backend, stream_synchronize, waiter, ANYPLACE_FOREVER);
    while (round % 4 == 3 && done == 0) MUST(backend, stream_query, stream, &done);
    const std::vector<TableFault> faults = TableBackend::faults();
    CHECK_EQUAL(faults.size(), round);
    CHECK_EQUAL(faults.back().cookie, 4711u);
    CHECK_EQUAL(static_cast<ErrorCode>(faults.back().status), ErrorCode::kernel_failed);
  }
  MUST(backend, kernel_destroy, kernel);
}

}  // namespace
}  // namespace anyplace::conformance::kernels_arguments_cases
