// SPDX-License-Identifier: Apache-2.0
//
// The generator's own parts: choices among what is there, single steps, and scenarios, which are sequences that single
// steps at random would hardly make.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "generator.h"

namespace stress {

class Generator {
 public:
  Generator(std::uint64_t seed, const std::vector<std::string>& places, const std::vector<Traits>& traits,
            const Taste& taste);
  Round make();

 private:
  Round make_header(std::uint64_t seed, const std::vector<std::string>& places, const std::vector<Traits>& traits,
                    const Taste& taste);

  // Choices. -1: there is none.
  Number any_stream(std::uint32_t thread, std::optional<Number> device);
  Number any_buffer(std::uint32_t thread, std::optional<Number> device, bool whole, bool near);
  Number any_host(std::uint32_t thread);
  Number some_host(std::uint32_t thread);
  template <class Things>
  Number any_of(const Things& things, std::optional<Number> device);
  Number any_device();
  Number any_size();
  Number any_value() { return static_cast<Number>(random_.below(std::uint64_t{1} << 31)); }
  /// (offset, bytes): multiples of `unit` within `size`, `most` bytes at most.
  std::pair<Number, Number> any_range(Number size, Number most, Number unit);
  Number any_range_offset(Number size, Number bytes);
  Number event_option(Number device);
  bool usable(std::uint32_t thread, Number stream) const;
  /// Below `limit`, which is positive.
  Number below(Number limit) { return static_cast<Number>(random_.below(static_cast<std::uint64_t>(limit))); }
  Number size_of_buffer(Number buffer) const { return static_cast<Number>(model_.buffers().at(buffer).bytes.size()); }
  Number size_of_host(Number host) const { return static_cast<Number>(model_.hosts().at(host).bytes.size()); }

  // Admission.
  bool is_left_out(const Operation& operation) const;
  bool take(const Operation& operation);
  bool propose(const Operation& operation);
  void order(const Operation& operation, const Refusal& refusal);

  // Objects.
  Number make_stream(std::uint32_t thread, std::optional<Number> on);
  Number make_buffer(std::uint32_t thread, Number stream, Number bytes, Number pool, Number option);
  Number make_host(std::uint32_t thread, std::optional<Number> kind, std::optional<Number> bytes);
  void give_values(std::uint32_t thread, Number buffer, Number stream);

  // Steps.
  void submit_something(std::uint32_t thread);
  void submit_host_copy(std::uint32_t thread, Number stream, Number buffer, bool up);
  void submit_rows(std::uint32_t thread, Number stream, Number buffer);
  void submit_kernel(std::uint32_t thread, Number stream, Number buffer);
  void call_something(std::uint32_t thread);
  void wait_something(std::uint32_t thread);
  void change_objects(std::uint32_t thread);
  void manage_memory(std::uint32_t thread);
  void use_dead(std::uint32_t thread);
  void check_everything();

  // Scenarios.
  void play_scenario();
  void keep_busy(std::uint32_t thread, Number stream);
  void end_pool_of_busy_stream();
  void copy_on_shared_stream();
  void free_while_used();

  Random random_;
  Round round_;
  Model model_;
  std::set<Kind> without_;
  std::size_t operations_ = 0;
  bool likes_shared_ = false;
  Number next_stream_;
  Number next_event_ = 0, next_buffer_ = 0, next_host_ = 0, next_pool_ = 0, next_module_ = 0;
  std::map<Number, std::uint32_t> home_, host_home_;  ///< the thread that made it
};

template <class Things>
Number Generator::any_of(const Things& things, std::optional<Number> device) {
  std::vector<Number> all;
  for (const auto& [id, thing] : things) {
    if (thing.there && (!device || thing.device == *device)) all.push_back(id);
  }
  return all.empty() ? -1 : random_.pick(all);
}

}  // namespace stress
