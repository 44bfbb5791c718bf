// SPDX-License-Identifier: Apache-2.0
// Looking for the vendors' tools, once: ANYPLACE_ANNOTATE, and what each tool's own loader goes by.
#pragma once

#include <cstddef>
#include <string>

namespace anyplace::detail {

/// Opens the tools that are wanted, if nobody has. Other threads wait for that. What can't be used is warned of.
void look_for_libraries() noexcept;
/// The tool of that kind threw: warns, with what the exception in flight says, and keeps the reason.
void note_library_failed(std::size_t kind) noexcept;
/// Makes annotations silent in the child of a fork. Idempotent.
void watch_forks_for_annotations() noexcept;

/// Why the file can't be a tool, as far as can be seen without opening it; "". A name without a slash is the dynamic
/// linker's to find.
std::string tool_file_problem(const std::string& path);
/// What the dynamic linker said last.
std::string linker_error();

}  // namespace anyplace::detail
