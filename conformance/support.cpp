// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

namespace anyplace::conformance {

struct HostGate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;  // guarded by mutex
  bool open = false;  // guarded by mutex
};

HostGate::HostGate() : state_(std::make_shared<State>()) {}
HostGate::~HostGate() { open(); }

void HostGate::hold(StreamView stream) {
  CALL(stream.launch_host_func([state = state_] {
    std::unique_lock lock(state->mutex);
    state->held = true;
    state->changed.notify_all();
    state->changed.wait(lock, [&] { return state->open; });
  }));
}

void HostGate::wait_until_held() {
  step("conformance/support.cpp", __LINE__, "waiting for a host function to run");
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->held; });
}

void HostGate::open() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->changed.notify_all();
}

struct Signal::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool set = false;  // guarded by mutex
};

Signal::Signal() : state_(std::make_shared<State>()) {}

void Signal::set() const noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->set = true;
  state_->changed.notify_all();
}

bool Signal::is_set() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->set;
}

void Signal::wait() const {
  step("conformance/support.cpp", __LINE__, "waiting for a signal of a host function, kernel or thread");
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->set; });
}

Bytes pattern(std::uint64_t bytes, std::uint64_t seed) {
  Bytes contents(static_cast<std::size_t>(bytes));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    // splitmix64 gives eight bytes at a time, because one byte at a time would be slow.
    if (i % 8 == 0) {
      state += 0x9e3779b97f4a7c15u;
      std::uint64_t mixed = state;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
      mixed ^= mixed >> 31;
      const std::size_t room = std::min<std::size_t>(8, contents.size() - i);
      std::memcpy(contents.data() + i, &mixed, room);
    }
  }
  return contents;
}

Buffer upload(StreamView stream, const Bytes& contents, Caller caller) {
  step(caller.file, caller.line, "Buffer(stream, bytes)");
  Buffer buffer(stream, contents.size());
  step(caller.file, caller.line, "stream.copy(buffer, host)");
  stream.copy(buffer, contents);
  step(caller.file, caller.line, "stream.synchronize()");
  stream.synchronize();
  return buffer;
}

Buffer filled(StreamView stream, std::uint64_t bytes, std::uint8_t value, Caller caller) {
  step(caller.file, caller.line, "Buffer(stream, bytes)");
  Buffer buffer(stream, bytes);
  step(caller.file, caller.line, "stream.memset8(buffer, value)");
  stream.memset8(buffer, value);
  step(caller.file, caller.line, "stream.synchronize()");
  stream.synchronize();
  return buffer;
}

Bytes read(BufferView buffer, Caller caller) {
  step(caller.file, caller.line, "Stream(buffer.device())");
  const Stream stream(buffer.device());
  return read(stream, buffer, caller);
}

Bytes read(StreamView stream, BufferView buffer, Caller caller) {
  Bytes contents(static_cast<std::size_t>(buffer.size_bytes()));
  step(caller.file, caller.line, "stream.copy(host, buffer)");
  stream.copy(contents, buffer);
  step(caller.file, caller.line, "stream.synchronize()");
  stream.synchronize();
  return contents;
}

Handover::Handover(const Device& from, const Device& to, Caller caller)
    : producer((step(caller.file, caller.line, "Stream(from)"), from)),
      consumer((step(caller.file, caller.line, "Stream(to)"), to)),
      source(filled(producer, bytes, 1, caller)),
      destination(filled(consumer, bytes, 0, caller)) {}

void Handover::hold_and_fill(Caller caller) {
  gate.hold(producer);
  step(caller.file, caller.line, "producer.memset8(source, 2)");
  producer.memset8(source, 2);
}

void Handover::check_copy_waits(Caller caller) {
  step(caller.file, caller.line, "consumer.copy(destination, source)");
  consumer.copy(destination, source);
  check_after_gate(caller);
}

void Handover::check_fill_waits(Caller caller) {
  step(caller.file, caller.line, "consumer.memset8(destination, 2)");
  consumer.memset8(destination, 2);
  check_after_gate(caller);
}

void Handover::check_after_gate(Caller caller) {
  check_stays_false(caller.file, caller.line, "consumer.query()", [&] { return consumer.query(); });
  gate.open();
  step(caller.file, caller.line, "consumer.synchronize()");
  consumer.synchronize();
  check_bytes(read(destination, caller), Bytes(bytes, 2), caller.file, caller.line, "destination");
}

void Handover::check_fill_goes_on(StreamView held, Caller caller) {
  step(caller.file, caller.line, "consumer.memset8(destination, 2)");
  consumer.memset8(destination, 2);
  step(caller.file, caller.line, "consumer.synchronize(1h)");
  if (!consumer.synchronize(std::chrono::hours(1)))
    check_failed(caller.file, caller.line, "consumer.synchronize(1h) is false");
  if (held.query()) check_failed(caller.file, caller.line, "the held stream's query() is true");
  gate.open();
  check_bytes(read(destination, caller), Bytes(bytes, 2), caller.file, caller.line, "destination");
}

void check_bytes(const Bytes& actual, const Bytes& expected, const char* file, int line, const char* text) {
  if (actual == expected) return;
  if (actual.size() != expected.size()) {
    check_failed(
        file, line,
        std::string(text) + " has " + std::to_string(actual.size()) + " bytes, not " + std::to_string(expected.size()));
  }
  const auto [first, wanted] = std::mismatch(actual.begin(), actual.end(), expected.begin());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) wrong += actual[i] != expected[i];
  check_failed(file, line,
               std::string(text) + " differs in " + std::to_string(wrong) + " of " + std::to_string(actual.size()) +
                   " bytes; the first is byte " + std::to_string(first - actual.begin()) + ", which is " +
                   std::to_string(*first) + ", not " + std::to_string(*wanted));
}

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        body(i);
      } catch (...) {
        thrown[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  step("conformance/support.cpp", __LINE__, "waiting for the case's own threads");
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

#ifdef __SANITIZE_ADDRESS__
namespace {

/// Whether another thread of this process is running or runnable.
bool others_run() {
  const std::string self = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream file(task.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = stat.rfind(") ");  // the name may contain any character
    if (name_end != std::string::npos && stat[name_end + 2] == 'R') return true;
  }
  return false;
}

}  // namespace
#endif

void check_forked(const char* file, int line, const std::function<void()>& body) {
  step(file, line, "fork()");
#ifdef __SANITIZE_ADDRESS__
  // GCC 12's AddressSanitizer doesn't reset its allocator's locks in the child: if another thread held one, it stays
  // locked for ever.
  for (int tries = 0; tries < 10000 && others_run(); ++tries) std::this_thread::yield();
#endif
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    _exit(end_well("forked process", body) ? 0 : 1);
  }
  step(file, line, "waiting for the forked process");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  check_end("forked process", status, file, line);
}

void set_variable(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0) throw std::system_error(errno, std::generic_category(), "setenv");
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "anyplace-conformance-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::file(const std::string& name, const std::string& contents) const {
  const std::string path = path_ + "/" + name;
  std::ofstream out(path, std::ios::binary);
  out << contents;
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), path);
  return path;
}

}  // namespace anyplace::conformance
