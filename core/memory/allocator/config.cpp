// SPDX-License-Identifier: Apache-2.0
//
// There is one table of the keys: how a value is read and written, and which values are good. parse(), to_string() and
// the errors' list of known keys are made from it, so that they can't drift apart.
#include "memory/allocator/config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {
namespace {

constexpr std::uint64_t mib = 1024 * 1024;

struct Key {
  const char* name;
  const char* values;  ///< describes the values for people
  /// Returns false if the text isn't a value of the key.
  bool (*read)(AllocatorConfig& config, std::string_view text);
  /// Returns an empty text if the key has no value.
  std::string (*write)(const AllocatorConfig& config);
};

bool read_boolean(std::string_view text, bool* value) {
  if (text != "true" && text != "false") return false;
  *value = text == "true";
  return true;
}

bool read_megabytes(std::string_view text, std::uint64_t least, std::optional<std::uint64_t>* bytes) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return false;
  if (number < least || number > UINT64_MAX / mib) return false;
  *bytes = number * mib;
  return true;
}

template <bool AllocatorConfig::*Member>
constexpr Key boolean(const char* name) {
  return {name, "true or false",
          [](AllocatorConfig& config, std::string_view text) { return read_boolean(text, &(config.*Member)); },
          [](const AllocatorConfig& config) { return std::string(config.*Member ? "true" : "false"); }};
}

template <std::optional<std::uint64_t> AllocatorConfig::*Member, std::uint64_t Least>
constexpr Key megabytes(const char* name, const char* values) {
  return {name, values,
          [](AllocatorConfig& config, std::string_view text) { return read_megabytes(text, Least, &(config.*Member)); },
          [](const AllocatorConfig& config) {
            const std::optional<std::uint64_t>& bytes = config.*Member;
            return bytes ? std::to_string(*bytes / mib + (*bytes % mib != 0 ? 1 : 0)) : std::string();
          }};
}

constexpr std::array<std::pair<std::string_view, SegmentKind>, 3> segment_names{{
    {"automatic", SegmentKind::automatic},
    {"virtual", SegmentKind::virtual_memory},
    {"classic", SegmentKind::classic},
}};

bool read_segments(AllocatorConfig& config, std::string_view text) {
  for (const auto& [name, kind] : segment_names) {
    if (name != text) continue;
    config.segments = kind;
    return true;
  }
  return false;
}

std::string write_segments(const AllocatorConfig& config) {
  for (const auto& [name, kind] : segment_names) {
    if (kind == config.segments) return std::string(name);
  }
  return {};
}

constexpr const char* any_megabytes = "a whole number of MiB from 0 to 17592186044415";

constexpr std::array keys{
    boolean<&AllocatorConfig::caching>("caching"),
    Key{"segments", "automatic, virtual or classic", read_segments, write_segments},
    megabytes<&AllocatorConfig::max_split_bytes, 1>("max_split_size_mb",
                                                    "a whole number of MiB from 1 to 17592186044415"),
    megabytes<&AllocatorConfig::limit_bytes, 0>("limit_mb", any_megabytes),
    megabytes<&AllocatorConfig::pinned_limit_bytes, 0>("pinned_limit_mb", any_megabytes),
    boolean<&AllocatorConfig::bins>("bins"),
    boolean<&AllocatorConfig::cross_stream_reuse>("cross_stream_reuse"),
    boolean<&AllocatorConfig::history>("history"),
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string known_keys() {
  std::string list;
  for (const Key& key : keys) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", key.name, key.values);
  return list;
}

/// The origin of a text, for errors.
struct Origin {
  std::string place;
  const char* operation;
  std::string prefix;  ///< "ANYPLACE_ALLOCATOR: "
};

[[noreturn]] void refuse(const Origin& origin, const std::string& problem) {
  detail::fail(ErrorCode::invalid_argument, origin.place, origin.operation,
               fmt::format("{}{}\nit is key:value,key:value with the keys {}\ndocs/memory.md says what each is for",
                           origin.prefix, problem, known_keys()));
}

void read_entry(AllocatorConfig& config, std::string_view entry, std::array<bool, keys.size()>& seen,
                const Origin& origin) {
  const std::size_t colon = entry.find(':');
  const std::string_view name = trimmed(entry.substr(0, colon));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name != name) continue;
    if (colon == std::string_view::npos) refuse(origin, fmt::format("the key {} has no value", name));
    if (std::exchange(seen[i], true)) refuse(origin, fmt::format("the key {} is there twice", name));
    const std::string_view value = trimmed(entry.substr(colon + 1));
    if (!keys[i].read(config, value)) {
      refuse(origin, fmt::format("{} can't be {}: its value is {}", name, detail::in_quotes(value), keys[i].values));
    }
    return;
  }
  refuse(origin, fmt::format("{} is no known key", detail::in_quotes(name)));
}

AllocatorConfig read(std::string_view text, AllocatorConfig config, const Origin& origin) {
  std::array<bool, keys.size()> seen{};
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    if (!entry.empty()) read_entry(config, entry, seen, origin);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return config;
}

}  // namespace

AllocatorConfig AllocatorConfig::parse(std::string_view text, const AllocatorConfig& base) {
  return read(text, base, {"", "AllocatorConfig::parse", ""});
}

AllocatorConfig AllocatorConfig::parse(std::string_view text) { return parse(text, AllocatorConfig()); }

std::string AllocatorConfig::to_string() const {
  std::string text;
  for (const Key& key : keys) {
    const std::string value = key.write(*this);
    if (!value.empty()) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", key.name, value);
  }
  return text;
}

namespace detail {

AllocatorConfig environment_config(const DeviceState& device, const char* operation) {
  const char* const text = std::getenv(allocator_variable);
  if (text == nullptr) return {};
  return read(text, {}, {device.place, operation, std::string(allocator_variable) + ": "});
}

}  // namespace detail
}  // namespace anyplace
