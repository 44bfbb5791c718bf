// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: generators, and fills of device memory with what they draw. The same seed gives the same bits on
// every backend, however many threads or streams make them.
//
//   anyplace::manual_seed("cuda:0", 42);                       // doesn't load the backend
//   anyplace::Generator random = anyplace::default_generator(device);
//   random.normal(stream, buffer.as<float>(), 0.0, 1.0);       // submitted, not done
//
// A generator is a seed and an offset: numbers are Philox4x32-10's (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC'11) of the seed as key and the offset as counter. Each fill takes the numbers from the offset on and
// moves the offset behind them, at the call, so that no two fills overlap; the stream's order has nothing to do with
// it. In a graph (graph.h) the offset moves at each launch: a captured fill draws what the fill would have drawn at
// that moment. Seeding a generator or setting its state or offset couldn't become part of the graph, so a thread that
// captures on the generator's device can't do that: it throws capturing, and the capture goes on.
//
// Each device has a generator of its own; others are made freely. docs/random.md has what each fill takes of the
// offset, how its elements are made, how exact they are, and the format of a state.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "address.h"
#include "device.h"
#include "dtype.h"
#include "export.h"
#include "memory.h"
#include "place.h"

namespace anyplace {

class Generator;
class StreamView;

ANYPLACE_API Generator default_generator(const Place& place);

namespace detail {
struct GeneratorState;
struct RandomFill;
}  // namespace detail

/// The memory that a fill writes: `count` elements of a type, in device memory. Owns nothing. The memory begins at a
/// multiple of the element's size.
class RandomTarget {
 public:
  /// All elements of a span; the type is T's (DTypeOf).
  template <class T>
  requires requires { DTypeOf<T>::value; }
  RandomTarget(const BufferSpan<T>& span) noexcept
      : buffer_(span), type_(dtype_of<T>), count_(static_cast<std::int64_t>(span.size())), is_buffer_(true) {}
  /// The first `count` elements of a buffer.
  RandomTarget(const BufferView& buffer, DType type, std::int64_t count) noexcept
      : buffer_(buffer), type_(type), count_(count), is_buffer_(true) {}
  /// `count` elements from an address on. Memory that pointer_attributes() knows is checked as a buffer is; other
  /// memory isn't checked.
  RandomTarget(Address address, DType type, std::int64_t count) noexcept
      : address_(address), type_(type), count_(count) {}

  /// The type of the elements.
  DType type() const noexcept { return type_; }
  /// How many elements there are.
  std::int64_t count() const noexcept { return count_; }

 private:
  friend struct detail::RandomFill;

  BufferView buffer_;
  Address address_;
  DType type_ = DType::f32;
  std::int64_t count_ = 0;
  bool is_buffer_ = false;
};

/// A whole number of up to 64 bits, with or without a sign, as an end of a range.
class RandomInteger {
 public:
  /// Any integer but bool; its value is kept whatever its type.
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr RandomInteger(T value) noexcept
      : bits_(static_cast<std::uint64_t>(value)), negative_(value < T(0)) {}

  constexpr std::uint64_t bits() const noexcept { return bits_; }  ///< two's complement
  /// Whether the number is less than 0.
  constexpr bool negative() const noexcept { return negative_; }

 private:
  std::uint64_t bits_;
  bool negative_;
};

/// A generator of one device. Copies name the same generator. One that was moved from names none, and its members throw
/// invalid_handle. Every member may be called from any thread, also at the same time: then it is unspecified which fill
/// takes which numbers, and no two take the same.
///
/// Fills throw invalid_argument, before anything is drawn or submitted, for a stream or memory of another device, a
/// type that the distribution doesn't have, fewer bytes than elements, a negative count, and bad parameters as each
/// says. A fill of 0 elements does nothing, and takes nothing of the offset. A device that takes no image of the
/// library's kernels throws invalid_image, which says which ones it takes. Every fill can throw what Stream::launch
/// throws.
class ANYPLACE_API Generator {
 public:
  /// The seed of a generator that was made freely, until it gets another one; the number is torch's.
  static constexpr std::uint64_t default_seed = 67280421310721;

  /// Makes a further generator, beside the device's own. A place that names an index loads nothing.
  explicit Generator(const Device& device);
  /// As above, for the device that the place names.
  explicit Generator(const Place& place);

  /// The device's place: "cuda:0".
  Place place() const;

  // -- Seeds and states.
  /// Sets the seed, and the offset to 0.
  void manual_seed(std::uint64_t seed) const;
  /// Sets a seed of 53 bits from the system's random source, and returns it.
  std::uint64_t seed() const;
  /// The seed. Drawing numbers and setting the offset don't change it.
  std::uint64_t initial_seed() const;
  /// Where the next fill begins, in words of 32 bits.
  std::uint64_t offset() const;
  /// Sets the offset. Throws invalid_argument unless it is a multiple of 4.
  void set_offset(std::uint64_t offset) const;
  /// Seed and offset, in 24 bytes that may be kept, and given to a generator of any device.
  std::vector<std::byte> get_state() const;
  /// Sets seed and offset. Throws invalid_argument for bytes that get_state() didn't return: another size, or another
  /// kind of generator.
  void set_state(std::span<const std::byte> state) const;
  /// Another generator of the same device, with the same seed and offset.
  Generator clone() const;

