// SPDX-License-Identifier: Apache-2.0
//
// How ranks meet: which rank a process is and of how many, and a few bytes that rank 0 makes and all get. Nothing here
// knows what the bytes are.
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
  std::string address = {};  ///< of tcp
  std::uint16_t port = 0;    ///< of tcp
  std::string path = {};     ///< of file
  std::string engine = {};   ///< of launcher: the engine whose launcher counts the ranks
};

using Bytes = std::vector<std::byte>;

/// What meeting needs to know and to say.
struct Meeting {
  std::string place;
  const char* operation = "";
  std::chrono::nanoseconds timeout{};
  std::function<Bytes()> make;  ///< called on rank 0 alone
};

/// The plan with rank and size filled in: automatic and environment become another kind. Throws invalid_argument for
/// variables that are unset or wrong. Of a launcher rank and size aren't filled in.
BootstrapPlan decide(const BootstrapPlan& plan, const std::string& place, const char* operation);
/// What RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say. Throws invalid_argument.
BootstrapPlan plan_of_environment(const std::string& place, const char* operation);

/// Rank 0's bytes, at all ranks. Throws timeout if not all come, invalid_argument if they don't fit together.
Bytes meet_by_tcp(const BootstrapPlan& plan, const Meeting& meeting);
Bytes meet_by_file(const BootstrapPlan& plan, const Meeting& meeting);

/// A rank that has met the others for one group of an engine.
struct MetRanks {
  int rank = 0;
  int size = 1;
  anyplace_engine_id id{};
};
/// Meets the other ranks as the plan, which is decided, says, with what the engine at rank 0 identifies the group by.
/// `meeting` needs no `make`. Throws as the above, and the engine's errors.
MetRanks meet(const Engine& engine, const anyplace_engine_device& device, const BootstrapPlan& plan, Meeting meeting);

}  // namespace anyplace::detail
