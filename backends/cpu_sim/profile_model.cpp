// SPDX-License-Identifier: Apache-2.0
#include "profile_model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace anyplace::cpu_sim {
namespace {

using Kind = ModelOperation::Kind;

constexpr double ns_per_second = 1e9;
constexpr double never = std::numeric_limits<double>::infinity();
constexpr double instant = 1e-6;  // Times that differ by less are one.

/// Returns the link of a copy. Between devices without a link of their own, a copy goes to the host and on.
ProfileLink link_of(const Profile& profile, Kind kind) noexcept {
  if (kind == Kind::to_device) return profile.to_device;
  if (kind == Kind::to_host) return profile.to_host;
  if (profile.peer.bytes_per_second > 0) return profile.peer;
  const double seconds_per_byte = 1 / profile.to_host.bytes_per_second + 1 / profile.to_device.bytes_per_second;
  return {1 / seconds_per_byte, profile.to_host.latency_ns + profile.to_device.latency_ns};
}

class Simulation {
 public:
  Simulation(const Profile& profile, std::span<const ModelOperation> operations)
      : profile_(profile), operations_(operations), states_(operations.size()), times_(operations.size()) {
    for (std::uint32_t i = 0; i < operations.size(); ++i) check(i);
  }

  std::vector<ModelTime> run() {
    for (std::size_t left = operations_.size(); left > 0;) {
      begin_ready();
      set_rates();
      now_ = next_event();
      left -= advance();
    }
    return std::move(times_);
  }

 private:
  struct State {
    bool running = false;
    bool done = false;
    double begins_moving = 0;  // A copy's latency is over then.
    double left = 0;           // nanoseconds of a kernel that runs alone, or bytes of a copy
    double rate = 0;           // of what is left, in a nanosecond
    double moved_until = 0;    // `left` is that of this time.
  };

  void check(std::uint32_t i) const {
    const ModelOperation& operation = operations_[i];
    const auto no = [i](const std::string& text) {
      throw std::invalid_argument("operation " + std::to_string(i) + " " + text);
    };
    const std::uint32_t last =
        operation.kind == Kind::peer ? std::max(operation.device, operation.receiver) : operation.device;
    if (last >= profile_.devices) {
      no("is of device " + std::to_string(last) + ", and " + profile_.name + " has " +
         std::to_string(profile_.devices));
    }
    for (const std::uint32_t before : operation.after) {
      if (before >= i) no("comes after " + std::to_string(before) + ", which isn't before it");
    }
  }

  /// Returns when the operation could begin, if its engine were idle.
  double ready_ns(std::uint32_t i) const noexcept {
    double ready = operations_[i].issued_ns + profile_.launch_ns;
    for (const std::uint32_t before : operations_[i].after) {
      ready = std::max(ready, states_[before].done ? times_[before].end_ns : never);
    }
    return ready;
  }

  using Engine = std::pair<Kind, std::uint32_t>;
  Engine engine_of(std::uint32_t i) const noexcept { return {operations_[i].kind, operations_[i].device}; }
  std::uint32_t slots(Kind kind) const noexcept {
    return kind == Kind::kernel ? profile_.concurrent_kernels : profile_.copy_engines;
  }

  /// Begins what is ready and finds its engine idle.
  void begin_ready() {
    std::map<Engine, std::uint32_t> busy;
    std::vector<std::pair<double, std::uint32_t>> ready;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (states_[i].running) ++busy[engine_of(i)];
      if (states_[i].running || states_[i].done) continue;
      if (const double at = ready_ns(i); at <= now_ + instant) ready.emplace_back(at, i);
    }
    std::sort(ready.begin(), ready.end());
    for (const auto& [at, i] : ready) {
      if (busy[engine_of(i)] >= slots(operations_[i].kind)) continue;
      ++busy[engine_of(i)];
      begin(i);
    }
  }

  void begin(std::uint32_t i) {
    const ModelOperation& operation = operations_[i];
    State& state = states_[i];
    state.running = true;
    times_[i].begin_ns = state.begins_moving = now_;
    if (operation.kind == Kind::kernel) {
      const double own = kernel_ns(profile_, operation.bytes, operation.flops);
      state.left = operation.given_ns >= 0 ? operation.given_ns : own;
    } else {
      state.begins_moving += link_of(profile_, operation.kind).latency_ns;
      state.left = operation.bytes;
    }
  }

  bool moves(std::uint32_t i) const noexcept {
    return states_[i].running && states_[i].begins_moving <= now_ + instant;
  }

  /// A resource that operations share: which one, and of which device or link.
  enum class Shared { kernels, to_device, to_host, sends, receives };
  using Share = std::pair<Shared, std::uint32_t>;
  std::vector<Share> shares_of(std::uint32_t i) const {
    const ModelOperation& operation = operations_[i];
    const std::uint32_t link = operation.device / profile_.devices_per_host_link;
    switch (operation.kind) {
      case Kind::kernel:
        return {{Shared::kernels, operation.device}};
      case Kind::to_device:
        return {{Shared::to_device, link}};
      case Kind::to_host:
        return {{Shared::to_host, link}};
      default:
        return {{Shared::sends, operation.device}, {Shared::receives, operation.receiver}};
    }
  }

  void set_rates() {
    std::map<Share, double> users;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (!moves(i)) continue;
      for (const Share& share : shares_of(i)) ++users[share];
    }
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (!moves(i)) continue;
      double most = 1;
      for (const Share& share : shares_of(i)) most = std::max(most, users[share]);
      const Kind kind = operations_[i].kind;
      const double alone = kind == Kind::kernel ? 1 : link_of(profile_, kind).bytes_per_second / ns_per_second;
      states_[i].rate = alone / most;
      states_[i].moved_until = now_;
    }
  }

  double next_event() const noexcept {
    double next = never;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      const State& state = states_[i];
      if (moves(i)) {
        next = std::min(next, now_ + state.left / state.rate);
      } else if (state.running) {
        next = std::min(next, state.begins_moving);
      } else if (!state.done) {
        const double ready = ready_ns(i);
        if (ready > now_ + instant) next = std::min(next, ready);
      }
    }
    return next;
  }

  /// Moves what runs up to the new time. Returns how many operations are complete by it.
  std::size_t advance() {
    std::size_t completed = 0;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      State& state = states_[i];
      if (!state.running || state.rate == 0) continue;
      state.left -= state.rate * (now_ - state.moved_until);
      state.moved_until = now_;
      if (state.left > state.rate * instant) continue;
      state.running = false;
      state.done = true;
      times_[i].end_ns = now_;
      ++completed;
    }
    return completed;
  }

  const Profile& profile_;
  const std::span<const ModelOperation> operations_;
  std::vector<State> states_;
  std::vector<ModelTime> times_;
  double now_ = 0;
};

}  // namespace

double kernel_ns(const Profile& profile, double bytes, double flops) noexcept {
  return ns_per_second * std::max(bytes / profile.memory_bytes_per_second, flops / profile.flops_per_second);
}

double copy_ns(const Profile& profile, Kind kind, double bytes) noexcept {
  const ProfileLink link = link_of(profile, kind);
  return link.latency_ns + ns_per_second * bytes / link.bytes_per_second;
}

std::vector<ModelTime> simulate(const Profile& profile, std::span<const ModelOperation> operations) {
  return Simulation(profile, operations).run();
}

}  // namespace anyplace::cpu_sim
