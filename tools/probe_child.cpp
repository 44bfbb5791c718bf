// SPDX-License-Identifier: Apache-2.0
//
// The child's side of a probe. Each finding is written as a line before the next step is taken, so that the parent
// knows how far the child got. Lines are JSON with one key each, but for those with "of":
//   {"stage": TEXT}  {"backend": {...}}  {"device": {...}}  {"place": TEXT}  {"end": true}
//   {"links": [...], "of": PLACE}
//   {"monitoring": TEXT, "of": PLACE}
//   {"error": {...}, "of": PLACE, "cause": CODE, "reason": TEXT}
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.h"
#include "commands.h"
#include "json.h"
#include "links.h"
#include "probe.h"

namespace anyplace::tool {
namespace {

class Report {
 public:
  /// Moves the descriptor to a high number, where a plugin that writes to any low number doesn't hit it.
  Report() noexcept : descriptor_(fcntl(child_result_descriptor, F_DUPFD_CLOEXEC, 64)) {
    if (descriptor_ < 0) _exit(exit_failed);
    close(child_result_descriptor);
  }

  void line(const Json& json) const {
    const std::string text = dump_line(json);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = write(descriptor_, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) _exit(exit_failed);
      if (written > 0) done += static_cast<std::size_t>(written);
    }
  }
  void stage(const std::string& text) const { line(Json{{"stage", text}}); }
  void error(const Error& error, const std::string& place) const {
    line(Json{{"error", error_json(error)}, {"of", place}});
  }

 private:
  int descriptor_;
};

/// Whether two paths lead to one file, also if one of them doesn't exist any more.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || (std::filesystem::equivalent(a, b, failed) && !failed);
}

enum class Asked { properties, all_of_info };

void report_devices(const Report& report, const std::string& name, Asked asked) {
  report.stage("counting the devices of " + name);
  for (const Device& device : devices(name)) {
    report.stage("reading the properties of " + device.to_string());
    try {
      const Json json = device_json(device);
      if (asked == Asked::all_of_info) static_cast<void>(device.memory_info());
      report.line(Json{{"device", json}});
      if (asked == Asked::all_of_info && device.has(Capability::monitoring)) {
        report.line(Json{{"monitoring", monitoring_source(device)}, {"of", device.to_string()}});
      }
    } catch (const Error& error) {
      report.error(error, device.to_string());
    }
  }
}

/// Reports the links. This comes after all devices, so that a plugin that dies of a question about two devices has
/// reported each of them.
void report_links(const Report& report, const std::string& name) {
  const std::vector<Device> all = devices(name);
  if (all.size() > static_cast<std::size_t>(most_linked)) return;
  for (const Device& device : all) {
    report.stage("asking for the links of " + device.to_string());
    try {
      report.line(Json{{"links", links_json(device)}, {"of", device.to_string()}});
    } catch (const Error&) {
      // The problem of the device was reported with the device.
    }
  }
}

/// Reports why a backend can't be used, with the refusal of its first file that was refused.
void report_missing(const Report& report, const std::string& name, const Error& error) {
  Json line{{"error", error_json(error)}, {"of", ""}};
  for (const PluginCandidate& candidate : plugin_candidates()) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    line["cause"] = to_string(candidate.code);
    line["reason"] = candidate.problem();
    break;
  }
  report.line(line);
}

void report_backend(const Report& report, const std::string& name) {
  report.stage("loading the plugin");
  try {
    report.line(Json{{"backend", backend_json(backend_info(name))}});
  } catch (const Error& error) {
    report_missing(report, name, error);
    return;
  }
  report_devices(report, name, Asked::properties);
  report_links(report, name);
}

/// Reports one file as report_backend() reports a backend. If another file of the name is accepted instead, that
/// doesn't count.
void report_file(const Report& report, const std::string& name, const std::string& path) {
  report.stage("loading the plugin");
  // If this file is refused, the next one of its name is tried, and a crash of that one would be taken for this one's.
  // So the other files are left out as far as possible.
  unsetenv("ANYPLACE_BACKEND_PATH");
  register_plugin(path);
  Json found;
  try {
    const BackendInfo info = backend_info(name);
    if (same_file(info.path, path)) found = backend_json(info);
  } catch (const Error& error) {
    // The loop below reports the candidate's own reason, which says the same without naming other files.
    if (error.code() != ErrorCode::no_such_backend && error.code() != ErrorCode::no_such_device) throw;
  }
  if (!found.is_null()) {
    report.line(Json{{"backend", found}});
    // doctor has to find every problem that would keep `info` from showing a device.
    report_devices(report, name, Asked::all_of_info);
    return;
  }
  for (const PluginCandidate& candidate : plugin_candidates()) {
    if (candidate.name != name || candidate.state != PluginCandidate::State::refused) continue;
    if (!same_file(candidate.path, path)) continue;
    report.line(
        Json{{"error",
              Json{{"code", to_string(candidate.code)}, {"text", candidate.problem()}, {"remedy", candidate.remedy}}}});
    return;
  }
  report.line(Json{{"error", Json{{"code", to_string(ErrorCode::internal)},
                                  {"text", "neither accepted nor refused: another file of the name was taken"}}}});
}

}  // namespace

void run_probe_child(int argument_count, char** arguments) {
  // The child ends with its parent. It writes no core file, because a plugin's crash is an expected result.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);

  const Report report;
  const std::string what = argument_count > 0 ? arguments[0] : "";
  try {
    if (what == "backend" && argument_count == 2) {
      report_backend(report, arguments[1]);
    } else if (what == "links" && argument_count == 2) {
      report_links(report, arguments[1]);
    } else if (what == "file" && argument_count == 3) {
      report_file(report, arguments[1], arguments[2]);
    } else if (what == "place" && argument_count == 2) {
      report.stage(std::string("looking for ") + arguments[1]);
      report.line(Json{{"place", Device(arguments[1]).to_string()}});
    } else {
      _exit(exit_usage);
    }
  } catch (const Error& error) {
    report.error(error, "");
  }
  report.line(Json{{"end", true}});
  _exit(exit_ok);
}

}  // namespace anyplace::tool
