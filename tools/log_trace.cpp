// SPDX-License-Identifier: Apache-2.0
#include "log_trace.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "input_file.h"
#include "stream_indices.h"
#include "text.h"

namespace anyplace::tool {
namespace {

constexpr const char* form =
    "a line of a logging_allocator is WHAT,THREAD,STREAM,ADDRESS,BYTES, where WHAT is allocate, free, failed or "
    "refused";
constexpr std::array<std::string_view, 4> kinds = {"allocate", "free", "failed", "refused"};

struct Line {
  std::string_view what;
  std::uint64_t thread = 0;
  std::uint64_t stream = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

std::uint64_t number(std::string_view field, int base, const char* what) {
  std::string_view digits = field;
  if (base == 16) {
    if (!digits.starts_with("0x"))
      throw InputError(std::string(what) + " " + in_quotes(field) + " doesn't begin with 0x");
    digits.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (failed != std::errc() || end != digits.data() + digits.size()) {
    throw InputError(std::string(what) + " " + in_quotes(field) + " is no number from 0 to 2^64 - 1");
  }
  return value;
}

Line parse(std::string_view text) {
  std::array<std::string_view, 5> fields;
  std::size_t count = 0;
  for (std::string_view rest = text;; ++count) {
    if (count == fields.size()) throw InputError(in_quotes(text) + " has more than five fields; " + form);
    const std::size_t comma = rest.find(',');
    fields[count] = rest.substr(0, comma);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (++count < fields.size()) throw InputError(in_quotes(text) + " is cut off; " + form);
  Line line;
  for (const std::string_view kind : kinds) {
    if (fields[0] == kind) line.what = kind;
  }
  if (line.what.empty()) throw InputError(in_quotes(text) + " begins with no known word; " + form);
  line.thread = number(fields[1], 10, "the thread");
  line.stream = number(fields[2], 10, "the stream");
  line.address = number(fields[3], 16, "the address");
  line.bytes = number(fields[4], 10, "the size");
  return line;
}

}  // namespace

/// A free is logged before it is made, since its address may be handed out again at once; if it was refused, a later
/// line says so. So the events become a trace only when all lines are known.
class LogTrace::Reader {
 public:
  void add(std::string_view text, std::uint64_t number) {
    const Line line = parse(text);
    if (line.address == 0 && line.bytes == 0) return;  // allocations of 0 bytes have no memory, and can't be told apart
    if (line.what == "allocate") {
      allocate(line);
    } else if (line.what == "free") {
      free(line, number);
    } else if (line.what == "refused") {
      refuse(line);
    }
  }

  std::uint64_t line_of_error() const noexcept { return line_of_error_; }

  Trace take() {
    for (const auto& [thread, last] : last_free_) {
      if (last.of_nothing) fail_stray(last);
    }
    TraceBuilder trace;
    std::vector<std::uint32_t> slots(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.taken_back) continue;
      if (event.frees) {
        trace.free(slots[event.allocation]);
      } else {
        if (!trace.has_room(event.bytes)) throw InputError("the bytes that are live come to 2^64 or more");
        slots[i] = trace.allocate(event.bytes, event.stream);
      }
    }
    return std::move(trace).take();
  }

 private:
  struct Event {
    std::uint64_t bytes = 0;
    std::size_t allocation = 0;  ///< for a free: the event of its allocation
    std::uint16_t stream = 0;
    bool frees = false;
    bool taken_back = false;
  };
  /// The last free of a thread, which the thread's next line may say was refused.
  struct Free {
    std::uint64_t address = 0;
    std::uint64_t line = 0;
    std::size_t event = 0;
    bool of_nothing = false;  ///< its address isn't live, which is right only if it is refused
    std::string problem;
  };

  [[noreturn]] void fail_stray(const Free& free) {
    line_of_error_ = free.line;
    throw InputError(free.problem);
  }

  /// Settles a thread's last free: any other line of the thread than a refusal shows that the free was made.
  void settle(std::uint64_t thread) {
    const auto last = last_free_.find(thread);
    if (last == last_free_.end()) return;
    if (last->second.of_nothing) fail_stray(last->second);
    last_free_.erase(last);
  }

  void allocate(const Line& line) {
    settle(line.thread);
    const auto [found, added] = live_.try_emplace(line.address, events_.size());
    if (!added) {
      throw InputError("allocates at " + hexadecimal(line.address) + ", which is still live; the line of its free is " +
                       "missing, or lines of two allocators are mixed");
    }
    events_.push_back({line.bytes, 0, streams_.of(line.stream), false, false});
  }

  void free(const Line& line, std::uint64_t number) {
    settle(line.thread);
    Free last;
    last.address = line.address;
    last.line = number;
    const auto found = live_.find(line.address);
    if (found == live_.end()) {
      last.problem = "frees " + hexadecimal(line.address) + ", which isn't live; the line of its allocation is missing";
    } else if (events_[found->second].bytes != line.bytes) {
      last.problem = "frees " + hexadecimal(line.address) + " with " + std::to_string(line.bytes) +
                     " bytes; it was allocated with " + std::to_string(events_[found->second].bytes);
    }
    last.of_nothing = !last.problem.empty();
    if (!last.of_nothing) {
      last.event = events_.size();
      events_.push_back({line.bytes, found->second, 0, true, false});
      live_.erase(found);
    }
    last_free_[line.thread] = std::move(last);
  }

  void refuse(const Line& line) {
    const auto last = last_free_.find(line.thread);
    if (last == last_free_.end() || last->second.address != line.address) {
      throw InputError("says that a free of " + hexadecimal(line.address) +
                       " was refused, and the thread's line before isn't that free");
    }
    if (!last->second.of_nothing) {
      Event& event = events_[last->second.event];
      event.taken_back = true;
      live_[line.address] = event.allocation;
    }
    last_free_.erase(last);
  }

  static std::string hexadecimal(std::uint64_t value) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return "0x" + std::string(digits.data(), end);
  }

  std::vector<Event> events_;
  std::unordered_map<std::uint64_t, std::size_t> live_;  ///< the event of an allocation, by its address
  std::unordered_map<std::uint64_t, Free> last_free_;    ///< the last free of each thread
  StreamIndices streams_;
  std::uint64_t line_of_error_ = 0;
};

LogTrace::LogTrace() : reader_(std::make_unique<Reader>()) {}
LogTrace::~LogTrace() = default;

bool LogTrace::looks_like(std::string_view text) noexcept {
  for (const std::string_view kind : kinds) {
    if (text.starts_with(kind) && text.substr(kind.size()).starts_with(',')) return true;
  }
  return false;
}

void LogTrace::add(std::string_view line, std::uint64_t number) { reader_->add(line, number); }
std::uint64_t LogTrace::line_of_error() const noexcept { return reader_->line_of_error(); }
Trace LogTrace::take() { return reader_->take(); }

}  // namespace anyplace::tool
