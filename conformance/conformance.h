// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite as a library: which promises there are, which cases hold a backend to them, and running those.
// What the command prints of it, and how (text, JSON), is tools/conformance.cpp.
//
// The process that calls run() never loads a backend. Each case runs in a child process of its own: one that crashes or
// hangs costs that case only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace anyplace::conformance {

/// One promise of the contract.
struct Bullet {
  const char* id;  ///< "streams.wait_event"
  const char* text;
};
/// All of them, in the order of the contract.
std::span<const Bullet> bullets() noexcept;

struct CaseInfo {
  std::string group;               ///< "copies"
  std::string bullet;              ///< the id of the promise that it checks
  std::string name;                ///< a sentence; no two cases of a group have the same
  std::vector<std::string> needs;  ///< what a device must have, else the case is skipped
  std::string file;
  int line = 0;
};
/// All of them, in the order of the bullets' groups. Loads no backend.
std::vector<CaseInfo> cases();
/// Whether `filter` occurs in "group: name" or in the bullet's id, in any case of letters. "" is in all.
bool matches(const CaseInfo& info, const std::string& filter);

/// What a case may take, unless asked otherwise. It is there for what hangs, so it leaves room for a busy machine.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::chrono::seconds case_timeout{120};
#else
inline constexpr std::chrono::seconds case_timeout{20};
#endif

struct Options {
  std::string place = "cpu_sim:0";
  std::string plugin;  ///< a plugin's file to register first; "" for the usual search
  std::string module;  ///< the image of the test kernels; "" to look for the one that was installed
  std::string other;   ///< a place of another backend; "" for cpu_sim:0 where that is another
  std::string filter;
  std::string exclude;                               ///< what matches this isn't run, if it is anything
  std::uint64_t seed = 1;                            ///< of the order of the cases, and of those that are random
  unsigned jobs = 1;                                 ///< cases at the same time
  std::chrono::milliseconds timeout = case_timeout;  ///< for each case
  bool fail_fast = false;                            ///< the first case that fails is the last
};

/// For a program's beginning: runs it once more, with malloc's per-thread caches turned off. What lies in them counts
/// as in use, and grows for as long as threads free what others allocated, so the cases that look at the heap would
/// convict who leaks nothing. Returns where that is done already, where GLIBC_TUNABLES is the user's, or where it can't
/// be done.
void without_thread_caches() noexcept;

enum class Result { passed, failed, skipped };
const char* to_string(Result result) noexcept;

struct CaseReport {
  CaseInfo info;
  Result result = Result::failed;
  double seconds = 0;
  std::string reason;  ///< failed: what was found; skipped: what the device lacks
  std::string call;    ///< failed: the call that it was in, with its file and line
  std::string output;  ///< failed: the end of what it wrote to standard output and error
};

struct Report {
  std::string place;  ///< "cpu_sim:0", whatever it was found by
  std::string device;
  std::string backend;
  std::string backend_version;
  std::string plugin;
  std::uint64_t seed = 0;
  std::vector<CaseReport> cases;  ///< in the order of cases(); those that ran to their end
  std::vector<CaseInfo> not_run;  ///< in that order: those that an interruption or fail_fast left out
  int interrupted = 0;            ///< by that signal; 0 if it wasn't

  int count(Result result) const noexcept;
  /// Every case that was asked for ran, and none failed.
  bool conforms() const noexcept { return not_run.empty() && count(Result::failed) == 0; }
};

/// Who is told what happens, in the process that calls run(), and who may end it. Each may be empty.
struct Watcher {
  std::function<void(const Report&)> begins;    ///< with all but the cases
  std::function<void(const CaseReport&)> ends;  ///< after each case
  std::function<int()> interrupted;             ///< asked all the time: the signal that ends the run, or 0
};

/// The suite can't say anything of the backend: a bad option, or a place that isn't there.
class CannotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs the cases that match. The process must have one thread and must not have used a backend. An interruption ends
/// the cases that are running, and is no failure: what was found until then is reported. Throws CannotRun.
Report run(const Options& options, const Watcher& watcher);

/// From now on SIGINT and SIGTERM, where they aren't ignored, are remembered for interrupted() instead of ending the
/// process; a second one ends it.
void catch_interruptions() noexcept;
int interrupted() noexcept;

/// A JUnit report, opened before the cases run, so that a file that can't be written is found out then. Throws
/// CannotRun.
class JunitFile {
 public:
  explicit JunitFile(std::string path);
  JunitFile(const JunitFile&) = delete;  // one owner of the descriptor
  JunitFile& operator=(const JunitFile&) = delete;
  ~JunitFile();

  /// Replaces the file's contents.
  void write(const Report& report);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace anyplace::conformance