  // -- Fills. The types are f16, bf16, f32 and f64 unless something else is said.
  /// Evenly distributed from `low` on and below `high`. Both are finite and are rounded to the type, in which `low`
  /// still has to be less than `high` and their distance finite.
  void uniform(const StreamView& stream, const RandomTarget& target, double low = 0.0, double high = 1.0) const;
  /// Normally distributed. `mean` and `stddev` are finite in the type (in f32 for f16 and bf16), and `stddev` isn't
  /// negative.
  void normal(const StreamView& stream, const RandomTarget& target, double mean = 0.0, double stddev = 1.0) const;
  /// Exponentially distributed, with mean 1 / rate. The rate is above 0, and it and 1 / rate are finite in the type.
  void exponential(const StreamView& stream, const RandomTarget& target, double rate = 1.0) const;
  /// Whole numbers from `first` to `last`, both included, of the types i8 to i64 and u8 to u64. `first` is at most
  /// `last`, and both are numbers of the type.
  void integers(const StreamView& stream, const RandomTarget& target, RandomInteger first, RandomInteger last) const;
  /// 1 with probability `p`, from 0 to 1, and else 0. The types are boolean, u8 and the four floating-point types.
  void bernoulli(const StreamView& stream, const RandomTarget& target, double p = 0.5) const;
  /// The numbers from 0 to one less than the count, in random order. The types are i32 and i64.
  void permutation(const StreamView& stream, const RandomTarget& target) const;

 private:
  friend class ForkRng;
  friend ANYPLACE_API Generator default_generator(const Place& place);
  explicit Generator(std::shared_ptr<detail::GeneratorState> state) noexcept;
  /// The state of the generator. Throws invalid_handle for one that was moved from.
  const std::shared_ptr<detail::GeneratorState>& state(const char* operation) const;

  std::shared_ptr<detail::GeneratorState> state_;
};

// -- The devices' own generators. A place is a device's text: "cuda:1"; a name alone means the calling thread's current
// device. Such places load nothing; a selector and `auto` load the backend, as nothing else tells which device they
// mean. A device that isn't there has a generator all the same, which nobody can use. All throw forked, shut_down and
// not_permitted; those that load something also no_such_backend and no_such_device.

/// A device's own generator. Until it is seeded, its seed comes from the system's random source.
ANYPLACE_API Generator default_generator(const Place& place);
/// As above, for a device that is at hand.
inline Generator default_generator(const Device& device) { return default_generator(device.place()); }

/// Seeds the generator of the device that the place names, as Generator::manual_seed does.
ANYPLACE_API void manual_seed(const Place& place, std::uint64_t seed);
/// As above, for a place as text. Throws as Place does.
inline void manual_seed(std::string_view place, std::uint64_t seed) { manual_seed(Place(place), seed); }
/// Seeds the generators of all devices of a backend, also those that haven't been used yet.
ANYPLACE_API void manual_seed_all(std::string_view backend, std::uint64_t seed);
/// Seeds the device's generator as Generator::seed does.
ANYPLACE_API std::uint64_t seed(const Place& place);
/// Seeds all devices of a backend with one seed from the system's random source, and returns it.
ANYPLACE_API std::uint64_t seed_all(std::string_view backend);
/// The seed of the device's generator, as Generator::initial_seed gives it.
ANYPLACE_API std::uint64_t initial_seed(const Place& place);
/// The state of the device's generator, as Generator::get_state gives it.
ANYPLACE_API std::vector<std::byte> get_rng_state(const Place& place);
/// Sets the state of the device's generator, as Generator::set_state does.
ANYPLACE_API void set_rng_state(const Place& place, std::span<const std::byte> state);
/// The states of all devices of a backend, which this loads. Throws as device_count() does.
ANYPLACE_API std::vector<std::vector<std::byte>> get_rng_state_all(std::string_view backend);
/// Sets the states of all devices of a backend, which this loads: the first state is for device 0, and so on. Throws
/// invalid_argument for another number of states. All states are checked before the first is set.
ANYPLACE_API void set_rng_state_all(std::string_view backend, std::span<const std::vector<std::byte>> states);

/// Keeps the states of devices' generators, and restores them when it ends, so that drawing meanwhile leaves no trace.
/// A fill that is captured meanwhile isn't drawn then but at each launch of its graph, which moves the offset of that
/// moment, as in torch. Throws capturing as setting a state does. Its name is torch's: torch.random.fork_rng.
class ANYPLACE_API ForkRng {
 public:
  /// Keeps the states of the generators of `places`.
  [[nodiscard]] explicit ForkRng(std::span<const Place> places);
  /// As above, for a list: ForkRng keep{Place("cuda:0")}.
  [[nodiscard]] ForkRng(std::initializer_list<Place> places)
      : ForkRng(std::span<const Place>(places.begin(), places.size())) {}
  ForkRng(const ForkRng&) = delete;  // bound to its scope
  ForkRng& operator=(const ForkRng&) = delete;
  ~ForkRng();

 private:
  struct Kept {
    Generator generator;
    std::uint64_t seed;
    std::uint64_t offset;
  };
  std::vector<Kept> kept_;
};

}  // namespace anyplace
