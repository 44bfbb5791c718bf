// SPDX-License-Identifier: Apache-2.0
//
// The parent's side: it forks a child for each case, ends it when its time is over, and reports how it ended. Nothing
// here calls a backend.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "anyplace/place.h"
#include "child.h"
#include "conformance.h"
#include "test_module.h"

namespace anyplace::conformance {
namespace {

using Clock = std::chrono::steady_clock;

/// How many bytes of a child's output are kept, from its end.
constexpr std::size_t kept_output = 8192;

/// A forked child, with its page and the end of its output. It gets no more than its time, and no process that it
/// started is left behind.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;  // it has one parent
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (process_ > 0) end(true);
    if (output_ >= 0) close(output_);
  }

  /// Forks; `body(page)` runs in the child and doesn't return.
  template <class Body>
  void start(std::chrono::milliseconds limit, Body&& body);

  /// Reads what the child wrote, and returns whether it has ended. Ends it if its time is over.
  bool over();

  int output() const noexcept { return output_; }
  SharedPage& page() const noexcept { return *page_; }
  bool timed_out() const noexcept { return timed_out_; }
  int status() const noexcept { return status_; }
  /// The child's time limit; a case may ask for a longer one.
  std::chrono::milliseconds limit() const noexcept { return limit_ * std::clamp(page_->time_factor.load(), 1, 10); }
  const std::string& text() const noexcept { return text_; }
  double seconds() const noexcept { return seconds_; }

 private:
  [[noreturn]] static void fail_start(const char* what) {
    throw CannotRun(std::string("no process for a case: ") + what + ": " + std::strerror(errno));
  }
  void drain();
  void end(bool by_force) noexcept;

  SharedPageMapping page_;
  pid_t process_ = 0;
  int output_ = -1;
  Clock::time_point started_;
  std::chrono::milliseconds limit_{0};
  bool timed_out_ = false;
  int status_ = 0;
  double seconds_ = 0;
  std::string text_;
};

/// Makes a fork of this process like a fresh process.
void settle_in(pid_t parent, int output) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_DFL);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) signal(number, SIG_DFL);
  }
  if (const int empty = open("/dev/null", O_RDONLY | O_CLOEXEC); empty >= 0) dup2(empty, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

template <class Body>
void Child::start(std::chrono::milliseconds limit, Body&& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_start("pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  output_ = ends[0];
  const pid_t parent = getpid();
  started_ = Clock::now();
  limit_ = limit;
  process_ = fork();
  if (process_ == 0) {
    settle_in(parent, ends[1]);
    // The cases are about the backend's own memory, so the library's caching allocator is switched off.
    setenv("ANYPLACE_ALLOCATOR", "caching:false", 1);
    body(*page_);
  }
  close(ends[1]);
  if (process_ < 0) fail_start("fork");
  setpgid(process_, process_);
}

void Child::drain() {
  std::array<char, 16384> chunk;
  ssize_t got = 0;
  // The rounds are limited, because a child that writes without end must not keep the parent here.
  for (int rounds = 0; rounds < 64 && (got = ::read(output_, chunk.data(), chunk.size())) > 0; ++rounds) {
    text_.append(chunk.data(), static_cast<std::size_t>(got));
    if (text_.size() > kept_output) text_.erase(0, text_.size() - kept_output);
  }
}

void Child::end(bool by_force) noexcept {
  // The child is still a zombie of this process, so its number and its group's can't belong to another process yet.
  kill(-process_, SIGKILL);
  if (by_force) kill(process_, SIGKILL);
  while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) continue;
  process_ = 0;
  seconds_ = std::chrono::duration<double>(Clock::now() - started_).count();
}

bool Child::over() {
  siginfo_t info{};
  const bool ended =
      waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process_;
  drain();
  if (!ended && Clock::now() < started_ + limit()) return false;
  timed_out_ = !ended;
  end(!ended);
  drain();
  return true;
}

void wait_for_news(const std::list<std::unique_ptr<Child>>& children) {
  std::vector<pollfd> watched;
  for (const auto& child : children) watched.push_back({child->output(), POLLIN, 0});
  // A child that ends closes its output, unless a process that it started keeps it open; so it soon looks again.
  poll(watched.data(), watched.size(), 20);
  const bool all_closed = std::all_of(watched.begin(), watched.end(), [](const pollfd& one) {
    return (one.revents & POLLHUP) != 0 && (one.revents & POLLIN) == 0;
  });
  if (all_closed) poll(nullptr, 0, 1);
}

/// The last steps of the threads of a child that ended without a result.
std::string last_calls(const SharedPage& page, bool crashed) {
  const int by = page.crashed_slot.load();
  if (crashed && by > 0 && static_cast<std::size_t>(by) <= page.slots.size()) {
    return step_text(page, static_cast<std::size_t>(by - 1));
  }
  std::string text;
  const std::size_t slots = std::min<std::size_t>(page.slots_taken.load(), page.slots.size());
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const std::string one = step_text(page, slot);
    if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
  }
  if (crashed && by < 0) text = "on a thread of the backend's, during " + text;
  return text;
}

