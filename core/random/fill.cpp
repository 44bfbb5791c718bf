// SPDX-License-Identifier: Apache-2.0
//
// The public fills. Each says what its kernel is called, what parameters that takes and how many elements a Philox
// counter gives. RandomFill does what is the same for all: it refuses what is wrong, takes numbers from the generator
// and launches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "anyplace/backend/kit/half.h"
#include "anyplace/random.h"
#include "anyplace/stream.h"
#include "kernels/drawing.h"
#include "memory/memory_state.h"
#include "random/device_kernels.h"
#include "random/draw.h"
#include "random/generator_state.h"
#include "random/permutation.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "streams/stream_state.h"

namespace anyplace {

namespace detail {

struct RandomFill {
  const std::shared_ptr<GeneratorState>& generator;
  const StreamView& stream;
  const RandomTarget& target;
  const char* operation;

  [[noreturn]] void refuse(const std::string& text) const {
    fail(ErrorCode::invalid_argument, generator->place(), operation, text + "\nsee docs/random.md");
  }
  /// Throws unless the type is one of `types`, which are those that the distribution has.
  void require_type(std::initializer_list<DType> types, const char* distribution) const {
    std::string names;
    for (const DType type : types) {
      if (type == target.type()) return;
      names += std::string(names.empty() ? "" : ", ") + to_string(type);
    }
    refuse(fmt::format("{} doesn't make {}\nit makes {}", distribution, to_string(target.type()), names));
  }
  void require_finite(double value, const char* what) const {
    if (!std::isfinite(value)) refuse(fmt::format("{} is {}\nit is a finite number", what, value));
  }

  /// The memory to write, and the pin that keeps it during the call.
  struct Memory {
    Pin<BufferState> buffer;
    anyplace_address address = 0;
  };

  void require_same_device(const DeviceState& device, const char* what) const {
    if (device.index == generator->index && device.backend->name == generator->backend) return;
    refuse(fmt::format("the generator is of {}, and the {} is of {}\nuse that device's generator, or make one for it",
                       generator->place(), what, device.place));
  }

  Memory memory(DeviceState& device) const {
    const std::uint64_t size = size_of(target.type());
    const auto count = static_cast<std::uint64_t>(target.count());
    const std::uint64_t bytes = count > UINT64_MAX / size ? UINT64_MAX : count * size;
    Memory found = target.is_buffer_ ? of_buffer(device, count, bytes) : of_address(device, count, bytes);
    if (found.address % size != 0) {
      refuse(fmt::format("the memory begins at {:#x}\nelements of {} begin at a multiple of {} bytes", found.address,
                         to_string(target.type()), size));
    }
    return found;
  }

  /// A kernel that makes `per` elements of a counter takes whole groups of 16 counters, which have 4 words each.
  static std::uint64_t words_of(std::int64_t count, std::uint64_t per) noexcept { return groups_of(count, per) * 64; }
  static std::uint64_t groups_of(std::int64_t count, std::uint64_t per) noexcept {
    const std::uint64_t group = per * 16;
    return (static_cast<std::uint64_t>(count) + group - 1) / group;
  }

  /// Checks stream, device and memory, before the parameters are looked at. False if there is nothing to fill.
  bool begin() const {
    const Pin<StreamState> pinned = streams().pin(stream.id(), operation);
    require_same_device(*pinned->device, "stream");
    if (target.count() < 0) {
      refuse(fmt::format("{} elements are to be filled\na count is 0 or more", target.count()));
    }
    require_usable(*pinned->device, operation);
    const Memory found = memory(*pinned->device);
    return target.count() != 0;
  }

