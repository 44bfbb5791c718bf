// SPDX-License-Identifier: Apache-2.0
#include "call_book.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "settings.h"

namespace anyplace::doubles {
namespace {

constexpr std::size_t kept_misuses = 256;

/// What stands before the first `separator`; `text` is left with what stands behind it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

std::string_view without_version(std::string_view symbol) noexcept {
  std::size_t end = symbol.size();
  while (end > 0 && symbol[end - 1] >= '0' && symbol[end - 1] <= '9') --end;
  const bool versioned = end < symbol.size() && end > 2 && symbol.substr(end - 2, 2) == "_v";
  return versioned ? symbol.substr(0, end - 2) : symbol;
}

CallBook::CallBook(std::vector<const char*> symbols)
    : symbols_(std::move(symbols)), counts_(new std::atomic<uint64_t>[symbols_.size()]()) {}

bool CallBook::matches(std::string_view entry, std::string_view symbol) noexcept {
  return entry == symbol || entry == without_version(symbol);
}

int CallBook::apply_rules(std::size_t entry) noexcept {
  const std::lock_guard lock(mutex_);
  int code = 0;
  for (Rule& rule : rules_) {
    if (!matches(rule.entry, symbols_[entry])) continue;
    if (rule.left > 0) --rule.left;
    if (rule.left > 0 || (rule.used && !rule.for_good)) continue;
    rule.used = true;
    if (code == 0) code = rule.code;
  }
  if (code != 0) failures_.fetch_add(1);
  return code;
}

bool CallBook::fail_nth(std::string_view entry, uint64_t nth, int code, bool for_good) {
  const bool known =
      std::any_of(symbols_.begin(), symbols_.end(), [entry](const char* symbol) { return matches(entry, symbol); });
  if (!known || nth == 0) return false;
  const std::lock_guard lock(mutex_);
  rules_.push_back(Rule{std::string(entry), nth, code, for_good, false});
  rules_exist_.store(true, std::memory_order_release);
  return true;
}

bool CallBook::read_failures(std::string_view text, std::string& wrong) {
  while (!text.empty()) {
    const std::string_view rule = take_until(text, ' ');
    if (rule.empty()) continue;
    std::string_view rest = rule;
    const std::string_view entry = take_until(rest, ':');
    uint64_t nth = 0;
    uint64_t code = 0;
    const bool numbers = read_number(take_until(rest, ':'), nth) && read_number(take_until(rest, ':'), code);
    const bool for_good = rest == "always";
    if (!numbers || (!rest.empty() && !for_good) || !fail_nth(entry, nth, static_cast<int>(code), for_good)) {
      wrong = std::string(rule);
      return false;
    }
  }
  return true;
}

void CallBook::clear_failures() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  rules_exist_.store(false, std::memory_order_release);
}

uint64_t CallBook::calls_of(std::string_view entry) const noexcept {
  uint64_t calls = 0;
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (matches(entry, symbols_[i])) calls += counts_[i].load(std::memory_order_relaxed);
  }
  return calls;
}

uint64_t CallBook::calls() const noexcept {
  uint64_t calls = 0;
  for (std::size_t i = 0; i < symbols_.size(); ++i) calls += counts_[i].load(std::memory_order_relaxed);
  return calls;
}

void CallBook::reset_counts() noexcept {
  for (std::size_t i = 0; i < symbols_.size(); ++i) counts_[i].store(0, std::memory_order_relaxed);
  failures_.store(0);
}

void MisuseLog::add(std::string text) {
  if (print_) std::fprintf(stderr, "misuse: %s\n", text.c_str());
  count_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  if (lines_.size() < kept_misuses) lines_.push_back(std::move(text));
}

std::string MisuseLog::text() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : lines_) text += line + '\n';
  return text;
}

void MisuseLog::clear() {
  const std::lock_guard lock(mutex_);
  lines_.clear();
  count_.store(0);
}

}  // namespace anyplace::doubles