/// The reason why a child didn't end well; "" if it did.
std::string death(const Child& child) {
  if (child.timed_out()) {
    return "it didn't end within " + std::to_string(static_cast<double>(child.limit().count()) / 1000).substr(0, 6) +
           " seconds and was killed";
  }
  if (WIFSIGNALED(child.status())) return "it was killed by " + signal_text(WTERMSIG(child.status()));
  if (WEXITSTATUS(child.status()) != 0) return "it ended with status " + std::to_string(WEXITSTATUS(child.status()));
  return "";
}

/// Fills in the part of the report that follows from the child's end.
void judge(CaseReport& report, const Child& child) {
  const SharedPage& page = child.page();
  report.seconds = child.seconds();
  report.result = Result::failed;
  report.output = child.text();
  const auto outcome = static_cast<Outcome>(page.outcome.load());
  const std::string died = death(child);
  if (outcome == Outcome::failed) {
    report.reason = page.reason.get();
    report.call = page.call.get();
  } else if (!died.empty()) {
    report.reason = outcome == Outcome::passed ? "the case passed, but at the end of the process " + died : died;
    report.call = last_calls(page, !child.timed_out());
  } else if (outcome == Outcome::unfinished) {
    report.reason = "it ended the process";
    report.call = last_calls(page, false);
  } else {
    report.result = outcome == Outcome::skipped ? Result::skipped : Result::passed;
    report.reason = outcome == Outcome::skipped ? page.reason.get() : "";
    report.output.clear();
  }
}

/// Asks a child about the place; surroundings.place becomes the device's own.
void discover(Surroundings& surroundings, Discovery& found, std::chrono::milliseconds limit) {
  std::list<std::unique_ptr<Child>> children;
  children.push_back(std::make_unique<Child>());
  Child& child = *children.front();
  child.start(limit, [&](SharedPage& page) { discover_in_child(page, surroundings); });
  while (!child.over()) wait_for_news(children);
  CaseReport report;
  judge(report, child);
  if (report.result != Result::passed) {
    std::string text = surroundings.place + " can't be used: " + report.reason;
    if (!report.call.empty()) text += "\n  in " + report.call;
    if (!report.output.empty()) text += "\n" + report.output;
    throw CannotRun(text);
  }
  std::memcpy(&found, &child.page().discovery, sizeof(found));
  surroundings.place = found.place.get();
  surroundings.device_count = found.device_count;
  surroundings.plugin_file = found.plugin.get();
}

/// What the device lacks of the case's needs; "" if nothing.
std::string missing(const CaseDefinition& definition, const Surroundings& surroundings, std::uint64_t capabilities) {
  for (const Need& need : definition.needs) {
    const bool there = need.kind == Need::Kind::second_device   ? surroundings.device_count > 1
                       : need.kind == Need::Kind::other_backend ? !surroundings.other.empty()
                       : need.kind == Need::Kind::test_module
                           ? !surroundings.module.empty()
                           : (capabilities >> static_cast<unsigned>(need.capability) & 1) != 0;
    if (!there) return need.name();
  }
  return "";
}

/// The FNV-1a hash, so that the seed of a case doesn't depend on which other cases run.
std::uint64_t case_seed(std::uint64_t seed, const CaseDefinition& definition) {
  std::uint64_t hash = 14695981039346656037u ^ seed;
  for (const char c : std::string(definition.group) + ": " + definition.name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return hash;
}

/// Fisher-Yates, written here because std::shuffle's result differs between libraries.
void shuffle(std::vector<std::size_t>& order, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
}

std::vector<std::size_t> chosen_cases(const std::vector<CaseInfo>& infos, const Options& options) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (is_chosen(infos[i], options)) chosen.push_back(i);
  }
  if (chosen.empty()) {
    std::string lacks;
    for (const std::string& text : options.excludes) lacks += " and lacks '" + text + "'";
    throw CannotRun("no case has '" + options.filter + "' in its name" + lacks + "; --list shows all of them");
  }
  shuffle(chosen, options.seed);
  return chosen;
}

struct Running {
  std::size_t index;  ///< into definitions()
  Child* child;
};

class Runner {
 public:
  Runner(const Options& options, const Surroundings& surroundings, std::uint64_t capabilities, const Watcher& watcher)
      : options_(options), surroundings_(surroundings), capabilities_(capabilities), watcher_(watcher) {}

