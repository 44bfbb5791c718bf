// SPDX-License-Identifier: Apache-2.0
// Looks for the vendors' tools, once, by ANYPLACE_ANNOTATE and by the rules of each tool's own loader.
#pragma once

#include <cstddef>
#include <string>

namespace anyplace::detail {

/// Opens the tools that are wanted, unless that was done. Other threads wait for that. Writes a warning about each tool
/// that can't be used.
void look_for_libraries() noexcept;
/// Called in a catch block when the tool of that kind threw: writes a warning with the exception's text, and keeps the
/// reason.
void note_library_failed(std::size_t kind) noexcept;
/// Makes annotations silent in the child of a fork. Idempotent.
void watch_forks_for_annotations() noexcept;

/// Why the file can't be a tool, as far as that is seen without opening it; "" if nothing is wrong. A name without a
/// slash isn't checked, because the dynamic linker looks for it.
std::string tool_file_problem(const std::string& path);
/// The last error of the dynamic linker.
std::string linker_error();

}  // namespace anyplace::detail
