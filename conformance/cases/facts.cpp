// SPDX-License-Identifier: Apache-2.0
//
// The properties of a device as the plugin's table gives them, before the core has corrected anything. They are in the
// contract's terms and never change, and those that can be tried are true: the limits of launches, and the sizes of
// memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "table_module.h"

namespace anyplace::conformance::facts_cases {
namespace {

constexpr bool has_bit(std::uint64_t bits, unsigned bit) noexcept { return (bits >> bit & 1) != 0; }

/// The union of all bits of a list in abi.h.
#define ANYPLACE_ADD_BIT(upper, lower, bit, text) | std::uint64_t{1} << (bit)
constexpr std::uint64_t all_capability_bits = 0 ANYPLACE_CAPABILITY_LIST(ANYPLACE_ADD_BIT);
constexpr std::uint64_t all_image_bits = 0 ANYPLACE_IMAGE_LIST(ANYPLACE_ADD_BIT);
#undef ANYPLACE_ADD_BIT
constexpr std::uint32_t all_feature_bits = ANYPLACE_FEATURE_FLOAT16 | ANYPLACE_FEATURE_FLOAT64 |
                                           ANYPLACE_FEATURE_INT64_ATOMICS | ANYPLACE_FEATURE_UNIFIED_ADDRESSING |
                                           ANYPLACE_FEATURE_VIRTUAL_TIME;

// ---- Values

ANYPLACE_CASE("facts", "devices.properties", "a device knows each feature that it has, and no bits are unknown") {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  CHECK_EQUAL(facts.features & ~facts.features_known, 0u);
  CHECK_EQUAL(facts.reserved, 0u);
  CHECK_EQUAL(facts.reserved_features, 0u);
  if (backend.table().abi_minor > ANYPLACE_ABI_MINOR) skip("a backend that is no newer than this suite");
  CHECK_EQUAL(facts.features_known & ~all_feature_bits, 0u);
  CHECK_EQUAL(facts.capabilities & ~all_capability_bits, 0u);
  CHECK_EQUAL(facts.image_formats & ~all_image_bits, 0u);
}

ANYPLACE_CASE("facts", "devices.properties",
              "figures that can't be 0 aren't 0, and the range of priorities contains 0") {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  CHECK(facts.address_alignment >= 256 && (facts.address_alignment & (facts.address_alignment - 1)) == 0);
  CHECK(facts.total_memory > 0);
  CHECK(facts.max_allocation <= facts.total_memory);
  CHECK(facts.least_priority >= 0 && facts.greatest_priority <= 0);
  const bool has_priorities = has_bit(facts.capabilities, ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  CHECK_EQUAL(facts.greatest_priority < facts.least_priority, has_priorities);
  const bool has_modules = has_bit(facts.capabilities, ANYPLACE_CAPABILITY_BIT_MODULES);
  CHECK_EQUAL(has_modules && facts.image_formats == 0, false);
  // The unit is hertz; a lower figure would be in kHz or MHz.
  constexpr std::uint64_t slowest = 10'000'000;
  constexpr std::uint64_t fastest = 100'000'000'000;
  for (const std::uint64_t clock : {facts.clock_hz, facts.memory_clock_hz}) {
    CHECK(clock == 0 || (clock >= slowest && clock <= fastest));
  }
  if (!has_modules && !has_bit(facts.capabilities, ANYPLACE_CAPABILITY_BIT_HOST_KERNELS)) return;
  CHECK(facts.compute_units >= 1);
  CHECK(facts.max_threads_per_block > 0);
  for (int i = 0; i < 3; ++i) CHECK(facts.max_grid[i] > 0 && facts.max_block[i] > 0);
}

ANYPLACE_CASE("facts", "devices.properties", "a caller's shorter struct of properties is filled up to its size") {
  const TableBackend backend(run);
  constexpr std::size_t end = offsetof(anyplace_device_properties, clock_hz);
  anyplace_device_properties facts;
  std::memset(&facts, 0xa5, sizeof(facts));
  facts.struct_size = end;
  MUST(backend, device_properties, backend.device(), &facts);
  const auto* const raw = reinterpret_cast<const unsigned char*>(&facts);
  for (std::size_t i = end; i < sizeof(facts); ++i) CHECK(raw[i] == 0xa5);
  CHECK_EQUAL(facts.capabilities, backend.properties(backend.device()).capabilities);
}

// ---- The same each time

/// All properties as text; bytes behind a text's end may differ, so they aren't compared.
std::string said(const anyplace_device_properties& facts) {
  std::ostringstream out;
  const auto add = [&](const char* name, auto value) { out << name << " " << value << "; "; };
#define ANYPLACE_ADD(field) add(#field, facts.field)
  ANYPLACE_ADD(name), ANYPLACE_ADD(vendor), ANYPLACE_ADD(architecture), ANYPLACE_ADD(driver_version);
  ANYPLACE_ADD(uuid), ANYPLACE_ADD(pci);
  ANYPLACE_ADD(compute_units), ANYPLACE_ADD(capabilities), ANYPLACE_ADD(image_formats), ANYPLACE_ADD(total_memory);
  ANYPLACE_ADD(address_alignment), ANYPLACE_ADD(max_shared_bytes), ANYPLACE_ADD(max_threads_per_block);
  ANYPLACE_ADD(max_grid[0]), ANYPLACE_ADD(max_grid[1]), ANYPLACE_ADD(max_grid[2]);
  ANYPLACE_ADD(max_block[0]), ANYPLACE_ADD(max_block[1]), ANYPLACE_ADD(max_block[2]);
  ANYPLACE_ADD(least_priority), ANYPLACE_ADD(greatest_priority), ANYPLACE_ADD(clock_hz), ANYPLACE_ADD(memory_clock_hz);
  ANYPLACE_ADD(l2_cache_bytes), ANYPLACE_ADD(max_allocation), ANYPLACE_ADD(memory_bus_bits);
  ANYPLACE_ADD(multiprocessors), ANYPLACE_ADD(sub_group_sizes), ANYPLACE_ADD(features), ANYPLACE_ADD(features_known);
#undef ANYPLACE_ADD
  return out.str();
}

ANYPLACE_CASE("facts", "devices.properties",
              "a device's properties are the same each time, on every thread, before and after work") {
  const TableBackend backend(run);
  const std::string first = said(backend.properties(backend.device()));
  CHECK_EQUAL(said(backend.properties(backend.device())), first);
  const anyplace_stream stream = backend.stream();
  const anyplace_address address = backend.allocate(1 << 20);
  backend.fill(stream, address, 1, 1 << 20);
  CHECK_EQUAL(said(backend.properties(backend.device())), first);
  run_threads(4, [&](int) {
    for (int round = 0; round < 10; ++round) CHECK_EQUAL(said(backend.properties(backend.device())), first);
  });
  backend.free(address);
  CHECK_EQUAL(said(backend.properties(backend.device())), first);
}

// ---- Launches

/// A kernel that tells which threads ran.
class Indices {
 public:
  explicit Indices(const Run& run, const TableBackend& backend) : backend_(backend), stream_(backend.stream()) {
    const TableImage image(run);
    const anyplace_module_desc desc = image.desc();
    MUST(backend, module_load, backend.device(), &desc, &module_);
    MUST(backend, module_kernel, module_, "indices", &kernel_);
    attributes_.struct_size = sizeof(attributes_);
    attributes_.max_threads_per_block = UINT32_MAX;
    if (backend.table().kernel_attributes == nullptr) return;
    MUST(backend, kernel_attributes, kernel_, &attributes_);
  }

  std::uint32_t max_threads() const noexcept { return attributes_.max_threads_per_block; }
  void check(const std::array<std::uint32_t, 3>& grid, const std::array<std::uint32_t, 3>& block) const {
    anyplace_launch launch = launch_of(1);
    std::copy_n(grid.begin(), 3, launch.grid);
    std::copy_n(block.begin(), 3, launch.block);
    std::size_t threads = 1;
    for (int i = 0; i < 3; ++i) threads *= std::size_t{grid[i]} * block[i];
    const anyplace_address out = backend_.allocate(threads * 48);
    const anyplace_argument argument{ANYPLACE_ARGUMENT_ADDRESS, sizeof(out), &out};
    launch.argument_count = 1;
    launch.arguments = &argument;
    const auto shape = [](const auto& of) {
      return std::to_string(of[0]) + " x " + std::to_string(of[1]) + " x " + std::to_string(of[2]);
    };
    step(__FILE__, __LINE__, ("kernel_launch of " + shape(grid) + " blocks of " + shape(block) + " threads").c_str());
    TableBackend::require(ENTRY(backend_, kernel_launch, stream_, kernel_, &launch),
                          ("kernel_launch of " + shape(grid) + " blocks of " + shape(block) + " threads").c_str(),
                          {__FILE__, __LINE__});
    const Bytes got = backend_.read(stream_, out, threads * 48);
    backend_.free(out);
    // In one direction of a grid or block the numbers rise with the thread, and each occurs once.
    for (std::size_t i = 0; i < threads; ++i) {
      std::uint32_t numbers[12];
      std::memcpy(numbers, got.data() + i * 48, 48);
      std::size_t own = 0;
      for (int d = 2; d >= 0; --d) {
        const std::size_t width = std::size_t{grid[static_cast<std::size_t>(d)]} * block[static_cast<std::size_t>(d)];
        own = own * width + std::size_t{numbers[d]} * block[static_cast<std::size_t>(d)] + numbers[3 + d];
      }
      const bool right = own == i && std::equal(grid.begin(), grid.end(), numbers + 6) &&
                         std::equal(block.begin(), block.end(), numbers + 9);
      if (!right) check_failed(__FILE__, __LINE__, "thread " + std::to_string(i) + " of the launch has other indices");
    }
  }

 private:
  const TableBackend& backend_;
  anyplace_stream stream_;
  anyplace_module module_ = 0;
  anyplace_kernel kernel_ = 0;
  anyplace_kernel_attributes attributes_{};
};

/// A block with the most threads, filled up in the given order of directions.
std::array<std::uint32_t, 3> largest_block(const anyplace_device_properties& facts, std::uint32_t threads,
                                           const std::array<std::size_t, 3>& order) {
  std::array<std::uint32_t, 3> block{1, 1, 1};
  for (const std::size_t d : order) {
    block[d] = std::max(std::min(facts.max_block[d], threads), 1u);
    threads /= block[d];
  }
  return block;
}

constexpr std::array<std::size_t, 3> orders[] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
/// A whole grid that is larger takes too long; this many blocks exceed 16 bits.
constexpr std::uint32_t enough_blocks = 66000;

ANYPLACE_CASE("facts", "kernels.launch", "a module's kernel runs in the largest blocks and grids that the device says",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  const Indices indices(run, backend);
  const std::uint32_t threads = std::min(facts.max_threads_per_block, indices.max_threads());
  for (std::size_t d = 0; d < 3; ++d) {
    std::array<std::uint32_t, 3> one{1, 1, 1};
    std::array<std::uint32_t, 3> most{1, 1, 1};
    most[d] = std::min(facts.max_block[d], threads);
    indices.check({2, 1, 1}, most);
    most[d] = std::min(facts.max_grid[d], enough_blocks);
    indices.check(most, one);
  }
  for (const auto& order : orders) indices.check({2, 2, 1}, largest_block(facts, threads, order));
}

/// How many blocks ran, and how many of them had another size than the launch's.
struct Blocks {
  std::array<std::uint32_t, 3> size;
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> wrong{0};
};
anyplace_status note_block(void* user, const anyplace_block* block, void* const*, const std::uint32_t*,
                           std::uint32_t) noexcept {
  Blocks& blocks = *static_cast<Blocks*>(user);
  ++blocks.count;
  if (!std::equal(blocks.size.begin(), blocks.size.end(), block->block)) ++blocks.wrong;
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASE("facts", "kernels.launch", "a host kernel runs in the largest blocks and grids that the device says",
              Capability::host_kernels) {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  const anyplace_stream stream = backend.stream();
  const auto check = [&](const std::array<std::uint32_t, 3>& grid, const std::array<std::uint32_t, 3>& block) {
    Blocks blocks{block};
    const anyplace_kernel kernel = backend.kernel(note_block, &blocks);
    anyplace_launch launch = launch_of(1);
    std::copy_n(grid.begin(), 3, launch.grid);
    std::copy_n(block.begin(), 3, launch.block);
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    MUST(backend, kernel_destroy, kernel);
    CHECK_EQUAL(blocks.count.load(), std::uint64_t{grid[0]} * grid[1] * grid[2]);
    CHECK_EQUAL(blocks.wrong.load(), 0u);
  };
  for (std::size_t d = 0; d < 3; ++d) {
    std::array<std::uint32_t, 3> most{1, 1, 1};
    most[d] = std::min(facts.max_block[d], facts.max_threads_per_block);
    check({3, 1, 1}, most);
    most[d] = std::min(facts.max_grid[d], enough_blocks);
    check(most, {1, 1, 1});
  }
  for (const auto& order : orders) check({2, 1, 1}, largest_block(facts, facts.max_threads_per_block, order));
}

ANYPLACE_CASE("facts", "kernels.launch", "a module's kernel has as much shared memory as the device says",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "block_sum", &kernel);
  anyplace_kernel_attributes attributes{};
  attributes.struct_size = sizeof(attributes);
  if (backend.table().kernel_attributes != nullptr) MUST(backend, kernel_attributes, kernel, &attributes);
  const std::uint64_t most = backend.properties(backend.device()).max_shared_bytes;
  if (attributes.shared_bytes == ANYPLACE_UNKNOWN) skip("a driver that tells a kernel's own shared memory");
  if (most < attributes.shared_bytes + 4) skip("shared memory");
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(8);
  const anyplace_address sums = backend.allocate(8);
  backend.fill(stream, memory, 1, 8);
  backend.fill(stream, sums, 0, 8);
  const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_ADDRESS, 8, &sums},
                                         {ANYPLACE_ARGUMENT_ADDRESS, 8, &memory}};
  anyplace_launch launch = launch_of(2);
  launch.shared_bytes = most - attributes.shared_bytes;
  launch.argument_count = 2;
  launch.arguments = arguments;
  MUST(backend, kernel_launch, stream, kernel, &launch);
  CHECK_BYTES(backend.read(stream, sums, 8), Bytes(8, 1));
}

ANYPLACE_CASE("facts", "kernels.attributes",
              "a kernel's sub-groups are of a size that the device has, and fit into a block", Capability::modules,
              test_module) {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  if (facts.sub_group_sizes == 0) skip("a vendor that tells the sizes of sub-groups");
  for (unsigned bit = 0; bit < 32; ++bit) {
    CHECK(!has_bit(facts.sub_group_sizes, bit) || std::uint32_t{1} << bit <= facts.max_threads_per_block);
  }
  if (backend.table().kernel_attributes == nullptr) return;
  const TableImage image(run);
  const anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  for (const char* const name : {"fill", "axpy", "indices", "block_sum", "arguments"}) {
    anyplace_kernel kernel = 0;
    anyplace_kernel_attributes attributes{};
    attributes.struct_size = sizeof(attributes);
    MUST(backend, module_kernel, module, name, &kernel);
    MUST(backend, kernel_attributes, kernel, &attributes);
    const std::uint32_t size = attributes.sub_group_size;
    if (size == UINT32_MAX) continue;
    CHECK(size > 0 && (size & (size - 1)) == 0);
    CHECK((facts.sub_group_sizes & size) != 0);
  }
}

// ---- Memory

/// The free memory; 0 if it isn't known.
std::uint64_t free_of(const TableBackend& backend) {
  const std::uint64_t bytes = backend.memory(backend.device()).free_bytes;
  return bytes == ANYPLACE_UNKNOWN ? 0 : bytes;
}

/// The memory that others use; 0 if nobody tells.
std::uint64_t used_of(const TableBackend& backend) {
  const anyplace_memory_info info = backend.memory(backend.device());
  if (info.free_bytes != ANYPLACE_UNKNOWN && info.total_bytes != ANYPLACE_UNKNOWN) {
    return info.total_bytes - std::min(info.total_bytes, info.free_bytes);
  }
  anyplace_device_sample sample{};
  sample.struct_size = sizeof(sample);
  if (!backend.has(Capability::monitoring)) return 0;
  MUST(backend, device_sample, backend.device(), &sample);
  return sample.memory_used_bytes;
}

/// Makes what a first allocation needs, such as a context, so that the figures are those of a device in use.
void begin_using(const TableBackend& backend) { backend.free(backend.allocate(1 << 20)); }

/// Allocates pieces until `enough` is reached or there is no more; returns how much that was.
std::uint64_t take_until(const TableBackend& backend, std::uint64_t enough, std::uint64_t piece) {
  std::vector<anyplace_address> taken;
  std::uint64_t bytes = 0;
  while (bytes < enough) {
    anyplace_address address = 0;
    const anyplace_status status =
        ENTRY(backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE, piece, &address);
    if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) break;
    TableBackend::require(status, "memory_allocate", {__FILE__, __LINE__});
    taken.push_back(address);
    bytes += piece;
  }
  TableBackend::message();
  for (const anyplace_address address : taken) backend.free(address);
  return bytes;
}

