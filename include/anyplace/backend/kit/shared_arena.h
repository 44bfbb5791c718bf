// SPDX-License-Identifier: Apache-2.0
//
// SharedArena: shared memory that one process makes and others join. It is a file without a name, so nothing is left of
// it when the last process that has it open ends, however that ends.
//
// Each process that joins becomes a member, and marks what it has in the arena with its member's number. A member that
// ended without leaving is found by its identity; the arena's owner then clears what it left and frees the number.
// Processes join only while the owner lives, so no other member has to do that.
//
// Doorbells: a member that waits for a change in the arena sleeps on its own doorbell (a futex), and the process that
// makes the change rings it. So a process sleeps in one place for everything that it waits for in an arena.
//
// Layout is a struct of atomics, all 0 at first, whose first member is an ArenaHeader named `header`. Both processes
// must run the same build, which whatever carries an address to another process has to ensure.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "process_identity.h"

namespace anyplace::backend {

inline constexpr unsigned arena_members = 64;  ///< each has a bit of a word
inline constexpr unsigned arena_owner = 0;     ///< the number of the member that made the arena

/// A process that has joined.
struct alignas(64) ArenaMember {
  std::atomic<std::uint64_t> identity;  ///< packed; 0 if the number is free
  std::atomic<std::uint32_t> doorbell;  ///< how often it was rung
  std::atomic<std::uint32_t> sleepers;  ///< threads of the member that sleep on it or are about to
};

/// What each arena's layout begins with.
struct ArenaHeader {
  std::atomic<std::uint64_t> nonce;    ///< tells the arena from another file with the same descriptor number
  ArenaMember members[arena_members];  ///< all members, by their numbers
};

/// The address of an arena.
struct ArenaAddress {
  ProcessIdentity owner;         ///< the process that made it
  std::uint64_t nonce = 0;       ///< the arena's own, which it has in itself, too
  std::uint32_t descriptor = 0;  ///< the owner's