  template <class... Parameters>
  void launch(const char* kernel_name, std::uint64_t per, std::uint64_t words, const Parameters&... parameters) const {
    const Pin<StreamState> pinned = streams().pin(stream.id(), operation);
    DeviceState& device = *pinned->device;
    const Memory to = memory(device);
    const KernelView kernel = random_kernel(device, kernel_name, operation);
    const LaunchConfig shape = random_shape(device, groups_of(target.count(), per), operation);
    // A captured launch takes its numbers at each launch of the graph.
    const bool captured = pinned->captured.load(std::memory_order_acquire);
    const GeneratorState::Numbers numbers = captured ? generator->now() : generator->take(words);

    const std::uint64_t address = to.address, state = 0;
    const std::int64_t count = target.count();
    const std::array<anyplace_argument, 5 + sizeof...(Parameters)> arguments{{
        {ANYPLACE_ARGUMENT_ADDRESS, sizeof(address), &address},
        {ANYPLACE_ARGUMENT_VALUE, sizeof(count), &count},
        {ANYPLACE_ARGUMENT_ADDRESS, sizeof(state), &state},
        {ANYPLACE_ARGUMENT_VALUE, sizeof(numbers.seed), &numbers.seed},
        {ANYPLACE_ARGUMENT_VALUE, sizeof(numbers.offset), &numbers.offset},
        {ANYPLACE_ARGUMENT_VALUE, sizeof(parameters), &parameters}...,
    }};
    anyplace_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.grid[0] = shape.grid.x;
    launch.block[0] = shape.block.x;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.argument_count = static_cast<std::uint32_t>(arguments.size());
    launch.argument_stride = sizeof(anyplace_argument);
    launch.arguments = arguments.data();
    note_argument(ANYPLACE_ACCESS_WRITE, address, static_cast<std::uint64_t>(count) * size_of(target.type()));
    launch_drawing(stream.id(), kernel.id(), launch, std::make_shared<const RandomDraw>(RandomDraw{generator, words}),
                   operation);
  }

 private:
  [[noreturn]] void refuse_size(std::uint64_t count, std::uint64_t needed, std::uint64_t there) const {
    refuse(fmt::format("{} elements of {} take {} bytes, and the memory has {}\nmake it larger, or fill fewer", count,
                       to_string(target.type()), needed, there));
  }

  Memory of_buffer(const DeviceState& device, std::uint64_t count, std::uint64_t bytes) const {
    PinnedRange range = pin_range(target.buffer_, operation);
    if (range.device != nullptr && range.device != &device) require_same_device(*range.device, "buffer");
    if (bytes > range.bytes) refuse_size(count, bytes, range.bytes);
    return {std::move(range.buffer), range.address};
  }

