// SPDX-License-Identifier: Apache-2.0
#include "comm.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace anyplace::doubles::nccl {

using namespace anyplace::nccl;

namespace {

constexpr std::chrono::microseconds pause{50};
constexpr std::uint32_t released = 0x7fffffff;  ///< at least any number that a stream waits for

/// Whether ranks notice that another one's process has ended, as a network may tell them.
bool notices() {
  const char* const asked = std::getenv("NCCL_DOUBLE_NOTICES");
  return asked != nullptr && std::strcmp(asked, "1") == 0;
}

}  // namespace

Comm::Comm(const Driver& driver, std::unique_ptr<World> world, int rank, int size)
    : driver_(driver), world_(std::move(world)), rank_(rank), size_(size) {
  void* word = nullptr;
  if (driver_.allocate_word(&word, &word_address_) != 0) return;
  word_ = static_cast<std::atomic<std::uint64_t>*>(word);
  word_->store(0);
  thread_ = std::thread([this] { work(); });
}

Comm::~Comm() {
  abort();
  for (void* const block : all_blocks_) driver_.free(block);
  if (word_ != nullptr) driver_.free_word(word_);
}

void Comm::abort() {
  aborted_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(mutex_);
  // The streams copy back and are done with the batches: those that are queued, too. They are told only once done_with
  // finds all.
  while (!queue_.empty()) {
    done_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (word_ != nullptr) word_->store(released);
  changed_.wait(lock, [this] { return done_.empty(); });
}

void Comm::fail(int result, std::string text) {
  const std::lock_guard lock(mutex_);
  if (error_ != 0) return;
  error_text_ = std::move(text);
  error_ = result;
}

std::string Comm::error_text() const {
  const std::lock_guard lock(mutex_);
  return error_text_;
}

template <class Predicate>
bool Comm::wait_until(Predicate&& predicate) {
  static const bool noticed = notices();
  while (!predicate()) {
    if (aborted_) return false;
    for (int rank = 0; noticed && rank < size_; ++rank) {
      const int process = (*world_)->seats[rank].process;
      if (process == 0 || ::kill(process, 0) == 0 || errno != ESRCH) continue;
      fail(nccl_remote_error, "rank " + std::to_string(rank) + " has ended");
      return false;
    }
    std::this_thread::sleep_for(pause);
  }
  return true;
}

bool Comm::wait_for_all() {
  const bool all = wait_until([this] { return (*world_)->opened >= static_cast<std::uint32_t>(size_); });
  if (all) world_->unlink();
  return all;
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

void* Comm::take_block(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_blocks_.begin(), free_blocks_.end(),
                                   [&](const Block& block) { return block.bytes >= bytes; });
    if (fits != free_blocks_.end()) {
      void* const memory = fits->memory;
      free_blocks_.erase(fits);
      return memory;
    }
  }
  void* memory = nullptr;
  if (driver_.allocate(&memory, bytes, 0) != 0) return nullptr;
  const std::lock_guard lock(mutex_);
  all_blocks_.push_back(memory);
  return memory;
}

void Comm::came(void* user) {
  auto* const batch = static_cast<Batch*>(user);
  const std::lock_guard lock(batch->comm->mutex_);
  batch->ready = true;
  batch->comm->changed_.notify_all();
}

void Comm::done_with(void* user) {
  auto* const batch = static_cast<Batch*>(user);
  Comm& comm = *batch->comm;
  const std::lock_guard lock(comm.mutex_);
  for (const Op& op : batch->ops) {
    if (op.in != nullptr) comm.free_blocks_.push_back({op.in, op.source_bytes});
    if (op.out != nullptr) comm.free_blocks_.push_back({op.out, op.destination_bytes});
  }
  std::erase_if(comm.done_, [&](const std::unique_ptr<Batch>& one) { return one.get() == batch; });
  comm.changed_.notify_all();
}

int Comm::submit(std::vector<Op> ops, void* stream) {
  auto owned = std::make_unique<Batch>();
  Batch* const batch = owned.get();
  batch->comm = this;
  batch->ops = std::move(ops);
  int failed = 0;
  for (Op& op : batch->ops) {
    if (op.source_bytes > area_bytes) return nccl_internal_error;
    if (op.source_bytes != 0) {
      op.in = take_block(op.source_bytes);
      failed |= driver_.to_host(op.in, op.source, op.source_bytes, stream);
    }
    if (op.destination_bytes != 0) op.out = take_block(op.destination_bytes);
  }
  {
    const std::lock_guard lock(mutex_);
    batch->number = ++submitted_;
    queue_.push_back(std::move(owned));
  }
  failed |= driver_.call_host(stream, came, batch);
  failed |= driver_.wait_for(stream, word_address_, batch->number);
  for (const Op& op : batch->ops) {
    if (op.destination_bytes != 0) failed |= driver_.to_device(op.destination, op.out, op.destination_bytes, stream);
  }
  failed |= driver_.call_host(stream, done_with, batch);
  return failed == 0 ? nccl_success : nccl_unhandled_cuda_error;
}

// ---- Working -------------------------------------------------------------------------------------------------------

void Comm::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return aborted_ || (!queue_.empty() && queue_.front()->ready); });
    if (aborted_) return;
    Batch& batch = *queue_.front();
    lock.unlock();
    const bool done = run(batch);
    lock.lock();
    if (!done) {  // nothing more is done, and the streams wait, until it is aborted
      changed_.wait(lock, [this] { return aborted_.load(); });
      return;
    }
    done_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    word_->store(batch.number);
  }
}

bool Comm::run(Batch& batch) {
  for (Op& op : batch.ops) {
    if (op.call.what != What::send && op.call.what != What::recv && !exchange(op)) return false;
  }
  return mail(batch);
}

