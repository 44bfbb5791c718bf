// SPDX-License-Identifier: Apache-2.0
//
// One thing that a stream does in its order, of those that are an object (command_queue.h). A command lives in its
// stream's queue, is executed there and destroyed when it is done; so it has no copy, and its address is stable.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H
#define ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H

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

  /// By whoever has the stream's turn, under no lock.
  virtual Progress execute(Stream& stream) noexcept = 0;

 protected:
  Command() = default;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_COMMAND_H