  Memory of_address(const DeviceState& device, std::uint64_t count, std::uint64_t bytes) const {
    if (count != 0 && target.address_.value() == 0) refuse("the address is 0\ngive the address of device memory");
    const PointerAttributes known = pointer_attributes(target.address_);
    const bool is_devices = known.kind == AddressKind::device || known.kind == AddressKind::managed;
    if (is_devices && known.device && known.device->state() != &device) {
      require_same_device(*known.device->state(), "memory");
    }
    if (known.kind != AddressKind::unknown && bytes > known.size_bytes - known.offset) {
      refuse_size(count, bytes, known.size_bytes - known.offset);
    }
    return {{}, target.address_.value()};
  }
};

namespace {

// ---- Floating-point parameters -------------------------------------------------------------------------------------

/// Gives the number of the format that is nearest to a float, or infinity if that is too large.
template <class Format>
float rounded_to(float x) {
  return Format::load(Format::store(x));
}

/// Gives the largest number of the format that is less than `x`, which is one of the format's, too.
template <class Format>
float below(float x) {
  const auto bits = Format::store(x);
  if (x == 0.0f) return -Format::load(1);
  // The bits count up from zero in either direction.
  return Format::load(static_cast<std::uint16_t>(x > 0 ? bits - 1 : bits + 1));
}

/// Gives the value that an element of the type has; infinite if `x` is too large for the type.
float as_element(DType type, float x) {
  if (type == DType::bf16) return rounded_to<backend::Bfloat16>(x);
  return type == DType::f16 ? rounded_to<backend::Binary16>(x) : x;
}

/// Gives the largest element below `x`, which is a value of the type, too.
float below_element(DType type, float x) {
  if (type == DType::bf16) return below<backend::Bfloat16>(x);
  if (type == DType::f16) return below<backend::Binary16>(x);
  return std::nextafter(x, -std::numeric_limits<float>::infinity());
}

template <class Value>
struct Ends {
  Value low, width, most;
};

template <class Value>
Ends<Value> ends_of(const RandomFill& fill, double low, double high) {
  fill.require_finite(low, "the lower end");
  fill.require_finite(high, "the upper end");
  const auto as = [&](double x) {
    const Value value = static_cast<Value>(x);
    if constexpr (std::is_same_v<Value, float>) return as_element(fill.target.type(), value);
    return value;
  };
  const Value from = as(low), to = as(high), width = to - from;
  const char* const type = to_string(fill.target.type());
  if (!(low < high))
    fill.refuse(fmt::format("there is nothing from {} on and below {}\nthe lower end comes first", low, high));
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(width)) {
    fill.refuse(fmt::format("{} to {} is too wide for {}\nboth ends and their distance are finite numbers of the type",
                            low, high, type));
  }
  if (!(from < to)) {
    fill.refuse(fmt::format("{} and {} are the same number of {}\nmove the ends apart", low, high, type));
  }
  if constexpr (std::is_same_v<Value, float>)
    return {from, width, below_element(fill.target.type(), to)};
  else
    return {from, width, std::nextafter(to, -std::numeric_limits<double>::infinity())};
}

/// Gives `x`, which is finite, as what the kernel computes with. Throws unless it is finite then, too.
template <class Value>
Value as_value(const RandomFill& fill, double x, const char* what) {
  const auto value = static_cast<Value>(x);
  if (!std::isfinite(value)) {
    fill.refuse(
        fmt::format("{} is {}, too large for {}\nit is finite in the type", what, x, to_string(fill.target.type())));
  }
  return value;
}

constexpr std::initializer_list<DType> floating = {DType::f16, DType::bf16, DType::f32, DType::f64};

/// Gives "uniform_f32" for ("uniform", DType::f32).
std::string name_of(const char* distribution, DType type) {
  return fmt::format("{}_{}", distribution, to_string(type));
}

/// Gives "integers_32" for ("integers", DType::i32).
std::string name_of_bits(const char* distribution, DType type) {
  return fmt::format("{}_{}", distribution, size_of(type) * 8);
}

// ---- Integers ------------------------------------------------------------------------------------------------------

struct Limits {
  std::int64_t least;
  std::uint64_t most;
};

Limits limits_of(DType type) noexcept {
  const auto bits = static_cast<unsigned>(size_of(type) * 8);
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
  const std::uint64_t all = UINT64_MAX >> (64 - bits);
  if (!is_signed) return {0, all};
  return {-static_cast<std::int64_t>(all / 2) - 1, all / 2};
}

std::string shown(RandomInteger number) {
  return number.negative() ? std::to_string(static_cast<std::int64_t>(number.bits())) : std::to_string(number.bits());
}

bool is_less(RandomInteger a, RandomInteger b) noexcept {
  if (a.negative() != b.negative()) return a.negative();
  return a.bits() < b.bits();
}

void require_within(const RandomFill& fill, RandomInteger number) {
  const Limits limits = limits_of(fill.target.type());
  if (!is_less(number, limits.least) && !is_less(limits.most, number)) return;
  fill.refuse(fmt::format("{} is no number of {}\nits numbers go from {} to {}", shown(number),
                          to_string(fill.target.type()), limits.least, limits.most));
}

// ---- Bernoulli -----------------------------------------------------------------------------------------------------

/// Gives the bits of a 1.
std::uint64_t one_of(DType type) noexcept {
  switch (type) {
    case DType::f16:
      return 0x3c00;
    case DType::bf16:
      return 0x3f80;
    case DType::f32:
      return 0x3f800000;
    case DType::f64:
      return 0x3ff0000000000000;
    default:
      return 1;
  }
}

}  // namespace
}  // namespace detail

using detail::RandomFill;

void Generator::uniform(const StreamView& stream, const RandomTarget& target, double low, double high) const {
  constexpr const char* operation = "Generator::uniform";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type(detail::floating, "uniform");
  const bool is_double = target.type() == DType::f64;
  const auto narrow = is_double ? detail::Ends<float>{} : detail::ends_of<float>(fill, low, high);
  const auto wide = is_double ? detail::ends_of<double>(fill, low, high) : detail::Ends<double>{};
  if (!fill.begin()) return;
  const std::string name = detail::name_of("uniform", target.type());
  if (is_double) {
    fill.launch(name.c_str(), 2, RandomFill::words_of(target.count(), 2), wide.low, wide.width, wide.most);
  } else {
    fill.launch(name.c_str(), 4, RandomFill::words_of(target.count(), 4), narrow.low, narrow.width, narrow.most);
  }
}

