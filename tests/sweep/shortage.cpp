// SPDX-License-Identifier: Apache-2.0
//
// Runs the parts of a program that uses everything (everything.h) again and again, each time in a process of its own in
// which another allocation, or another start of a thread, fails:
//
//   shortage --what allocations|threads --place P --other P --simple P --module FILE
//            [--how-many N|rest] [--every N] [--part NAME] [--from N] [--to N] [--show]
//
// Of each part, or the one that is named, the first process fails at its first such call, the next at its second, and
// so on until there is nothing more to fail. --how-many is how many in a row fail; `rest` means all that come until the
// part has ended one way or the other. The calls are counted from the part's start (the first's: from the process's
// first use of anyplace) to the end of the process, whichever thread makes them.
//
// Of every process is asked:
// - It ends by itself, with status 0.
// - The program succeeds, or ends in a std::bad_alloc or an Error that says what was short: out_of_memory, or, of
// threads, one whose text says so. It never gives a wrong result.
// - As soon as nothing fails any more the same program, in the same process, succeeds.
// - What goes to the error handler is such an Error, too. At the end nothing is left behind.
//
// A turn (support/turn.h) makes every fourth of these processes.
//
// --show leaves the call stacks of what fails on standard error.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "everything.h"
#include "failing.h"
#include "processes.h"
#include "streams/plugins/forward.h"
#include "support/turn.h"

namespace {

/// So many calls in a row that weren't made any more are the end: threads make the number of calls differ.
constexpr unsigned quiet_calls = 5;

struct Options {
  sweep::Places places;
  failing::Kind kind = failing::Kind::allocations;
  long how_many = 1;
  long every = 1, from = 1, to = LONG_MAX;
  std::string part;  // all, if empty
  bool show = false;
  test::Turn turn = test::turn();

  /// So many processes in a row in which nothing failed are the end of a part. In a turn they are further apart.
  long quiet_processes() const { return (quiet_calls + turn.of - 1) / turn.of; }
  long first() const { return from + every * static_cast<long>(turn.index); }
  long step() const { return every * static_cast<long>(turn.of); }
  bool rest() const { return how_many == failing::for_good; }
};

Options parse(int argc, char** argv) {
  Options options;
  std::map<std::string, std::string> given;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--show") {
      options.show = true;
    } else if (i + 1 < argc) {
      given[argv[i]] = argv[i + 1];
      ++i;
    }
  }
  options.part = given["--part"];
  options.places = {given["--place"], given["--other"], given["--module"], given["--simple"]};
  const std::string what = given["--what"];
  if (what != "allocations" && what != "threads") throw std::runtime_error("--what takes allocations or threads");
  if (what == "threads") options.kind = failing::Kind::threads;
  const auto number = [&](const char* name, long& value) {
    if (given.count(name) != 0) value = std::stol(given[name]);
  };
  if (given["--how-many"] == "rest") {
    options.how_many = failing::for_good;
  } else if (!given["--how-many"].empty()) {
    number("--how-many", options.how_many);
  }
  number("--every", options.every);
  number("--from", options.from);
  number("--to", options.to);
  if (options.places.place.empty() || options.every < 1)
    throw std::runtime_error("usage: see the head of shortage.cpp");
  return options;
}

// ---- In the process that runs the program --------------------------------------------------------------------------

/// Without a buffer, which would be allocated.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  static_cast<void>(!write(1, line, std::min(static_cast<std::size_t>(length), sizeof(line) - 1)));
}

bool is_about_threads(const char* text) { return std::strstr(text, "thread") != nullptr; }

/// Whether an Error says what was short.
bool fits(const anyplace::Error& error, failing::Kind kind) {
  // Starting a thread takes memory too, and the system says that there is no thread then.
  if (is_about_threads(error.what())) return true;
  return kind == failing::Kind::allocations && error.code() == anyplace::ErrorCode::out_of_memory;
}

/// Runs the part once. Whether it succeeded.
bool attempt(const Options& options, const sweep::Part& part) {
  const long before = failing::failed();
  std::string_view as = "success";
  try {
    part.run(options.places);
    if (options.rest()) failing::disarm();
  } catch (const anyplace::Error& error) {
    if (options.rest()) failing::disarm();
    as = fits(error, options.kind) ? "error" : "wrong";
    say("%s\n", error.what());
  } catch (const std::bad_alloc&) {
    if (options.rest()) failing::disarm();
    as = options.kind == failing::Kind::allocations ? "bad_alloc" : "wrong";
  } catch (const std::system_error& error) {  // a thread of the program's own
    if (options.rest()) failing::disarm();
    as = "error";
    say("%s\n", error.what());
  } catch (const std::exception& exception) {
    if (options.rest()) failing::disarm();
    as = "wrong";
    say("%s\n", exception.what());
  }
  const bool failed_here = failing::failed() != before;
  if (as != "success" && !failed_here) as = "wrong";
  say("attempt %.*s\n", static_cast<int>(as.size()), as.data());
  return as == "success" && !failed_here;
}

