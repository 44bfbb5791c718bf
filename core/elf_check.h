// SPDX-License-Identifier: Apache-2.0
//
// What is read of a plugin's file before the dynamic linker gets it: the linker maps a file that is cut short and dies
// of SIGBUS, blocks on a FIFO, and says little about a file for another machine. Reads headers only; runs nothing of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace anyplace::detail {

/// Reads `bytes` bytes at `offset`; false if they are not all there.
using ReadAt = std::function<bool(std::uint64_t offset, void* out, std::size_t bytes)>;

/// Why `size` bytes are no shared object for this process; empty if they look like one.
std::string elf_problem(std::uint64_t size, const ReadAt& read);

/// The same for a file, which must be a regular one. Never blocks. `shortage` is set to the errno of one (shortage.h)
/// that says nothing about the file, and is left alone else.
std::string file_problem(const std::string& path, int* shortage);

}  // namespace anyplace::detail
