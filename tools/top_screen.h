// SPDX-License-Identifier: Apache-2.0
//
// The terminal that `anyplace top` takes over: full-screen, with keys, by ncurses. Without ncurses, or if the terminal
// can't place its cursor, there is no screen, and top prints its table again and again.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "top_columns.h"

namespace anyplace::tool {

class TopScreen {
 public:
  /// Takes over the terminal at standard input and output. Returns null, with the reason in `why`, if that isn't
  /// possible. Until the destructor this class handles SIGINT, SIGTERM, SIGHUP and SIGWINCH.
  static std::unique_ptr<TopScreen> open(std::string& why);
  virtual ~TopScreen() = default;

  virtual std::size_t columns() const = 0;
  virtual std::size_t rows() const = 0;
  virtual void draw(const std::vector<Line>& lines) = 0;

  enum class Event {
    none,     ///< the time has run out
    key,      ///< a key was pressed
    resized,  ///< columns() and rows() have changed
    ended,    ///< the terminal is gone, or a signal asks to stop
  };
  struct Waited {
    Event event = Event::none;
    int key = 0;  ///< the key, as press() of top_state.h takes it
  };
  /// Returns when something has happened, at `until` at the latest.
  virtual Waited wait(std::chrono::steady_clock::time_point until) = 0;
  /// The signal that asked to stop; 0 for none.
  virtual int signal() const = 0;
};

}  // namespace anyplace::tool