/// Other processes may allocate and free meanwhile, so a round may be wrong, but not every one. A limit on this
/// process's memory, which some vendors have, must be lifted for this case.
ANYPLACE_CASE("facts", "memory.figures", "the total memory can be allocated, but for what is in use") {
  const TableBackend backend(run);
  begin_using(backend);
  const anyplace_device_properties facts = backend.properties(backend.device());
  const std::uint64_t memory_total = backend.memory(backend.device()).total_bytes;
  std::string wrong;
  for (int round = 0; round < 3 && (round == 0 || !wrong.empty()); ++round) {
    wrong = "";
    const std::uint64_t used = used_of(backend);
    for (const std::uint64_t total : {facts.total_memory, memory_total}) {
      if (total == ANYPLACE_UNKNOWN || used >= total / 4 * 3) continue;
      const std::uint64_t enough = total / 4 * 3 - used;
      const std::uint64_t largest = facts.max_allocation == 0 ? total : facts.max_allocation;
      const std::uint64_t taken =
          take_until(backend, enough, std::max(std::min(total / 32, largest), std::uint64_t{1}));
      if (taken >= enough) continue;
      wrong = "of a total of " + std::to_string(total) + " bytes, of which " + std::to_string(used) +
              " are in use, no more than " + std::to_string(taken) +
              " can be had; a limit on this process has to be lifted";
    }
  }
  CHECK_EQUAL(wrong, std::string());
}

