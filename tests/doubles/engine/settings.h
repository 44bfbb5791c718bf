// SPDX-License-Identifier: Apache-2.0
//
// How a double is configured: environment variables that begin with the double's own prefix. What can't be read is a
// message on standard error and the end of the process: a test that is misconfigured proves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles {

/// What all doubles have settings for.
struct Settings {
  int init_result = 0;
  int physical_devices = 2;
  std::vector<int> visible;  // physical indices, in the order of the vendor's variable
  uint64_t device_bytes = uint64_t{1} << 30U;
  uint64_t host_bytes = uint64_t{4} << 30U;
  bool peers = true;
  bool pools = true;
  bool managed = true;
  bool pageable_async = false;  // copies from and to pageable memory of the host don't block
  uint64_t alignment = 4096;    // of device and managed memory, and no more
  uint64_t seed = 0;
  int workers = 3;
  std::string failures;
  bool log = false;
};

/// The variables of one double. The names are given without the prefix.
class Variables {
 public:
  Variables(std::string title, std::string prefix) : title_(std::move(title)), prefix_(std::move(prefix)) {}

  /// With a suffix K, M or G where `bytes`.
  uint64_t number(const char* name, uint64_t otherwise, uint64_t most, bool bytes = false) const;
  int integer(const char* name, int otherwise, int most) const;
  bool flag(const char* name, bool otherwise) const { return number(name, otherwise ? 1 : 0, 1) != 0; }
  std::string text(const char* name, const char* otherwise = "") const;
  /// Separated by ':'.
  std::vector<std::string> list(const char* name) const;
  [[noreturn]] void misconfigured(const char* name, std::string_view value, const char* right) const;
  /// The settings that all doubles have, but for the visible devices. `settings` holds the defaults.
  void read(Settings& settings, int most_result) const;

 private:
  const std::string title_, prefix_;
};

// Each double defines these: what its messages and its variables begin with.
extern const char* const double_title;
extern const char* const variable_prefix;
const Variables& variables();

/// What `read` gives, read at the first call and kept until the process ends.
template <class Config>
const Config& read_once(Config (*read)()) {
  static const Config& once = *new Config(read());
  return once;
}

std::vector<std::string> split(std::string_view text, char separator);
/// False unless the text is a number and nothing else.
bool read_number(std::string_view text, uint64_t& value);

/// The devices that a vendor's variable lets be seen: indices, or uuids, separated by commas; the first that names no
/// device ends the list. `has_uuid` says whether a part is the device's uuid. A device that is named twice counts once,
/// or empties the list.
std::vector<int> visible_devices(const char* variable, int physical,
                                 const std::function<bool(const std::string& part, int device)>& has_uuid,
                                 bool none_if_twice);

}  // namespace anyplace::doubles
