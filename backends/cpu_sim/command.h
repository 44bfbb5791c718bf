// SPDX-License-Identifier: Apache-2.0
//
// A Command is a submission in a stream's queue that is an object (command_queue.h has those that aren't). It lives in
// the queue, is executed there, and is destroyed when it is done. So it is never copied, and its address is stable.
#pragma once

namespace anyplace::cpu_sim {

class HostWork;
class Stream;
struct Operation;

enum class Progress {
  done,      // The command is complete; the caller retires it and executes the next one.
  elsewhere  // The stream was passed on: a timeline, the host thread or a spread job will ready it. The caller may
             // touch neither the command nor the stream any more.
};

class Command {
 public:
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// The stream's owner calls it, under no lock.
  virtual Progress execute(Stream& stream) noexcept = 0;

  /// Says what the command does, for the deterministic mode (operation.h).
  virtual void describe(Operation& out) const = 0;

 protected:
  Command() = default;
};

/// The device's host thread executes a HostCommand.
class HostCommand : public Command {
 public:
  virtual HostWork& work() noexcept = 0;
};

}  // namespace anyplace::cpu_sim
