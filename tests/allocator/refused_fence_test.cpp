// SPDX-License-Identifier: Apache-2.0
// A process that puts on a filter of system calls after its threads have bins: membarrier, by which the allocator takes
// bins away from their threads, is refused from then on.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <future>
#include <iostream>
#include <thread>

#include "memory/memory_support.h"
#include "support/process.h"
#include "support/turn.h"

namespace refused_fence_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

/// Every thread of the process; for good.
void refuse_membarrier() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(code) / sizeof(code[0]), code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
  REQUIRE(syscall(__NR_membarrier, 0, 0, 0) == -1);
}

std::int64_t figure(const Device& device, const char* key) { return memory_stats(device).at(key); }

/// A thread with `bytes` in its bins that does what it is told, one thing after the other.
class Other {
 public:
  Other(const Device& device, const Stream& stream, std::uint64_t bytes)
      : device_(device), stream_(stream), bytes_(bytes) {
    tell([this] {
      for (int i = 0; i < 40; ++i) pass();
    });
  }
  Other(const Other&) = delete;  // its thread leads to it
  Other& operator=(const Other&) = delete;
  ~Other() { end(); }

  /// What is allocated and given back at once; into the bins.
  std::uint64_t pass() const {
    const auto allocator = caching_allocator(device_);
    const std::uint64_t address = allocator->allocate(stream_, bytes_);
    allocator->deallocate(stream_, address, bytes_);
    return address;
  }
  void tell(std::function<void()> what) {
    std::packaged_task<void()> task(std::move(what));
    std::future<void> done = task.get_future();
    next_.store(&task);
    next_.notify_one();
    done.get();
  }
  void end() {
    if (!thread_.joinable()) return;
    tell([this] { over_ = true; });
    thread_.join();
  }

 private:
  void run() {
    while (!over_) {
      next_.wait(nullptr);
      (*next_.exchange(nullptr))();
    }
  }

  Device device_;
  const Stream& stream_;
  std::uint64_t bytes_;
  std::atomic<bool> over_{false};
  std::atomic<std::packaged_task<void()>*> next_{nullptr};
  std::thread thread_{[this] { run(); }};
};

}  // namespace

TEST_CASE("Where the system refuses a fence nobody takes what is in another thread's bins") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Other other(device, stream, 4 * mib);
  refuse_membarrier();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") >= 4 * static_cast<std::int64_t>(mib));
  // From its next call on the thread fences itself, and then its bins can be taken away as ever.
  other.tell([&] { other.pass(); });
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
  CHECK(figure(device, "allocation.all.current") == 0);
  CHECK(figure(device, "allocation.all.allocated") == 41);
  std::uint64_t first = 0;
  other.tell([&] { first = other.pass(); });
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
}

TEST_CASE("A thread that ends after the system refused a fence leaves nothing behind") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Other other(device, stream, 4 * mib);
  refuse_membarrier();
  empty_cache(device);
  other.end();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
  CHECK(figure(device, "allocation.all.allocated") == 40);
}

TEST_CASE("A pool and a stream that end where the system refuses a fence leave nothing to be handed out wrongly") {
  const Device device("cpu_sim:0");
  auto stream = std::make_unique<Stream>(device);
  const Stream next(device);
  Other other(device, *stream, 4 * mib);
  auto pool = std::make_unique<MemoryPool>(device);
  other.tell([&] {
    const MemoryPoolGuard guard(*pool);
    for (int i = 0; i < 40; ++i) other.pass();
  });
  refuse_membarrier();
  pool.reset();
  device.synchronize();
  stream.reset();
  { const Buffer theirs(next, 4 * mib); }
  other.tell([&] { const Buffer own(next, 4 * mib); });
  device.synchronize();
  other.tell([&] { const Buffer own(next, 4 * mib); });
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
  CHECK(figure(device, "allocation.all.current") == 0);
}

TEST_CASE("Threads go on allocating while the system begins to refuse fences") {
  const Device device("cpu_sim:0");
  const auto allocator = caching_allocator(device);
  std::atomic<bool> over{false};
  std::atomic<int> rounds{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Stream stream(device);
      while (!over) {
        const std::uint64_t small = allocator->allocate(stream, 1000);
        const std::uint64_t large = allocator->allocate(stream, 4 * mib);
        allocator->deallocate(stream, small, 1000);
        allocator->deallocate(stream, large, 4 * mib);
        ++rounds;
      }
    });
  }
  // Before and after the refusal as many times, all alike.
  const test::Turn turn = test::turn();
  const int times = static_cast<int>(turn.part(200));
  std::cout << turn.text() << ": " << 2 * times << " of 400 times\n";
  for (int i = 0; i < 2 * times; ++i) {
    if (i == times) refuse_membarrier();
    const int before = rounds;
    while (rounds < before + 20) std::this_thread::yield();
    if (i % 2 == 0) empty_cache(device);
    static_cast<void>(memory_stats(device));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  device.synchronize();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
  CHECK(figure(device, "allocation.all.current") == 0);
  CHECK(figure(device, "allocation.all.allocated") == 2 * rounds);
}

}  // namespace refused_fence_test
