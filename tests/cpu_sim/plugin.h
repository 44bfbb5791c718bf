// SPDX-License-Identifier: Apache-2.0
//
// What the cases stand on: the plugin's table with a small host behind it, and owners of its handles that throw when an
// entry fails. No core is involved.
#pragma once

#include <anyplace/backend/abi.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace cpu_sim_test {

inline constexpr std::uint64_t forever = ANYPLACE_FOREVER;
inline constexpr std::uint64_t millisecond = 1'000'000;

/// Set once, waited for by any thread.
class Flag {
 public:
  void set() {
    std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
  }
  bool is_set() {
    std::lock_guard lock(mutex_);
    return set_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

/// What happened, in order, from any thread.
template <class T>
class Log {
 public:
  void add(T entry) {
    std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<T> entries() {
    std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::vector<T> entries_;
};

struct Fault {
  std::uint64_t cookie;
  anyplace_status status;
  std::string text;
};

/// The host's side, as little as a plugin needs.
class HostStub {
 public:
  HostStub();
  const anyplace_host* host() const { return &host_; }
  std::vector<Fault> faults() { return faults_.entries(); }
  /// How deep this thread is inside user_code_begin.
  static int user_code_depth();
  /// The message left last on this thread, which takes it.
  static std::string take_message();

 private:
  anyplace_host host_{};
  Log<Fault> faults_;
};

struct EntryFailed : std::runtime_error {
  EntryFailed(anyplace_status code, const std::string& text) : std::runtime_error(text), status(code) {}
  anyplace_status status;
};

/// Throws EntryFailed with the message left on this thread.
void check(anyplace_status status);
/// As check, but for waits: false for TIMEOUT.
bool check_wait(anyplace_status status);
/// The status with which `body` fails; OK if it doesn't.
anyplace_status status_of(const std::function<void()>& body, std::string* text = nullptr);

using Environment = std::map<std::string, std::string>;

/// One entered plugin. Every object is an engine of its own.
class Plugin {
 public:
  /// The variables are those without the prefix ANYPLACE_CPU_SIM_; the others are unset.
  explicit Plugin(const Environment& environment = Environment());
  ~Plugin();  // shuts down, which must succeed
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// Only what the entry returned, and the message.
  static anyplace_status enter(const Environment& environment, std::string* text);

  const anyplace_backend_table* operator->() const { return &table_; }
  void* self() const { return table_.self; }
  HostStub& host() { return *host_; }
  std::uint64_t next_cookie() { return ++cookies_; }
  bool shut_down(std::uint64_t timeout_ns);
  void leave_running() { left_ = true; }

  std::uint64_t allocate(std::uint64_t bytes, std::int32_t device = 0, std::uint32_t kind = ANYPLACE_MEMORY_DEVICE);
  void free(std::uint64_t address, std::int32_t device = 0, std::uint32_t kind = ANYPLACE_MEMORY_DEVICE);
  anyplace_device_properties properties(std::int32_t device);
  std::uint64_t free_bytes(std::int32_t device = 0);
  bool synchronize(std::int32_t device, std::uint64_t timeout_ns = forever);

 private:
  HostStub* host_;
  anyplace_backend_table table_{};
  std::atomic<std::uint64_t> cookies_{0};
  bool left_ = false;
};

class Gate {
 public:
  explicit Gate(Plugin& plugin, std::int32_t device = 0);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { check(plugin_->gate_open(plugin_.self(), handle)); }

  anyplace_gate handle = 0;

 private:
  Plugin& plugin_;
};

using Block = std::function<anyplace_status(const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t)>;

/// A kernel of kernel_from_host.
class Kernel {
 public:
  Kernel(Plugin& plugin, Block block, std::int32_t device = 0, Flag* released = nullptr);
  Kernel(Plugin& plugin, std::function<void()> body, std::int32_t device = 0);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  anyplace_kernel handle = 0;

 private:
  Plugin& plugin_;
};

struct Grid {
  std::uint32_t x = 1, y = 1, z = 1;
};

class Event {
 public:
  explicit Event(Plugin& plugin, std::uint32_t flags = 0, std::int32_t device = 0);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  bool done();
  bool synchronize(std::uint64_t timeout_ns = forever);
  void destroy();

  anyplace_event handle = 0;

 private:
  Plugin& plugin_;
};

class Stream {
 public:
  struct Options {
    std::int32_t device = 0;
    std::int32_t priority = 0;
    std::uint32_t flags = 0;
  };
  explicit Stream(Plugin& plugin) : Stream(plugin, Options{}) {}
  Stream(Plugin& plugin, const Options& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  static Options null() { return {-1, 0, 0}; }
  static Options on(std::int32_t device) { return {device, 0, 0}; }
  static Options priority(std::int32_t priority) { return {0, priority, 0}; }
  static Options blocking() { return {0, 0, ANYPLACE_STREAM_BLOCKING}; }

  bool done();
  bool synchronize(std::uint64_t timeout_ns = forever);
  void wait(Event& event) { check(plugin_->stream_wait_event(plugin_.self(), handle, event.handle)); }
  void wait(Gate& gate) { check(plugin_->stream_wait_gate(plugin_.self(), handle, gate.handle)); }
  void record(Event& event) { check(plugin_->event_record(plugin_.self(), event.handle, handle)); }
  void launch(Kernel& kernel, Grid grid = {}, const std::vector<anyplace_argument>& arguments = {},
              std::uint64_t shared_bytes = 0) {
    launch(kernel.handle, grid, arguments, shared_bytes);
  }
  void launch(anyplace_kernel kernel, Grid grid = {}, const std::vector<anyplace_argument>& arguments = {},
              std::uint64_t shared_bytes = 0);
  /// A kernel of one block, destroyed as soon as it is submitted.
  void run(std::function<void()> body);
  void host(std::function<void()> body);
  void copy(void* destination, const void* source, std::uint64_t bytes,
            std::uint32_t kind = ANYPLACE_COPY_HOST_TO_DEVICE);
  void destroy();

  anyplace_stream handle = 0;
  std::uint64_t cookie = 0;

 private:
  Plugin& plugin_;
};

}  // namespace cpu_sim_test
