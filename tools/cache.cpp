// SPDX-License-Identifier: Apache-2.0
#include "tools/cache.h"

#include <anyplace/kernel_cache.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "json.h"
#include "text.h"

namespace anyplace::tool {
namespace {

using Entries = std::vector<kernel_cache::Entry>;

/// How long ago that was: "3 min".
std::string age_text(std::int64_t used_ns) {
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> units{
      {{86'400, " d"}, {3'600, " h"}, {60, " min"}, {1, " s"}}};
  const std::int64_t seconds = std::max<std::int64_t>((now.count() - used_ns) / 1'000'000'000, 0);
  for (const auto& [length, name] : units) {
    if (seconds >= length) return std::to_string(seconds / length) + name;
  }
  return "0 s";
}

/// The beginning of an entry's name, which is enough to tell it from others: of ".../ab/cdef....kernels".
std::string short_name(const std::string& path) {
  constexpr std::size_t shown = 12;
  const std::size_t name = path.find_last_of('/');
  const std::size_t parent = path.find_last_of('/', name - 1);
  return (path.substr(parent + 1, name - parent - 1) + path.substr(name + 1)).substr(0, shown);
}

std::string counted(std::size_t count) { return std::to_string(count) + (count == 1 ? " entry" : " entries"); }

std::string list_text(const Entries& entries, const std::string& folder) {
  std::string text = printable(folder) + "\n";
  if (entries.empty()) return text + "no entry\n";
  std::vector<std::vector<std::string>> rows{{"ENTRY", "SOURCE", "TARGET", "COMPILER", "SIZE", "USED"}};
  std::uint64_t bytes = 0;
  for (const kernel_cache::Entry& entry : entries) {
    bytes += entry.bytes;
    const std::string target = entry.format + (entry.architecture.empty() ? "" : " " + entry.architecture);
    rows.push_back({short_name(entry.path), entry.source, target, entry.compiler, bytes_text(entry.bytes),
                    age_text(entry.used_ns) + " ago"});
    if (!entry.problem.empty()) rows.back().push_back("not used: " + entry.problem);
  }
  return text + table(rows) + counted(entries.size()) + ", " + bytes_text(bytes) + "\n";
}

Json list_json(const Entries& entries, const std::string& folder) {
  Json all = Json::array();
  for (const kernel_cache::Entry& entry : entries) {
    all.push_back(Json{{"path", entry.path},
                       {"bytes", entry.bytes},
                       {"used_ns", entry.used_ns},
                       {"source", text_or_null(entry.source)},
                       {"compiler", text_or_null(entry.compiler)},
                       {"format", text_or_null(entry.format)},
                       {"architecture", text_or_null(entry.architecture)},
                       {"problem", text_or_null(entry.problem)}});
  }
  return Json{{"folder", folder}, {"entries", std::move(all)}};
}

std::string verify_text(const Entries& entries) {
  std::string text;
  std::size_t good = 0;
  for (const kernel_cache::Entry& entry : entries) {
    if (entry.problem.empty()) {
      ++good;
    } else {
      text += printable(entry.path) + ": " + printable(entry.problem) + "\n";
    }
  }
  text += counted(good) + (good == 1 ? " is" : " are") + " good";
  if (good == entries.size()) return text + "\n";
  return text + "; the others aren't used, and are made anew when they are needed\n";
}

bool all_good(const Entries& entries) {
  return std::all_of(entries.begin(), entries.end(), [](const auto& entry) { return entry.problem.empty(); });
}

}  // namespace

CacheCommand::CacheCommand(CLI::App& app)
    : command_(app.add_subcommand("cache", "Lists, checks or deletes the kernels that programs have compiled")) {
  command_->add_option("ACTION", what_, "list (the default), verify or clear")
      ->check(CLI::IsMember({"list", "verify", "clear"}));
  command_->add_flag("--json", json_, "Write JSON");
  command_->footer(
      "Exit status:\n"
      "  0  done\n"
      "  1  there is no cache, something can't be deleted, or verify has found an entry that isn't good\n"
      "  2  the command line is wrong");
}

bool CacheCommand::chosen() const { return command_->parsed(); }

Answer CacheCommand::run() const {
  const std::string folder = kernel_cache::folder();
  if (folder.empty()) {
    return {"", "anyplace: there is no cache: " + kernel_cache::problem() + "\ndocs/kernels.md says where it is\n",
            exit_failed};
  }
  std::string warning = kernel_cache::warning();
  if (!warning.empty()) warning = "anyplace: " + warning + "\n";
  if (what_ == "clear") {
    const std::uint64_t count = kernel_cache::clear();
    return {json_ ? dump(Json{{"folder", folder}, {"deleted", count}}) : counted(count) + " deleted\n", warning,
            exit_ok};
  }
  const Entries entries = kernel_cache::entries();
  const int status = what_ == "verify" && !all_good(entries) ? exit_failed : exit_ok;
  if (json_) return {dump(list_json(entries, folder)), warning, status};
  return {what_ == "verify" ? verify_text(entries) : list_text(entries, folder), warning, status};
}

}  // namespace anyplace::tool
