// SPDX-License-Identifier: Apache-2.0
#include "thread_buffer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace anyplace::trace {
namespace {

/// How long a thread waits for the writer in all before it drops records.
constexpr std::chrono::milliseconds patience(200);

std::string own_name() {
  std::array<char, 32> name{};
  return ::pthread_getname_np(::pthread_self(), name.data(), name.size()) == 0 ? name.data() : "";
}

thread_local ThreadBuffer* current = nullptr;
thread_local bool is_ending = false;

/// Gives the buffer up when the thread ends.
struct End {
  ~End() {
    is_ending = true;
    if (current != nullptr) current->end();
    current = nullptr;
  }
};

ThreadBuffer* make_buffer() noexcept {
  if (is_ending) return nullptr;
  static thread_local End end;
  static_cast<void>(end);
  ThreadBuffers& buffers = thread_buffers();
  try {
    const std::lock_guard lock(buffers.mutex);
    current = buffers.all.emplace_back(std::make_unique<ThreadBuffer>(buffers.made + 1)).get();
    ++buffers.made;
  } catch (const std::bad_alloc&) {
  }
  return current;
}

}  // namespace

ThreadBuffers& thread_buffers() noexcept {
  static auto& only = *new ThreadBuffers;
  return only;
}

ThreadBuffer* thread_buffer() noexcept { return current != nullptr ? current : make_buffer(); }

// Submissions of different threads have different numbers.
ThreadBuffer::ThreadBuffer(std::uint64_t given)
    : number(given), thread(::gettid()), name(own_name()), records_(new Record[capacity]), submissions_(given << 40) {}

Record* ThreadBuffer::claim() noexcept {
  const std::uint64_t at = written_.load(std::memory_order_relaxed);
  if (at - known_read_ == capacity) {
    known_read_ = read_.load(std::memory_order_acquire);
    if (at - known_read_ == capacity && !make_room()) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    is_stuck_ = false;
  }
  return &records_[at % capacity];
}

void ThreadBuffer::publish() noexcept {
  const std::uint64_t next = written_.load(std::memory_order_relaxed) + 1;
  written_.store(next, std::memory_order_release);
  if (next % (capacity / 4) == 0 && !thread_buffers().are_kept.load(std::memory_order_relaxed))
    ::sem_post(&thread_buffers().bell);
}

bool ThreadBuffer::make_room() noexcept {
  return thread_buffers().are_kept.load(std::memory_order_relaxed) ? keep() : wait_for_room();
}

/// Makes room without the writer.
bool ThreadBuffer::keep() noexcept {
  const std::lock_guard lock(kept_mutex_);
  const std::uint64_t end = written_.load(std::memory_order_relaxed);
  constexpr std::size_t most_parts = most_kept / capacity - 1;  // the buffer itself is one more
  if (kept_.size() == most_parts) return false;
  try {
    std::vector<Record> part;
    part.reserve(capacity);
    for (std::uint64_t at = read_.load(std::memory_order_relaxed); at != end; ++at) {
      part.push_back(records_[at % capacity]);
    }
    kept_.push_back(std::move(part));
  } catch (const std::bad_alloc&) {
    return false;
  }
  read_.store(end, std::memory_order_release);
  known_read_ = end;
  return true;
}

bool ThreadBuffer::wait_for_room() noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!is_stuck_ && std::chrono::steady_clock::now() < deadline) {
    ::sem_post(&thread_buffers().bell);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    known_read_ = read_.load(std::memory_order_acquire);
    if (written_.load(std::memory_order_relaxed) - known_read_ < capacity) return true;
  }
  is_stuck_ = true;
  return false;
}

TimingPool* ThreadBuffer::pool(TracedBackend& backend, anyplace_stream stream) noexcept {
  // Handles are often addresses, whose lowest bits are equal.
  KnownStream& known = known_streams_[(stream >> 4 ^ stream >> 12) % known_streams_.size()];
  const std::uint64_t version = backend.streams_version();
  if (known.backend == &backend && known.stream == stream && known.version == version) return known.pool;
  try {
    auto owned = std::find_if(owned_.begin(), owned_.end(), [&](const auto& one) { return one.backend == &backend; });
    if (owned == owned_.end()) owned = owned_.insert(owned_.end(), {&backend, {}});
    known = {&backend, stream, version, backend.pool_of(stream, owned->pools)};
    return known.pool;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ThreadBuffer::end() noexcept {
  for (const OwnedPools& owned : owned_) owned.backend->release(owned.pools);
  ended.store(true, std::memory_order_release);
}

bool ThreadBuffer::is_repeat(std::uint64_t finding) noexcept {
  if (finding != 0 && finding == last_finding_) {
    ++repeats_;
    return true;
  }
  last_finding_ = finding;
  return false;
}

std::uint32_t ThreadBuffer::take_repeats() noexcept { return std::exchange(repeats_, 0); }

}  // namespace anyplace::trace
