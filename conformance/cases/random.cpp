// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: the bits are the same on every backend, each number is drawn once, and each launch of a graph draws
// new ones. The kernels are the library's own. A device that takes none of their images has no random numbers, and its
// cases are skipped.
#include <array>
#include <cstring>

#include "support.h"

namespace anyplace::conformance::random_cases {
namespace {

constexpr std::uint64_t seed = 0x0123456789abcdef;

/// Philox4x32-10 (Salmon et al., SC'11), implemented independently: the first 64 of a counter's 128 bits.
std::uint64_t philox(std::uint64_t counter, std::uint64_t key) {
  std::array<std::uint32_t, 4> at{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * at[0], b = std::uint64_t{0xCD9E8D57} * at[2];
    at = {static_cast<std::uint32_t>(b >> 32) ^ at[1] ^ low, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ at[3] ^ high, static_cast<std::uint32_t>(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return std::uint64_t{at[0]} << 32 | at[1];
}

/// Numbers of all 64 bits are the words of one counter after the other.
Bytes expected_numbers(std::uint64_t offset, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = philox(offset / 4 + i, seed);
  Bytes bytes(count * 8);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// A seeded generator of the device. Skips the case if no image of the kernels can be used.
Generator generator_on(const Device& device) {
  const Generator generator(device);
  CALL(generator.manual_seed(seed));
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 64));
  try {
    generator.bernoulli(stream, RandomTarget(buffer, DType::u8, 1));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_image) throw;
    skip("an image of the generators' kernels");
  }
  CALL(stream.synchronize());
  CALL(generator.manual_seed(seed));
  return generator;
}

void fill_numbers(const Generator& generator, StreamView stream, BufferView buffer) {
  const auto count = static_cast<std::int64_t>(buffer.size_bytes() / 8);
  CALL(generator.integers(stream, RandomTarget(buffer, DType::u64, count), 0, UINT64_MAX));
}

// ---- Bits

struct Count {
  std::string label;
  std::uint64_t count;
};
const std::vector<Count> counts = {{"1 number", 1}, {"17 numbers", 17}, {"100003 numbers", 100003}};

ANYPLACE_CASES(counts, "random", "random.bits", "{} are the words of Philox, and nothing behind them is written",
               Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, parameter.count * 8 + 256, 0x5a);
  fill_numbers(generator, stream, buffer.sub(0, parameter.count * 8));
  Bytes expected = expected_numbers(0, parameter.count);
  expected.resize(buffer.size_bytes(), 0x5a);
  CHECK_BYTES(read(stream, buffer), expected);
}

/// A fill, and the digest that every backend must produce for the seed.
struct Fill {
  std::string label;
  DType type;
  void (*run)(const Generator&, const StreamView&, const RandomTarget&);
  std::uint64_t digest;
};

void uniform(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.uniform(stream, target, -1.25, 7.5));
}
void normal(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.normal(stream, target, 0.3, 1.7));
}
void exponential(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.exponential(stream, target, 0.7));
}
void dice(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.integers(stream, target, 1, 6));
}
void coins(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.bernoulli(stream, target, 0.3));
}
void permutation(const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  CALL(generator.permutation(stream, target));
}

const std::vector<Fill> fills = {
    {"uniform f16", DType::f16, uniform, 0x87c8271c506c8cf2},
    {"uniform bf16", DType::bf16, uniform, 0x36b4f28864c9dc65},
    {"uniform f32", DType::f32, uniform, 0xa7d8ef0857d9ecdd},
    {"uniform f64", DType::f64, uniform, 0xac18247d993f3b4f},
    {"normal f16", DType::f16, normal, 0x564379b94572e01},
    {"normal bf16", DType::bf16, normal, 0x55939509ef006c43},
    {"normal f32", DType::f32, normal, 0x6cf651a7d9eb73a7},
    {"normal f64", DType::f64, normal, 0x381486cc36e7bce4},
    {"exponential f16", DType::f16, exponential, 0x955cae3369e3ab77},
    {"exponential bf16", DType::bf16, exponential, 0x973d4815479f6e8a},
    {"exponential f32", DType::f32, exponential, 0xb79aa8c3aef97740},
    {"exponential f64", DType::f64, exponential, 0xacb297bc17db5fda},
    {"dice i8", DType::i8, dice, 0x1618404f5287a53c},
    {"dice u16", DType::u16, dice, 0x398c0f63ec776920},
    {"dice i32", DType::i32, dice, 0x9ab33964e1c1aa0},
    {"dice u64", DType::u64, dice, 0xd333526a62357020},
    {"coins bool", DType::boolean, coins, 0x88e9dd3a5fa0d694},
    {"coins bf16", DType::bf16, coins, 0x138d1a8c6eb715b0},
    {"coins f32", DType::f32, coins, 0x4c4c24c16af0b338},
    {"coins f64", DType::f64, coins, 0x9be98dec6c8bdbf8},
    {"a permutation i32", DType::i32, permutation, 0xc1ac05871d45a344},
    {"a permutation i64", DType::i64, permutation, 0x10d12ede563adfa4},
};

