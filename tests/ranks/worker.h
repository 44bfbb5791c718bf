// SPDX-License-Identifier: Apache-2.0
//
// What the modes of ranks_worker have in common: a rank with its communicator and stream, and what a mode requires.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"

namespace ranks_worker {

using namespace anyplace;
using std::chrono::seconds;

struct Failed {};

inline void require(bool holds, const char* what, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d: not so: %s\n", line, what);
  throw Failed();
}

/// What the call throws.
inline Error error_of(const std::function<void()>& call, int line = __builtin_LINE()) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  std::fprintf(stderr, "line %d: nothing was thrown\n", line);
  throw Failed();
}

/// Of what ends by itself; also of meeting, for which processes have to be started first.
inline constexpr seconds patience{120};

struct Rank {
  Device device;
  Communicator first;  ///< null unless the ranks met before they made the one for which they haven't much time
  Communicator all;
  Stream stream;

  Rank(const std::string& place, const std::string& engine, seconds timeout) : device(place), stream(device) {
    all = Communicator(device, {.timeout = patience, .engine = engine});
    if (timeout >= patience) return;
    first = std::move(all);
    first.barrier(stream);
    stream.synchronize();
    all = Communicator(device, {.timeout = timeout, .engine = engine});
  }

  Buffer filled(float value, std::uint64_t count = 1000) const {
    Buffer buffer = Buffer::of<float>(stream, count);
    stream.fill(buffer.as<float>(), value);
    return buffer;
  }
  std::vector<float> read(const Buffer& buffer, const Stream& with) const {
    std::vector<float> host(buffer.size_bytes() / sizeof(float));
    with.copy(host, buffer);
    with.synchronize();
    return host;
  }
};

// -- The modes of worker_numbers.cpp.

/// What is no number, and which zero it is, doesn't depend on the rank nor on the way that an operation is done.
void extremes(const Rank& me);
/// Sums of small integers that don't fit.
void wraps(const Rank& me);
/// What has more elements than MPI counts is done in pieces: here of few elements, beside the operation as a whole.
void pieces(const Rank& me);

}  // namespace ranks_worker
