// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

namespace anyplace::cpu_sim {
namespace {

using Json = nlohmann::json;

constexpr double most_count = 4096;
// What is beyond these isn't a device's. The sum of many times of 1e15 ns, which is 11 days, still fits 64 bits.
struct Range {
  double least, most;
  const char* text;
};
constexpr Range range_of_time{1e-6, 1e15, "1e-6 to 1e15"}, range_of_others{1e-6, 1e18, "1e-6 to 1e18"};

/// Counts the lines that the parser has read.
struct Reader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::size_t* line;

  reference operator*() const noexcept { return *at; }
  Reader& operator++() noexcept {
    if (*at == '\n') ++*line;
    ++at;
    return *this;
  }
  bool operator==(const Reader& other) const noexcept { return at == other.at; }
  bool operator!=(const Reader& other) const noexcept { return at != other.at; }
};

/// A number or a text, by the keys that lead to it: "memory_bytes/value".
struct ProfileEntry {
  std::optional<double> number;
  std::string text;
  std::size_t line = 0;
  bool used = false;
};
using Entries = std::map<std::string, ProfileEntry>;

[[noreturn]] void refuse(const std::string& file, std::size_t line, const std::string& text) {
  throw ProfileError(file + ":" + std::to_string(line) + ": " + text);
}

/// Makes entries of objects within objects.
class Flatten final : public nlohmann::json_sax<Json> {
 public:
  Flatten(const std::string& file, const std::size_t& line) : file_(file), line_(line) {}
  Entries take() { return std::move(entries_); }

