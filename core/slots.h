// SPDX-License-Identifier: Apache-2.0
//
// SlotTable: where handles lead. A handle is 64 bits: the index of a slot and the slot's generation. Slots are never
// freed, generations never come back, so any number can be looked up, and a destroyed or foreign handle is found out
// instead of followed. Generations of different kinds of handles differ too: an event's is no stream's.
//
// Who uses an object pins it, or borrows it for the length of one call (borrow.h). Closing a handle makes it invalid at
// once; the object is disposed of by whoever lets go of the last pin, so a call that is under way on another thread
// finishes on a live object. Borrowers keep the slot's own pin from being let go of. No lock on this path: a slot's
// word holds generation, the open bit and the number of pins, and is changed by compare-and-swap.
//
//   id    = generation (34 bits) | index (24) | kind (6)
//   word  = generation (34 bits, 40 in width) | open (1) | pins (23)         an open slot has one pin of its own
//   plain = id, with a low bit of the index flipped for each reason to go the long way
//
// So one comparison of `plain` with the handle says that it is open and of this kind, that its device works, that the
// process isn't exiting and that the object needs no care (a stream isn't held, an event has a record of its
// backend's). A buffer's says only that it is open and device memory: nobody borrows buffers, which would have to wait
// for a fence before their memory can be used again. What a slot's plain holds otherwise has another index than the
// slot's, so no number that leads there is equal to it; that goes for the zero of a slot that was never used too, but
// for slot 0, which isn't given out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/backend/thread_sanitizer.h"
#include "borrow.h"
#include "call.h"
#include "current.h"
#include "launch_limits.h"
#include "service.h"

namespace anyplace::detail {

enum class HandleKind : std::uint64_t { stream = 1, event, kernel, module, buffer };

/// The parts of an id.
struct Id {
  static constexpr unsigned index_shift = 6;  ///< a slot has as many bytes as this says: the index is its offset
  static constexpr std::uint64_t index_mask = (1u << 24) - 1;
  static constexpr unsigned generation_shift = 30;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << 34) - 1;

  static constexpr std::uint64_t make(std::uint64_t generation, std::uint32_t index, HandleKind kind) noexcept {
    return generation << generation_shift | std::uint64_t{index} << index_shift | static_cast<std::uint64_t>(kind);
  }
  static constexpr std::uint32_t index(std::uint64_t id) noexcept {
    return static_cast<std::uint32_t>(id >> index_shift & index_mask);
  }
  static constexpr std::uint64_t generation(std::uint64_t id) noexcept { return id >> generation_shift; }

  // -- Reasons to go the long way: bits of the index.
  static constexpr std::uint64_t closed = 1u << index_shift;
  static constexpr std::uint64_t careful = 2u << index_shift;  ///< comes and goes
  static constexpr std::uint64_t barred = 4u << index_shift;   ///< for good: device lost, process exiting
};

/// The parts of a word.
struct Word {
  static constexpr unsigned shift = 24;
  static constexpr std::uint64_t pin_mask = (1u << 23) - 1;
  static constexpr std::uint64_t open = 1u << 23;

  static constexpr std::uint64_t generation(std::uint64_t word) noexcept { return word >> shift; }
};

/// A cache line. What isn't atomic is written while the slot is closed.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> plain{0};
  std::atomic<std::uint64_t> word{0};
  void* object = nullptr;
  DeviceState* device = nullptr;  ///< the object's
  std::uint64_t handle = 0;       ///< the backend's; a buffer's: its address
  std::uint64_t extra = 0;        ///< a kernel's: what `launch` is called with; a buffer's: its bytes
  /// A kernel's: how it is launched.
  anyplace_status (*launch)(void* self, anyplace_stream, anyplace_kernel, const anyplace_launch*) = nullptr;
  std::atomic<DeviceState*> barred_with{nullptr};  ///< the device again, for bar(), which reads it without a pin

  // -- For a borrower.
  void* launch_self() const noexcept { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(extra)); }

  /// Whether `id` may go the short way.
  bool is(std::uint64_t id) const noexcept {
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
    if constexpr (!borrows_by_exchange) {
      // That load and the comparison in one instruction, which no compiler makes of an atomic.
      bool equal;
      asm volatile("cmpq %2, %1" : "=@cce"(equal) : "m"(plain), "r"(id) : "cc");
      std::atomic_signal_fence(std::memory_order_acquire);
      return equal;
    }
#endif
    return plain.load(std::memory_order_seq_cst) == id;
  }
};

