// SPDX-License-Identifier: Apache-2.0
//
// SlotTable: where handles lead. A handle is 64 bits: the index of a slot and the slot's generation. Slots are never
// freed, generations never come back, so any number can be looked up, and a destroyed or foreign handle is found out
// instead of followed.
//
// Who uses an object pins it. Closing a handle makes it invalid at once; the object is disposed of by whoever lets go
// of the last pin, so a call that is under way on another thread finishes on a live object. No lock on this path: a
// slot's word holds generation, the closed bit and the number of pins, and is changed by compare-and-swap.
//
//   word  = generation (40 bits) | closed (1) | pins (23)       an open slot has one pin of its own
//   id    = generation (40 bits) | index (24)
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "call.h"

namespace anyplace::detail {

struct SlotBits {
  static constexpr unsigned shift = 24;
  static constexpr std::uint64_t pin_mask = (1u << 23) - 1;
  static constexpr std::uint64_t closed = 1u << 23;
  static constexpr std::uint64_t index_mask = (1u << 24) - 1;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << 40) - 1;
};

template <class T>
struct Slot {
  std::atomic<std::uint64_t> word{(std::uint64_t{1} << SlotBits::shift) | SlotBits::closed};
  T* object = nullptr;
};

template <class T>
class SlotTable;

/// Keeps an object alive and in place. Movable; empty after a move.
template <class T>
class Pin {
 public:
  Pin() noexcept = default;
  Pin(SlotTable<T>* table, std::uint32_t index, T* object) noexcept : table_(table), index_(index), object_(object) {}
  Pin(Pin&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)),
        index_(other.index_),
        object_(std::exchange(other.object_, nullptr)) {}
  Pin& operator=(Pin&& other) noexcept {
    if (this != &other) {
      reset();
      table_ = std::exchange(other.table_, nullptr);
      index_ = other.index_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  Pin(const Pin&) = delete;  // a pin is let go of once
  Pin& operator=(const Pin&) = delete;
  ~Pin() { reset(); }

  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->unpin(index_);
    object_ = nullptr;
  }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  SlotTable<T>* table_ = nullptr;
  std::uint32_t index_ = 0;
  T* object_ = nullptr;
};

/// T has `static void dispose(T*) noexcept`, called once, by the thread that lets go of the last pin: any thread, also
/// one inside a host function. A table has static storage and is never destroyed.
template <class T>
class SlotTable {
 public:
  explicit constexpr SlotTable(const char* noun) noexcept : noun_(noun) {}
  SlotTable(const SlotTable&) = delete;  // handles lead into it
  SlotTable& operator=(const SlotTable&) = delete;