ANYPLACE_CASE("facts", "memory.figures", "nearly all memory that is said to be free can be allocated") {
  const TableBackend backend(run);
  begin_using(backend);
  std::string wrong = "?";
  for (int round = 0; round < 3 && !wrong.empty(); ++round) {
    const std::uint64_t free = free_of(backend);
    if (free == 0) skip("a free figure that the vendor can tell");
    const std::uint64_t largest = backend.properties(backend.device()).max_allocation;
    const std::uint64_t piece = std::min(free / 32, largest == 0 ? free : largest);
    const std::uint64_t taken = take_until(backend, free / 4 * 3, std::max(piece, std::uint64_t{1}));
    wrong = taken >= free / 4 * 3
                ? ""
                : "of " + std::to_string(free) + " free bytes no more than " + std::to_string(taken) + " can be had";
  }
  CHECK_EQUAL(wrong, std::string());
}

ANYPLACE_CASE("facts", "memory.figures",
              "one allocation may be as large as the device says, if so much is free, and none is larger") {
  const TableBackend backend(run);
  begin_using(backend);
  const std::uint64_t largest = backend.properties(backend.device()).max_allocation;
  if (largest == 0) skip("a vendor that tells how large one allocation may be");
  // Free memory is in pieces, which are large on a device that nobody else uses.
  anyplace_address address = 0;
  for (int round = 0; round < 3 && address == 0 && largest <= free_of(backend) / 8 * 7; ++round) {
    const anyplace_status status =
        ENTRY(backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE, largest, &address);
    if (status == ANYPLACE_STATUS_OUT_OF_MEMORY && round < 2) continue;
    TableBackend::require(status, "memory_allocate of max_allocation", {__FILE__, __LINE__});
  }
  if (address != 0) {
    const anyplace_stream stream = backend.stream();
    const std::uint64_t end = std::min<std::uint64_t>(largest, 4096);
    backend.fill(stream, address, 1, end);
    backend.fill(stream, address + largest - end, 2, end);
    CHECK_BYTES(backend.read(stream, address + largest - end, end), Bytes(end, 2));
    backend.free(address);
  }
  const std::uint64_t more = largest + std::min(largest / 8 + (2 << 20), ~std::uint64_t{0} - largest);
  CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE, more, &address);
  TableBackend::message();
  begin_using(backend);
}

