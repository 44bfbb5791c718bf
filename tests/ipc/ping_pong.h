// SPDX-License-Identifier: Apache-2.0
//
// A game of two processes over one buffer and two events. Each round one of them adds one to a number in the buffer on
// its stream and records its event; the other's stream waits for that event, adds one and records the other event. That
// something was recorded is told by a byte in a pipe; that it is complete only by the event.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "anyplace/anyplace.h"

namespace test {

struct Pipes {
  int in;
  int out;
};

/// Throws when the other process doesn't say anything for so long, and when it has ended.
inline void hear(const Pipes& pipes) {
  constexpr int most_ms = 120'000;
  pollfd readable{pipes.in, POLLIN, 0};
  if (poll(&readable, 1, most_ms) == 0) throw std::runtime_error("the other process says nothing");
  char byte = 0;
  if (read(pipes.in, &byte, 1) != 1) throw std::runtime_error("the other process has ended");
}
inline void tell(const Pipes& pipes) {
  const char byte = '.';
  if (write(pipes.out, &byte, 1) != 1) throw std::runtime_error("the other process has ended");
}

/// Adds one to the first number of the buffer, which was `expected`; else makes it a number that no round expects.
class AddOne {
 public:
  explicit AddOne(const anyplace::Device& device)
      : kernel_(device, [](const anyplace::Block&, std::uint64_t* number, std::uint64_t expected) {
          *number = *number == expected ? expected + 1 : UINT64_MAX / 2;
        }) {}
  void operator()(const anyplace::StreamView& stream, const anyplace::BufferView& buffer,
                  std::uint64_t expected) const {
    stream.launch(kernel_, {1, 1}, buffer, expected);
  }

 private:
  anyplace::Kernel kernel_;
};

inline void answer_pings(const anyplace::StreamView& stream, const anyplace::BufferView& buffer,
                         const anyplace::EventView& ping, const anyplace::EventView& pong, int rounds,
                         const Pipes& pipes) {
  const AddOne add_one(stream.device());
  for (int i = 0; i < rounds; ++i) {
    hear(pipes);
    stream.wait_event(ping);
    add_one(stream, buffer, 2 * static_cast<std::uint64_t>(i) + 1);
    stream.record_event(pong);
    tell(pipes);
  }
  stream.synchronize();
}

/// Returns the number at the end: twice the rounds.
inline std::uint64_t play_pings(const anyplace::StreamView& stream, const anyplace::BufferView& buffer,
                                const anyplace::EventView& ping, const anyplace::EventView& pong, int rounds,
                                const Pipes& pipes) {
  const AddOne add_one(stream.device());
  for (int i = 0; i < rounds; ++i) {
    add_one(stream, buffer, 2 * static_cast<std::uint64_t>(i));
    stream.record_event(ping);
    tell(pipes);
    hear(pipes);
    stream.wait_event(pong);
  }
  std::uint64_t number = 0;
  stream.copy(anyplace::HostSpan(&number, sizeof(number)), buffer.sub(0, sizeof(number)));
  stream.synchronize();
  return number;
}

}  // namespace test
