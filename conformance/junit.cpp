// SPDX-License-Identifier: Apache-2.0
// Writes the report as JUnit XML, which CI systems read: a test suite for each group, a test case for each case.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "conformance.h"
#include "utf8.h"

namespace anyplace::conformance {
namespace {

/// The length of the character at the beginning; 0 if it isn't valid in UTF-8 or in XML.
std::size_t xml_length(std::string_view text) noexcept {
  const bool no_character = text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf");
  return no_character ? 0 : utf8_length(text);
}

/// Escapes a text; what XML 1.0 can't contain even escaped is shown as \xNN.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = xml_length(text);
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (length == 0 || control || c == 0x7f) {
      char shown[8];
      std::snprintf(shown, sizeof(shown), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += shown;
      text.remove_prefix(1);
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + escaped(value) + "\"";
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6f", seconds);
  return text;
}

struct Totals {
  int cases = 0;
  int failed = 0;
  int skipped = 0;
  double seconds = 0;

  void add(const CaseReport& report) {
    ++cases;
    failed += report.result == Result::failed;
    skipped += report.result == Result::skipped;
    seconds += report.seconds;
  }
  std::string attributes() const {
    return attribute("tests", std::to_string(cases)) + attribute("failures", std::to_string(failed)) +
           attribute("errors", "0") + attribute("skipped", std::to_string(skipped)) +
           attribute("time", seconds_text(seconds));
  }
};

std::string case_xml(const CaseReport& report) {
  std::string xml = "    <testcase" + attribute("classname", "anyplace." + report.info.bullet) +
                    attribute("name", report.info.name) + attribute("time", seconds_text(report.seconds));
  if (report.result == Result::passed) return xml + "/>\n";
  xml += ">\n";
  if (report.result == Result::skipped) {
    xml += "      <skipped" + attribute("message", "the device lacks " + report.reason) + "/>\n";
  } else {
    xml += "      <failure" + attribute("message", report.reason) + ">" + escaped(report.call) + "</failure>\n";
    if (!report.output.empty()) xml += "      <system-err>" + escaped(report.output) + "</system-err>\n";
  }
  return xml + "    </testcase>\n";
}

/// The element of a case that an interruption or --fail-fast left out.
std::string not_run_xml(const CaseInfo& info, const std::string& why) {
  return "    <testcase" + attribute("classname", "anyplace." + info.bullet) + attribute("name", info.name) +
         attribute("time", seconds_text(0)) + ">\n      <skipped" + attribute("message", why) + "/>\n    </testcase>\n";
}

std::string not_run_suite(const Report& report) {
  if (report.not_run.empty()) return "";
  const std::string why = report.interrupted != 0
                              ? "not run: interrupted by signal " + std::to_string(report.interrupted)
                              : "not run: an earlier case failed";
  Totals totals;
  totals.cases = totals.skipped = static_cast<int>(report.not_run.size());
  std::string xml = "  <testsuite" + attribute("name", "not run") + totals.attributes() + ">\n";
  for (const CaseInfo& info : report.not_run) xml += not_run_xml(info, why);
  return xml + "  </testsuite>\n";
}

std::string report_xml(const Report& report) {
  std::vector<std::string> groups;
  Totals all;
  for (const CaseReport& one : report.cases) {
    all.add(one);
    bool known = false;
    for (const std::string& group : groups) known = known || group == one.info.group;
    if (!known) groups.push_back(one.info.group);
  }
  all.cases += static_cast<int>(report.not_run.size());
  all.skipped += static_cast<int>(report.not_run.size());
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                    attribute("name", "anyplace conformance of " + report.place) + all.attributes() + ">\n";
  for (const std::string& group : groups) {
    Totals totals;
    std::string body;
    for (const CaseReport& one : report.cases) {
      if (one.info.group != group) continue;
      totals.add(one);
      body += case_xml(one);
    }
    xml += "  <testsuite" + attribute("name", group) + totals.attributes() + ">\n";
    xml += "    <properties>\n      <property name=\"seed\"" + attribute("value", std::to_string(report.seed)) +
           "/>\n    </properties>\n";
    xml += body + "  </testsuite>\n";
  }
  return xml + not_run_suite(report) + "</testsuites>\n";
}

}  // namespace

JunitFile::JunitFile(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw CannotRun("the report " + path_ + " can't be written: " + std::strerror(errno));
}

JunitFile::~JunitFile() { close(descriptor_); }

void JunitFile::write(const Report& report) {
  const std::string xml = report_xml(report);
  std::string_view left = xml;
  // A device such as /dev/stdout can't be truncated, and needn't be.
  bool good = ftruncate(descriptor_, 0) == 0 || errno == EINVAL;
  while (good && !left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!good) throw CannotRun("the report " + path_ + " can't be written: " + std::strerror(errno));
}

}  // namespace anyplace::conformance
