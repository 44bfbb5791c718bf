// SPDX-License-Identifier: Apache-2.0
//
// The layer `faults`: asks the rules at each call what happens to it. docs/layers.md says what rules are.
#include <anyplace/backend/kit/layer.h>
#include <anyplace/version.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>

#include "objects.h"
#include "report.h"
#include "rule_set.h"

namespace anyplace::faults {
namespace {

using backend::Argument;
using backend::EntryOf;
using backend::Failure;
using backend::Host;
using backend::Kind;
using backend::Layer;
using backend::Role;

constexpr const char* variable = "ANYPLACE_FAULTS";
/// How long a device's real work is waited for when a rule loses it, and again when memory of it is freed.
constexpr std::uint64_t loss_wait_ns = 1'000'000'000;
constexpr std::uint64_t free_wait_ns = 10'000'000;

/// Never destroyed: threads may outlive static objects.
RuleSet& rule_set() {
  static auto& only = *new RuleSet;
  return only;
}

void wait(std::uint64_t nanoseconds) {
  if (nanoseconds != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

template <auto Entry, auto... Entries>
constexpr bool is_one_of = ((EntryOf<Entry>::index == EntryOf<Entries>::index) || ...);

using Table = anyplace_backend_table;

/// Entries that free what work of the device may still use.
template <auto Entry>
constexpr bool frees = is_one_of<Entry, &Table::memory_free, &Table::host_unregister, &Table::virtual_unmap,
                                 &Table::virtual_release, &Table::memory_import_end, &Table::graph_destroy>;

/// Entries that the core calls for a lost device, too.
template <auto Entry>
constexpr bool ends() {
  for (const Argument& argument : EntryOf<Entry>::arguments) {
    if (argument.role == Role::END) return true;
  }
  return is_one_of<Entry, &Table::shutdown, &Table::gate_open, &Table::memory_export_end>;
}

class FaultsLayer : public Layer {
 public:
  using Layer::Layer;

  static void load(Host) {
    const char* const text = ::secure_getenv(variable);
    if (text != nullptr && *text != '\0') rule_set().add(read_rules(text, variable));
  }

  static std::string command(std::string_view name, std::string_view argument) {
    if (name == "add") {
      rule_set().add(read_rules(argument, "the text"));
    } else if (name == "clear") {
      rule_set().clear();
    } else if (name == "counts") {
      return rule_set().counts().dump();
    } else {
      throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                    "there is no command " + std::string(name) + "\ncommands are add, clear and counts");
    }
    return "";
  }

  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    const Subject subject = subject_of<Entry>(args...);
    if (any_lost_.load(std::memory_order_acquire)) {
      if (const std::string rule = objects_.lost_by(subject.device); !rule.empty()) {
        return call_on_lost<Entry>(subject, rule, args...);
      }
    }
    const Decision decision = rule_set().decide(EntryOf<Entry>::index, subject);
    wait(decision.delay_before_ns);
    if (decision.is_first_hit) {
      if (const std::string path = report_path(); !path.empty())
        add_hit_to_report(path, next().name, EntryOf<Entry>::name);
    }
    if (decision.fails(Moment::before)) {
      forget_ended<Entry>(args...);
      return fail(*decision.rule, subject);
    }
    if (decision.fails(Moment::in_stream)) {
      host().stream_fault(subject.stream_id, decision.rule->status, said_of(*decision.rule).c_str());
    }
    const anyplace_status status = pass_on_and_note<Entry>(subject, args...);
    wait(decision.delay_after_ns);
    if (status != ANYPLACE_STATUS_OK || decision.rule == nullptr) return status;
    if (decision.rule->moment == Moment::after) {
      std::size_t at = 0;
      (forget_made(EntryOf<Entry>::arguments[at++], args), ...);
      return fail(*decision.rule, subject);
    }
    if (decision.rule->status == ANYPLACE_STATUS_DEVICE_LOST) lose(subject.device, *decision.rule);
    return status;
  }

  void end() {
    if (const std::string path = report_path(); !path.empty()) add_to_report(path, next().name, rule_set(), objects_);
  }

 private:
  // ---- What a call is about

  template <class Value>
  void look(const Argument& argument, const Value& value, Subject& subject) const {
    if constexpr (std::is_same_v<Value, std::int32_t>) {
      if (argument.kind == Kind::DEVICE && subject.device < 0) subject.device = value;
    } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
      if (!is_handle(argument.kind)) return;
      const std::optional<Object> object = objects_.find(argument.kind, value);
      if (!object) return;
      if (subject.device < 0) subject.device = object->device;
      if (argument.kind == Kind::STREAM && argument.role == Role::IN) {
        subject.stream = object->stream;
        subject.stream_id = object->stream_id;
      }
    }
  }
  template <auto Entry, class... Args>
  Subject subject_of(const Args&... args) const {
    Subject subject;
    subject.backend = next().name;
    std::size_t at = 0;
    (look(EntryOf<Entry>::arguments[at++], args, subject), ...);
    return subject;
  }

