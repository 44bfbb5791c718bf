// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "anyplace/plugins.h"
#include "case.h"

namespace anyplace::conformance {
namespace {

pid_t running_case = 0;

// The sanitizers have handlers of their own, which report more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool note_crashes = false;
#else
constexpr bool note_crashes = true;
#endif

/// How long check_stays_false looks, and how long it sleeps in between.
constexpr std::chrono::milliseconds look_for{25};
constexpr std::chrono::microseconds look_every{200};

extern "C" void note_crash(int number) {
  SharedPage* const page = page_in_use();
  if (page != nullptr) {
    int none = 0;
    const int slot = own_slot();
    page->crashed_slot.compare_exchange_strong(none, slot < 0 ? -1 : slot + 1);
  }
  signal(number, SIG_DFL);
  raise(number);
}

void watch_for_crashes() noexcept {
  if (!note_crashes) return;
  // A thread of the backend may have little stack left. The handler has a stack of its own only on this thread, and
  // needs little.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(number, note_crash);
}

/// `where` is set if it isn't the thread's last step.
void tell_reason(SharedPage& page, const std::string& reason, const std::string& where) noexcept {
  if (page.told.exchange(1) != 0) return;
  page.reason.set(reason);
  const int slot = own_slot();
  if (!where.empty()) {
    page.call.set(where);
  } else if (slot >= 0) {
    page.call.set(step_text(page, static_cast<std::size_t>(slot)));
  }
}

void tell(SharedPage& page, Outcome outcome, const std::string& reason, const std::string& where = {}) noexcept {
  tell_reason(page, reason, where);
  page.outcome.store(static_cast<int>(outcome));
}

/// Runs `body` and notes how it ended. Returns whether it ended well.
template <class Body>
bool noted(SharedPage& page, Body&& body) noexcept {
  try {
    body();
    return true;
  } catch (const CheckFailed& failed) {
    tell(page, Outcome::failed, failed.text, failed.where);
  } catch (const Skipped& skipped) {
    tell(page, Outcome::skipped, skipped.missing);
  } catch (const Error& error) {
    tell(page, Outcome::failed, std::string("an error that isn't expected here: ") + error.what());
  } catch (const std::exception& error) {
    tell(page, Outcome::failed, std::string("an exception that isn't expected here: ") + error.what());
  } catch (...) {
    tell(page, Outcome::failed, "an exception that is no std::exception");
  }
  return false;
}

/// Ends the process by exit(), so that a backend that crashes or hangs in an exit handler is found out.
[[noreturn]] void end(bool well) {
  if (!well) _exit(0);
  step("conformance/child.cpp", __LINE__, "std::exit(0)");
  std::exit(0);
}

/// Fills `found`, or throws a readable text, because an error is an expected answer here.
void discover(Discovery& found, const Surroundings& surroundings) try {
  if (!surroundings.plugin.empty()) CALL(register_plugin(surroundings.plugin));
  const Device device = CALL(Device(surroundings.place));
  const BackendInfo info = CALL(backend_info(device.backend()));
  const DeviceProperties properties = CALL(device.properties());
  found.place.set(device.to_string());
  found.device.set(properties.name);
  found.backend.set(info.name);
  found.version.set(info.version);
  found.plugin.set(info.path);
  found.device_count = CALL(device_count(device.backend()));
  for (const Capability capability : properties.capabilities) {
    found.capabilities |= std::uint64_t{1} << static_cast<unsigned>(capability);
  }
  std::string formats;
  for (const std::string& format : properties.image_formats) formats += format + " ";
  found.image_formats.set(formats);
} catch (const Error& error) {
  throw CheckFailed{error.what()};
}

}  // namespace

void check_failed(const char* file, int line, const std::string& text) {
  const SharedPage* const page = page_in_use();
  const int slot = own_slot();
  const std::string here = source_name(file) + (":" + std::to_string(line) + ": ");
  const bool noted = page != nullptr && slot >= 0 && step_text(*page, static_cast<std::size_t>(slot)).starts_with(here);
  if (!noted) step(file, line, "a check of the case");
  const int now = own_slot();
  throw CheckFailed{text, page != nullptr && now >= 0 ? step_text(*page, static_cast<std::size_t>(now)) : here + text};
}

bool end_well(const char* process, const std::function<void()>& body) noexcept {
  forget_slot();
  std::string failure, where;
  try {
    body();
    return true;
  } catch (const CheckFailed& failed) {
    failure = failed.text;
    where = failed.where;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  failure = std::string("in the ") + process + ": " + failure;
  if (SharedPage* const page = page_in_use(); page != nullptr) tell_reason(*page, failure, where);
  failure += "\n";
  static_cast<void>(!write(STDERR_FILENO, failure.data(), failure.size()));
  return false;
}

void check_end(const char* process, int status, const char* file, int line) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (!WIFSIGNALED(status))
    check_failed(file, line,
                 std::string("the ") + process + " ended with status " + std::to_string(WEXITSTATUS(status)));
  std::string text = std::string("the ") + process + " was killed by " + signal_text(WTERMSIG(status));
  const SharedPage* const page = page_in_use();
  const int by = page == nullptr ? 0 : page->crashed_slot.load();
  if (by > 0 && static_cast<std::size_t>(by) <= page->slots.size()) {
    text += ", in " + step_text(*page, static_cast<std::size_t>(by - 1));
  } else if (by < 0) {
    text += ", on a thread of the backend's";
  }
  check_failed(file, line, text);
}

std::string signal_text(int number) {
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

void needs_time(int factor) noexcept {
  if (SharedPage* const page = page_in_use(); page != nullptr) page->time_factor.store(factor);
}

void skip(std::string missing) { throw Skipped{std::move(missing)}; }

Error expect_error(ErrorCode code, const char* file, int line, const char* text, const std::function<void()>& body) {
  step(file, line, text);
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == code) return error;
    check_failed(
        file, line,
        std::string(text) + " throws " + to_string(error.code()) + ", not " + to_string(code) + ": " + error.what());
  }
  check_failed(file, line, std::string(text) + " doesn't throw; it has to throw " + to_string(code));
}