/// As many slots of each kind as are reached without looking a chunk up, and for each kernel's what a launch of it is
/// compared with: written like the slot. All in one place, so that a call with two handles has one address to work out.
/// They take no memory before they are used.
inline constexpr std::uint32_t chunk_size = 16384;
struct FirstSlots {
  Slot of_kind[handle_kinds][chunk_size];
  LaunchLimits limits[chunk_size];
};
extern constinit FirstSlots first_slots;

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

/// T has a `device`, `static constexpr HandleKind handle_kind`, and `static void dispose(T*) noexcept`, called once, by
/// the thread that lets go of the last pin: any thread, also one inside a host function. A table has static storage, is
/// the only one of its T, and is never destroyed.
template <class T>
class SlotTable {
 public:
  explicit constexpr SlotTable(const char* noun) noexcept : noun_(noun) {}
  SlotTable(const SlotTable&) = delete;  // handles lead into it
  SlotTable& operator=(const SlotTable&) = delete;

  // -- Making handles.
  /// A new handle, not open yet: an object may have to know its handle before it is complete. Then publish() or
  /// cancel().
  std::uint64_t reserve(const char* operation) {
    const std::uint32_t index = take_slot(operation);
    std::atomic<std::uint64_t>& word = slot(index).word;
    std::uint64_t generation = Word::generation(word.load(std::memory_order_relaxed));
    if (generation == 0) {
      generation = 1;
      word.store(generation << Word::shift, std::memory_order_release);
    }
    return Id::make(generation, index, T::handle_kind);
  }
  /// Opens the handle. Takes ownership of `object`. `careful` as in set_careful().
  void publish(std::uint64_t id, T* object, bool careful = false) noexcept {
    Slot& opened = slot(Id::index(id));
    DeviceState& device = *object->device;
    opened.object = object;
    opened.device = &device;
    opened.barred_with.store(&device, std::memory_order_relaxed);
    if constexpr (borrowable) opened.handle = object->handle;
    if constexpr (readable) {
      // Released, so that whoever reads one of them finds the slot's former handle closed (read_range).
      std::atomic_ref(opened.handle).store(object->address, std::memory_order_release);
      std::atomic_ref(opened.extra).store(object->bytes, std::memory_order_release);
    }
    if constexpr (requires { object->describe(opened, nullptr); }) {
      const std::uint32_t index = Id::index(id);
      object->describe(opened, index < chunk_size ? &first_slots.limits[index] : nullptr);
    }
    // ThreadSanitizer can't follow the short way of a library that wasn't compiled for it.
    if (backend::unseen_by_thread_sanitizer()) careful = true;
    backend::release_to_sanitizer(&opened.word);
    opened.word.store(Id::generation(id) << Word::shift | Word::open | 1, std::memory_order_release);
    if constexpr (borrowable) {
      opened.plain.store(careful ? id ^ Id::careful : id, std::memory_order_seq_cst);
      // After the store, as bar() looks at the slots after what they see here was set: one of the two notices.
      if (device.lost.load(std::memory_order_seq_cst) ||
          process_phase.load(std::memory_order_seq_cst) != Phase::running) {
        flag(opened, Id::index(id), Id::barred);
      }
    }
    if constexpr (readable) opened.plain.store(careful ? id ^ Id::careful : id, std::memory_order_release);
  }
  /// Gives a reserved handle back unused.
  void cancel(std::uint64_t id) noexcept { recycle(Id::index(id)); }

