// SPDX-License-Identifier: Apache-2.0
//
// Checks of a plugin's file before the dynamic linker opens it. The linker maps a truncated file and dies of SIGBUS,
// blocks on a FIFO, and says little about a file for another machine. These checks read headers only, and run none of
// the file's code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace anyplace::detail {

/// Reads `bytes` bytes at `offset`; false if they are not all there.
using ReadAt = std::function<bool(std::uint64_t offset, void* out, std::size_t bytes)>;

/// Why the file's `size` bytes are no shared object for this process; empty if they look like one.
std::string elf_problem(std::uint64_t size, const ReadAt& read);

/// elf_problem() for a file, which must be a regular one. Never blocks. If memory or descriptors ran short
/// (shortage.h), which says nothing about the file, `shortage` is set to that errno; else it is left alone.
std::string file_problem(const std::string& path, int* shortage);

}  // namespace anyplace::detail
