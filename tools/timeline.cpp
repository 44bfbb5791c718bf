// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "input_file.h"
#include "text.h"
#include "timeline_data.h"
#include "timeline_page.h"
#include "trace_reader.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;

std::string note(const std::string& text) { return "anyplace: " + text + "\n"; }

/// JSON within a script element: a "<" in a text would let that end the element.
std::string in_script(const Json& data) {
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size());
  for (const char one : json) {
    if (one == '<') {
      safe += "\\u003c";
    } else {
      safe += one;
    }
  }
  return safe;
}

std::string page_of(const Json& data) {
  constexpr std::string_view place = "@DATA@";
  const std::string_view page = timeline_page();
  const std::size_t at = page.find(place);
  return std::string(page.substr(0, at)) + in_script(data) + std::string(page.substr(at + place.size()));
}

std::string title_of(const std::string& file) {
  return file == standard_input ? trace_name(file) : printable(fs::path(file).filename().string());
}

RunTrace read(const std::string& file) {
  try {
    RunTrace trace = read_run_trace(InputFile(file).take_rest());
    if (trace.slices.empty()) {
      throw std::runtime_error(
          "it has no slice: the run made no call to a backend while it was traced; see "
          "docs/layers.md");
    }
    return trace;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(trace_name(file) + ": " + error.what());
  }
}

/// Writes the file, or leaves none. Returns why it can't be written; "" if it is.
std::string write(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return std::strerror(errno);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.good()) return "";
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) fs::remove(path, ignored);
  return why;
}

}  // namespace

std::string timeline_page_of(const RunTrace& trace, const std::string& title) {
  return page_of(timeline_data(trace, figures_of(trace), title));
}

TimelineCommand::TimelineCommand(CLI::App& app)
    : command_(app.add_subcommand("timeline", "Makes a page of a run that the layer trace wrote down, for a browser")) {
  command_->add_option("FILE", file_, "The file that the layer wrote; - is standard input")->required();
  command_->add_option("-o,--output", output_,
                       "The page, which is overwritten (default: the file's name with .html, here)");
  command_->footer(
      "Exit status:\n"
      "  0  the page is written\n"
      "  1  the page can't be written\n"
      "  2  the command line is wrong, or the file can't be read or is no trace");
}

bool TimelineCommand::chosen() const { return command_->parsed(); }

Answer TimelineCommand::run() const {
  const std::string stem = file_ == standard_input ? "timeline" : fs::path(file_).stem().string();
  const std::string output = output_.empty() ? stem + ".html" : output_;
  std::error_code ignored;
  if (output == standard_input) {
    return {"", note("--output is '-'; the page goes to a file, whose name it takes"), exit_usage};
  }
  if (fs::equivalent(file_, output, ignored)) {
    return {"", note("--output " + in_quotes(output) + " is the trace itself; name another file"), exit_usage};
  }
  try {
    const RunTrace trace = read(file_);
    const std::string page = timeline_page_of(trace, title_of(file_));
    if (const std::string why = write(output, page); !why.empty()) {
      return {"", note("can't write " + printable(output) + ": " + why), exit_failed};
    }
    return {
        printable(output) + ": " + std::to_string(trace.slices.size()) + " slices, " + bytes_text(page.size()) + "\n",
        trace.is_cut ? note("the trace is cut in the middle of a packet; the page has what was before") : "", exit_ok};
  } catch (const std::runtime_error& error) {
    return {"", note(error.what()), exit_usage};
  }
}

}  // namespace anyplace::tool