struct Range {
  std::string what;
  std::uint64_t begin;
  std::uint64_t bytes;
};

ANYPLACE_CASE("facts", "devices.properties",
              "with unified addressing no address belongs to two devices, or to a device and the host") {
  const TableBackend backend(run);
  const anyplace_device_properties facts = backend.properties(backend.device());
  if ((facts.features & ANYPLACE_FEATURE_UNIFIED_ADDRESSING) == 0) skip("unified addressing");
  constexpr std::uint64_t bytes = 4 << 20;
  std::vector<Range> ranges;
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t device = 0; device < std::min(count, 4); ++device) {
    for (int i = 0; i < 2; ++i) {
      anyplace_address address = 0;
      MUST(backend, memory_allocate, device, ANYPLACE_MEMORY_DEVICE, bytes, &address);
      ranges.push_back({"memory of device " + std::to_string(device), address, bytes});
    }
  }
  const std::vector<Bytes> host(3, Bytes(bytes, 1));
  for (const Bytes& one : host) ranges.push_back({"the host's memory", number_of(one.data()), bytes});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].begin + bytes <= ranges[i].begin) continue;
    check_failed(__FILE__, __LINE__, ranges[i - 1].what + " overlaps with " + ranges[i].what);
  }
}

}  // namespace
}  // namespace anyplace::conformance::facts_cases
