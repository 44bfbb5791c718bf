// SPDX-License-Identifier: Apache-2.0
#include "tools/network_profile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace anyplace::tool {
namespace {

using Json = nlohmann::json;

constexpr double most_count = 4096;

/// Takes one figure after the other out of an object: the file's, or a level's in it.
class Figures {
 public:
  Figures(const std::string& text, const std::string& file, const Json& object, const Json& sources,
          std::set<std::string>& used_sources)
      : text_(text), file_(file), object_(object), sources_(sources), used_sources_(used_sources) {}

  [[noreturn]] void refuse(const std::string& key, const std::string& problem) const {
    const std::size_t at = text_.find('"' + key + '"');
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(at == std::string::npos ? 0 : at);
    const auto line = 1 + std::count(text_.begin(), end, '\n');
    throw NetworkProfileError(file_ + ":" + std::to_string(line) + ": " + problem);
  }

  std::string take_text(const std::string& key) {
    known_.insert(key);
    if (!object_.contains(key) || !object_.at(key).is_string() || object_.at(key).get<std::string>().empty()) {
      refuse(key, "the text \"" + key + "\" is missing");
    }
    return object_.at(key);
  }

  /// Leaves `figure` as it is if the key is missing and not required.
  void read(double& figure, const std::string& key, bool required) {
    known_.insert(key);
    figures_ += (figures_.empty() ? "" : ", ") + key;
    if (!object_.contains(key)) {
      if (required) refuse(key, "the figure \"" + key + "\" is missing");
      return;
    }
    const Json& entry = object_.at(key);
    if (!entry.is_object() || !entry.contains("value") || !entry.at("value").is_number()) {
      refuse(key, "\"" + key + "\" has no number \"value\"; a figure is {\"value\": number, \"source\": \"...\"}");
    }
    for (const auto& [part, value] : entry.items()) {
      if (part == "value" || part == "source") continue;
      refuse(key, "\"" + key + "\" has \"" + part + "\"; a figure is {\"value\": number, \"source\": \"...\"}");
    }
    const double value = entry.at("value");
    if (!std::isfinite(value) || value <= 0) {
      refuse(key, "\"" + key + "\" is " + entry.at("value").dump() + "; it has to be more than 0");
    }
    const bool names_source = entry.contains("source") && entry.at("source").is_string() &&
                              sources_.contains(entry.at("source").get<std::string>());
    if (!names_source) {
      refuse(key, "\"" + key + "\" has no source: \"source\" has to name one of the texts in \"sources\"");
    }
    used_sources_.insert(entry.at("source").get<std::string>());
    figure = value;
  }
  void read(std::uint32_t& count, const std::string& key, bool required) {
    double number = count;
    read(number, key, required);
    if (number != std::floor(number) || number > most_count) {
      refuse(key, "\"" + key + "\" is " + Json(number).dump() + "; it is a whole number up to 4096");
    }
    count = static_cast<std::uint32_t>(number);
  }

  void check_all_known(std::initializer_list<const char*> others) {
    known_.insert(others.begin(), others.end());
    for (const auto& [key, value] : object_.items()) {
      if (known_.contains(key)) continue;
      std::string all = figures_;
      for (const char* const other : others) {
        if (std::strcmp(other, "levels") == 0) all += ", levels";
      }
      refuse(key, "there is no key \"" + key + "\"; the figures are " + all);
    }
  }

 private:
  const std::string& text_;
  const std::string& file_;
  const Json& object_;
  const Json& sources_;
  std::set<std::string>& used_sources_;
  std::set<std::string> known_;
  std::string figures_;
};

Json json_of(const std::string& text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const std::string what = error.what();
    const std::size_t begin = what.find(": ");
    throw NetworkProfileError(file + ":" + std::to_string(1 + std::count(text.begin(), end, '\n')) +
                              ": this is no JSON: " + (begin == std::string::npos ? what : what.substr(begin + 2)));
  }
}

