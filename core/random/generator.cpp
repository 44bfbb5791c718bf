// SPDX-License-Identifier: Apache-2.0
//
// Generators: their seeds and states, and the one that each device has. The fills are in fill.cpp.
//
// The devices' generators are kept by name, apart from the devices, because seeding one may not load its backend.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "anyplace/random.h"
#include "plugins/names.h"
#include "plugins/plugin_search.h"
#include "plugins/registry.h"
#include "random/generator_state.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "streams/capture.h"

namespace anyplace {

namespace detail {
namespace {

// ---- Which device's ------------------------------------------------------------------------------------------------

/// Gives the backend's own name, as far as it can be told without loading anything. An alias that is a symbolic link is
/// followed by the names of the files alone.
std::string own_name(const std::string& name) {
  std::string real(without_table_alias(name));
  if (real == name && loaded_backend(name) == nullptr) {
    if (const std::string other = link_alias(name); !other.empty()) real = without_table_alias(other);
  }
  return real;
}

using Key = std::pair<std::string, int>;

Key key_of(const Place& place) {
  const bool named = place.kind() == Place::Kind::index || place.kind() == Place::Kind::current;
  if (!named) {
    const Device device(place);
    return {device.backend(), device.index()};
  }
  std::string backend = own_name(place.name());
  if (place.kind() == Place::Kind::index) return {std::move(backend), *place.index()};
  // Nobody can have made another device current of a backend that isn't loaded.
  const int current = loaded_backend(backend) != nullptr ? current_device(backend).index() : 0;
  return {std::move(backend), current};
}

/// Throws invalid_argument for text that is no name.
std::string backend_named(std::string_view text, const char* operation) {
  const std::string name(text);
  const std::string problem = name == automatic_name ? "\"auto\" stands for one device" : name_problem(name);
  if (!problem.empty()) {
    fail(ErrorCode::invalid_argument, "", operation,
         fmt::format("{}\nname a backend, without a device: \"cuda\"", problem));
  }
  return own_name(name);
}

/// Gives a seed of 53 bits, as torch does, so that a double holds it.
std::uint64_t random_seed() {
  std::random_device source;
  const std::uint64_t high = source(), low = source();
  return (high << 32 | (low & 0xffffffffu)) & ((std::uint64_t{1} << 53) - 1);
}

// ---- The devices' own ----------------------------------------------------------------------------------------------

using State = std::shared_ptr<GeneratorState>;

struct Defaults {
  std::mutex mutex;  // guards what follows; generators' own mutexes are taken under it
  std::map<Key, State> generators;
  std::map<std::string, std::uint64_t> seeds;  ///< for generators that aren't there yet, by backend
};

/// The table is never destroyed, because generators may be used until the process ends.
Defaults& defaults() {
  static NoDestructor<Defaults> all;
  return all.value;
}

/// The caller holds the table's mutex.
State& find_or_make(Defaults& all, const Key& key) {
  State& state = all.generators[key];
  if (state == nullptr) {
    const auto seeded = all.seeds.find(key.first);
    const std::uint64_t seed = seeded != all.seeds.end() ? seeded->second : random_seed();
    state = std::make_shared<GeneratorState>(key.first, key.second, seed);
  }
  return state;
}

State default_state(const Key& key) {
  Defaults& all = defaults();
  const std::lock_guard lock(all.mutex);
  return find_or_make(all, key);
}

void seed_backend(const std::string& backend, std::uint64_t seed) {
  Defaults& all = defaults();
  const std::lock_guard lock(all.mutex);
  all.seeds[backend] = seed;
  for (const auto& [key, state] : all.generators) {
    if (key.first == backend) state->set({seed, 0});
  }
}

/// Throws capturing if the calling thread captures on that device, or on any of the backend's if `index` is negative.
/// What is set then would have no part in the graph, because each launch draws from the state of its moment.
void refuse_in_capture(const std::string& backend, int index, const char* operation) {
  if (!captures_here(backend, index)) return;
  fail(
      ErrorCode::capturing, index < 0 ? backend : fmt::format("{}:{}", backend, index), operation,
      "the state of a generator is set while this thread captures on its device, and a graph draws from the state that "
      "is there at each launch\nset it before the launch, or before begin_capture()\nsee docs/random.md");
}
void refuse_in_capture(const Key& key, const char* operation) { refuse_in_capture(key.first, key.second, operation); }
void refuse_in_capture(const GeneratorState& state, const char* operation) {
  refuse_in_capture(state.backend, state.index, operation);
}

// ---- States as bytes -----------------------------------------------------------------------------------------------

// The bytes say what kind of generator it is, the seed and the offset. Numbers have their lowest byte first.
constexpr std::array<char, 8> state_mark{'p', 'h', 'i', 'l', 'o', 'x', '1', '0'};
constexpr std::size_t state_bytes = 24;

void put(std::byte* at, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) at[i] = static_cast<std::byte>(number >> (8 * i));
}
std::uint64_t number_at(const std::byte* at) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return number;
}

std::vector<std::byte> bytes_of_state(GeneratorState::Numbers numbers) {
  std::vector<std::byte> bytes(state_bytes);
  std::memcpy(bytes.data(), state_mark.data(), state_mark.size());
  put(bytes.data() + 8, numbers.seed);
  put(bytes.data() + 16, numbers.offset);
  return bytes;
}

void require_offset(std::uint64_t offset, const std::string& place, const char* operation) {
  if (offset % 4 == 0) return;
  fail(
      ErrorCode::invalid_argument, place, operation,
      fmt::format("the offset is {}\nan offset is a multiple of 4, the words of one Philox counter\nsee docs/random.md",
                  offset));
}

GeneratorState::Numbers numbers_of_state(std::span<const std::byte> bytes, const std::string& place,
                                         const char* operation) {
  if (bytes.size() != state_bytes) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("the state has {} bytes\na generator's state has {}, as get_state() returns them\nsee "
                     "docs/random.md",
                     bytes.size(), state_bytes));
  }
  if (std::memcmp(bytes.data(), state_mark.data(), state_mark.size()) != 0) {
    fail(ErrorCode::invalid_argument, place, operation,
         "the state is of another kind of generator\nit begins with \"philox10\", as get_state() returns it\nsee "
         "docs/random.md");
  }
  const GeneratorState::Numbers numbers{number_at(bytes.data() + 8), number_at(bytes.data() + 16)};
  require_offset(numbers.offset, place, operation);
  return numbers;
}

}  // namespace
}  // namespace detail

