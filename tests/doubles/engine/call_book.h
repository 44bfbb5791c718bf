// SPDX-License-Identifier: Apache-2.0
//
// Counts the calls of each entry of a double, and says which of them are to fail. Safe from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles {

/// "cuMemAlloc" of "cuMemAlloc_v2"; a symbol without a version is its own.
std::string_view without_version(std::string_view symbol) noexcept;

class CallBook {
 public:
  /// `symbols` lives as long as the book.
  explicit CallBook(std::vector<const char*> symbols);

  /// Counts a call; the code that it is to fail with, or 0.
  int count(std::size_t entry) noexcept {
    counts_[entry].fetch_add(1, std::memory_order_relaxed);
    return rules_exist_.load(std::memory_order_acquire) ? apply_rules(entry) : 0;
  }

  /// False: no such entry.
  bool fail_nth(std::string_view entry, uint64_t nth, int code, bool for_good);
  /// "entry:nth:code" with ":always" behind it or not, several separated by spaces. False, with the part that is wrong.
  bool read_failures(std::string_view text, std::string& wrong);
  void clear_failures();
  uint64_t failures() const noexcept { return failures_.load(); }
  uint64_t calls_of(std::string_view entry) const noexcept;
  uint64_t calls() const noexcept;
  uint64_t calls_at(std::size_t index) const noexcept { return counts_[index].load(std::memory_order_relaxed); }
  const char* symbol(std::size_t index) const noexcept { return index < symbols_.size() ? symbols_[index] : nullptr; }
  void reset_counts() noexcept;

 private:
  struct Rule {
    std::string entry;
    uint64_t left = 0;  // calls that still pass
    int code = 0;
    bool for_good = false;
    bool used = false;
  };

  int apply_rules(std::size_t entry) noexcept;
  static bool matches(std::string_view entry, std::string_view symbol) noexcept;

  const std::vector<const char*> symbols_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<uint64_t> failures_{0};
  std::atomic<bool> rules_exist_{false};
  std::mutex mutex_;  // guards rules_
  std::vector<Rule> rules_;
};

/// What was done wrong, in words. Safe from any thread.
class MisuseLog {
 public:
  void add(std::string text);
  uint64_t count() const noexcept { return count_.load(); }
  std::string text();
  void clear();
  /// Also to standard error, at once.
  void print_from_now_on() noexcept { print_ = true; }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<bool> print_{false};
  std::mutex mutex_;  // guards lines_
  std::vector<std::string> lines_;
};

}  // namespace anyplace::doubles