std::string known_networks() {
  std::string names;
  for (const NetworkText& known : network_texts()) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

/// Each level joins groups of the level below it.
void check_levels(const NetworkProfile& profile, const Figures& figures) {
  std::uint32_t below = 1;
  for (const NetworkProfile::Level& level : profile.levels) {
    if (level.machines % below != 0) {
      figures.refuse("levels", "a group of " + std::to_string(level.machines) +
                                   " machines can't be made of groups of " + std::to_string(below) +
                                   ": each level's \"machines\" is a multiple of the one before");
    }
    below = level.machines;
  }
}

}  // namespace

NetworkProfile parse_network_profile(const std::string& text, const std::string& file) {
  const Json json = json_of(text, file);
  if (!json.is_object() || !json.contains("anyplace_network_profile") || json.at("anyplace_network_profile") != 1) {
    throw NetworkProfileError(file + ":1: a network's profile begins with \"anyplace_network_profile\": 1");
  }
  const Json sources = json.value("sources", Json::object());
  std::set<std::string> used;
  Figures figures(text, file, json, sources, used);
  if (!sources.is_object()) figures.refuse("sources", "\"sources\" is an object of texts, by their names");
  for (const auto& [name, source] : sources.items()) {
    if (!source.is_string() || source.get<std::string>().empty()) {
      figures.refuse(name, "the source \"" + name + "\" is no text");
    }
  }
  NetworkProfile profile;
  profile.name = figures.take_text("name");
  profile.description = figures.take_text("description");
  figures.read(profile.devices_per_machine, "devices_per_machine", true);
  figures.read(profile.nics_per_machine, "nics_per_machine", false);
  figures.read(profile.device_bytes_per_second, "device_bytes_per_second", profile.devices_per_machine > 1);
  figures.read(profile.device_latency_ns, "device_latency_ns", false);
  figures.read(profile.pair_bytes_per_second, "pair_bytes_per_second", false);
  figures.read(profile.nic_bytes_per_second, "nic_bytes_per_second", true);
  figures.read(profile.network_latency_ns, "network_latency_ns", false);
  figures.read(profile.memory_bytes_per_second, "memory_bytes_per_second", false);
  if (profile.devices_per_machine % profile.nics_per_machine != 0) {
    figures.refuse("nics_per_machine", std::to_string(profile.devices_per_machine) + " devices can't share " +
                                           std::to_string(profile.nics_per_machine) +
                                           " NICs equally: \"nics_per_machine\" divides \"devices_per_machine\"");
  }
  if (json.contains("levels")) {
    const Json& levels = json.at("levels");
    if (!levels.is_array()) figures.refuse("levels", "\"levels\" is a list of objects, from the machines up");
    for (const Json& level : levels) {
      if (!level.is_object()) figures.refuse("levels", "\"levels\" is a list of objects, from the machines up");
      Figures of_level(text, file, level, sources, used);
      NetworkProfile::Level made;
      of_level.read(made.machines, "machines", true);
      of_level.read(made.uplink_bytes_per_second, "uplink_bytes_per_second", true);
      of_level.read(made.latency_ns, "latency_ns", false);
      of_level.check_all_known({});
      profile.levels.push_back(made);
    }
    check_levels(profile, figures);
  }
  figures.check_all_known({"$schema", "anyplace_network_profile", "sources", "levels"});
  for (const auto& [name, source] : sources.items()) {
    if (!used.contains(name)) figures.refuse(name, "no figure is of the source \"" + name + "\"");
  }
  return profile;
}

NetworkProfile load_network_profile(const std::string& name_or_path) {
  if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(".json")) {
    for (const NetworkText& known : network_texts()) {
      if (name_or_path == known.name) return parse_network_profile(known.text, known.name);
    }
    throw NetworkProfileError("there is no network's profile \"" + name_or_path + "\"; they are " + known_networks() +
                              ", and files whose path ends with .json or has a slash");
  }
  std::ifstream file(name_or_path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw NetworkProfileError(name_or_path + " can't be read: " + std::strerror(errno));
  return parse_network_profile(text, name_or_path);
}

}  // namespace anyplace::tool
