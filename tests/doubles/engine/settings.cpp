// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace anyplace::doubles {

bool read_number(std::string_view text, uint64_t& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

void Variables::misconfigured(const char* name, std::string_view value, const char* right) const {
  std::fprintf(stderr, "%s: %s%s=%.*s: %s\n", title_.c_str(), prefix_.c_str(), name, static_cast<int>(value.size()),
               value.data(), right);
  std::abort();
}

uint64_t Variables::number(const char* name, uint64_t otherwise, uint64_t most, bool bytes) const {
  const char* const value = std::getenv((prefix_ + name).c_str());
  if (value == nullptr || *value == '\0') return otherwise;
  std::string_view text = value;
  unsigned shift = 0;
  if (bytes && text.back() == 'K') shift = 10;
  if (bytes && text.back() == 'M') shift = 20;
  if (bytes && text.back() == 'G') shift = 30;
  if (shift != 0) text.remove_suffix(1);
  uint64_t result = 0;
  if (!read_number(text, result) || result > most >> shift) {
    misconfigured(name, value, bytes ? "a number of bytes, with K, M or G behind it or not" : "a number in range");
  }
  return result << shift;
}

int Variables::integer(const char* name, int otherwise, int most) const {
  return static_cast<int>(number(name, static_cast<uint64_t>(otherwise), static_cast<uint64_t>(most)));
}

std::string Variables::text(const char* name, const char* otherwise) const {
  const char* const value = std::getenv((prefix_ + name).c_str());
  return value == nullptr ? otherwise : value;
}

std::vector<std::string> Variables::list(const char* name) const { return split(text(name), ':'); }

void Variables::read(Settings& settings, int most_result) const {
  settings.init_result = integer("INIT", 0, most_result);
  settings.physical_devices = integer("DEVICES", 2, 64);
  settings.device_bytes = number("MEMORY", settings.device_bytes, uint64_t{1} << 38U, true);
  settings.host_bytes = number("HOST_MEMORY", settings.host_bytes, uint64_t{1} << 38U, true);
  settings.peers = flag("PEERS", settings.peers);
  settings.pools = flag("POOLS", settings.pools);
  settings.managed = flag("MANAGED", settings.managed);
  settings.pageable_async = flag("PAGEABLE_ASYNC", false);
  settings.seed = number("SEED", 0, UINT64_MAX);
  settings.workers = std::max(1, integer("WORKERS", settings.workers, 64));
  settings.failures = text("FAIL");
  settings.log = flag("LOG", false);
}

const Variables& variables() {
  static const Variables& all = *new Variables(double_title, variable_prefix);
  return all;
}

std::vector<int> visible_devices(const char* variable, int physical,
                                 const std::function<bool(const std::string& part, int device)>& has_uuid,
                                 bool none_if_twice) {
  std::vector<int> visible;
  const char* const value = std::getenv(variable);
  if (value == nullptr) {
    for (int i = 0; i < physical; ++i) visible.push_back(i);
    return visible;
  }
  for (std::string_view rest = value; !rest.empty();) {
    const std::string part(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    uint64_t index = UINT64_MAX;
    int found = -1;
    if (read_number(part, index) && index < static_cast<uint64_t>(physical)) found = static_cast<int>(index);
    for (int i = 0; i < physical; ++i) {
      if (has_uuid(part, i)) found = i;
    }
    if (found < 0) break;
    const bool twice = std::find(visible.begin(), visible.end(), found) != visible.end();
    if (twice && none_if_twice) return {};
    if (!twice) visible.push_back(found);
  }
  return visible;
}

}  // namespace anyplace::doubles
