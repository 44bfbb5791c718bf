// SPDX-License-Identifier: Apache-2.0
//
// How ranks meet: a process finds out which rank it is, and of how many, and all ranks get a few bytes that rank 0
// makes. Nothing here knows what the bytes are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ranks/engine_plugins.h"
#include "runtime/deadline.h"

namespace anyplace::detail {

struct BootstrapPlan {
  enum class Kind { automatic, launcher, tcp, file, alone } kind = Kind::automatic;
  int rank = 0;
  int size = 1;
  std::string address = {};  ///< used by tcp
  std::uint16_t port = 0;    ///< used by tcp
  std::string path = {};     ///< used by file
  std::string engine = {};   ///< used by launcher: the engine whose launcher counts the ranks
};

using Bytes = std::vector<std::byte>;

/// What a meeting needs: how long it may take, what rank 0 hands out, and what its errors name.
struct Meeting {
  std::string place;
  const char* operation = "";
  std::chrono::nanoseconds timeout{};
  std::function<Bytes()> make;  ///< called on rank 0 alone
};

/// Returns the plan with its kind, rank and size decided: automatic becomes launcher or tcp. Throws invalid_argument
/// for variables that are unset or wrong. The rank and size of a launcher's plan aren't filled in, because the engine's
/// world has them.
BootstrapPlan decide(const BootstrapPlan& plan, const std::string& place, const char* operation);
/// Makes a plan of what RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say. Throws invalid_argument.
BootstrapPlan plan_of_environment(const std::string& place, const char* operation);

/// Both return rank 0's bytes, at all ranks. They throw timeout if not all ranks come, and invalid_argument if the
/// ranks don't fit together.
Bytes meet_by_tcp(const BootstrapPlan& plan, const Meeting& meeting);
Bytes meet_by_file(const BootstrapPlan& plan, const Meeting& meeting);

/// A rank that has met the others for one group of an engine.
struct MetRanks {
  int rank = 0;
  int size = 1;
  anyplace_engine_id id{};
};
/// Meets the other ranks in the way of `plan`, which decide() has returned. All ranks get the id by which rank 0's
/// engine identifies the group. `meeting` needs no `make`. Throws what meet_by_tcp() and meet_by_file() throw, and the
/// engine's errors.
MetRanks meet(const Engine& engine, const anyplace_engine_device& device, const BootstrapPlan& plan, Meeting meeting);

}  // namespace anyplace::detail
