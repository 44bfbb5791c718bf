// SPDX-License-Identifier: Apache-2.0
//
// SlotTable: the slots that handles lead to. A handle is 64 bits: the index of a slot, the slot's generation and the
// kind. Slots are never freed and generations never come back, so any number can be looked up, and a destroyed or
// made-up handle is detected instead of followed. The kind keeps the handles of different tables apart: no event's
// handle equals a stream's.
//
// A thread that uses an object pins it, or names its handle in a hazard pointer for the length of one call (use.h).
// Closing a handle makes it invalid at once. The thread that drops the last pin disposes of the object, so a call that
// is under way on another thread finishes on a live object. The slot has a pin of its own, which is dropped when no
// hazard pointer names the handle any more (deferred_release.h). Pins take no lock: a slot's word holds the generation,
// the open bit and the number of pins, and is changed by compare-and-swap.
//
//   id    = generation (34 bits) | index (24) | kind (6)
//   word  = generation (34 bits, 40 in width) | open (1) | pins (23)         an open slot has one pin of its own
//   plain = id, with a low bit of the index flipped for each reason to take the slow path
//
// So one comparison of `plain` with the handle says that the handle is open and of this kind, that its device works,
// that the process isn't exiting and that the object needs no care (the stream isn't held, the event's most recent
// record wasn't made on a held one). For a buffer it says only that the handle is open and the memory is device memory.
// Buffers have no hazard pointers, because their memory could then be used again only after a fence. With a bit
// flipped, `plain` has another index than the slot, so no handle that leads to the slot equals it. The same is true of
// the zero in a slot that was never used, except for slot 0, which is never given out.
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
#include "handles/hazard_pointer.h"
#include "runtime/call.h"
#include "runtime/service.h"

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

  // -- Reasons to take the slow path: bits of the index.
  static constexpr std::uint64_t closed = 1u << index_shift;
  static constexpr std::uint64_t careful = 2u << index_shift;  ///< set and cleared by set_careful()
  /// Set for good: the device is lost, or the process is exiting.
  static constexpr std::uint64_t barred = 4u << index_shift;
};

/// The parts of a word.
struct Word {
  static constexpr unsigned shift = 24;
  static constexpr std::uint64_t pin_mask = (1u << 23) - 1;
  static constexpr std::uint64_t open = 1u << 23;

  static constexpr std::uint64_t generation(std::uint64_t word) noexcept { return word >> shift; }
};

/// One cache line. Members that aren't atomic are written only while the slot is closed.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> plain{0};
  std::atomic<std::uint64_t> word{0};
  void* object = nullptr;
  std::atomic<DeviceState*> device{nullptr};  ///< the object's device; bar() reads it without a pin
  std::uint64_t handle = 0;                   ///< the backend's handle; for a buffer its address
  std::uint64_t bytes = 0;                    ///< the size of a buffer; not used by other kinds
  std::uint32_t index = 0;                    ///< the slot's own index; set at its first use and never changed

  /// Whether calls with `id` may take the fast path.
  bool is(std::uint64_t id) const noexcept { return plain.load(std::memory_order_seq_cst) == id; }
};

/// The first slots of each kind, which are reached without looking up a chunk. They are one object, so that a call with
/// two handles computes one base address. Pages of it take no memory before they are used.
inline constexpr std::uint32_t chunk_size = 16384;
extern constinit Slot first_slots[handle_kinds][chunk_size];

/// The subsystems' notes on a handle that leads nowhere (Subsystem::note_on_missing).
std::string notes_on_missing(std::uint64_t id);

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
  Pin(const Pin&) = delete;  // a pin is dropped once
  Pin& operator=(const Pin&) = delete;
  ~Pin() { reset(); }

  void reset() noexcept {
    if (table_ != nullptr) {
      SlotTable<T>& table = *std::exchange(table_, nullptr);
      table.unpin(table.slot(index_));
    }
    object_ = nullptr;
  }
  /// The slot of the pinned object. The pin isn't empty.
  Slot& slot() const noexcept { return table_->slot(index_); }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  SlotTable<T>* table_ = nullptr;
  std::uint32_t index_ = 0;
  T* object_ = nullptr;
};

/// T has a `device`, `static constexpr HandleKind handle_kind`, and `static void dispose(T*) noexcept`, which the
/// thread that drops the last pin calls once: any thread, also one inside a host function. A table has static storage,
/// is the only one of its T, and is never destroyed.
template <class T>
class SlotTable {
 public:
  explicit constexpr SlotTable(const char* noun) noexcept : noun_(noun) {}
  SlotTable(const SlotTable&) = delete;  // handles lead into it
  SlotTable& operator=(const SlotTable&) = delete;

