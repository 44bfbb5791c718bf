// SPDX-License-Identifier: Apache-2.0
//
// Where streams live. Their memory is never given back, and serves later streams: so a record of an event, a queued
// wait or a helping host may point to a stream whose handle is gone, without a reference and without a locked
// instruction. A stream that is used again counts on from where it was: what was complete stays complete.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H
#define ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H

namespace anyplace::cpu_sim {

class Stream;

class StreamPool {
 public:
  /// One that nobody uses. Throws std::bad_alloc.
  static Stream& take();
  static void give_back(Stream& stream) noexcept;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H