  bool null() override { no("null"); }
  bool boolean(bool) override { no("true or false"); }
  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    if (path_.empty()) no("a text");
    entry().text = value;
    return true;
  }
  bool binary(binary_t&) override { no("bytes"); }
  bool start_object(std::size_t) override {
    if (!path_.empty()) prefixes_.push_back(path_ + "/");
    return true;
  }
  bool key(string_t& value) override {
    path_ = (prefixes_.empty() ? std::string() : prefixes_.back()) + value;
    if (!seen_.insert(path_).second) refuse(file_, line_, "the key \"" + path_ + "\" is there twice");
    return true;
  }
  bool end_object() override {
    if (!prefixes_.empty()) prefixes_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { no("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string what = error.what();
    const std::size_t end = what.find("] ");
    refuse(file_, line_, "this is no JSON: " + (end == std::string::npos ? what : what.substr(end + 2)));
  }

 private:
  [[noreturn]] void no(const std::string& what) const {
    if (path_.empty())
      refuse(file_, line_, "this is " + what + "; a profile is an object: {\"anyplace_device_profile\": 1, ...}");
    refuse(file_, line_, "\"" + path_ + "\" is " + what + "; figures are {\"value\": number, \"source\": \"...\"}");
  }
  bool add(double value) {
    if (path_.empty()) no("a number");
    entry().number = value;
    return true;
  }
  ProfileEntry& entry() {
    ProfileEntry& made = entries_[path_];
    made.line = line_;
    return made;
  }

  const std::string& file_;
  const std::size_t& line_;
  std::string path_;
  std::vector<std::string> prefixes_;
  std::set<std::string> seen_;
  Entries entries_;
};

std::string known_profiles() {
  std::string names;
  for (const ProfileText& known : profile_texts()) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

/// Takes one figure after the other out of the entries.
class Figures {
 public:
  Figures(const std::string& file, Entries entries) : file_(file), entries_(std::move(entries)) {}

  void check_version() {
    ProfileEntry* const version = find("anyplace_device_profile");
    if (version == nullptr || version->number != 1.0) {
      refuse(file_, version == nullptr ? 1 : version->line, "a profile begins with \"anyplace_device_profile\": 1");
    }
    find("$schema");
  }

  /// Returns the profile that the file's figures are put into: that of its base, or one without figures.
  Profile base() {
    const ProfileEntry* const entry = find("base");
    if (entry == nullptr) return {};
    for (const ProfileText& known : profile_texts()) {
      if (entry->text == known.name) return parse_profile(known.text, known.name);
    }
    refuse(file_, entry->line, "\"base\" is \"" + entry->text + "\"; it is one of " + known_profiles());
  }
  bool has_base() const { return entries_.contains("base"); }

  std::string text(const std::string& key) {
    const ProfileEntry* const entry = find(key);
    if (entry == nullptr || entry->text.empty()) {
      refuse(file_, entry == nullptr ? 1 : entry->line, "the text \"" + key + "\" is missing");
    }
    return entry->text;
  }

  /// Leaves `figure` as it is if the key is missing and not required.
  void read(double& figure, const std::string& key, bool required) {
    known_ += (known_.empty() ? "" : ", ") + key;
    const ProfileEntry* const value = find(key + "/value");
    const ProfileEntry* const source = find(key + "/source");
    if (value == nullptr && source == nullptr && !entries_.contains(key)) {
      if (required && !has_base()) refuse(file_, 1, "the figure \"" + key + "\" is missing");
      return;
    }
    if (value == nullptr || !value->number) {
      refuse(file_,
             value != nullptr    ? value->line
             : source != nullptr ? source->line
                                 : entries_.at(key).line,
             "\"" + key + "\" has no number \"value\"; a figure is {\"value\": number, \"source\": \"...\"}");
    }
    check_positive(*value, key);
    check_source(source, value->line, key);
    figure = *value->number;
  }
  void read(std::uint32_t& figure, const std::string& key) {
    double number = figure;
    read(number, key, false);
    if (number != std::floor(number) || number > most_count) {
      refuse(file_, entries_.at(key + "/value").line,
             "\"" + key + "\" is " + Json(number).dump() + "; it is a whole number up to 4096");
    }
    figure = static_cast<std::uint32_t>(number);
  }

  /// Reads what is below "kernels": by a kernel's name, its time or what each of its threads needs, and their source.
  void read_kernels(Profile& profile) {
    const std::string prefix = "kernels/";
    std::set<std::string> names;
    for (const auto& [key, entry] : entries_) {
      const std::size_t end = key.rfind('/');
      if (key.starts_with(prefix) && end > prefix.size()) names.insert(key.substr(prefix.size(), end - prefix.size()));
    }
    for (const std::string& name : names) {
      const std::string key = prefix + name;
      KernelCost cost{-1, 0, 0};
      std::size_t line = 1;
      const auto read_one = [&](const char* figure, double& into) {
        const ProfileEntry* const entry = find(key + "/" + figure);
        if (entry == nullptr) return false;
        if (!entry->number) refuse(file_, entry->line, "\"" + key + "/" + figure + "\" is no number");
        check_positive(*entry, key + "/" + figure);
        into = *entry->number;
        line = entry->line;
        return true;
      };
      const bool is_given = read_one("launch_ns", cost.launch_ns);
      const bool has_bytes = read_one("bytes_per_thread", cost.bytes_per_thread);
      const bool has_flops = read_one("flops_per_thread", cost.flops_per_thread);
      const ProfileEntry* const source = find(key + "/source");
      if (source != nullptr) line = source->line;
      check_kernel_keys(key);
      if (is_given == (has_bytes || has_flops)) {
        refuse(
            file_, line,
            "\"" + key + "\" has to have either \"launch_ns\", or \"bytes_per_thread\", \"flops_per_thread\" or both");
      }
      check_source(source, line, key);
      (name == "*" ? profile.other_kernels : profile.kernels[name]) = cost;
    }
  }

  /// Refuses what nobody asked for.
  void check_all_used() const {
    for (const auto& [key, entry] : entries_) {
      if (entry.used) continue;
      if (key.starts_with("sources/")) {
        refuse(file_, entry.line, "no figure is of the source \"" + key.substr(key.find('/') + 1) + "\"");
      }
      if (key.starts_with("kernels/")) {
        refuse(file_, entry.line, "\"" + key + "\" is no kernel; one is {\"launch_ns\": number, \"source\": \"...\"}");
      }
      const std::string figure = key.substr(0, key.find('/'));
      const auto value = entries_.find(figure + "/value");
      if (value != entries_.end() && value->second.used) {
        refuse(file_, entry.line,
               "there is no key \"" + key + "\"; a figure is {\"value\": number, \"source\": \"...\"}");
      }
      refuse(file_, entry.line, "there is no key \"" + figure + "\"; the figures are " + known_ + ", kernels");
    }
  }

 private:
  void check_positive(const ProfileEntry& entry, const std::string& key) const {
    if (!std::isfinite(*entry.number) || *entry.number <= 0) {
      refuse(file_, entry.line, "\"" + key + "\" is " + Json(*entry.number).dump() + "; it has to be more than 0");
    }
    const Range& range = key.ends_with("_ns") ? range_of_time : range_of_others;
    if (*entry.number >= range.least && *entry.number <= range.most) return;
    refuse(file_, entry.line, "\"" + key + "\" is " + Json(*entry.number).dump() + "; it is from " + range.text);
  }
  void check_source(const ProfileEntry* source, std::size_t line, const std::string& key) {
    if (source != nullptr && find("sources/" + source->text) != nullptr) return;
    refuse(file_, line, "\"" + key + "\" has no source: \"source\" has to name one of the texts in \"sources\"");
  }

  void check_kernel_keys(const std::string& kernel) const {
    for (auto each = entries_.lower_bound(kernel + "/"); each != entries_.end(); ++each) {
      const auto& [key, entry] = *each;
      if (!key.starts_with(kernel + "/")) return;
      if (entry.used) continue;
      refuse(file_, entry.line,
             "there is no key \"" + key + "\"; a kernel has launch_ns, bytes_per_thread, flops_per_thread and source");
    }
  }

  ProfileEntry* find(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.used = true;
    return &found->second;
  }

  const std::string& file_;
  Entries entries_;
  std::string known_;
};

}  // namespace

Profile parse_profile(const std::string& text, const std::string& file) {
  std::size_t line = 1;
  Flatten flatten(file, line);
  const char* const begin = text.data();
  Json::sax_parse(Reader{begin, &line}, Reader{begin + text.size(), &line}, &flatten);
  Figures figures(file, flatten.take());
  figures.check_version();
  Profile profile = figures.base();
  profile.name = figures.text("name");
  profile.description = figures.text("description");
  double memory_bytes = static_cast<double>(profile.memory_bytes);
  figures.read(memory_bytes, "memory_bytes", true);
  profile.memory_bytes = static_cast<std::uint64_t>(std::min(memory_bytes, 0x1p62));
  figures.read(profile.memory_bytes_per_second, "memory_bytes_per_second", true);
  figures.read(profile.flops_per_second, "flops_per_second", true);
  figures.read(profile.to_device.bytes_per_second, "to_device_bytes_per_second", true);
  figures.read(profile.to_device.latency_ns, "to_device_latency_ns", false);
  figures.read(profile.to_host.bytes_per_second, "to_host_bytes_per_second", true);
  figures.read(profile.to_host.latency_ns, "to_host_latency_ns", false);
  figures.read(profile.peer.bytes_per_second, "peer_bytes_per_second", false);
  figures.read(profile.peer.latency_ns, "peer_latency_ns", false);
  figures.read(profile.launch_ns, "launch_ns", false);
  figures.read(profile.call_ns, "call_ns", false);
  figures.read(profile.devices, "devices");
  figures.read(profile.concurrent_kernels, "concurrent_kernels");
  figures.read(profile.copy_engines, "copy_engines");
  figures.read(profile.devices_per_host_link, "devices_per_host_link");
  figures.read_kernels(profile);
  figures.check_all_used();
  return profile;
}

Profile load_profile(const std::string& name_or_path) {
  if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(".json")) {
    for (const ProfileText& known : profile_texts()) {
      if (name_or_path == known.name) return parse_profile(known.text, known.name);
    }
    throw ProfileError("there is no profile \"" + name_or_path + "\"\nprofiles are " + known_profiles() +
                       ", and files whose path ends with .json or has a slash");
  }
  std::error_code unknown;
  if (const auto type = std::filesystem::status(name_or_path, unknown).type();
      type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found) {
    throw ProfileError(name_or_path + " is no regular file; a profile is a file of JSON, or one of " +
                       known_profiles());
  }
  std::ifstream file(name_or_path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw ProfileError(name_or_path + " can't be read: " + std::strerror(errno));
  return parse_profile(text, name_or_path);
}

}  // namespace anyplace::cpu_sim
