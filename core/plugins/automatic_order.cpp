// SPDX-License-Identifier: Apache-2.0
#include "plugins/automatic_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "plugins/names.h"
#include "plugins/plugin_search.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr const char* auto_variable = "ANYPLACE_AUTO";
constexpr std::string_view default_order = "cuda,hip,levelzero,cpu_sim";
constexpr std::size_t order_limit = 64;  // the most names that are read

bool is_planned(std::string_view name) {
  const auto names = planned_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_order(std::string_view item, const std::string& problem, const char* operation) {
  fail(ErrorCode::invalid_argument, std::string(automatic_name), operation,
       fmt::format(
           "the environment variable {} has the name {}: {}\nit takes names of backends with commas between them, like "
           "{}; {}\n`anyplace doctor` shows what it leads to",
           auto_variable, in_quotes(item), problem, default_order, suggestion(item)));
}

/// The backend that an item of ANYPLACE_AUTO stands for.
std::string order_item(std::string_view item, const char* operation) {
  if (const std::string problem = name_problem(item); !problem.empty()) fail_order(item, problem, operation);
  if (item == automatic_name) fail_order(item, "it can't stand for itself", operation);
  std::string name(without_table_alias(item));
  if (const std::string other = link_alias(name); !other.empty()) name = without_table_alias(other);
  if (!is_planned(name) && find_plugins(name).empty()) {
    fail_order(item, fmt::format("there is no {}", plugin_file_name(name)), operation);
  }
  return name;
}

std::vector<std::string> parse_order(std::string_view text, const char* operation) {
  const std::string copy(text);  // setenv() on another thread may free the original
  std::string_view rest = copy;
  std::vector<std::string> order;
  for (;;) {
    const std::size_t comma = rest.find(',');
    std::string name = order_item(rest.substr(0, comma), operation);
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(std::move(name));
    if (order.size() > order_limit) fail_order(rest.substr(0, comma), "only 64 names are taken", operation);
    if (comma == std::string_view::npos) return order;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> automatic_order(const char* operation) {
  const char* const value = std::getenv(auto_variable);
  return parse_order(value == nullptr || *value == '\0' ? default_order : bounded(value), operation);
}

std::vector<std::string> automatic_order_or_default() {
  try {
    return automatic_order("");
  } catch (const Error&) {
    return parse_order(default_order, "");
  }
}

}  // namespace anyplace::detail