  // -- Pins.
  /// Throws invalid_handle for a null, destroyed or made-up handle.
  Pin<T> pin(std::uint64_t id, const char* operation) {
    Pin<T> pinned = try_pin(id);
    if (!pinned) [[unlikely]]
      refuse(id, operation);
    return pinned;
  }
  /// Empty instead of throwing.
  Pin<T> try_pin(std::uint64_t id) noexcept {
    Slot* const found = find(id);
    if (found == nullptr) [[unlikely]]
      return {};
    std::uint64_t word = found->word.load(std::memory_order_relaxed);
    do {
      if (!is_open(word, id) || (word & Word::pin_mask) == Word::pin_mask) [[unlikely]]
        return {};
    } while (!found->word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return Pin<T>(this, Id::index(id), static_cast<T*>(found->object));
  }
  /// Another pin on an object that the caller has pinned, also if its handle was closed since. Throws out_of_memory
  /// when no more pins fit.
  Pin<T> pin_again(std::uint64_t id, const char* operation) {
    const std::uint32_t index = Id::index(id);
    Slot& found = slot(index);
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      if ((word & Word::pin_mask) == Word::pin_mask) {
        fail(ErrorCode::out_of_memory, "", operation, std::string("a ") + noun_ + " is in use 8,388,607 times");
      }
    } while (!found.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return Pin<T>(this, index, static_cast<T*>(found.object));
  }
  /// A pin for the length of a call, in fewer instructions: on an object among the first, whose handle is open and
  /// needs no care. Null if it can't be had; a Pin says why.
  static Slot* pin_quickly(std::uint64_t id) noexcept {
    Slot& found = const_cast<Slot&>(borrow(id));
    if (!found.is(id)) [[unlikely]]
      return nullptr;
    std::uint64_t word = Id::generation(id) << Word::shift | Word::open | 1;  // of one that nobody else pins
    if (found.word.compare_exchange_strong(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed))
        [[likely]] {
      return &found;
    }
    return pin_shared(found, id);
  }
  /// Of pin_quickly().
  void unpin(Slot& found) noexcept {
    const std::uint64_t before = found.word.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (Word::open | Word::pin_mask)) == 1) [[unlikely]]
      dispose_first(found);
  }
  /// Calls `visit(T&)` for every object whose handle is open, in no order. Those made meanwhile may be left out.
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::uint64_t used = used_.load(std::memory_order_acquire);
    for (std::uint32_t index = 1; index < used; ++index) {
      const std::uint64_t word = slot(index).word.load(std::memory_order_acquire);
      if ((word & Word::open) == 0) continue;
      const Pin<T> pinned = try_pin(Id::make(Word::generation(word), index, T::handle_kind));
      if (pinned) visit(*pinned);
    }
  }
  /// The same, and for those whose handle was closed while somebody pins them.
  template <class Visit>
  void for_each_alive(Visit&& visit) {
    const std::uint64_t used = used_.load(std::memory_order_acquire);
    for (std::uint32_t index = 1; index < used; ++index) {
      const Pin<T> pinned = try_pin_alive(index);
      if (pinned) visit(*pinned);
    }
  }

  // -- The short way.
  /// The slot that a borrower compares with: another handle's, if `id` isn't among the first or nobody's.
  static const Slot& borrow(std::uint64_t id) noexcept { return *at(first_slots.of_kind[kind_index], id); }
  /// The address and the bytes of a buffer, without a pin or a borrow. False if the handle isn't open or has to go the
  /// long way.
  static bool read_range(std::uint64_t id, std::uint64_t& address, std::uint64_t& bytes) noexcept {
    Slot& found = const_cast<Slot&>(borrow(id));  // an atomic_ref, even of what is only read, wants no const
    if (!found.is(id)) return false;
    address = std::atomic_ref(found.handle).load(std::memory_order_acquire);
    bytes = std::atomic_ref(found.extra).load(std::memory_order_acquire);
    // Had either been the next buffer's, what was read was released after this handle had been closed.
    return found.plain.load(std::memory_order_relaxed) == id;
  }
  /// What a launch with the kernel of that slot is compared with.
  static const LaunchLimits& limits(std::uint64_t id) noexcept { return *at(first_slots.limits, id); }
  /// Before anyone borrows: the null handle leads to slot 0, and must not be what is there.
  static void prepare_short_way() noexcept {
    first_slots.of_kind[kind_index][0].plain.store(Id::closed, std::memory_order_relaxed);
  }
  /// Whether calls with the handle, which the caller has pinned or owns, go the long way. Calls under way finish as
  /// they began.
  void set_careful(std::uint64_t id, bool careful) noexcept {
    const std::uint32_t index = Id::index(id);
    if (careful) {
      flag(slot(index), index, Id::careful);
    } else {
      unflag(slot(index), index, Id::careful);
    }
  }
  /// Every call with a handle of this device, or of any if null, goes the long way from now on. (A slot that changes
  /// its owner meanwhile may be barred with its next handle: that one's calls take longer, and nothing else.)
  void bar(const DeviceState* device) noexcept {
    const std::uint64_t used = used_.load(std::memory_order_seq_cst);
    for (std::uint32_t index = 1; index < used; ++index) {
      Slot& found = slot(index);
      if (found.plain.load(std::memory_order_seq_cst) == 0) continue;
      if (device == nullptr || found.barred_with.load(std::memory_order_relaxed) == device)
        flag(found, index, Id::barred);
    }
  }

  /// Makes the handle invalid. False if it already was. Returns at once: an object that another thread may be borrowing
  /// is disposed of a little later (closing.h), perhaps on the service thread.
  bool close(std::uint64_t id) noexcept {
    Slot* const found = find(id);
    if (found == nullptr) return false;
    std::uint64_t word = found->word.load(std::memory_order_relaxed);
    do {
      if (!is_open(word, id)) return false;
    } while (!found->word.compare_exchange_weak(word, word & ~Word::open, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    const std::uint32_t index = Id::index(id);
    if constexpr (readable) found->plain.store(id ^ Id::closed, std::memory_order_release);
    if constexpr (borrowable) {
      flag(*found, index, Id::closed);
      if (index < chunk_size) {  // those beyond have no borrowers
        let_go_when_unused({id, this, let_go}, T::handle_kind == HandleKind::event);
        return true;
      }
    }
    unpin(index);
    return true;
  }

 private:
  friend class Pin<T>;
  static constexpr bool borrowable = T::handle_kind == HandleKind::stream || T::handle_kind == HandleKind::event ||
                                     T::handle_kind == HandleKind::kernel;
  /// Of these `plain` knows of no lost device and no exit.
  static constexpr bool readable = T::handle_kind == HandleKind::buffer;

  static constexpr std::size_t kind_index = static_cast<std::size_t>(T::handle_kind) - 1;

  /// The line that the handle's index says, or another one.
  template <class Line>
  static const Line* at(const Line* lines, std::uint64_t id) noexcept {
    static_assert(sizeof(Line) == 1u << Id::index_shift);
    constexpr std::uint64_t offset_mask = std::uint64_t{chunk_size - 1} << Id::index_shift;
    return reinterpret_cast<const Line*>(reinterpret_cast<const char*>(lines) + (id & offset_mask));
  }

  static bool is_open(std::uint64_t word, std::uint64_t id) noexcept {
    constexpr std::uint64_t kind_mask = (1u << Id::index_shift) - 1;
    return Word::generation(word) == Id::generation(id) && (word & Word::open) != 0 &&
           (id & kind_mask) == static_cast<std::uint64_t>(T::handle_kind);
  }
  /// pin_quickly() of what others pin too.
  [[gnu::noinline]] static Slot* pin_shared(Slot& found, std::uint64_t id) noexcept {
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      if (!is_open(word, id) || (word & Word::pin_mask) == Word::pin_mask) return nullptr;
    } while (!found.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return &found;
  }
  static void flag(Slot& slot, std::uint32_t index, std::uint64_t reason) noexcept {
    if ((std::uint64_t{index} << Id::index_shift & reason) == 0) {
      slot.plain.fetch_or(reason, std::memory_order_seq_cst);
    } else {
      slot.plain.fetch_and(~reason, std::memory_order_seq_cst);
    }
  }
  static void unflag(Slot& slot, std::uint32_t index, std::uint64_t reason) noexcept {
    flag(slot, ~index, reason);  // back to the index's own bit
  }

  /// Whatever object is in the slot, if there is one.
  Pin<T> try_pin_alive(std::uint32_t index) noexcept {
    Slot& found = slot(index);
    std::uint64_t word = found.word.load(std::memory_order_relaxed);
    do {
      const std::uint64_t pins = word & Word::pin_mask;
      if (pins == 0 || pins == Word::pin_mask) return {};
    } while (!found.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return Pin<T>(this, index, static_cast<T*>(found.object));
  }

  Slot& slot(std::uint32_t index) noexcept {
    return chunks_[index / chunk_size].load(std::memory_order_acquire)[index % chunk_size];
  }
  /// Null if no handle ever led there.
  Slot* find(std::uint64_t id) noexcept {
    const std::uint32_t index = Id::index(id);
    Slot* const chunk = chunks_[index / chunk_size].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &chunk[index % chunk_size];
  }

  /// A thread takes and gives back slots of its own without a lock, and several at a time with one.
  std::uint32_t take_slot(const char* operation) {
    CallRecord* const record = call_state.joined;
    if (record != nullptr) {
      FreeSlots& own = record->free_slots[kind_index];
      if (own.count != 0) return own.indexes[--own.count];
    }
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return first_use(operation);
    const std::uint32_t index = free_.back();
    free_.pop_back();
    if (record != nullptr) {
      FreeSlots& own = record->free_slots[kind_index];
      while (own.count < FreeSlots::most / 2 && !free_.empty()) {
        own.indexes[own.count++] = free_.back();
        free_.pop_back();
      }
    }
    return index;
  }
  void give_slot(std::uint32_t index) noexcept {
    CallRecord* const record = call_state.joined;
    if (record == nullptr) {
      const std::lock_guard lock(mutex_);
      free_.push_back(index);
      return;
    }
    FreeSlots& own = record->free_slots[kind_index];
    if (own.count == FreeSlots::most) {
      const std::lock_guard lock(mutex_);
      while (own.count > FreeSlots::most / 2) free_.push_back(own.indexes[--own.count]);
    }
    own.indexes[own.count++] = index;
  }
  /// The index of a slot that was never used. Under mutex_.
  std::uint32_t first_use(const char* operation) {
    const std::uint64_t used = used_.load(std::memory_order_relaxed);
    if (used > Id::index_mask) {
      fail(ErrorCode::out_of_memory, "", operation,
           std::string("all 16,777,215 handles of a ") + noun_ + " are in use");
    }
    make_service_room(operation);
    // Room to give every slot back, so that recycling can't fail.
    if (free_.capacity() <= used) free_.reserve(used < 64 ? 64 : used * 2);
    std::atomic<Slot*>& chunk = chunks_[used / chunk_size];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new Slot[chunk_size], std::memory_order_release);
    }
    used_.store(used + 1, std::memory_order_seq_cst);
    return static_cast<std::uint32_t>(used);
  }

  /// Of the pin that an open slot has of its own.
  static void let_go(void* table, std::uint64_t id) noexcept { static_cast<SlotTable*>(table)->unpin(Id::index(id)); }
  void unpin(std::uint32_t index) noexcept {
    Slot& found = slot(index);
    backend::release_to_sanitizer(&found.word);
    const std::uint64_t before = found.word.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (Word::open | Word::pin_mask)) == 1) dispose(index, found);
  }
  [[gnu::noinline]] void dispose_first(Slot& found) noexcept {
    dispose(static_cast<std::uint32_t>(&found - first_slots.of_kind[kind_index]), found);
  }
  void dispose(std::uint32_t index, Slot& found) noexcept {
    backend::acquire_from_sanitizer(&found.word);
    T* const object = static_cast<T*>(std::exchange(found.object, nullptr));
    recycle(index);
    T::dispose(object);
  }
  /// A slot whose generations are used up is left closed for good: no handle ever comes back.
  void recycle(std::uint32_t index) noexcept {
    Slot& found = slot(index);
    const std::uint64_t generation = Word::generation(found.word.load(std::memory_order_relaxed));
    if (generation == Id::last_generation) return;
    found.word.store((generation + 1) << Word::shift, std::memory_order_release);
    give_slot(index);
  }
  [[noreturn]] void refuse(std::uint64_t id, const char* operation) {
    fail(ErrorCode::invalid_handle, "", operation,
         id == 0 ? std::string("the ") + noun_ + " is null\nit was never made, or was moved from"
                 : std::string("the ") + noun_ + " with id " + std::to_string(id) +
                       " does not exist: it was destroyed" + note_on_current(id));
  }

  const char* noun_;
  std::atomic<Slot*> chunks_[(Id::index_mask + 1) / chunk_size] = {first_slots.of_kind[kind_index]};
  std::mutex mutex_;                    // guards free_ and the growth of used_; no other lock is taken under it
  std::vector<std::uint32_t> free_;     // closed slots to be used again, but for those that threads keep
  std::atomic<std::uint64_t> used_{1};  // slots that were ever used, and slot 0
};

/// raise() for a borrower whose second handle is a T's. Apart from the call, so that the good path has nothing to keep.
template <class T>
[[noreturn, gnu::noinline, gnu::cold]] void raise_borrowed(anyplace_status status, const CallRecord& record,
                                                           const char* operation) {
  raise(status, *SlotTable<T>::borrow(record.second.load(std::memory_order_relaxed)).device, operation);
}

}  // namespace anyplace::detail
