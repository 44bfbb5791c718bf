// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite as a library: the promises, the cases that hold a backend to them, and the function that runs
// those. tools/conformance.cpp prints the results, as text or JSON.
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
/// All promises, in the order of the contract.
std::span<const Bullet> bullets() noexcept;

struct CaseInfo {
  std::string group;               ///< "copies"
  std::string bullet;              ///< the id of the promise that it checks
  std::string name;                ///< a sentence; no two cases of a group have the same
  std::vector<std::string> needs;  ///< what a device must have, else the case is skipped
  std::string file;
  int line = 0;
};
/// All cases, in the order of the bullets' groups. Loads no backend.
std::vector<CaseInfo> cases();
/// Whether `filter` occurs in "group: name" or in the bullet's id, ignoring case. "" occurs in all.
bool matches(const CaseInfo& info, const std::string& filter);

/// The time limit of a case unless another one is given. It ends cases that hang, so it leaves room for a busy machine.
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
  std::vector<std::string> excludes;                 ///< cases that match one of these aren't run
  std::uint64_t seed = 1;                            ///< decides the order of the cases and the random ones
  unsigned jobs = 1;                                 ///< cases that run at the same time
  std::chrono::milliseconds timeout = case_timeout;  ///< for each case
  bool fail_fast = false;                            ///< stops at the first case that fails
};

/// Called at a program's beginning: runs the program once more, with malloc's per-thread caches turned off. Memory in
/// them counts as in use and grows as long as threads free what others allocated, so the cases about the heap would
/// convict a backend that leaks nothing. Returns if the caches are off already, if the user has set GLIBC_TUNABLES, or
/// if it isn't possible.
void without_thread_caches() noexcept;

enum class Result { passed, failed, skipped };
const char* to_string(Result result) noexcept;

struct CaseReport {
  CaseInfo info;
  Result result = Result::failed;
  double seconds = 0;
  std::string reason;  ///< for a failure what was found, for a skip what is missing
  std::string call;    ///< for a failure the call, with its file and line
  std::string output;  ///< for a failure the end of standard output and error
};

struct Report {
  std::string place;  ///< "cpu_sim:0", whatever it was found by
  std::string device;
  std::string backend;
  std::string backend_version;
  std::string plugin;
  std::uint64_t seed = 0;
  std::vector<CaseReport> cases;  ///< the cases that ran to their end, in the order of cases()
  /// The cases that an interruption or fail_fast left out, in the same order.
  std::vector<CaseInfo> not_run;
  int interrupted = 0;  ///< the signal that interrupted the run, or 0

  int count(Result result) const noexcept;
  /// Whether every requested case ran and none failed.
  bool conforms() const noexcept { return not_run.empty() && count(Result::failed) == 0; }
};

/// Whether the options let the case run.
bool is_chosen(const CaseInfo& info, const Options& options);

/// Callbacks in the process that calls run(): they are told what happens, and one may end the run. Each may be empty.
struct Watcher {
  std::function<void(const Report&)> begins;    ///< the report lacks only the cases
  std::function<void(const CaseReport&)> ends;  ///< after each case
  /// Asked all the time: returns the signal that ends the run, or 0.
  std::function<int()> interrupted;
};

/// The suite can't judge the backend: an option is wrong, or the place doesn't exist.
class CannotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs the cases that match. The process must have one thread and must not have used a backend. An interruption ends
/// the running cases and isn't a failure: the results so far are reported. Throws CannotRun.
Report run(const Options& options, const Watcher& watcher);

/// From now on SIGINT and SIGTERM, unless they are ignored, are remembered for interrupted() instead of ending the
/// process; a second one ends it.
void catch_interruptions() noexcept;
int interrupted() noexcept;

/// A JUnit report. The file is opened before the cases run, so that one that can't be written is found out at once.
/// Throws CannotRun.
class JunitFile {
 public:
  explicit JunitFile(std::string path);
  JunitFile(const JunitFile&) = delete;  // it owns the descriptor
  JunitFile& operator=(const JunitFile&) = delete;
  ~JunitFile();

  /// Replaces the file's contents.
  void write(const Report& report);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace anyplace::conformance
