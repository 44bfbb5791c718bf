// SPDX-License-Identifier: Apache-2.0
//
// NullRule: the order between a device's null stream and its blocking streams, that of CUDA's legacy default stream:
// work of the null stream waits for what was submitted to every blocking stream before, and work of a blocking stream
// for what was submitted to the null stream before. OpenCL has nothing of the kind: barriers do it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace opencl_backend {

class Stream;

enum class StreamKind { independent, blocking, null };

class NullRule {
 public:
  /// What a stream keeps for the rule. Numbers count the commands of a stream, so they say how far an order goes
  /// already.
  struct Member {
    std::uint64_t null_waits_until = 0;  // of this blocking stream, the last command that the null stream waits for
    std::uint64_t waits_until = 0;       // of the null stream, the last command that this blocking stream waits for
  };

  void add(Stream& stream);
  /// Before the stream's last owner lets go of it: until then its event may be asked for.
  void remove(Stream& stream) noexcept;

  /// Makes what is submitted to `stream` next wait as the rule says. It must be submitted under the lock returned; that
  /// one holds nothing for a stream that the rule doesn't concern.
  std::unique_lock<std::mutex> enter(Stream& stream);

 private:
  void order_null();
  void order_blocking(Stream& stream);

  /// Guards all below and the Member of every stream. Taken before the mutex of a stream.
  std::mutex mutex_;
  Stream* null_ = nullptr;
  std::vector<Stream*> blocking_;
};

}  // namespace opencl_backend