/// The FNV-1a hash.
std::uint64_t digest(const Bytes& bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (const std::uint8_t byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  return sum;
}

ANYPLACE_CASES(fills, "random", "random.bits", "{} has the bits that it has on every backend", Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  constexpr std::int64_t count = 20011;
  const Buffer buffer = filled(stream, static_cast<std::uint64_t>(count) * size_of(parameter.type), 0);
  CALL(generator.set_offset(4096));
  parameter.run(generator, stream, RandomTarget(buffer, parameter.type, count));
  CHECK_EQUAL(digest(read(stream, buffer)), parameter.digest);
}

ANYPLACE_CASE("random", "random.bits", "all 64 bits of seed and offset count", Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 800, 0);
  for (const std::uint64_t offset : {std::uint64_t{1} << 34, (std::uint64_t{1} << 63) + 4}) {
    CALL(generator.set_offset(offset));
    fill_numbers(generator, stream, buffer);
    CHECK_BYTES(read(stream, buffer), expected_numbers(offset, 100));
  }
}

// ---- Each number once

ANYPLACE_CASE("random", "random.offset", "fills on one stream go on where the one before ended", Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  std::vector<Buffer> buffers;
  for (const std::uint64_t count : {1, 16, 17, 1000}) {
    buffers.push_back(CALL(Buffer(stream, count * 8)));
    fill_numbers(generator, stream, buffers.back());
  }
  std::uint64_t offset = 0;
  for (const Buffer& buffer : buffers) {
    const std::uint64_t count = buffer.size_bytes() / 8;
    CHECK_BYTES(read(stream, buffer), expected_numbers(offset, count));
    offset += (count + 15) / 16 * 64;
  }
  CHECK_EQUAL(CALL(generator.offset()), offset);
}

ANYPLACE_CASE("random", "random.offset", "fills take their numbers at the call, whatever stream they are on",
              Capability::modules, Capability::host_functions) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  HostGate gate;
  const Stream held = CALL(Stream(device)), free = CALL(Stream(device));
  const Buffer first = filled(held, 1600, 0), second = filled(free, 1600, 0);
  gate.hold(held);
  fill_numbers(generator, held, first);
  fill_numbers(generator, free, second);
  CHECK_BYTES(read(free, second), expected_numbers(13 * 64, 200));
  gate.open();
  CHECK_BYTES(read(held, first), expected_numbers(0, 200));
}

ANYPLACE_CASE("random", "random.offset", "a generator whose state is set again gives the same numbers again",
              Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 800, 0);
  fill_numbers(generator, stream, buffer);
  const std::vector<std::byte> state = CALL(generator.get_state());
  fill_numbers(generator, stream, buffer);
  const Bytes after = read(stream, buffer);
  CALL(generator.set_state(state));
  CALL(stream.memset8(buffer, 0));
  fill_numbers(generator, stream, buffer);
  CHECK_BYTES(read(stream, buffer), after);
}

// ---- Graphs

struct Way {
  std::string label;
  bool native;
};
const std::vector<Way> ways = {{"as the device launches it", true}, {"node by node", false}};

ANYPLACE_CASES(ways, "random", "random.graphs", "a graph draws other numbers at each launch, {}", Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  const Buffer first = filled(stream, 800, 0), second = filled(stream, 160, 0);
  CALL(stream.begin_capture());
  fill_numbers(generator, stream, first);
  fill_numbers(generator, stream, second);
  const Graph graph = CALL(stream.end_capture());
  const GraphExec exec = CALL(graph.instantiate({.native = parameter.native}));
  CHECK_EQUAL(CALL(generator.offset()), 0u);
  constexpr std::uint64_t of_first = 7 * 64, of_launch = 9 * 64;
  for (std::uint64_t launch = 0; launch < 4; ++launch) {
    CALL(exec.launch(stream));
    CHECK_BYTES(read(stream, first), expected_numbers(launch * of_launch, 100));
    CHECK_BYTES(read(stream, second), expected_numbers(launch * of_launch + of_first, 20));
  }
  CALL(generator.set_offset(of_launch));
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, first), expected_numbers(of_launch, 100));
}

ANYPLACE_CASES(ways, "random", "random.graphs", "launches right behind each other draw different numbers, {}",
               Capability::modules) {
  const Device device = run.device();
  const Generator generator = generator_on(device);
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 800, 0), kept = filled(stream, 8000, 0);
  CALL(stream.begin_capture());
  fill_numbers(generator, stream, buffer);
  const GraphExec exec = CALL(stream.end_capture().instantiate({.native = parameter.native}));
  Bytes expected;
  for (std::uint64_t launch = 0; launch < 10; ++launch) {
    CALL(exec.launch(stream));
    CALL(stream.copy(kept.sub(launch * 800, 800), buffer));
    const Bytes part = expected_numbers(launch * 7 * 64, 100);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  CHECK_BYTES(read(stream, kept), expected);
}

}  // namespace
}  // namespace anyplace::conformance::random_cases
