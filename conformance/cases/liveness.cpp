// SPDX-License-Identifier: Apache-2.0
//
// Liveness under load: a waiter goes on when what it waits for is done, whatever is submitted later, whoever else waits
// or gives up, and however close a submission is to the end of the work before it.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "table_backend.h"

namespace anyplace::conformance::liveness_cases {
namespace {

/// Keeps a stream busy for good: each of its host functions returns only when the next one is submitted. So the stream
/// is never idle before stop(), but everything that was submitted at some moment is done soon after it.
class Feed {
 public:
  Feed(const TableBackend& backend, anyplace_stream stream, std::function<void()> after_each = {})
      : backend_(backend), stream_(stream), after_each_(std::move(after_each)), thread_([this] { run(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return started_ > 2; });
  }
  Feed(const Feed&) = delete;  // its thread points at it
  Feed& operator=(const Feed&) = delete;
  ~Feed() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
    backend_.table().stream_synchronize(backend_.self(), stream_, ANYPLACE_FOREVER);
  }

 private:
  void run() {
    for (std::uint64_t i = 0;; ++i) {
      submit(backend_, stream_, [this, i] {
        std::unique_lock lock(mutex_);
        ++started_;
        changed_.notify_all();
        changed_.wait(lock, [this, i] { return submitted_ > i + 1 || stop_; });
      });
      if (after_each_) after_each_();
      std::unique_lock lock(mutex_);
      ++submitted_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return started_ >= submitted_ || stop_; });
      if (stop_) return;
    }
  }

  const TableBackend& backend_;
  const anyplace_stream stream_;
  const std::function<void()> after_each_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t submitted_ = 0;  // guarded by mutex_
  std::uint64_t started_ = 0;    // guarded by mutex_
  bool stop_ = false;            // guarded by mutex_
  std::thread thread_;           // last, because it uses all of the above
};

constexpr std::uint64_t long_time = std::uint64_t{1} << 62;

ANYPLACE_CASE("liveness", "streams.synchronize", "synchronising a stream ends though new work keeps coming",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const Feed feed(backend, stream);
  for (int i = 0; i < 10; ++i) MUST(backend, stream_synchronize, stream, ANYPLACE_FOREVER);
  const anyplace_status status = ENTRY(backend, stream_synchronize, stream, long_time);
  CHECK(status == ANYPLACE_STATUS_OK || status == ANYPLACE_STATUS_UNSUPPORTED);
}

ANYPLACE_CASE("liveness", "devices.synchronize", "synchronising a device ends though new work keeps coming",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const Feed feed(backend, stream);
  for (int i = 0; i < 10; ++i) MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  const anyplace_status status = ENTRY(backend, device_synchronize, backend.device(), long_time);
  CHECK(status == ANYPLACE_STATUS_OK || status == ANYPLACE_STATUS_UNSUPPORTED);
}

ANYPLACE_CASE("liveness", "events.record", "synchronising an event ends though it is recorded again and again",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  const Feed feed(backend, stream, [&] { MUST(backend, event_record, event, stream); });
  for (int i = 0; i < 10; ++i) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
  for (int i = 0; i < 10; ++i) {
    const anyplace_status status = ENTRY(backend, event_synchronize, event, long_time);
    CHECK(status == ANYPLACE_STATUS_OK || status == ANYPLACE_STATUS_UNSUPPORTED);
  }
}

ANYPLACE_CASE("liveness", "streams.wait_event", "a stream that waits gets on though new work keeps coming elsewhere",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream waiter = backend.stream();
  const anyplace_event event = backend.event();
  const Feed feed(backend, stream);
  for (int i = 0; i < 10; ++i) {
    MUST(backend, event_record, event, stream);
    MUST(backend, stream_wait_event, waiter, event);
    MUST(backend, stream_synchronize, waiter, ANYPLACE_FOREVER);
  }
}

// ---- Many waiters

