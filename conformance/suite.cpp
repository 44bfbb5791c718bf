// SPDX-License-Identifier: Apache-2.0
#include "suite.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <stdexcept>

#include "case.h"
#include "conformance.h"

namespace anyplace::conformance {
namespace {

std::vector<CaseDefinition>& registered() {
  static std::vector<CaseDefinition> all;
  return all;
}

std::size_t place_of(const char* bullet) noexcept {
  const auto all = bullets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Bullet& b) { return std::strcmp(b.id, bullet) == 0; });
  return static_cast<std::size_t>(found - all.begin());
}

/// Checks the cases: one of no bullet, or two of the same name, are mistakes in the suite, and the first process that
/// looks stops.
void check_definitions(const std::vector<CaseDefinition>& all) {
  std::set<std::string> names;
  for (const CaseDefinition& definition : all) {
    if (place_of(definition.bullet) == bullets().size()) {
      throw std::logic_error("the case '" + definition.name + "' is of no bullet: " + definition.bullet);
    }
    if (!names.insert(std::string(definition.group) + ": " + definition.name).second) {
      throw std::logic_error("there are two cases '" + definition.name + "' in the group " + definition.group);
    }
  }
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string Need::name() const {
  switch (kind) {
    case Kind::second_device:
      return "a second device";
    case Kind::other_backend:
      return "a device of another backend";
    case Kind::test_module:
      return "a module of the test kernels";
    case Kind::capability:
      break;
  }
  return to_string(capability);
}

void Registration::add(CaseDefinition definition) {
  definition.file = source_name(definition.file);
  registered().push_back(std::move(definition));
}

std::string Registration::with_label(const std::string& name, const std::string& label) {
  const std::size_t at = name.find("{}");
  return at == std::string::npos ? name : name.substr(0, at) + label + name.substr(at + 2);
}

const std::vector<CaseDefinition>& definitions() {
  static const std::vector<CaseDefinition> sorted = [] {
    std::vector<CaseDefinition> all = registered();
    check_definitions(all);
    std::stable_sort(all.begin(), all.end(), [](const CaseDefinition& a, const CaseDefinition& b) {
      const std::size_t left = place_of(a.bullet);
      const std::size_t right = place_of(b.bullet);
      if (left != right) return left < right;
      const int files = std::strcmp(a.file, b.file);
      return files != 0 ? files < 0 : a.line < b.line;
    });
    return all;
  }();
  return sorted;
}

std::vector<CaseInfo> cases() {
  std::vector<CaseInfo> all;
  for (const CaseDefinition& definition : definitions()) {
    CaseInfo info{definition.group, definition.bullet, definition.name, {}, definition.file, definition.line};
    for (const Need& need : definition.needs) info.needs.push_back(need.name());
    all.push_back(std::move(info));
  }
  return all;
}

bool matches(const CaseInfo& info, const std::string& filter) {
  const std::string wanted = lower(filter);
  return lower(info.group + ": " + info.name).find(wanted) != std::string::npos ||
         lower(info.bullet).find(wanted) != std::string::npos;
}

bool is_chosen(const CaseInfo& info, const Options& options) {
  const auto is_of_case = [&](const std::string& text) { return !text.empty() && matches(info, text); };
  return matches(info, options.filter) && std::none_of(options.excludes.begin(), options.excludes.end(), is_of_case);
}

}  // namespace anyplace::conformance
