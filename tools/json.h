// SPDX-License-Identifier: Apache-2.0
//
// The JSON that the command prints and that its probes send: a device, an error and a version have one shape, whichever
// subcommand shows them. docs/command.md lists the fields. An unknown value is null, never 0 or "".
#pragma once

#include <anyplace/anyplace.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace anyplace::tool {

/// Keeps the order in which fields were added, so that output is stable and reads well.
using Json = nlohmann::ordered_json;

/// The text, or null for "".
Json text_or_null(const std::string& text);
/// The value, or null where the vendor can't tell.
Json bool_or_null(const std::optional<bool>& value);
Json number_or_null(const std::optional<std::uint64_t>& number);

/// Throws anyplace::Error if the properties can't be read. "links" is null: see links.h.
Json device_json(const Device& device);
Json error_json(const Error& error);
Json backend_json(const BackendInfo& info);
Json version_json();

/// The JSON, indented, with a newline at the end. Bytes that are no UTF-8, which a plugin may well return, are
/// replaced.
std::string dump(const Json& json);
/// The JSON on one line, with a newline at the end. Bytes that are no UTF-8 are replaced.
std::string dump_line(const Json& json);

}  // namespace anyplace::tool
