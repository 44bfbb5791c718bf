// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <string>

#include "anyplace/backend/kit/watcher.h"

namespace watcher_test {

namespace {

class Counting final : public anyplace::backend::Watched {
 public:
  void thread_begins() noexcept override {
    const std::lock_guard lock(mutex_);
    ++begun;
    char text[16] = "";
    pthread_getname_np(pthread_self(), text, sizeof(text));
    name = text;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  }
  void look(bool ask_vendor) noexcept override {
    const std::lock_guard lock(mutex_);
    ++looks;
    if (ask_vendor) ++asked;
    changed_.notify_all();
  }
  bool anything_pending() const noexcept override {
    const std::lock_guard lock(mutex_);
    return pending;
  }

  void wait_for(const int& count, int least) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count >= least; });
  }
  void set_pending(bool to) {
    const std::lock_guard lock(mutex_);
    pending = to;
  }

  int begun = 0, looks = 0, asked = 0;  // guarded by mutex_, until the thread has ended
  bool pending = false;
  std::string name;
  sigset_t mask{};

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

TEST_CASE("A watcher begins once, is woken, asks while something is pending, and looks a last time") {
  Counting counting;
  anyplace::backend::Watcher watcher("kit-test", counting);
  watcher.start();
  watcher.start();
  counting.wait_for(counting.looks, 1);
  counting.set_pending(true);
  watcher.wake();
  counting.wait_for(counting.asked, 3);
  counting.set_pending(false);
  watcher.stop();
  CHECK(counting.begun == 1);
  CHECK(counting.name == "kit-test");
  const int looks = counting.looks;
  CHECK(looks > 4);
  watcher.start();  // after the end it starts no more
  watcher.stop();
  CHECK(counting.looks == looks);
  CHECK(counting.begun == 1);
}

TEST_CASE("A watcher's thread handles no signals but those of its own faults") {
  Counting counting;
  anyplace::backend::Watcher watcher("kit-test", counting);
  watcher.start();
  counting.wait_for(counting.looks, 1);
  watcher.stop();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD}) CHECK(sigismember(&counting.mask, signal) == 1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) CHECK(sigismember(&counting.mask, signal) == 0);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGTERM) == 0);
}

TEST_CASE("A watcher that was never started ends at once") {
  Counting counting;
  anyplace::backend::Watcher watcher("kit-test", counting);
  watcher.stop();
  CHECK(counting.looks == 0);
}

}  // namespace watcher_test