[[noreturn]] void run_child(const Options& options, const sweep::Part& part, long first) {
  std::atexit([] { say("%ld calls, failed %ld\n", failing::made(), failing::failed()); });  // the last to be called
  auto& forward = test::new_forward();
  forward.gates = forward.host_functions = false;
  forward.install(options.places.simple.substr(0, options.places.simple.find(':')));
  anyplace::set_error_handler([kind = options.kind](const anyplace::Error& error) {
    say("%s\nreported %s\n", error.what(), fits(error, kind) ? "well" : "wrong");
  });
  if (&part != &sweep::parts().front()) sweep::load(options.places);
  if (options.show) failing::show_where();
  failing::arm(options.kind, first, options.how_many);
  // As often as something fails, and once more.
  int left = 3;
  while (left > 0 && !attempt(options, part)) --left;
  if (left == 0) say("attempt wrong\n");
  std::exit(0);
}

// ---- What to think of it -------------------------------------------------------------------------------------------

struct Child : sweep::Child {
  using sweep::Child::Child;
  const char* part = nullptr;
  long first = 0;
};

struct Tally {
  long processes = 0, wrong = 0, quiet = 0;
  std::map<std::string, long> ended;
};

long failures_in(const Child& child) {
  const std::size_t at = child.ended.out.rfind(" calls, failed ");
  return at == std::string::npos ? -1 : std::atol(child.ended.out.c_str() + at + 15);
}

/// What became of it; begins with "WRONG" if that is not as it should be.
std::string ending_of(const Child& child) {
  if (child.ended.hung) return "WRONG: it hung";
  // It has no other answer to an allocation that fails while it meets a new thread.
  if (child.ended.out.find("CHECK failed: sanitizer_") != std::string::npos) return "the sanitizer itself gave up";
  if (child.ended.signal != 0) return std::string("WRONG: it died of ") + strsignal(child.ended.signal);
  if (child.ended.status != 0) return "WRONG: it ended with status " + std::to_string(child.ended.status);
  std::istringstream lines(child.ended.out);
  std::string first, last;
  bool reported = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("left behind") != std::string::npos) return "WRONG: work was left behind";
    if (line == "reported wrong") return "WRONG: an Error was reported that doesn't say what was short";
    if (line == "reported well") reported = true;
    if (line.rfind("attempt ", 0) != 0) continue;
    if (line == "attempt wrong") return "WRONG: it gave a wrong result or the wrong Error";
    if (first.empty()) first = line.substr(8);
    last = line.substr(8);
  }
  if (last != "success") return "WRONG: it didn't recover";
  const long failures = failures_in(child);
  if (failures == 0) return "nothing failed";
  if (first == "bad_alloc") return "std::bad_alloc";
  if (first == "error") return "an Error that says so";
  return reported ? "success, and an Error was reported" : "success";
}

void judge(const Options& options, const Child& child, Tally& tally) {
  ++tally.processes;
  const std::string ending = ending_of(child);
  tally.quiet = failures_in(child) == 0 ? tally.quiet + 1 : 0;
  ++tally.ended[ending];
  if (ending.rfind("WRONG", 0) != 0) return;
  ++tally.wrong;
  std::printf("%s, call %ld: %s\n", child.part, child.first, ending.c_str());
  if (tally.wrong <= 5 || options.show) std::printf("%s\n", child.ended.out.c_str());
  std::fflush(stdout);
}

void sweep_part(const Options& options, const sweep::Part& part, Tally& tally) {
  long next = options.first();
  bool ended = false;
  tally.quiet = 0;
  const auto more = [&] {
    ended = ended || tally.quiet >= options.quiet_processes() || (next != options.first() && next > options.to);
    return !ended;
  };
  const auto start = [&] {
    Child child(test::Process([&] { run_child(options, part, next); }));
    child.part = part.name;
    child.first = next;
    next += options.step();
    return child;
  };
  const long before = tally.processes;
  sweep::run_all<Child>(SIGABRT, more, start, [&](const Child& child) { judge(options, child, tally); });
  std::printf("%-15s %5ld processes\n", part.name, tally.processes - before);
}

int sweep_all(const Options& options) {
  std::printf("%s: of each part the %ldth call, and each %ldth after it\n", options.turn.text().c_str(),
              options.first(), options.step());
  Tally tally;
  for (const sweep::Part& part : sweep::parts()) {
    if (options.part.empty() || options.part == part.name) sweep_part(options, part, tally);
  }
  if (tally.processes == 0) throw std::runtime_error("there is no part '" + options.part + "'");
  for (const auto& [ending, processes] : tally.ended) std::printf("%7ld %s\n", processes, ending.c_str());
  std::printf("%ld processes, %ld wrong\n", tally.processes, tally.wrong);
  if (options.every > 1) std::printf("only every %ldth call was failed in this build\n", options.every);
  return tally.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try { return sweep_all(parse(argc, argv)); } catch (const std::exception& exception) {
  std::fprintf(stderr, "shortage: %s\n", exception.what());
  return 2;
}