bool Comm::same_calls(const Call& own) {
  for (int rank = 0; rank < size_; ++rank) {
    const Call& other = (*world_)->seats[rank].call;
    if (other == own) continue;
    fail(nccl_invalid_usage, "rank " + std::to_string(rank_) + " calls " + text_of(own) + ", rank " +
                                 std::to_string(rank) + " calls " + text_of(other));
    return false;
  }
  return true;
}

bool Comm::exchange(Op& op) {
  Shared& shared = **world_;
  Seat& seat = shared.seats[rank_];
  const std::uint64_t number = ++calls_;
  const auto everywhere = [&](std::atomic<std::uint64_t> Seat::*member) {
    return wait_until([&] {
      return std::all_of(shared.seats, shared.seats + size_, [&](Seat& one) { return one.*member >= number; });
    });
  };
  if (op.in != nullptr) std::memcpy(seat.area, op.in, op.source_bytes);
  seat.call = op.call;
  seat.posted.store(number);
  if (!everywhere(&Seat::posted) || !same_calls(op.call)) return false;
  compute(op);
  seat.read.store(number);
  return everywhere(&Seat::read);
}

void Comm::compute(Op& op) {
  Shared& shared = **world_;
  const Call& call = op.call;
  const std::size_t bytes = call.count * size_of_type(call.type);
  if (op.out == nullptr) return;
  if (call.what == What::broadcast) {
    std::memcpy(op.out, shared.seats[call.root].area, bytes);
    return;
  }
  if (call.what == What::all_gather) {
    for (int rank = 0; rank < size_; ++rank) {
      std::memcpy(static_cast<char*>(op.out) + static_cast<std::size_t>(rank) * bytes, shared.seats[rank].area, bytes);
    }
    return;
  }
  const std::size_t offset = call.what == What::reduce_scatter ? static_cast<std::size_t>(rank_) * bytes : 0;
  std::memcpy(op.out, shared.seats[0].area + offset, bytes);
  for (int rank = 1; rank < size_; ++rank) {
    combine(op.out, shared.seats[rank].area + offset, call.count, call.type, call.op);
  }
  if (call.op == nccl_avg) divide(op.out, call.count, call.type, size_);
}

/// Sends and receives of a group, whichever can go first.
bool Comm::mail(Batch& batch) {
  std::vector<Op*> open;
  for (Op& op : batch.ops) {
    if (op.call.what == What::send || op.call.what == What::recv) open.push_back(&op);
  }
  std::string wrong;
  const auto moved = [&](Op* op) {
    const bool sends = op->call.what == What::send;
    Letter& letter = sends ? (*world_)->letters[rank_][op->call.root] : (*world_)->letters[op->call.root][rank_];
    if ((letter.full != 0) == sends) return false;
    if (sends) {
      letter.call = op->call;
      if (op->in != nullptr) std::memcpy(letter.data, op->in, op->source_bytes);
      letter.full = 1;
      return true;
    }
    if (letter.call.count != op->call.count || letter.call.type != op->call.type) {
      wrong = "rank " + std::to_string(op->call.root) + " calls " + text_of(letter.call) + ", rank " +
              std::to_string(rank_) + " calls " + text_of(op->call);
    } else if (op->out != nullptr) {
      std::memcpy(op->out, letter.data, op->destination_bytes);
    }
    letter.full = 0;
    return true;
  };
  while (!open.empty()) {
    if (!wait_until([&] {
          bool any = false;
          // Of one peer only the first may move.
          std::vector<std::pair<What, int>> blocked;
          std::erase_if(open, [&](Op* op) {
            const std::pair<What, int> way(op->call.what, op->call.root);
            if (std::find(blocked.begin(), blocked.end(), way) != blocked.end()) return false;
            if (moved(op)) return any = true;
            blocked.push_back(way);
            return false;
          });
          return any;
        })) {
      return false;
    }
    if (!wrong.empty()) {
      fail(nccl_invalid_usage, wrong);
      return false;
    }
  }
  return true;
}

// ---- Splitting -----------------------------------------------------------------------------------------------------

int Comm::split(int color, int key, Comm** out) {
  *out = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return aborted_ || queue_.empty(); });
  }
  Shared& shared = **world_;
  Seat& seat = shared.seats[rank_];
  const std::uint64_t number = ++calls_;
  seat.color = color;
  seat.key = key;
  seat.posted.store(number);
  const auto everywhere = [&](std::atomic<std::uint64_t> Seat::*member) {
    return wait_until([&] {
      return std::all_of(shared.seats, shared.seats + size_, [&](Seat& one) { return one.*member >= number; });
    });
  };
  if (!everywhere(&Seat::posted)) return nccl_remote_error;
  std::vector<std::pair<int, int>> members;
  for (int rank = 0; rank < size_; ++rank) {
    if (shared.seats[rank].color == color) members.emplace_back(shared.seats[rank].key, rank);
  }
  seat.read.store(number);
  if (!everywhere(&Seat::read)) return nccl_remote_error;
  ++splits_;
  if (color < 0) return nccl_success;
  std::sort(members.begin(), members.end());
  const auto own = std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.second == rank_; });
  const auto rank = static_cast<int>(own - members.begin());
  const auto size = static_cast<int>(members.size());
  auto world =
      std::make_unique<World>(world_->name() + "-" + std::to_string(splits_) + "-" + std::to_string(color), rank, size);
  if (!*world) return nccl_system_error;
  auto comm = std::make_unique<Comm>(driver_, std::move(world), rank, size);
  if (!comm->wait_for_all()) return nccl_remote_error;
  *out = comm.release();
  return nccl_success;
}

}  // namespace anyplace::doubles::nccl