void Generator::normal(const StreamView& stream, const RandomTarget& target, double mean, double stddev) const {
  constexpr const char* operation = "Generator::normal";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type(detail::floating, "normal");
  fill.require_finite(mean, "the mean");
  fill.require_finite(stddev, "the standard deviation");
  if (stddev < 0) fill.refuse(fmt::format("the standard deviation is {}\nit is 0 or more", stddev));
  const std::string name = detail::name_of("normal", target.type());
  if (target.type() == DType::f64) {
    if (fill.begin()) fill.launch(name.c_str(), 2, RandomFill::words_of(target.count(), 2), mean, stddev);
    return;
  }
  const auto narrow_mean = detail::as_value<float>(fill, mean, "the mean");
  const auto narrow_deviation = detail::as_value<float>(fill, stddev, "the standard deviation");
  if (!fill.begin()) return;
  fill.launch(name.c_str(), 4, RandomFill::words_of(target.count(), 4), narrow_mean, narrow_deviation);
}

void Generator::exponential(const StreamView& stream, const RandomTarget& target, double rate) const {
  constexpr const char* operation = "Generator::exponential";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type(detail::floating, "exponential");
  fill.require_finite(rate, "the rate");
  if (!(rate > 0)) fill.refuse(fmt::format("the rate is {}\nit is above 0", rate));
  const double scale = 1.0 / rate;
  if (!std::isfinite(scale)) fill.refuse(fmt::format("the rate is {}, and 1 / rate too large\nit is finite", rate));
  const std::string name = detail::name_of("exponential", target.type());
  if (target.type() == DType::f64) {
    if (fill.begin()) fill.launch(name.c_str(), 2, RandomFill::words_of(target.count(), 2), scale);
    return;
  }
  detail::as_value<float>(fill, rate, "the rate");
  const auto narrow = detail::as_value<float>(fill, scale, "1 / rate");
  if (fill.begin()) fill.launch(name.c_str(), 4, RandomFill::words_of(target.count(), 4), narrow);
}

void Generator::integers(const StreamView& stream, const RandomTarget& target, RandomInteger first,
                         RandomInteger last) const {
  constexpr const char* operation = "Generator::integers";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type({DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64},
                    "integers");
  if (detail::is_less(last, first)) {
    fill.refuse(fmt::format("there is nothing from {} to {}\nthe first number is at most the last",
                            detail::shown(first), detail::shown(last)));
  }
  detail::require_within(fill, first);
  detail::require_within(fill, last);
  if (!fill.begin()) return;
  const std::uint64_t from = first.bits();
  const std::uint64_t numbers = last.bits() - from + 1;  // 0 stands for 2^64
  if (numbers == 0 || numbers > std::uint64_t{1} << 32) {
    fill.launch("integers_wide", 1, RandomFill::words_of(target.count(), 1), from, numbers);
  } else {
    const std::string name = detail::name_of_bits("integers", target.type());
    fill.launch(name.c_str(), 2, RandomFill::words_of(target.count(), 2), from, numbers);
  }
}

void Generator::bernoulli(const StreamView& stream, const RandomTarget& target, double p) const {
  constexpr const char* operation = "Generator::bernoulli";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type({DType::boolean, DType::u8, DType::f16, DType::bf16, DType::f32, DType::f64}, "bernoulli");
  if (!(p >= 0 && p <= 1)) fill.refuse(fmt::format("the probability is {}\nit is from 0 to 1", p));
  if (!fill.begin()) return;
  const auto hits = static_cast<std::uint64_t>(std::nearbyint(p * 0x1p32));  // so many of all 2^32 words
  const std::uint64_t one = hits == 0 ? 0 : detail::one_of(target.type());
  const auto last = static_cast<std::uint32_t>(hits == 0 ? 0 : hits - 1);
  const std::string name = detail::name_of_bits("bernoulli", target.type());
  fill.launch(name.c_str(), 4, RandomFill::words_of(target.count(), 4), one, last);
}

void Generator::permutation(const StreamView& stream, const RandomTarget& target) const {
  constexpr const char* operation = "Generator::permutation";
  detail::enter(operation);
  const RandomFill fill{state(operation), stream, target, operation};
  fill.require_type({DType::i32, DType::i64}, "permutation");
  const bool narrow = target.type() == DType::i32;
  if (narrow && target.count() > std::int64_t{1} << 31) {
    fill.refuse(fmt::format("i32 has no number for each of {} elements\nuse i64", target.count()));
  }
  if (!fill.begin()) return;
  fill.launch(narrow ? "permutation_32" : "permutation_64", 4, random::permutation_blocks * 4);
}

}  // namespace anyplace