// ---- Generator -----------------------------------------------------------------------------------------------------

Generator::Generator(std::shared_ptr<detail::GeneratorState> state) noexcept : state_(std::move(state)) {}

Generator::Generator(const Place& place) {
  detail::enter("Generator");
  detail::Key key = detail::key_of(place);
  state_ = std::make_shared<detail::GeneratorState>(std::move(key.first), key.second, default_seed);
}

Generator::Generator(const Device& device) : Generator(device.place()) {}

const std::shared_ptr<detail::GeneratorState>& Generator::state(const char* operation) const {
  if (state_ == nullptr) {
    detail::fail(ErrorCode::invalid_handle, "", operation,
                 "the generator is null: it was moved from\nmake one, or copy it instead of moving it: copies name the "
                 "same generator");
  }
  return state_;
}

Place Generator::place() const {
  const detail::GeneratorState& now = *state("Generator::place");
  return Place(now.backend, now.index);
}

void Generator::manual_seed(std::uint64_t seed) const {
  constexpr const char* operation = "Generator::manual_seed";
  detail::enter(operation);
  detail::refuse_in_capture(*state(operation), operation);
  state(operation)->set({seed, 0});
}

std::uint64_t Generator::seed() const {
  constexpr const char* operation = "Generator::seed";
  detail::enter(operation);
  detail::refuse_in_capture(*state(operation), operation);
  const std::uint64_t seed = detail::random_seed();
  state(operation)->set({seed, 0});
  return seed;
}

std::uint64_t Generator::initial_seed() const {
  constexpr const char* operation = "Generator::initial_seed";
  detail::enter(operation);
  return state(operation)->now().seed;
}

std::uint64_t Generator::offset() const {
  constexpr const char* operation = "Generator::offset";
  detail::enter(operation);
  return state(operation)->now().offset;
}

void Generator::set_offset(std::uint64_t offset) const {
  constexpr const char* operation = "Generator::set_offset";
  detail::enter(operation);
  detail::refuse_in_capture(*state(operation), operation);
  detail::require_offset(offset, state(operation)->place(), operation);
  state(operation)->set_offset(offset);
}

std::vector<std::byte> Generator::get_state() const {
  constexpr const char* operation = "Generator::get_state";
  detail::enter(operation);
  return detail::bytes_of_state(state(operation)->now());
}

void Generator::set_state(std::span<const std::byte> bytes) const {
  constexpr const char* operation = "Generator::set_state";
  detail::enter(operation);
  const std::shared_ptr<detail::GeneratorState>& own = state(operation);
  detail::refuse_in_capture(*own, operation);
  own->set(detail::numbers_of_state(bytes, own->place(), operation));
}

