// SPDX-License-Identifier: Apache-2.0
#include "explore_pages.h"

#ifdef ANYPLACE_TOOL_TRACE
#include <fstream>
#include <string_view>
#include <utility>

#include "run_trace.h"
#include "schedule_report.h"
#include "tools/timeline.h"

namespace anyplace::tool {
namespace {

std::string category_of(const std::string& what) {
  if (what.starts_with("kernel ")) return "kernel";
  if (what.starts_with("copy ")) return "copy";
  if (what.starts_with("fill ")) return "fill";
  if (what.starts_with("host ")) return "host_function";
  return "operation";
}

/// What ran, as the layer `trace` would have written it. A choice that a thread went on by is a call of that thread's,
/// at the end of what had run before.
RunTrace trace_of(const ScheduleReport& report) {
  RunTrace trace;
  std::uint64_t now_ns = 0;
  for (const ScheduleStep& step : report.steps) {
    TraceSlice slice;
    if (!step.is_choice) {
      const ScheduleRan& ran = report.ran[step.index];
      slice.name = ran.what;
      slice.category = category_of(ran.what);
      slice.track = "stream " + std::to_string(ran.stream);
      slice.above = "cpu_sim:" + std::to_string(ran.device);
      slice.is_execution = true;
      slice.begin_ns = ran.begin_ns;
      slice.end_ns = now_ns = ran.end_ns;
      trace.slices.push_back(std::move(slice));
      continue;
    }
    const ScheduleChoice& choice = report.choices[step.index];
    if (choice.taken >= choice.options.size() || choice.options[choice.taken].thread < 0) continue;
    slice.name = choice.options[choice.taken].what;
    slice.category = "call";
    slice.track = slice.thread = "thread " + std::to_string(choice.options[choice.taken].thread);
    slice.begin_ns = slice.end_ns = now_ns;
    trace.marks.push_back(std::move(slice));
  }
  return trace;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

constexpr std::string_view beside =
    "<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>anyplace explore: a failing schedule and the plain one</title>\n"
    "<style>body{margin:0;display:grid;grid-template:auto 1fr/1fr 1fr;height:100vh;font:14px sans-serif}"
    "h2{margin:.4em .8em;font-size:1em}iframe{width:100%;height:100%;border:0;border-top:1px solid #888}</style>\n"
    "<h2>the failing schedule</h2><h2>the plain schedule, which is good</h2>\n"
    "<iframe src=\"failing.html\"></iframe><iframe src=\"good.html\"></iframe>\n";

}  // namespace

void write_schedule_pages(const std::string& folder, const std::string& failing, const std::string& good) {
  const auto page = [&](const std::string& name, const std::string& report, const std::string& title) {
    const RunTrace trace = trace_of(read_schedule_report(report, ReportPart::all));
    if (!trace.slices.empty()) write(folder + "/" + name, timeline_page_of(trace, title));
    return !trace.slices.empty();
  };
  if (page("failing.html", failing, "the failing schedule") && !good.empty() &&
      page("good.html", good, "the plain schedule")) {
    write(folder + "/beside.html", std::string(beside));
  }
}

}  // namespace anyplace::tool
#else
namespace anyplace::tool {
void write_schedule_pages(const std::string&, const std::string&, const std::string&) {}
}  // namespace anyplace::tool
#endif