struct Waited {
  std::string label;
  enum class What { stream, event, device, of_each } what;
};
const std::vector<Waited> waited = {{"a stream", Waited::What::stream},
                                    {"an event", Waited::What::event},
                                    {"a device", Waited::What::device},
                                    {"a stream, its event and its device", Waited::What::of_each}};

anyplace_status wait_for(const TableBackend& backend, Waited::What what, int thread, anyplace_stream stream,
                         anyplace_event event, std::uint64_t timeout) {
  const int kind = what == Waited::What::of_each ? thread / 2 % 3 : static_cast<int>(what);
  if (kind == 0) return ENTRY(backend, stream_synchronize, stream, timeout);
  if (kind == 1) return ENTRY(backend, event_synchronize, event, timeout);
  return ENTRY(backend, device_synchronize, backend.device(), timeout);
}

/// Every second thread gives up and tries again, so that a wake-up that is meant for one thread may reach another.
ANYPLACE_CASES(waited, "liveness", "streams.synchronize",
               "all of many threads that wait for {} get on, also while others give up") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  for (int round = 0; round < 20; ++round) {
    TableHold hold(backend);
    hold.hold(stream);
    MUST(backend, event_record, event, stream);
    std::atomic<int> ready{0};
    std::atomic<int> through{0};
    std::vector<std::thread> threads;
    constexpr int count = 6;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        const std::uint64_t timeout = i % 2 == 0 ? ANYPLACE_FOREVER : 50000;
        anyplace_status status = ANYPLACE_STATUS_OK;
        do {
          status = wait_for(backend, parameter.what, i, stream, event, timeout);
          if (status == ANYPLACE_STATUS_UNSUPPORTED) {
            status = wait_for(backend, parameter.what, i, stream, event, ANYPLACE_FOREVER);
          }
        } while (status == ANYPLACE_STATUS_TIMEOUT);
        if (status == ANYPLACE_STATUS_OK) ++through;
      });
    }
    while (ready.load() < count) std::this_thread::yield();
    bool early = false;
    if (round == 0) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(25);
      while (std::chrono::steady_clock::now() < end && !early) early = through.load() != 0;
    }
    hold.open();
    step(__FILE__, __LINE__, "waiting for the threads that synchronise");
    for (std::thread& thread : threads) thread.join();
    CHECK(!early);
    CHECK_EQUAL(through.load(), count);
  }
}

ANYPLACE_CASE("liveness", "streams.wait_event", "all of many streams that wait for one event get on") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  std::vector<anyplace_stream> waiters;
  for (int i = 0; i < 16; ++i) waiters.push_back(backend.stream());
  for (int round = 0; round < 20; ++round) {
    {
      TableHold hold(backend);
      hold.hold(stream);
      MUST(backend, event_record, event, stream);
      for (const anyplace_stream waiter : waiters) MUST(backend, stream_wait_event, waiter, event);
    }
    for (const anyplace_stream waiter : waiters) backend.synchronize(waiter);
  }
}

// ---- Submissions at the moment when earlier work ends

ANYPLACE_CASE("liveness", "streams.synchronize",
              "work that is submitted at the moment when its stream falls idle is done, from one thread or several") {
  TableBackend backend(run);
  const anyplace_stream shared = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  run_threads(4, [&](int thread) {
    const anyplace_stream own = backend.stream();
    for (int i = 0; i < 500; ++i) {
      const anyplace_stream stream = thread % 2 == 0 ? own : shared;
      MUST(backend, memory_set, stream, memory + static_cast<std::uint64_t>(thread) * 64, 1, 1, 64);
      linger(i);
      MUST(backend, stream_synchronize, stream, ANYPLACE_FOREVER);
    }
    backend.destroy(own);
  });
}

ANYPLACE_CASE("liveness", "streams.wait_event", "two streams that wait for each other in turn never stop") {
  TableBackend backend(run);
  const anyplace_stream streams[2] = {backend.stream(), backend.stream()};
  const anyplace_event events[2] = {backend.event(), backend.event()};
  for (int i = 0; i < 1500; ++i) {
    MUST(backend, event_record, events[i % 2], streams[i % 2]);
    linger(i);
    MUST(backend, stream_wait_event, streams[1 - i % 2], events[i % 2]);
    if (i % 100 == 99) MUST(backend, event_synchronize, events[i % 2], ANYPLACE_FOREVER);
  }
  for (const anyplace_stream stream : streams) backend.synchronize(stream);
}

