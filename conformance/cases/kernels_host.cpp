// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are functions of the host, at the table: their block, their arguments, how they fail, and when they are
// released.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "table_backend.h"

namespace anyplace::conformance::kernels_host_cases {
namespace {

// ---- Arguments

constexpr std::uint32_t large_sizes[] = {65, 257, 1024, 4000};

/// Compares the arguments of a kernel with patterns of large_sizes.
struct Expected {
  std::vector<Bytes> values;
  std::atomic<int> blocks{0};
  std::atomic<int> wrong{0};
};

anyplace_status compare(void* user, const anyplace_block*, void* const* arguments, const std::uint32_t* sizes,
                        std::uint32_t count) {
  Expected& expected = *static_cast<Expected*>(user);
  bool right = count == expected.values.size();
  for (std::uint32_t i = 0; right && i < count; ++i) {
    const Bytes& value = expected.values[i];
    right = sizes[i] == value.size() && std::memcmp(arguments[i], value.data(), value.size()) == 0;
  }
  if (!right) ++expected.wrong;
  ++expected.blocks;
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASE("host kernels", "kernels.launch", "large arguments arrive whole, as they were at the call",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Expected expected;
  for (const std::uint32_t size : large_sizes) expected.values.push_back(pattern(size, size));
  const anyplace_kernel kernel = backend.kernel(compare, &expected);
  std::vector<Bytes> given = expected.values;
  std::vector<anyplace_argument> arguments;
  for (const Bytes& value : given) {
    arguments.push_back({ANYPLACE_ARGUMENT_VALUE, static_cast<std::uint32_t>(value.size()), value.data()});
  }
  anyplace_launch launch = launch_of(8);
  launch.argument_count = static_cast<std::uint32_t>(arguments.size());
  launch.arguments = arguments.data();
  {
    TableHold hold(backend);
    hold.hold(stream);
    MUST(backend, kernel_launch, stream, kernel, &launch);
    for (Bytes& value : given) std::fill(value.begin(), value.end(), std::uint8_t{0xee});
    std::fill(arguments.begin(), arguments.end(), anyplace_argument{});
    hold.open();
    backend.synchronize(stream);
  }
  CHECK_EQUAL(expected.blocks.load(), 8);
  CHECK_EQUAL(expected.wrong.load(), 0);
  MUST(backend, kernel_destroy, kernel);
}

// ---- The block

struct Seen {
  std::atomic<int> blocks{0};
  std::atomic<int> wrong{0};
};

anyplace_status look_at_block(void* user, const anyplace_block* block, void* const*, const std::uint32_t*,
                              std::uint32_t) {
  Seen& seen = *static_cast<Seen*>(user);
  bool right = block->struct_size >= sizeof(anyplace_block);
  if (block->shared_bytes == 0) {
    right = right && block->shared == nullptr;
  } else {
    right = right && block->shared != nullptr && number_of(block->shared) % 64 == 0;
    if (block->shared != nullptr) std::memset(block->shared, 1, block->shared_bytes);
  }
  if (!right) ++seen.wrong;
  ++seen.blocks;
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASE("host kernels", "kernels.launch", "a block says its size, and has shared memory if it asked for some",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Seen seen;
  const anyplace_kernel kernel = backend.kernel(look_at_block, &seen);
  for (const std::uint64_t shared : {0, 1, 64, 4000}) {
    anyplace_launch launch = launch_of(4);
    launch.shared_bytes = shared;
    MUST(backend, kernel_launch, stream, kernel, &launch);
  }
  backend.synchronize(stream);
  CHECK_EQUAL(seen.blocks.load(), 16);
  CHECK_EQUAL(seen.wrong.load(), 0);
  MUST(backend, kernel_destroy, kernel);
}

// ---- Faults

anyplace_status fail_with(void* user, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) {
  return *static_cast<const anyplace_status*>(user);
}

ANYPLACE_CASE("host kernels", "devices.faults", "the status that a kernel returns is the fault that is reported",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  for (const anyplace_status status :
       {ANYPLACE_STATUS_KERNEL_FAILED, ANYPLACE_STATUS_INVALID_ARGUMENT, ANYPLACE_STATUS_OUT_OF_MEMORY}) {
    anyplace_status returned = status;
    const anyplace_kernel kernel = backend.kernel(fail_with, &returned);
    const anyplace_launch launch = launch_of(1);
    const std::size_t before = TableBackend::faults().size();
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    const std::vector<TableFault> faults = TableBackend::faults();
    CHECK_EQUAL(faults.size(), before + 1);
    CHECK_EQUAL(static_cast<ErrorCode>(faults.back().status), static_cast<ErrorCode>(status));
    MUST(backend, kernel_destroy, kernel);
  }
}

ANYPLACE_CASE("host kernels", "devices.faults",
              "a fault of a wrapped stream's work is reported with the wrapper's cookie", Capability::host_kernels,
              Capability::native_handles, Capability::stream_from_native) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream wrapper = backend.wrapper_of(backend.native(stream), 815);
  anyplace_status failed = ANYPLACE_STATUS_KERNEL_FAILED;
  const anyplace_kernel kernel = backend.kernel(fail_with, &failed);
  const anyplace_launch launch = launch_of(1);
  MUST(backend, kernel_launch, wrapper, kernel, &launch);
  backend.synchronize(wrapper);
  CHECK_EQUAL(TableBackend::faults().size(), 1u);
  CHECK_EQUAL(TableBackend::faults().back().cookie, 815u);
  MUST(backend, kernel_launch, stream, kernel, &launch);
  backend.synchronize(stream);
  CHECK_EQUAL(TableBackend::faults().size(), 2u);
  CHECK(TableBackend::faults().back().cookie != 815u);
  backend.destroy(wrapper);
  MUST(backend, kernel_destroy, kernel);
}

// ---- Releasing

void count_release(void* user) { ++*static_cast<std::atomic<int>*>(user); }
ANYPLACE_CASE("host kernels", "kernels.launch", "a kernel is released once, launched or not",
              Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_launch launch = launch_of(3);
  for (const int launches : {0, 1, 5}) {
    std::atomic<int> released{0};
    const anyplace_kernel kernel = backend.kernel(do_nothing, &released, count_release);
    for (int i = 0; i < launches; ++i) MUST(backend, kernel_launch, stream, kernel, &launch);
    CHECK_EQUAL(released.load(), 0);
    MUST(backend, kernel_destroy, kernel);
    MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
    // A thread of the backend may release it a little later.
    while (released.load() == 0) linger(1);
    CHECK_EQUAL(released.load(), 1);
  }
}

}  // namespace
}  // namespace anyplace::conformance::kernels_host_cases
