// SPDX-License-Identifier: Apache-2.0
//
// Comm: a rank's communicator. What is called becomes work of the vendor's stream: a copy to pinned memory, a host
// function that says that it has come, a wait on a word, a copy back. A thread of the communicator's own does the calls
// in their order, together with the other ranks' processes, and writes the word.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"
#include "world.h"

namespace anyplace::doubles::nccl {

/// One call, with the device's memory and the pinned memory in its place.
struct Op {
  Call call;
  std::uint64_t source = 0, destination = 0;
  std::size_t source_bytes = 0, destination_bytes = 0;
  void* in = nullptr;
  void* out = nullptr;
};

class Comm;
struct Batch {
  Comm* comm = nullptr;
  std::vector<Op> ops;
  std::uint32_t number = 0;
  bool ready = false;  ///< the stream has come to it
};

class Comm {
 public:
  Comm(const Driver& driver, std::unique_ptr<World> world, int rank, int size);
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// Waits until all ranks have opened the world. False if it was aborted meanwhile.
  bool wait_for_all();
  /// Submits the calls to the stream. ncclResult_t.
  int submit(std::vector<Op> ops, void* stream);
  /// The communicator of this rank's color: null for a negative one.
  int split(int color, int key, Comm** out);
  /// Ends the thread, and lets the streams go on.
  void abort();
  int error() const noexcept { return error_.load(); }
  std::string error_text() const;

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  void* take_block(std::size_t bytes);
  static void came(void* batch);
  static void done_with(void* batch);
  void work();
  bool run(Batch& batch);
  bool exchange(Op& op);
  bool mail(Batch& batch);
  bool same_calls(const Call& own);
  void compute(Op& op);
  void fail(int result, std::string text);
  /// Waits until it holds; false once aborted, or where a rank is noticed to be gone.
  template <class Predicate>
  bool wait_until(Predicate&& predicate);

  const Driver& driver_;
  const std::unique_ptr<World> world_;
  const int rank_, size_;
  std::atomic<bool> aborted_{false};
  std::atomic<int> error_{0};
  std::uint64_t calls_ = 0;  ///< that the ranks have done together
  std::uint32_t splits_ = 0;
  std::atomic<std::uint64_t>* word_ = nullptr;  ///< pinned
  std::uint64_t word_address_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> queue_;
  std::vector<std::unique_ptr<Batch>> done_;  ///< whose copies back may not be
  std::vector<Block> free_blocks_;
  std::vector<void*> all_blocks_;
  std::string error_text_;
  std::uint32_t submitted_ = 0;
  std::thread thread_;
};

}  // namespace anyplace::doubles::nccl
