// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include "child_process.h"
#include "text.h"

namespace anyplace::tool {
namespace {

/// The last line that the child wrote to standard output or error: the plugin's or the runtime's last words.
std::string last_words(const std::string& output) {
  std::string last;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  constexpr std::size_t limit = 300;
  if (last.size() > limit) last = last.substr(0, limit) + "...";
  return last.empty() ? "" : "; it last wrote: " + printable(last);
}

std::string seconds_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

/// The Problem of a child that didn't finish its report. `stage` is what it was about to do.
Problem unfinished(const ChildResult& child, const std::string& stage, std::chrono::milliseconds limit) {
  const std::string when = stage.empty() ? "" : " while " + stage;
  switch (child.end) {
    case ChildResult::End::signalled: {
      const char* const name = sigabbrev_np(child.number);
      const std::string signal = std::string("SIG") + (name != nullptr ? name : "?");
      Problem problem{"", "crashed",
                      "a process that asked for it died of " + signal + " (signal " + std::to_string(child.number) +
                          ")" + when + last_words(child.output)};
      problem.brief = signal;
      return problem;
    }
    case ChildResult::End::exited: {
      const std::string status = "exit status " + std::to_string(child.number);
      Problem problem{"", "crashed",
                      "a process that asked for it was ended with " + status + when + last_words(child.output)};
      problem.brief = status;
      return problem;
    }
    case ChildResult::End::timed_out: {
      Problem problem{"", "timed_out",
                      "no answer within " + seconds_text(limit) + when +
                          "; the limit is set by ANYPLACE_PROBE_TIMEOUT" + last_words(child.output)};
      problem.brief = seconds_text(limit);
      return problem;
    }
    case ChildResult::End::too_much:
      return {"", "garbled", "it wrote without end" + when + last_words(child.output)};
    case ChildResult::End::not_started:
      break;
  }
  return {"", "not_started",
          std::string("no child process could be started from /proc/self/exe: ") + std::strerror(child.number)};
}

/// The text in a line of the report; "" if it is absent or null.
std::string text_in(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The first match of `pattern` in `text` that is no plugin's file name.
std::string first_match(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    if (!at->str().starts_with("libanyplace_backend_")) return at->str();
  }
  return "";
}

/// The part of the text that names the culprit: the library that is missing, the variable that is wrong.
std::string brief_of(const std::string& code, const std::string& text) {
  if (code == to_string(ErrorCode::library_missing)) return first_match(text, "lib[A-Za-z0-9_+-]+[.]so([.][0-9]+)*");
  if (code == to_string(ErrorCode::invalid_argument)) return first_match(text, "ANYPLACE_[A-Z0-9_]+");
  return "";
}

Problem problem_of(const Json& line) {
  const Json& error = line.at("error");
  Problem problem{text_in(line, "of"), error.value("code", std::string("internal")), text_in(error, "text")};
  problem.remedy = text_in(error, "remedy");
  problem.cause = text_in(line, "cause");
  const std::string reason = text_in(line, "reason");
  problem.brief =
      brief_of(problem.cause.empty() ? problem.code : problem.cause, reason.empty() ? problem.text : reason);
  return problem;
}

/// Adds links to their device, which was reported before. For probe_links(), which reports nothing else, adds a device
/// that has only links.
void take_links(const Json& line, Probe& probe) {
  const std::string place = line.at("of").get<std::string>();
  for (Json& device : probe.devices) {
    if (device.at("place") != place) continue;
    device["links"] = line.at("links");
    return;
  }
  if (probe.backend.is_null()) probe.devices.push_back(Json{{"place", place}, {"links", line.at("links")}});
}

/// Adds one line of the report. Throws Json::exception for a line that the child can't have written.
void take_line(const Json& line, Probe& probe, std::string& stage) {
  if (line.contains("stage")) {
    stage = line.at("stage").get<std::string>();
  } else if (line.contains("backend")) {
    probe.backend = line.at("backend");
  } else if (line.contains("device")) {
    probe.devices.push_back(line.at("device"));
  } else if (line.contains("links")) {
    take_links(line, probe);
  } else if (line.contains("monitoring")) {
    probe.monitoring[line.at("of").get<std::string>()] = line.at("monitoring").get<std::string>();
  } else if (line.contains("error")) {
    probe.problems.push_back(problem_of(line));
  } else if (line.contains("place")) {
    probe.place = line.at("place").get<std::string>();
  } else {
    probe.complete = line.at("end").get<bool>();
  }
}

Probe run_probe(const std::vector<std::string>& request, std::chrono::milliseconds limit) {
  std::vector<std::string> arguments{probe_command};
  arguments.insert(arguments.end(), request.begin(), request.end());
  const ChildResult child = run_child(arguments, limit);

  Probe probe;
  std::string stage;
  std::istringstream lines(child.result);
  for (std::string line; !probe.complete && std::getline(lines, line);) {
    if (lines.eof()) break;  // the last line has no end: the child died while it wrote it
    try {
      take_line(Json::parse(line), probe, stage);
    } catch (const Json::exception&) {
      probe.problems.push_back({"", "garbled",
                                "the report of the process that asked for it was damaged" +
                                    (stage.empty() ? "" : " while " + stage) + last_words(child.output)});
      return probe;
    }
  }
  if (!probe.complete) probe.problems.push_back(unfinished(child, stage, limit));
  return probe;
}

}  // namespace

Probe probe_backend(const std::string& name, std::chrono::milliseconds limit) {
  return run_probe({"backend", name}, limit);
}

Probe probe_links(const std::string& name, std::chrono::milliseconds limit) {
  return run_probe({"links", name}, limit);
}

Probe probe_file(const std::string& name, const std::string& path, std::chrono::milliseconds limit) {
  return run_probe({"file", name, path}, limit);
}

Probe probe_place(const std::string& place, std::chrono::milliseconds limit) {
  return run_probe({"place", place}, limit);
}

std::string in_brief(const Problem& problem) {
  static constexpr std::pair<std::string_view, std::string_view> words[]{
      {"library_missing", "no driver"},
      {"no_driver", "driver not running or too old"},
      {"no_such_device", "no device"},
      {"invalid_argument", "a setting is wrong"},
      {"timed_out", "no answer"},
      {"garbled", "garbled report"},
      {"not_started", "no process could be started"},
  };
  const std::string& code = problem.cause.empty() ? problem.code : problem.cause;
  std::string text = code;
  std::replace(text.begin(), text.end(), '_', ' ');
  for (const auto& [known, said] : words) {
    if (known == code) text = said;
  }
  return problem.brief.empty() ? text : text + " (" + problem.brief + ")";
}

Json problem_json(const std::string& backend, const Problem& problem) {
  return Json{{"backend", text_or_null(backend)},
              {"place", text_or_null(problem.place)},
              {"code", problem.code},
              {"cause", text_or_null(problem.cause)},
              {"text", problem.text},
              {"in_brief", in_brief(problem)}};
}

}  // namespace anyplace::tool
