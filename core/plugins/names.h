// SPDX-License-Identifier: Apache-2.0
//
// Names of plugins: whether they are well-formed, what a backend's stands for, and which one a user probably meant.
// Nothing here opens a plugin; suggestions read file names only.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "anyplace/plugins.h"

namespace anyplace::detail {

/// anyplace_backend_table::name has 32 bytes, one of them the NUL.
inline constexpr std::size_t name_limit = 31;

inline constexpr std::string_view automatic_name = "auto";

/// [a-z][a-z0-9_]*, at most name_limit characters.
bool is_valid_name(std::string_view text) noexcept;

/// What is wrong with `text` as a name; empty if nothing.
std::string name_problem(std::string_view text);

/// The table of aliases.
std::span<const BackendAlias> alias_table() noexcept;
/// The name that `name` is an alias of in alias_table(), else `name`.
std::string_view without_table_alias(std::string_view name) noexcept;
/// The names that mean something to anyplace even where no plugin has them: cuda, hip, levelzero, cpu_sim.
std::span<const std::string_view> planned_names() noexcept;

/// What a plugin is: its file is libanyplace_<kind>_<name>.so.
enum class PluginKind { backend, engine, compiler, layer };

/// "libanyplace_backend_" and so on.
std::string_view plugin_file_prefix(PluginKind kind) noexcept;
/// libanyplace_backend_<name>.so and so on.
std::string plugin_file_name(std::string_view name, PluginKind kind = PluginKind::backend);
/// The <name> in a plugin's file name, if `file_name` is one of that kind and <name> is valid.
std::optional<std::string_view> name_in_file_name(std::string_view file_name,
                                                  PluginKind kind = PluginKind::backend) noexcept;

/// "did you mean "trace"?" if one of the names, of which there is at least one, is near to `text`, else "known names
/// are
/// ..." with all of them.
std::string suggestion_among(std::string_view text, const std::set<std::string>& known);

/// "did you mean "cuda"?" if a known name (a backend's, an alias, a plugin's file) is near to `text`, else the known
/// names.
std::string suggestion(std::string_view text);

}  // namespace anyplace::detail