  /// Fills in the report's cases, and those that weren't reached.
  void run(const std::vector<std::size_t>& order, const std::vector<CaseInfo>& infos, Report& report) {
    std::map<std::size_t, CaseReport> done;
    bool failed = false;
    const auto finish = [&](std::size_t index, CaseReport one) {
      if (watcher_.ends) watcher_.ends(one);
      failed = failed || one.result == Result::failed;
      done.emplace(index, std::move(one));
    };
    const auto stops = [&] {
      if (report.interrupted == 0 && watcher_.interrupted) report.interrupted = watcher_.interrupted();
      return report.interrupted != 0 || (failed && options_.fail_fast);
    };
    auto next = order.begin();
    while (!stops() && (next != order.end() || !children_.empty())) {
      while (!stops() && next != order.end() && children_.size() < std::max(1u, options_.jobs)) {
        start(*next++, infos, finish);
      }
      if (children_.empty()) continue;
      wait_for_news(children_);
      collect(infos, finish);
    }
    children_.clear();  // ends the children that still run
    for (auto& [index, one] : done) report.cases.push_back(std::move(one));
    std::set<std::size_t> left(order.begin(), order.end());
    for (const auto& [index, one] : done) left.erase(index);
    for (const std::size_t index : left) report.not_run.push_back(infos[index]);
  }

 private:
  template <class Finish>
  void start(std::size_t index, const std::vector<CaseInfo>& infos, Finish&& finish) {
    const CaseDefinition& definition = definitions()[index];
    if (std::string lacking = missing(definition, surroundings_, capabilities_); !lacking.empty()) {
      CaseReport report;
      report.info = infos[index];
      report.result = Result::skipped;
      report.reason = std::move(lacking);
      finish(index, std::move(report));
      return;
    }
    auto child = std::make_unique<Child>();
    child->start(options_.timeout, [&](SharedPage& page) {
      run_case_in_child(page, surroundings_, definition, case_seed(options_.seed, definition));
    });
    running_.push_back({index, child.get()});
    children_.push_back(std::move(child));
  }

  template <class Finish>
  void collect(const std::vector<CaseInfo>& infos, Finish&& finish) {
    for (auto one = running_.begin(); one != running_.end();) {
      if (!one->child->over()) {
        ++one;
        continue;
      }
      CaseReport report;
      report.info = infos[one->index];
      judge(report, *one->child);
      finish(one->index, std::move(report));
      children_.remove_if([&](const auto& child) { return child.get() == one->child; });
      one = running_.erase(one);
    }
  }

  const Options& options_;
  const Surroundings& surroundings_;
  const std::uint64_t capabilities_;
  const Watcher& watcher_;
  std::list<std::unique_ptr<Child>> children_;
  std::list<Running> running_;
};

/// The default of --other: the simulator, which always exists, unless it is the backend under test.
std::string other_place(const Options& options, const std::string& backend) {
  constexpr const char* simulator = "cpu_sim";
  if (options.other.empty()) return backend == simulator ? "" : std::string(simulator) + ":0";
  if (Place(options.other).backend() == backend) {
    throw CannotRun("the other place, " + options.other + ", is of the same backend; it has to be of another than " +
                    backend);
  }
  return options.other;
}

/// Checks the plugin's name, which may show before it is opened that it is another backend's.
void check_plugin(const Options& options, const std::string& plugin_of_place) {
  if (options.plugin.empty()) return;
  std::array<char, 4096> asked{};
  std::array<char, 4096> loaded{};
  if (realpath(options.plugin.c_str(), asked.data()) != nullptr &&
      realpath(plugin_of_place.c_str(), loaded.data()) != nullptr && std::strcmp(asked.data(), loaded.data()) == 0) {
    return;
  }
  throw CannotRun("the plugin " + options.plugin + " isn't the one that " + options.place + " leads to, which is " +
                  plugin_of_place + "; name a place of the plugin's own backend");
}

}  // namespace

const char* to_string(Result result) noexcept {
  return result == Result::passed ? "passed" : result == Result::failed ? "failed" : "skipped";
}

int Report::count(Result result) const noexcept {
  return static_cast<int>(
      std::count_if(cases.begin(), cases.end(), [&](const CaseReport& one) { return one.result == result; }));
}

Report run(const Options& options, const Watcher& watcher) {
  const std::vector<CaseInfo> infos = cases();
  const std::vector<std::size_t> order = chosen_cases(infos, options);

  Surroundings surroundings{options.place, options.plugin, "", "", 0, ""};
  const auto found = std::make_unique<Discovery>();
  discover(surroundings, *found, options.timeout);
  check_plugin(options, found->plugin.get());
  surroundings.other = other_place(options, found->backend.get());
  surroundings.module = find_test_module(options.module, found->image_formats.get());

  Report report;
  report.place = surroundings.place;
  report.device = found->device.get();
  report.backend = found->backend.get();
  report.backend_version = found->version.get();
  report.plugin = found->plugin.get();
  report.seed = options.seed;
  if (watcher.begins) watcher.begins(report);
  Runner(options, surroundings, found->capabilities, watcher).run(order, infos, report);
  return report;
}

}  // namespace anyplace::conformance
