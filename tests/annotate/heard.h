// SPDX-License-Identifier: Apache-2.0
// Heard: a listener of the program's own that writes down what it hears, a line each.
#pragma once

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

#include "anyplace/annotate.h"

namespace annotate_test {

namespace annotate = anyplace::annotate;

inline std::string text_of(const annotate::Payload& payload) {
  switch (payload.kind()) {
    case annotate::Payload::Kind::none:
      return "-";
    case annotate::Payload::Kind::i64:
      return fmt::format("i64:{}", payload.i64());
    case annotate::Payload::Kind::u64:
      return fmt::format("u64:{}", payload.u64());
    case annotate::Payload::Kind::f64:
      return fmt::format("f64:{}", payload.f64());
  }
  return "?";
}

class Heard : public annotate::Listener {
 public:
  void range_pushed(const annotate::Event& event) override { note("push", event); }
  void range_popped(const annotate::Event& event) override { note("pop", event); }
  void range_started(const annotate::Event& event) override { note("start", event); }
  void range_ended(const annotate::Event& event) override { note("end", event); }
  void marked(const annotate::Event& event) override { note("mark", event); }
  void thread_named(const annotate::Event& event) override { note("thread", event); }

  /// "push 0 frame": the depth, and the name unless it is empty.
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::vector<annotate::Event> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  /// Of events(): texts live only during the call.
  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  void note(const char* what, const annotate::Event& event) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(fmt::format("{} {}{}{}", what, event.depth, event.name.empty() ? "" : " ", event.name));
    events_.push_back(event);
    names_.emplace_back(event.name);
  }

  mutable std::mutex mutex_;  // guards the rest
  std::vector<std::string> lines_;
  std::vector<annotate::Event> events_;
  std::vector<std::string> names_;
};

using Lines = std::vector<std::string>;

}  // namespace annotate_test