  /// A new handle, not open yet: an object may have to know its handle before it is complete. Then publish() or
  /// cancel().
  std::uint64_t reserve(const char* operation) {
    const std::lock_guard lock(mutex_);
    std::uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (used_ > SlotBits::index_mask) {
        fail(ErrorCode::out_of_memory, "", operation,
             std::string("all 16,777,216 handles of a ") + noun_ + " are in use");
      }
      // Room to give every slot back, so that recycling can't fail.
      if (free_.capacity() <= used_) free_.reserve(used_ < 64 ? 64 : used_ * 2);
      index = static_cast<std::uint32_t>(used_);
      std::atomic<Slot<T>*>& chunk = chunks_[index / chunk_size];
      if (chunk.load(std::memory_order_relaxed) == nullptr) {
        chunk.store(new Slot<T>[chunk_size], std::memory_order_release);
      }
      ++used_;
    }
    const std::uint64_t generation = slot(index).word.load(std::memory_order_relaxed) >> SlotBits::shift;
    return (generation << SlotBits::shift) | index;
  }
  /// Opens the handle. Takes ownership of `object`.
  void publish(std::uint64_t id, T* object) noexcept {
    Slot<T>& opened = slot(index_of(id));
    opened.object = object;
    opened.word.store(((id >> SlotBits::shift) << SlotBits::shift) | 1, std::memory_order_release);
  }
  /// Gives a reserved handle back unused.
  void cancel(std::uint64_t id) noexcept { recycle(index_of(id)); }

  /// Throws invalid_handle for a null, destroyed or made-up handle.
  Pin<T> pin(std::uint64_t id, const char* operation) {
    Pin<T> pinned = try_pin(id);
    if (!pinned) [[unlikely]]
      refuse(id, operation);
    return pinned;
  }
  /// Empty instead of throwing.
  Pin<T> try_pin(std::uint64_t id) noexcept {
    const std::uint32_t index = index_of(id);
    Slot<T>* const chunk = chunks_[index / chunk_size].load(std::memory_order_acquire);
    if (chunk == nullptr) [[unlikely]]
      return {};
    Slot<T>& found = chunk[index % chunk_size];
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      const bool full = (word & SlotBits::pin_mask) == SlotBits::pin_mask;
      if (((word ^ id) >> SlotBits::shift) != 0 || (word & SlotBits::closed) != 0 || full) [[unlikely]]
        return {};
    } while (!found.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return Pin<T>(this, index, found.object);
  }
  /// Another pin on an object that the caller has pinned, also if its handle was closed since. Throws out_of_memory
  /// when no more pins fit.
  Pin<T> pin_again(std::uint64_t id, const char* operation) {
    const std::uint32_t index = index_of(id);
    Slot<T>& found = slot(index);
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      if ((word & SlotBits::pin_mask) == SlotBits::pin_mask) {
        fail(ErrorCode::out_of_memory, "", operation, std::string("a ") + noun_ + " is in use 8,388,607 times");
      }
    } while (!found.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return Pin<T>(this, index, found.object);
  }
  /// Calls `visit(T&)` for every object whose handle is open, in no order. Those made meanwhile may be left out.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::uint64_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      count = used_;
    }
    for (std::uint32_t index = 0; index < count; ++index) {
      const std::uint64_t word = slot(index).word.load(std::memory_order_acquire);
      if ((word & SlotBits::closed) != 0) continue;
      const Pin<T> pinned = try_pin(((word >> SlotBits::shift) << SlotBits::shift) | index);
      if (pinned) visit(*pinned);
    }
  }
  /// Makes the handle invalid. False if it already was.
  bool close(std::uint64_t id) noexcept {
    const std::uint32_t index = index_of(id);
    Slot<T>* const chunk = chunks_[index / chunk_size].load(std::memory_order_acquire);
    if (chunk == nullptr) return false;
    Slot<T>& found = chunk[index % chunk_size];
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      if (((word ^ id) >> SlotBits::shift) != 0 || (word & SlotBits::closed) != 0) return false;
    } while (!found.word.compare_exchange_weak(word, (word | SlotBits::closed) - 1, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
    if ((word & SlotBits::pin_mask) == 1) dispose(index, found);
    return true;
  }

 private:
  friend class Pin<T>;
  static constexpr std::uint32_t chunk_size = 1024;

  static std::uint32_t index_of(std::uint64_t id) noexcept {
    return static_cast<std::uint32_t>(id & SlotBits::index_mask);
  }
  Slot<T>& slot(std::uint32_t index) noexcept {
    return chunks_[index / chunk_size].load(std::memory_order_acquire)[index % chunk_size];
  }

  void unpin(std::uint32_t index) noexcept {
    Slot<T>& found = slot(index);
    const std::uint64_t before = found.word.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (SlotBits::closed | SlotBits::pin_mask)) == (SlotBits::closed | 1)) dispose(index, found);
  }
  void dispose(std::uint32_t index, Slot<T>& found) noexcept {
    T* const object = std::exchange(found.object, nullptr);
    recycle(index);
    T::dispose(object);
  }
  /// A slot whose generations are used up is left closed for good: no handle ever comes back.
  void recycle(std::uint32_t index) noexcept {
    Slot<T>& found = slot(index);
    const std::uint64_t generation = found.word.load(std::memory_order_relaxed) >> SlotBits::shift;
    if (generation == SlotBits::last_generation) return;
    found.word.store(((generation + 1) << SlotBits::shift) | SlotBits::closed, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    free_.push_back(index);
  }
  [[noreturn]] void refuse(std::uint64_t id, const char* operation) {
    fail(ErrorCode::invalid_handle, "", operation,
         id == 0
             ? std::string("the ") + noun_ + " is null: it was never made, or was moved from"
             : std::string("the ") + noun_ + " with id " + std::to_string(id) + " does not exist: it was destroyed");
  }

  const char* noun_;
  std::atomic<Slot<T>*> chunks_[(SlotBits::index_mask + 1) / chunk_size] = {};
  std::mutex mutex_;                 // guards free_ and used_; no other lock is taken under it
  std::vector<std::uint32_t> free_;  // closed slots to be used again
  std::uint64_t used_ = 0;           // slots that were ever used
};

}  // namespace anyplace::detail
