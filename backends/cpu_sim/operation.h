// SPDX-License-Identifier: Apache-2.0
//
// An Operation describes what a stream does next, for the deterministic mode (director.h): people read it in the
// report, strategies and the partial-order reduction of `anyplace explore` compare it, and the cost model prices it.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record.h"

namespace anyplace::cpu_sim {

struct Gate;

struct Operation {
  enum class Kind : std::uint8_t { other, copy, fill, kernel, host_function, graph, time_stamp };
  static constexpr std::int32_t host = -1;
  struct Range {
    anyplace_address begin;
    anyplace_address end;  ///< It is the address behind the last byte.
  };

  // The stream fills these in, also where it has nothing to do.
  std::int32_t device = -1;
  std::uint64_t stream = 0;  ///< It is the stream's number, from 1 in the order of their making.
  std::uint64_t done = 0;    ///< The stream has executed so many operations before this one.
  std::uint64_t left = 0;    ///< The stream has so many commands left, with this one.
  std::uint64_t branch = 0;  ///< 0, or of a graph's node: nodes that have no order are of different branches
  const Timeline* timeline = nullptr;
  Record waits_for;  ///< The stream is or was parked on it.

  // The command fills these in.
  /// It says that the command only keeps order or books: it is executed as soon as it is ready, and is no choice.
  bool is_silent = false;
  std::uint64_t operations = 1;    ///< The command counts as so many operations: a graph as its nodes.
  Gate* message = nullptr;         ///< The stream waits for a message of another rank, which opens this gate.
  bool waits_for_process = false;  ///< Another process may end the stream's wait.
  Kind kind = Kind::other;
  std::string what = "operation";
  std::uint64_t bytes = 0;    ///< A copy or fill moves so many.
  std::uint64_t units = 1;    ///< A kernel has so many blocks.
  std::uint64_t threads = 1;  ///< A kernel has so many threads, in all blocks.
  std::string kernel;         ///< the name of a kernel
  std::int32_t from = host;   ///< the device whose memory a copy reads; pinned and managed memory counts as the host's
  std::int32_t to = host;     ///< the device whose memory it writes
  bool goes_on = false;       ///< It was begun before.
  /// It says that the operation may read and write any memory; then `reads` and `writes` are empty.
  bool touches_all = false;
  std::vector<Range> reads;
  std::vector<Range> writes;

  /// What a graph consists of: each node comes after those whose indexes it has in `after`. It is filled in if
  /// `wants_nodes` is true.
  std::vector<Operation> nodes;
  std::vector<std::uint32_t> after;
  bool wants_nodes = false;

  void be_silent(const char* name) {
    what = name;
    is_silent = true;
    operations = 0;
  }
  void read(anyplace_address begin, std::uint64_t count) { reads.push_back({begin, begin + count}); }
  void write(anyplace_address begin, std::uint64_t count) { writes.push_back({begin, begin + count}); }
  void be_copy(anyplace_address destination, anyplace_address source, std::uint64_t count) {
    kind = Kind::copy;
    what = "copy " + std::to_string(count) + " bytes";
    bytes = count;
    read(source, count);
    write(destination, count);
  }
  void be_fill(anyplace_address address, std::uint64_t count) {
    kind = Kind::fill;
    what = "fill " + std::to_string(count) + " bytes";
    bytes = count;
    write(address, count);
  }
  void be_kernel(const std::string& name, std::uint64_t blocks, std::uint64_t threads_per_block) {
    kind = Kind::kernel;
    what = "kernel " + name;
    kernel = name;
    units = blocks;
    threads = blocks * threads_per_block;
    touches_all = true;
  }
};

}  // namespace anyplace::cpu_sim