  friend bool operator==(const ArenaAddress&, const ArenaAddress&) noexcept = default;
};

/// What became of joining.
enum class ArenaResult {
  joined,   ///< the memory is mapped, and this process is a member
  gone,     ///< the owner has ended
  refused,  ///< the system refused it: see errno
  full      ///< all member numbers are taken
};

/// Memory that several processes have, each a member with a number. `Layout` has an ArenaHeader named `header`, and
/// consists of atomics.
template <class Layout>
class SharedArena {
 public:
  /// Makes an arena that this process owns. Returns null, with errno, if the system has no memory or descriptor.
  static std::unique_ptr<SharedArena> make(const char* name) noexcept {
    const int file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0) return nullptr;
    std::uint64_t nonce = 0;
    const bool random = getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) == sizeof(nonce);
    if (!random) nonce = static_cast<std::uint64_t>(clock()) << 32 | static_cast<std::uint32_t>(getpid());
    Layout* const layout = ftruncate(file, sizeof(Layout)) == 0 ? map(file) : nullptr;
    if (layout == nullptr) return close_after_error(file);
    const ProcessIdentity self = this_process();
    layout->header.nonce.store(nonce, std::memory_order_relaxed);
    layout->header.members[arena_owner].identity.store(self.packed(), std::memory_order_release);
    return std::unique_ptr<SharedArena>(new SharedArena(layout, arena_owner, self.packed(),
                                                        ArenaAddress{self, nonce, static_cast<std::uint32_t>(file)}));
  }

  /// Joins the arena of another process. `out` is set on success.
  static ArenaResult join(const ArenaAddress& address, std::unique_ptr<SharedArena>& out) noexcept {
    int error = 0;
    Layout* const layout = open_and_map(address, error);
    if (layout == nullptr) {
      if (error == ENOENT || is_gone(address.owner)) return ArenaResult::gone;
      errno = error;
      return ArenaResult::refused;
    }
    const std::uint64_t self = this_process().packed();
    for (unsigned number = 1; number < arena_members; ++number) {
      ArenaMember& member = layout->header.members[number];
      std::uint64_t none = 0;
      if (!member.identity.compare_exchange_strong(none, self, std::memory_order_acq_rel)) continue;
      member.sleepers.store(0, std::memory_order_relaxed);
      out.reset(new SharedArena(layout, number, self, address));
      return ArenaResult::joined;
    }
    munmap(layout, sizeof(Layout));
    return ArenaResult::full;
  }

  SharedArena(const SharedArena&) = delete;  // a member leaves once
  SharedArena& operator=(const SharedArena&) = delete;
  /// Leaves the arena. Everything of this member in the arena was taken back before. An owner closes the file.
  ~SharedArena() {
    layout_.header.members[self_].identity.store(0, std::memory_order_release);
    munmap(&layout_, sizeof(Layout));
    if (self_ == arena_owner) close(static_cast<int>(address_.descriptor));
  }

  /// What is in it.
  Layout& operator*() const noexcept { return layout_; }
  /// What is in it.
  Layout* operator->() const noexcept { return &layout_; }
  /// The number of this process.
  unsigned self() const noexcept { return self_; }
  /// Whether this process made it.
  bool is_owner() const noexcept { return self_ == arena_owner; }
  /// By what others find it.
  const ArenaAddress& address() const noexcept { return address_; }

  /// The packed identity of the member with that number; 0 if there is none.
  std::uint64_t identity_of(unsigned number) const noexcept {
    return layout_.header.members[number].identity.load(std::memory_order_acquire);
  }

  /// Called by the owner, on one thread at a time: calls `clear` with the number of each member that has ended, then
  /// frees the number.
  template <class Clear>
  void reclaim(Clear&& clear) noexcept {
    for (unsigned number = 1; number < arena_members; ++number) {
      ArenaMember& member = layout_.header.members[number];
      const std::uint64_t identity = member.identity.load(std::memory_order_acquire);
      if (identity == 0 || identity == identity_ || !is_gone(identity)) continue;
      // The member may have left before it ended, and another process may have the number by now.
      if (member.identity.load(std::memory_order_acquire) != identity) continue;
      clear(number);
      member.identity.store(0, std::memory_order_release);
    }
  }

  /// Rings the doorbells of the members in `mask`.
  void ring(std::uint64_t mask) const noexcept {
    while (mask != 0) {
      const auto number = static_cast<unsigned>(__builtin_ctzll(mask));
      mask &= mask - 1;
      ArenaMember& member = layout_.header.members[number];
      member.doorbell.fetch_add(1, std::memory_order_seq_cst);
      if (member.sleepers.load(std::memory_order_seq_cst) == 0) continue;
      syscall(SYS_futex, &member.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }

  /// Sleeps until this member's doorbell is rung or the time has passed, unless `ready()` holds. What `ready` looks at
  /// must change before the doorbell is rung. It may return early.
  template <class Ready>
  void sleep(std::int64_t at_most_ns, Ready&& ready) const noexcept {
    ArenaMember& member = layout_.header.members[self_];
    member.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t rung = member.doorbell.load(std::memory_order_seq_cst);
    if (!ready()) {
      constexpr std::int64_t second = 1'000'000'000;
      const timespec timeout{at_most_ns / second, at_most_ns % second};
      syscall(SYS_futex, &member.doorbell, FUTEX_WAIT, rung, &timeout, nullptr, 0);
    }
    member.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  SharedArena(Layout* layout, unsigned self, std::uint64_t identity, const ArenaAddress& address) noexcept
      : layout_(*layout), self_(self), identity_(identity), address_(address) {}

  static Layout* map(int file) noexcept {
    void* const mapped = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return nullptr;
    madvise(mapped, sizeof(Layout), MADV_DONTDUMP);
    return static_cast<Layout*>(mapped);
  }
  static std::nullptr_t close_after_error(int file) noexcept {
    const int error = errno;
    close(file);
    errno = error;
    return nullptr;
  }
  static Layout* open_and_map(const ArenaAddress& address, int& error) noexcept {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%u/fd/%u", address.owner.pid, address.descriptor);
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
      error = errno;
      return nullptr;
    }
    struct stat found {};
    const bool fits = fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == sizeof(Layout);
    Layout* layout = fits ? map(file) : nullptr;
    error = fits ? errno : ENOENT;
    close(file);
    if (layout != nullptr && layout->header.nonce.load(std::memory_order_relaxed) != address.nonce) {
      munmap(layout, sizeof(Layout));
      error = ENOENT;
      return nullptr;
    }
    return layout;
  }

  Layout& layout_;
  const unsigned self_;
  const std::uint64_t identity_;
  const ArenaAddress address_;
};

}  // namespace anyplace::backend
