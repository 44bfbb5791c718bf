// SPDX-License-Identifier: Apache-2.0
//
// Which bytes an operation reads and writes: copies, fills, kernels, and the nodes of graphs. The caller holds the
// engine's mutex.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <vector>

#include "engine.h"
#include "thread.h"

namespace anyplace::validate {

/// A side of a copy: `rows` lines of `width` bytes.
struct Lines {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t rows = 1;
};

void add_device_lines(Engine& engine, const Device& device, const Lines& lines, bool writes, std::vector<Touch>& out);
/// A copy within the host's memory without a source is a fill.
void add_copy(Engine& engine, const Device& device, const anyplace_copy_2d& copy, std::vector<Touch>& out);
void add_peer_copy(Engine& engine, const Device& to, std::uint64_t destination, const Device& from,
                   std::uint64_t source, std::uint64_t bytes, std::vector<Touch>& out);
/// The addresses among a launch's arguments, with what was declared of them. Empties `declared`, which keeps its
/// memory.
void add_launch(Engine& engine, const Device& device, const anyplace_launch& launch, std::vector<Declared>& declared,
                std::vector<Touch>& out);

/// "copy_to_device" and so on.
const char* copy_name(std::uint32_t kind) noexcept;
/// The name of what a host function of the core's own does.
inline const char* host_copy_name(const anyplace_copy_2d& copy) noexcept {
  return copy.source == 0 ? "fill" : copy_name(copy.kind);
}

}  // namespace anyplace::validate