/// Counts how much of a stream's work was submitted, and how much is done.
struct Counts {
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> stop{false};
};

/// Submits host functions until it is told to stop, a few ahead of what is done.
std::thread submitter(const TableBackend& backend, anyplace_stream stream, Counts& counts) {
  return std::thread([&backend, stream, &counts] {
    while (!counts.stop) {
      submit(backend, stream, [&counts] {
        for (int i = 0; i < 10; ++i) linger(1);  // keeps the stream from falling idle
        ++counts.done;
      });
      ++counts.submitted;
      while (counts.submitted > counts.done + 8 && !counts.stop) std::this_thread::yield();
    }
  });
}

/// Runs `look(submitted)` many times while another thread submits; `look` returns how much was done of what it waited
/// for.
void check_against_submitter(const TableBackend& backend, anyplace_stream stream, const char* what,
                             const std::function<std::uint64_t(Counts&)>& look) {
  Counts counts;
  std::thread thread = submitter(backend, stream, counts);
  step(__FILE__, __LINE__, "waiting for the first pieces of work");
  while (counts.submitted < 8) std::this_thread::yield();
  std::string wrong;
  try {
    for (int i = 0; i < 150 && wrong.empty(); ++i) {
      linger(i);
      const std::uint64_t before = counts.submitted;
      const std::uint64_t done = look(counts);
      if (done < before) wrong = std::to_string(done) + " of " + std::to_string(before);
    }
  } catch (...) {
    counts.stop = true;
    thread.join();
    backend.table().stream_synchronize(backend.self(), stream, ANYPLACE_FOREVER);
    throw;
  }
  counts.stop = true;
  thread.join();
  backend.synchronize(stream);
  if (!wrong.empty()) {
    check_failed(__FILE__, __LINE__,
                 std::string(what) + " while another thread submits: only " + wrong +
                     " pieces of work that were submitted before are done");
  }
}

ANYPLACE_CASE("liveness", "events.record", "a record that races with submissions marks all that came before it",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  check_against_submitter(backend, stream, "an event was recorded and synchronised", [&](Counts& counts) {
    MUST(backend, event_record, event, stream);
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    return counts.done.load();
  });
}

ANYPLACE_CASE("liveness", "streams.wait_event", "a wait for a record that races with submissions waits for all of it",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream waiter = backend.stream();
  const anyplace_event event = backend.event();
  check_against_submitter(backend, stream, "a stream waited", [&](Counts& counts) {
    MUST(backend, event_record, event, stream);
    MUST(backend, stream_wait_event, waiter, event);
    MUST(backend, stream_synchronize, waiter, ANYPLACE_FOREVER);
    return counts.done.load();
  });
}

ANYPLACE_CASE("liveness", "streams.synchronize", "a synchronise that races with submissions waits for all before it",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  check_against_submitter(backend, stream, "a stream was synchronised", [&](Counts& counts) {
    MUST(backend, stream_synchronize, stream, ANYPLACE_FOREVER);
    return counts.done.load();
  });
}

ANYPLACE_CASE("liveness", "devices.synchronize", "synchronising a device races with submissions and waits for all",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  check_against_submitter(backend, stream, "a device was synchronised", [&](Counts& counts) {
    MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
    return counts.done.load();
  });
}

ANYPLACE_CASE("liveness", "streams.query",
              "a query that races with submissions is true only when all before it is done",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  check_against_submitter(backend, stream, "a query said done", [&](Counts& counts) {
    const std::uint64_t before = counts.submitted;
    std::int32_t done = 0;
    MUST(backend, stream_query, stream, &done);
    return done != 0 ? counts.done.load() : before;
  });
}

}  // namespace
}  // namespace anyplace::conformance::liveness_cases
