// SPDX-License-Identifier: Apache-2.0
//
// One thing that a stream does in its order. A command lives in its stream's queue (command_queue.h), is executed there
// and destroyed when it is done; so it is small, has no copy, and its address is stable.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H
#define ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H

#include <cstdint>

namespace anyplace::cpu_sim {

class Stream;

enum class Progress {
  kDone,      // the command is complete; the caller retires it and goes on with the next
  kElsewhere  // the stream is someone else's now: a timeline, the host thread or a spread job brings it back. Neither
              // the command nor the stream may be touched any more
};

class Command {
 public:
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// On a worker, by whoever has the stream's turn, under no lock.
  virtual Progress execute(Stream& stream) noexcept = 0;

 protected:
  Command() = default;

 private:
  friend class CommandQueue;
  uint32_t bytes_ = 0;  // that it takes in the queue, with its tail
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H