  // ---- The objects

  template <auto Entry, class... Args>
  anyplace_status pass_on_and_note(const Subject& subject, Args... args) {
    // A handle that is destroyed is forgotten first, because the backend may give it again before the call returns.
    forget_ended<Entry>(args...);
    const anyplace_status status = pass_on<Entry>(args...);
    if (status != ANYPLACE_STATUS_OK) return status;
    std::uint64_t id = 0;
    (note_id(args, id), ...);
    std::size_t at = 0;
    (note(EntryOf<Entry>::arguments[at++], args, subject.device, id, is_one_of<Entry, &Table::stream_default>), ...);
    return status;
  }
  /// What the caller is rid of, whether the call succeeds or not.
  template <auto Entry, class... Args>
  void forget_ended(const Args&... args) noexcept {
    std::size_t at = 0;
    (forget(EntryOf<Entry>::arguments[at++], args), ...);
  }
  template <class Value>
  void forget(const Argument& argument, const Value& value) noexcept {
    if constexpr (std::is_same_v<Value, std::uint64_t>) {
      if (argument.role == Role::END && Objects::has(argument.kind)) objects_.remove(argument.kind, value);
    }
  }
  /// Sets an output handle or address to 0, since the core hears nothing of what was made.
  template <class Value>
  void forget_made(const Argument& argument, const Value& value) noexcept {
    if constexpr (std::is_same_v<Value, std::uint64_t*>) {
      if (argument.role == Role::OUT && Objects::has(argument.kind)) objects_.remove(argument.kind, *value);
      *value = 0;
    }
  }
  template <class Value>
  static void note_id(const Value& value, std::uint64_t& id) noexcept {
    if constexpr (std::is_same_v<Value, const anyplace_stream_desc*>) id = value->cookie;
  }
  template <class Value>
  void note(const Argument& argument, const Value& value, std::int32_t device, std::uint64_t id,
            bool is_default) noexcept {
    if constexpr (std::is_same_v<Value, std::uint64_t*>) {
      if (argument.role != Role::OUT || !Objects::has(argument.kind)) return;
      if (argument.kind == Kind::STREAM) {
        objects_.add_stream(*value, device, id, is_default);
      } else {
        objects_.add(argument.kind, *value, device);
      }
    }
  }

  // ---- Failures

  static std::string said_of(const Rule& rule) {
    return "the layer faults made this fail, by its rule '" + rule.text + "'";
  }
  anyplace_status leave(anyplace_status status, const std::string& text) const {
    host().leave_message(0, nullptr, text.c_str());
    return status;
  }
  anyplace_status fail(const Rule& rule, const Subject& subject) {
    if (rule.status == ANYPLACE_STATUS_DEVICE_LOST) lose(subject.device, rule);
    return leave(rule.status, said_of(rule));
  }

  // ---- Lost devices

  /// The application may free what the device's work uses as soon as it hears of the loss, so that work is waited for.
  void lose(std::int32_t device, const Rule& rule) {
    if (device < 0) return;
    static_cast<void>(is_idle(device, loss_wait_ns));
    objects_.lose(device, rule.text);
    any_lost_.store(true, std::memory_order_release);
  }
  bool is_idle(std::int32_t device, std::uint64_t timeout_ns) const {
    return pass_on<&Table::device_synchronize>(device, timeout_ns) == ANYPLACE_STATUS_OK;
  }

  template <auto Entry, class... Args>
  anyplace_status call_on_lost(const Subject& subject, const std::string& rule, Args... args) {
    if constexpr (!ends<Entry>()) {
      return leave(ANYPLACE_STATUS_DEVICE_LOST, "the layer faults lost the device, by its rule '" + rule + "'");
    } else {
      // Memory that work may still use stays allocated.
      if (frees<Entry> && !is_idle(subject.device, free_wait_ns)) return ANYPLACE_STATUS_OK;
      // The work of a device that is really lost ends by itself; this one's would wait for the gate for ever.
      if constexpr (is_one_of<Entry, &Table::gate_destroy>) pass_on<&Table::gate_open>(args...);
      return pass_on_and_note<Entry>(subject, args...);
    }
  }

  Objects objects_;
  std::atomic<bool> any_lost_{false};  // saves asking for each call
};

}  // namespace
}  // namespace anyplace::faults

ANYPLACE_EXPORT_LAYER(anyplace::faults::FaultsLayer, "faults", ANYPLACE_VERSION, "Fails calls on demand",
                      "ANYPLACE_FAULTS ANYPLACE_FAULTS_REPORT")
