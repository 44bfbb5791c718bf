// SPDX-License-Identifier: Apache-2.0
// Helpers that many cases share: gates that hold a stream back, patterns of bytes and their comparison, threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "case.h"

namespace anyplace::conformance {

using Bytes = std::vector<std::uint8_t>;

/// Holds a stream back by a host function that waits. The destructor opens it at the latest. Declare it before the
/// streams, because their destructors may have to wait for it.
class HostGate {
 public:
  HostGate();
  HostGate(const HostGate&) = delete;  // it is one gate
  HostGate& operator=(const HostGate&) = delete;
  ~HostGate();

  /// What is submitted to `stream` later doesn't run before open(). Needs host_functions. May be called once.
  void hold(StreamView stream);
  /// Returns when the host function runs, and so the work before it is done.
  void wait_until_held();
  void open() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A condition that another thread signals, once.
class Signal {
 public:
  Signal();
  void set() const noexcept;
  bool is_set() const noexcept;
  void wait() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Bytes that look random and depend only on `seed`.
Bytes pattern(std::uint64_t bytes, std::uint64_t seed = 1);

/// The position of a helper's caller, so that a report shows the case's line. It is made only by default arguments.
struct Caller {
  const char* file;
  int line;
  Caller(const char* from = __builtin_FILE(), int at = __builtin_LINE()) noexcept : file(from), line(at) {}
};

/// Makes a buffer that contains `contents` when this returns.
Buffer upload(StreamView stream, const Bytes& contents, Caller caller = {});
/// Makes a buffer of `value` bytes, which are written when this returns.
Buffer filled(StreamView stream, std::uint64_t bytes, std::uint8_t value, Caller caller = {});
/// Reads the buffer by a new stream that nothing holds back. The caller must have waited until it is written.
Bytes read(BufferView buffer, Caller caller = {});
/// Reads the buffer through that stream, in its order.
Bytes read(StreamView stream, BufferView buffer, Caller caller = {});

/// Two streams, of which the consumer uses what the producer makes: it copies what the producer filled, or fills it
/// itself. The gate can hold the producer back.
struct Handover {
  static constexpr std::uint64_t bytes = 1 << 16;

  Handover(const Device& from, const Device& to, Caller caller = {});
  explicit Handover(const Device& device, Caller caller = {}) : Handover(device, device, caller) {}

  HostGate gate;
  Stream producer, consumer;
  Buffer source, destination;  ///< of the producer, with 1s, and of the consumer, with 0s

  /// Holds the producer back, and makes it then fill the source with 2s.
  void hold_and_fill(Caller caller = {});
  /// Submits a copy by the consumer, and checks that it waits until the gate opens and copies the 2s.
  void check_copy_waits(Caller caller = {});
  /// Submits a fill by the consumer, and checks that it waits until the gate opens.
  void check_fill_waits(Caller caller = {});
  /// Submits a fill by the consumer, and checks that it is done while `held`, which the gate holds back, isn't.
  void check_fill_goes_on(StreamView held, Caller caller = {});
  void check_fill_goes_on(Caller caller = {}) { check_fill_goes_on(producer, caller); }

 private:
  void check_after_gate(Caller caller);
};

void check_bytes(const Bytes& actual, const Bytes& expected, const char* file, int line, const char* text);

/// Runs `body(0)` to `body(count - 1)`, each on its own thread. An exception of one is thrown here, after all are done.
void run_threads(int count, const std::function<void(int)>& body);

/// Runs `body` in a forked process, which must end well, and fails with its reason if not. It is for the cases about
/// fork.
void check_forked(const char* file, int line, const std::function<void()>& body);

/// Sets an environment variable of this process, which must still have only one thread.
void set_variable(const char* name, const std::string& value);

/// A new directory, which is removed with its contents.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;  // it is removed once
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::string& path() const noexcept { return path_; }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& contents) const;

 private:
  std::string path_;
};

}  // namespace anyplace::conformance

/// Compares two Bytes and tells the first difference.
#define CHECK_BYTES(actual, expected)                                                        \
  do {                                                                                       \
    ::anyplace::conformance::step(__FILE__, __LINE__, #actual);                              \
    ::anyplace::conformance::check_bytes((actual), (expected), __FILE__, __LINE__, #actual); \
  } while (false)

#define CHECK_FORKED(...) ::anyplace::conformance::check_forked(__FILE__, __LINE__, [&] { __VA_ARGS__; })
