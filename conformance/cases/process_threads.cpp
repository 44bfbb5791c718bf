// SPDX-License-Identifier: Apache-2.0
// A backend's own threads don't take the application's signals, and calls that only look at the devices write nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "second_process.h"
#include "table_module.h"

namespace anyplace::conformance::process_threads_cases {
namespace {

// ---- Signals

/// Whether a thread may leave the signal unblocked: signals of its own faults, those that can't be blocked, and the C
/// library's two.
bool may_be_taken(int number) {
  static const std::set<int> numbers = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGTRAP, SIGABRT,
                                        SIGSYS,  SIGKILL, SIGSTOP, 32,     33};
  return numbers.count(number) == 1;
}

std::set<std::string> thread_ids() {
  std::set<std::string> ids;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.insert(one.path().filename().string());
  }
  return ids;
}

struct Unblocked {
  std::string thread;
  int signal = 0;  ///< 0 for none
};

/// The value of a line of /proc/self/task/ID/status; "" if the thread has ended.
std::string status_line(const std::string& id, const std::string& key) {
  std::ifstream file("/proc/self/task/" + id + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":\t", 0) == 0) return line.substr(key.size() + 2);
  }
  return "";
}

/// Finds a thread, other than those in `before`, that takes a signal of the application.
Unblocked find_unblocked(const std::set<std::string>& before) {
  for (const std::string& id : thread_ids()) {
    if (before.count(id) == 1) continue;
    // A thread that has never slept may still be about to block them.
    const std::string slept = status_line(id, "voluntary_ctxt_switches");
    const std::string mask = status_line(id, "SigBlk");
    if (mask.empty() || slept.empty() || slept == "0") continue;
    const std::uint64_t blocked = std::stoull(mask, nullptr, 16);
    for (int number = 1; number <= 64; ++number) {
      if (may_be_taken(number) || (blocked >> (number - 1) & 1) != 0) continue;
      return {status_line(id, "Name") + " (" + id + ")", number};
    }
  }
  return {};
}

/// The number of libraries that the process has loaded, without plugins.
int libraries() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && line.find(".so", at) != std::string::npos) files.insert(line.substr(at));
  }
  int count = 0;
  for (const std::string& file : files) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;  // a module's image is mapped, but not loaded
    count += dlsym(library, ANYPLACE_ENTRY_SYMBOL) == nullptr ? 1 : 0;
    dlclose(library);
  }
  return count;
}