  // -- Making handles.
  /// Makes a handle that isn't open yet: some objects need to know their handle before they are complete. The caller
  /// then calls publish() or cancel().
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
    opened.device.store(&device, std::memory_order_relaxed);
    if constexpr (hazardous) opened.handle = object->handle;
    if constexpr (readable) {
      // These are release stores: a reader that sees one of them also sees that the slot's former handle is closed
      // (read_range).
      std::atomic_ref(opened.handle).store(object->address, std::memory_order_release);
      std::atomic_ref(opened.bytes).store(object->bytes, std::memory_order_release);
    }
    // ThreadSanitizer can't follow the fast path of a library that wasn't compiled for it.
    if (backend::unseen_by_thread_sanitizer()) careful = true;
    backend::release_to_sanitizer(&opened.word);
    opened.word.store(Id::generation(id) << Word::shift | Word::open | 1, std::memory_order_release);
    if constexpr (hazardous) {
      opened.plain.store(careful ? id ^ Id::careful : id, std::memory_order_seq_cst);
      // This check follows the store. bar() reads the slots after `lost` or the phase was set, so one of the two sees
      // the other's write.
      if (device.lost.load(std::memory_order_seq_cst) ||
          process_phase.load(std::memory_order_seq_cst) != Phase::running) {
        flag(opened, Id::index(id), Id::barred);
      }
    }
    if constexpr (readable) opened.plain.store(careful ? id ^ Id::careful : id, std::memory_order_release);
  }
  /// Gives back a reserved handle that wasn't published.
  void cancel(std::uint64_t id) noexcept { recycle(Id::index(id)); }

  // -- Pins.
  /// Throws invalid_handle for a null, destroyed or made-up handle.
  Pin<T> pin(std::uint64_t id, const char* operation) {
    Pin<T> pinned = try_pin(id);
    if (!pinned) [[unlikely]]
      refuse(id, operation);
    return pinned;
  }
  /// Pins the object; returns an empty pin for a bad handle instead of throwing.
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
  /// Pins for the length of a call in fewer instructions, but only an object in the first chunk whose handle is open
  /// and needs no care. Returns null otherwise; pin() then says why.
  static Slot* pin_quickly(std::uint64_t id) noexcept {
    Slot& found = first_slot(id);
    if (!found.is(id)) [[unlikely]]
      return nullptr;
    // This is the word of a slot that nobody else pins.
    std::uint64_t word = Id::generation(id) << Word::shift | Word::open | 1;
    if (found.word.compare_exchange_strong(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed))
        [[likely]] {
      return &found;
    }
    return pin_shared(found, id);
  }
  /// Drops the pin of pin_quickly().
  [[gnu::always_inline]] void unpin(Slot& found) noexcept {
    backend::release_to_sanitizer(&found.word);
    const std::uint64_t before = found.word.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (Word::open | Word::pin_mask)) == 1) [[unlikely]]
      dispose(found);
  }
  /// Calls `visit(T&)` for every object whose handle is open, in no particular order. Objects that are made meanwhile
  /// may be left out.
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
  /// The open handles whose object passes `fits`.
  template <class Fits>
  std::vector<std::uint64_t> open_handles(Fits&& fits) {
    std::vector<std::uint64_t> handles;
    const std::uint64_t used = used_.load(std::memory_order_acquire);
    for (std::uint32_t index = 1; index < used; ++index) {
      const std::uint64_t word = slot(index).word.load(std::memory_order_acquire);
      const std::uint64_t id = Id::make(Word::generation(word), index, T::handle_kind);
      const Pin<T> pinned = (word & Word::open) != 0 ? try_pin(id) : Pin<T>();
      if (pinned && fits(*pinned)) handles.push_back(id);
    }
    return handles;
  }
  /// Calls `visit(T&)` as for_each does, also for objects whose handle was closed and that somebody still pins.
  template <class Visit>
  void for_each_alive(Visit&& visit) {
    const std::uint64_t used = used_.load(std::memory_order_acquire);
    for (std::uint32_t index = 1; index < used; ++index) {
      const Pin<T> pinned = try_pin_alive(index);
      if (pinned) visit(*pinned);
    }
  }

  // -- The fast path.
  /// The slot whose `plain` a call compares with `id`. If `id` doesn't lead into the first chunk, this is another
  /// handle's slot, and the comparison fails.
  static Slot& first_slot(std::uint64_t id) noexcept { return *at(first_slots[kind_index], id); }
  /// The address and the bytes of a buffer, without a pin or a hazard pointer. False if the handle isn't open or has to
  /// take the slow path.
  static bool read_range(std::uint64_t id, std::uint64_t& address, std::uint64_t& bytes) noexcept {
    Slot& found = first_slot(id);
    if (!found.is(id)) return false;
    address = std::atomic_ref(found.handle).load(std::memory_order_acquire);
    bytes = std::atomic_ref(found.bytes).load(std::memory_order_acquire);
    // If either value was the next buffer's, then its release store came after this handle was closed, and `plain`
    // differs now.
    return found.plain.load(std::memory_order_relaxed) == id;
  }
  /// Says whether calls with the handle take the slow path from now on. The caller pins or owns the handle. Calls under
  /// way finish as they began.
  void set_careful(std::uint64_t id, bool careful) noexcept {
    const std::uint32_t index = Id::index(id);
    if (careful) {
      flag(slot(index), index, Id::careful);
    } else {
      unflag(slot(index), index, Id::careful);
    }
  }
  /// set_careful() with several reasons. `reasons` is the object's set of them, a bit for each; the handle takes the
  /// slow path while it isn't empty. Threads may set and clear different reasons at the same time.
  void set_careful_for(std::uint64_t id, std::atomic<std::uint32_t>& reasons, std::uint32_t reason,
                       bool careful) noexcept {
    if (careful) {
      reasons.fetch_or(reason, std::memory_order_seq_cst);
    } else {
      reasons.fetch_and(~reason, std::memory_order_seq_cst);
    }
    if (id == 0) return;
    // The thread that writes the flag last reads the reasons after it, so the flag is right in the end.
    std::uint32_t seen = 0;
    do {
      seen = reasons.load(std::memory_order_seq_cst);
      set_careful(id, seen != 0);
    } while (reasons.load(std::memory_order_seq_cst) != seen);
  }
  /// Makes every call with a handle of this device (null: of any device) take the slow path from now on. A slot that
  /// gets a new handle meanwhile may be barred too; calls with that handle are then only slower.
  void bar(const DeviceState* device) noexcept {
    const std::uint64_t used = used_.load(std::memory_order_seq_cst);
    for (std::uint32_t index = 1; index < used; ++index) {
      Slot& found = slot(index);
      if (found.plain.load(std::memory_order_seq_cst) == 0) continue;
      if (device == nullptr || found.device.load(std::memory_order_relaxed) == device) flag(found, index, Id::barred);
    }
  }

  /// Makes the handle invalid. False if it already was. Returns at once: an object that another thread may be using
  /// is disposed of a little later (deferred_release.h), perhaps on the service thread.
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
    if constexpr (hazardous) {
      flag(*found, index, Id::closed);
      if (index < chunk_size) {  // calls with a handle beyond the first chunk always pin
        release_when_unused({id, this, drop_own_pin}, T::handle_kind == HandleKind::event);
        return true;
      }
    }
    unpin(*found);
    return true;
  }

 private:
  friend class Pin<T>;
  static constexpr bool hazardous = T::handle_kind == HandleKind::stream || T::handle_kind == HandleKind::event ||
                                    T::handle_kind == HandleKind::kernel;
  /// For these kinds `plain` doesn't tell of a lost device or of the exit.
  static constexpr bool readable = T::handle_kind == HandleKind::buffer;

  static constexpr std::size_t kind_index = static_cast<std::size_t>(T::handle_kind) - 1;

  /// The line at the handle's index, modulo the size of the first chunk.
  template <class Line>
  static Line* at(Line* lines, std::uint64_t id) noexcept {
    static_assert(sizeof(Line) == 1u << Id::index_shift);
    constexpr std::uint64_t offset_mask = std::uint64_t{chunk_size - 1} << Id::index_shift;
    return reinterpret_cast<Line*>(reinterpret_cast<char*>(lines) + (id & offset_mask));
  }

  static bool is_open(std::uint64_t word, std::uint64_t id) noexcept {
    constexpr std::uint64_t kind_mask = (1u << Id::index_shift) - 1;
    return Word::generation(word) == Id::generation(id) && (word & Word::open) != 0 &&
           (id & kind_mask) == static_cast<std::uint64_t>(T::handle_kind);
  }
  /// pin_quickly() for an object that other threads pin too.
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
    flag(slot, ~index, reason);  // sets the bit back to the index's own
  }

  /// Pins the object in the slot, whatever its handle. Empty if there is none.
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
  /// Null if the index's chunk was never made: then no handle ever led there.
  Slot* find(std::uint64_t id) noexcept {
    const std::uint32_t index = Id::index(id);
    Slot* const chunk = chunks_[index / chunk_size].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &chunk[index % chunk_size];
  }

  /// A thread takes slots from a small store of its own without a lock, and refills that store under the lock.
  std::uint32_t take_slot(const char* operation) {
    ThreadHazards* const hazards = call_state.joined;
    if (hazards != nullptr) {
      FreeSlots& own = hazards->free_slots[kind_index];
      if (own.count != 0) return own.indexes[--own.count];
    }
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return first_use(operation);
    const std::uint32_t index = free_.back();
    free_.pop_back();
    if (hazards != nullptr) {
      FreeSlots& own = hazards->free_slots[kind_index];
      while (own.count < FreeSlots::most / 2 && !free_.empty()) {
        own.indexes[own.count++] = free_.back();
        free_.pop_back();
      }
    }
    return index;
  }
  void give_slot(std::uint32_t index) noexcept {
    ThreadHazards* const hazards = call_state.joined;
    if (hazards == nullptr) {
      const std::lock_guard lock(mutex_);
      free_.push_back(index);
      return;
    }
    FreeSlots& own = hazards->free_slots[kind_index];
    if (own.count == FreeSlots::most) {
      const std::lock_guard lock(mutex_);
      while (own.count > FreeSlots::most / 2) free_.push_back(own.indexes[--own.count]);
    }
    own.indexes[own.count++] = index;
  }
  /// The index of a slot that was never used. Called under mutex_.
  std::uint32_t first_use(const char* operation) {
    const std::uint64_t used = used_.load(std::memory_order_relaxed);
    if (used > Id::index_mask) {
      fail(ErrorCode::out_of_memory, "", operation,
           std::string("all 16,777,215 handles of a ") + noun_ + " are in use");
    }
    make_service_room(operation);
    // There is room to take every slot back, so that recycling can't fail.
    if (free_.capacity() <= used) free_.reserve(used < 64 ? 64 : used * 2);
    std::atomic<Slot*>& chunk = chunks_[used / chunk_size];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new Slot[chunk_size], std::memory_order_release);
    }
    chunk.load(std::memory_order_relaxed)[used % chunk_size].index = static_cast<std::uint32_t>(used);
    used_.store(used + 1, std::memory_order_seq_cst);
    return static_cast<std::uint32_t>(used);
  }

  /// Drops the pin that an open slot has of its own.
  static void drop_own_pin(void* table, std::uint64_t id) noexcept {
    SlotTable& self = *static_cast<SlotTable*>(table);
    self.unpin(self.slot(Id::index(id)));
  }
  [[gnu::noinline]] void dispose(Slot& found) noexcept {
    backend::acquire_from_sanitizer(&found.word);
    T* const object = static_cast<T*>(std::exchange(found.object, nullptr));
    recycle(found.index);
    T::dispose(object);
  }
  /// Makes a slot free for the next handle. A slot whose generations are used up stays closed for good, so that no
  /// handle ever comes back.
  void recycle(std::uint32_t index) noexcept {
    Slot& found = slot(index);
    const std::uint64_t generation = Word::generation(found.word.load(std::memory_order_relaxed));
    if (generation == Id::last_generation) return;
    found.word.store((generation + 1) << Word::shift, std::memory_order_release);
    give_slot(index);
  }
  [[noreturn]] void refuse(std::uint64_t id, const char* operation) {
    std::string text = std::string("the ") + noun_;
    if (id == 0) {
      text += " is null\nit was never made, or was moved from";
    } else {
      text += " with id " + std::to_string(id) + " does not exist: it was destroyed";
      text += notes_on_missing(id);
    }
    fail(ErrorCode::invalid_handle, "", operation, std::move(text));
  }

  const char* noun_;
  std::atomic<Slot*> chunks_[(Id::index_mask + 1) / chunk_size] = {first_slots[kind_index]};
  std::mutex mutex_;                    // guards free_ and the growth of used_; make_service_room() is called under it
  std::vector<std::uint32_t> free_;     // closed slots to be used again, except those that threads keep
  std::atomic<std::uint64_t> used_{1};  // number of slots that were ever used, counting slot 0
};

/// The table of one kind of handle. Each kind specialises it beside its state.
template <class T>
SlotTable<T>& table_of() noexcept;

}  // namespace anyplace::detail