Generator Generator::clone() const {
  constexpr const char* operation = "Generator::clone";
  detail::enter(operation);
  const std::shared_ptr<detail::GeneratorState>& own = state(operation);
  auto copy = std::make_shared<detail::GeneratorState>(own->backend, own->index, 0);
  copy->set(own->now());
  return Generator(std::move(copy));
}

// ---- The devices' own ----------------------------------------------------------------------------------------------

Generator default_generator(const Place& place) {
  detail::enter("default_generator");
  return Generator(detail::default_state(detail::key_of(place)));
}

void manual_seed(const Place& place, std::uint64_t seed) {
  constexpr const char* operation = "manual_seed";
  detail::enter(operation);
  const detail::Key key = detail::key_of(place);
  detail::refuse_in_capture(key, operation);
  detail::default_state(key)->set({seed, 0});
}

void manual_seed_all(std::string_view backend, std::uint64_t seed) {
  constexpr const char* operation = "manual_seed_all";
  detail::enter(operation);
  const std::string name = detail::backend_named(backend, operation);
  detail::refuse_in_capture(name, -1, operation);
  detail::seed_backend(name, seed);
}

std::uint64_t seed(const Place& place) {
  constexpr const char* operation = "seed";
  detail::enter(operation);
  const detail::Key key = detail::key_of(place);
  detail::refuse_in_capture(key, operation);
  const std::uint64_t seed = detail::random_seed();
  detail::default_state(key)->set({seed, 0});
  return seed;
}

std::uint64_t seed_all(std::string_view backend) {
  constexpr const char* operation = "seed_all";
  detail::enter(operation);
  const std::string name = detail::backend_named(backend, operation);
  detail::refuse_in_capture(name, -1, operation);
  const std::uint64_t seed = detail::random_seed();
  detail::seed_backend(name, seed);
  return seed;
}

std::uint64_t initial_seed(const Place& place) {
  detail::enter("initial_seed");
  return detail::default_state(detail::key_of(place))->now().seed;
}

std::vector<std::byte> get_rng_state(const Place& place) {
  detail::enter("get_rng_state");
  return detail::bytes_of_state(detail::default_state(detail::key_of(place))->now());
}

void set_rng_state(const Place& place, std::span<const std::byte> state) {
  constexpr const char* operation = "set_rng_state";
  detail::enter(operation);
  const detail::Key key = detail::key_of(place);
  detail::refuse_in_capture(key, operation);
  const detail::GeneratorState::Numbers numbers = detail::numbers_of_state(state, place.to_string(), operation);
  detail::default_state(key)->set(numbers);
}

std::vector<std::vector<std::byte>> get_rng_state_all(std::string_view backend) {
  constexpr const char* operation = "get_rng_state_all";
  detail::enter(operation);
  const std::string name = detail::backend_named(backend, operation);
  const int count = device_count(name);
  std::vector<std::vector<std::byte>> states;
  for (int i = 0; i < count; ++i) states.push_back(detail::bytes_of_state(detail::default_state({name, i})->now()));
  return states;
}

void set_rng_state_all(std::string_view backend, std::span<const std::vector<std::byte>> states) {
  constexpr const char* operation = "set_rng_state_all";
  detail::enter(operation);
  const std::string name = detail::backend_named(backend, operation);
  detail::refuse_in_capture(name, -1, operation);
  const int count = device_count(name);
  if (states.size() != static_cast<std::size_t>(count)) {
    detail::fail(ErrorCode::invalid_argument, name, operation,
                 fmt::format("there are {} states, and {} has {} devices\ngive one for each, as get_rng_state_all "
                             "returns them; set_rng_state sets one device's",
                             states.size(), name, count));
  }
  std::vector<detail::GeneratorState::Numbers> numbers;
  for (std::size_t i = 0; i < states.size(); ++i) {
    numbers.push_back(detail::numbers_of_state(states[i], fmt::format("{}:{}", name, i), operation));
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    detail::default_state({name, static_cast<int>(i)})->set(numbers[i]);
  }
}

ForkRng::ForkRng(std::span<const Place> places) {
  constexpr const char* operation = "ForkRng";
  detail::enter(operation);
  for (const Place& place : places) {
    Generator generator = default_generator(place);
    detail::refuse_in_capture(*generator.state_, operation);
    const detail::GeneratorState::Numbers numbers = generator.state_->now();
    kept_.push_back({std::move(generator), numbers.seed, numbers.offset});
  }
}

ForkRng::~ForkRng() {
  for (const Kept& kept : kept_) kept.generator.state_->set({kept.seed, kept.offset});
}

}  // namespace anyplace