void check_stays_false(const char* file, int line, const char* text, const std::function<bool()>& body) {
  step(file, line, text);
  const auto end = std::chrono::steady_clock::now() + look_for;
  do {
    if (body()) check_failed(file, line, std::string(text) + " is true while it has to be false");
    std::this_thread::sleep_for(look_every);
  } while (std::chrono::steady_clock::now() < end);
}

Device Run::device(const char* file, int line) const {
  step(file, line, "run.device()");
  return Device(place_);
}

Device Run::second(const char* file, int line) const {
  step(file, line, "run.second()");
  const Device first(place_);
  return Device(Place(first.backend(), first.index() == 0 ? 1 : 0));
}

Device Run::other(const char* file, int line) const {
  step(file, line, "run.other()");
  return Device(other_);
}

void Run::need(Capability capability) const {
  if (!device().has(capability)) skip(to_string(capability));
}

void discover_in_child(SharedPage& page, const Surroundings& surroundings) {
  use_page(&page);
  watch_for_crashes();
  if (noted(page, [&] { discover(page.discovery, surroundings); })) {
    page.outcome.store(static_cast<int>(Outcome::passed));
  }
  _exit(0);
}

pid_t case_process() noexcept { return running_case; }

void run_case_in_child(SharedPage& page, const Surroundings& surroundings, const CaseDefinition& definition,
                       std::uint64_t seed) {
  running_case = getpid();
  use_page(&page);
  watch_for_crashes();
  const bool well = noted(page, [&] {
    if (!surroundings.plugin.empty()) CALL(register_plugin(surroundings.plugin));
    Run run(surroundings.place, surroundings.plugin_file, surroundings.other, surroundings.module,
            surroundings.device_count, seed);
    definition.body(run);
  });
  if (well) page.outcome.store(static_cast<int>(Outcome::passed));
  end(well);
}

}  // namespace anyplace::conformance