/// Checks the backend's threads at many moments.
class SignalWatch {
 public:
  explicit SignalWatch(const Run& run) : before_(thread_ids()) {
    // Loads the plugin with the libraries that it is linked to. Libraries that are loaded later are the vendor's, and
    // the threads may be theirs.
    if (dlopen(run.plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      check_failed(__FILE__, __LINE__, dlerror());
    }
    libraries_ = libraries();
  }

  void look() {
    if (found_.signal == 0) found_ = find_unblocked(before_);
  }
  /// Returns "" if nothing was found, `vendors` if the thread may be the vendor's.
  std::string found() {
    for (int i = 0; i < 20 && found_.signal == 0; ++i) {  // a thread may just be starting
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (found_.signal == 0) return "";
    if (libraries() > libraries_) return vendors;
    return "the backend's thread " + found_.thread + " takes the application's signal " + std::to_string(found_.signal);
  }
  /// Fails or skips the case for what was found, in this process or another one.
  static void judge(const std::string& found, Caller caller = {}) {
    if (found == vendors) skip("threads that no vendor's library may have started");
    if (!found.empty()) check_failed(caller.file, caller.line, found);
  }

 private:
  std::set<std::string> before_;
  int libraries_ = 0;
  Unblocked found_;

  static constexpr const char* vendors = "?";
};

/// The thread that runs this kernel stays while the other threads are checked.
std::atomic<SignalWatch*> watch_in_kernel{nullptr};

anyplace_status look_in_kernel(void*, const anyplace_block*, void* const*, const std::uint32_t*,
                               std::uint32_t) noexcept {
  if (SignalWatch* const watch = watch_in_kernel.exchange(nullptr)) watch->look();
  return ANYPLACE_STATUS_OK;
}

void use_kernels(const Run& run, const TableBackend& backend, anyplace_stream stream, SignalWatch& watch) {
  if (backend.has(Capability::host_kernels)) {
    const anyplace_kernel kernel = backend.kernel(look_in_kernel);
    const anyplace_launch launch = launch_of(64);
    watch_in_kernel = &watch;
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    MUST(backend, kernel_destroy, kernel);
  }
  if (!backend.has(Capability::modules) || run.module_file().empty()) return;
  const anyplace_address memory = backend.allocate(1 << 20);
  const TableImage image(run);
  const anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  FillLaunch fill(memory, 64, 1);
  MUST(backend, kernel_launch, stream, kernel, &fill.launch());
  watch.look();
  backend.synchronize(stream);
  MUST(backend, module_unload, module);
  backend.free(memory);
}

/// Makes pending work on several streams, during which the threads are checked, and large work.
void use_streams(const TableBackend& backend, SignalWatch& watch) {
  constexpr std::uint64_t bytes = 16 << 20;
  std::vector<anyplace_stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(backend.stream());
  const anyplace_event event = backend.event(ANYPLACE_EVENT_BLOCKING_SYNC);
  const anyplace_address memory = backend.allocate(2 * bytes);
  watch.look();
  {
    TableHold hold(backend);
    hold.hold(streams[0]);
    MUST(backend, event_record, event, streams[0]);
    anyplace_address own = memory;  // the streams run at the same time, so each writes bytes of its own
    for (const anyplace_stream stream : streams) {
      MUST(backend, stream_wait_event, stream, event);
      MUST(backend, memory_set, stream, own, 1, 1, 4096);
      own += 4096;
    }
    static_cast<void>(ENTRY(backend, stream_synchronize, streams[1], 1000 * 1000));
    watch.look();
  }
  for (const anyplace_stream stream : streams) backend.synchronize(stream);
  MUST(backend, memory_copy, streams[0], memory, memory + bytes, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  watch.look();
  backend.synchronize(streams[0]);
  if (backend.has(Capability::host_functions)) submit(backend, streams[2], [&] { watch.look(); });
  backend.synchronize(streams[2]);
  MUST(backend, event_destroy, event);
  backend.free(memory);
  for (const anyplace_stream stream : streams) backend.destroy(stream);
  watch.look();
}

ANYPLACE_CASE("process", "process.left_alone", "the threads that a backend starts take none of the process's signals") {
  SignalWatch watch(run);
  const TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t device = 0; device < count; ++device) {
    backend.properties(device);
    if (!backend.has(Capability::monitoring)) continue;
    anyplace_device_sample taken{};
    taken.struct_size = sizeof(taken);
    MUST(backend, device_sample, device, &taken);
  }
  watch.look();
  use_streams(backend, watch);
  const anyplace_stream stream = backend.stream();
  use_kernels(run, backend, stream, watch);
  backend.destroy(stream);
  MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  SignalWatch::judge(watch.found());
}

std::vector<std::byte> bytes_of(const void* from, std::size_t size) {
  const auto* const raw = static_cast<const std::byte*>(from);
  return {raw, raw + size};
}

/// Runs in a process that shares an event and memory, and reports at the end what it found about its own threads.
void share_and_look(const Run& run, const Talk& talk) {
  SignalWatch watch(run);
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event(ANYPLACE_EVENT_INTERPROCESS);
  anyplace_ipc_handle handle{};
  handle.struct_size = sizeof(handle);
  MUST(backend, event_export, event, &handle);
  talk.send(bytes_of(&handle, sizeof(handle)));
  if (backend.has(Capability::interprocess_memory)) {
    const anyplace_address memory = backend.allocate(4096, ANYPLACE_MEMORY_SHAREABLE);
    anyplace_ipc_handle shared{};
    shared.struct_size = sizeof(shared);
    MUST(backend, memory_export, backend.device(), memory, 4096, &shared);
  }
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, event_record, event, stream);
  watch.look();
  talk.tell();
  talk.hear();
  watch.look();
  hold.open();
  MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
  const std::string found = watch.found();
  talk.send(bytes_of(found.data(), found.size()));
  talk.hear();
}

ANYPLACE_CASE("process", "process.left_alone",
              "the threads that a backend starts to share with another process take none of the process's signals",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) { share_and_look(run, talk); });
  SignalWatch watch(run);
  const TableBackend backend(run);
  const std::vector<std::byte> bytes = second.talk().receive();
  anyplace_ipc_handle handle{};
  CHECK(bytes.size() == sizeof(handle));
  std::memcpy(&handle, bytes.data(), sizeof(handle));
  second.talk().hear();
  anyplace_event event = 0;
  MUST(backend, event_import, backend.device(), &handle, &event);
  const anyplace_stream stream = backend.stream();
  MUST(backend, stream_wait_event, stream, event);
  static_cast<void>(ENTRY(backend, stream_synchronize, stream, 1000 * 1000));
  watch.look();
  second.talk().tell();
  backend.synchronize(stream);
  MUST(backend, event_destroy, event);
  const std::vector<std::byte> theirs = second.talk().receive();
  second.talk().tell();
  second.must_end_well();
  SignalWatch::judge({reinterpret_cast<const char*>(theirs.data()), theirs.size()});
  SignalWatch::judge(watch.found());
}

// ---- Standard output and standard error

/// Replaces one of the two by a file.
class Replaced {
 public:
  Replaced(const Folder& folder, int descriptor)
      : path_(folder.file("output" + std::to_string(descriptor), "")), descriptor_(descriptor) {
    kept_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_APPEND);
    CHECK(file >= 0);
    CHECK(dup2(file, descriptor) == descriptor);
    close(file);
  }
  Replaced(const Replaced&) = delete;  // it restores the descriptor once
  Replaced& operator=(const Replaced&) = delete;
  ~Replaced() {
    dup2(kept_, descriptor_);
    close(kept_);
  }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_;
  int descriptor_;
  int kept_ = -1;
};

ANYPLACE_CASE("process", "process.left_alone",
              "loading a plugin and a look at its devices write nothing to standard output or standard error") {
  const Folder folder;
  std::fflush(nullptr);
  std::string output;
  std::string errors;
  int libraries_before = 0;
  {
    const Replaced out(folder, STDOUT_FILENO);
    const Replaced err(folder, STDERR_FILENO);
    if (dlopen(run.plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      check_failed(__FILE__, __LINE__, dlerror());
    }
    libraries_before = libraries();
    TableBackend backend(run);
    for (int i = 0; i < 3; ++i) {
      std::int32_t count = 0;
      MUST(backend, device_count, &count);
      for (std::int32_t device = 0; device < count; ++device) {
        backend.properties(device);
        backend.memory(device);
      }
    }
    std::fflush(nullptr);
    output = out.text();
    errors = err.text();
  }
  CHECK_EQUAL(output, "");
  if (!errors.empty() && libraries() > libraries_before) skip("a look that no vendor's library may have spoken of");
  CHECK_EQUAL(errors, "");
}

}  // namespace
}  // namespace anyplace::conformance::process_threads_cases
