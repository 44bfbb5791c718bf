// SPDX-License-Identifier: Apache-2.0
//
// Protection: device memory that only commands can access, as a GPU's (ANYPLACE_CPU_SIM_PROTECT). A host that follows
// the address of device memory is reported, with who allocated it, and then gets the signal. So is a command that
// leaves its allocation for a guard page, or follows an address that was freed.
//
// There are two mechanisms. With protection keys the pages have a key, and a thread has access to that key while it
// executes a command. Without them, pages have no access at all: a command's first access of an allocation raises a
// signal, whose handler opens that allocation, and the last command that runs closes what was opened. So a host's
// access of an allocation that a running command has touched isn't noticed.
//
// Layers are told of the host's access, too (anyplace_host::host_access), so that `validate` compares it with the
// device's work.
//
// The process has one Protection, for all of its engines. Without it nothing here costs anything: memory is asked for
// it where it is allocated and freed, kernels when they are made (Kernel::scoped_), and short copies and fills are made
// commands at their submission (short_copy.h).
#pragma once

#include <anyplace/backend/device_backend.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "config.h"
#include "report_text.h"

namespace anyplace::cpu_sim {

class Protection {
 public:
  /// Each byte of fresh device memory is this one. Four of them are no valid address, and no likely number.
  static constexpr unsigned char fresh = 0xCB;

  /// Returns null if device memory isn't protected.
  static Protection* get() noexcept { return instance.load(std::memory_order_relaxed); }
  /// Begins the protection, unless it was begun. It is called before there is device memory. Throws
  /// Failure(INVALID_ARGUMENT) for keys where there are none, (OUT_OF_MEMORY).
  static Protection& begin(Protect how, backend::Host host);

  Protection(const Protection&) = delete;  // The signal handler uses the only one.
  Protection& operator=(const Protection&) = delete;

  bool has_keys() const noexcept { return key_ >= 0; }

  // -- Memory. `operation` is a literal: the entry of the table that made or freed the memory. Any thread.
  /// Allocates fresh memory between two guard pages. Its end is as near to the second one as the alignment allows.
  /// Returns 0 if the host has none.
  anyplace_address allocate(std::int32_t device, std::uint64_t bytes, const char* operation);
  /// Takes away what allocate() or cover() returned, and keeps the addresses for some time, so that their use is
  /// reported.
  void retire(anyplace_address address, const char* operation) noexcept;
  /// Protects memory that the caller has mapped for reading and writing, of whole pages. Throws Failure(OUT_OF_MEMORY).
  void cover(std::int32_t device, anyplace_address address, std::uint64_t bytes, const char* operation);
  /// Fills memory that isn't covered yet.
  void fill(anyplace_address address, std::uint64_t bytes) noexcept;
  /// The caller is about to unmap what it had covered there, if it had. The addresses stay its own.
  void uncover(anyplace_address address, const char* operation) noexcept;
  /// The caller is about to give the addresses back.
  void forget(anyplace_address address, std::uint64_t bytes) noexcept;

  // -- A thread is in a command between the two, which may be nested. `what` is a literal: "a copy".
  void enter(const char* what) noexcept;
  void leave() noexcept;

  // -- For the signal handler.
  enum class Fault { unknown, opened, reported };
  /// Tells what a SIGSEGV is. After `opened` the instruction is to be tried again; after `reported` the process dies.
  Fault fault(const siginfo_t& info, const void* context) noexcept;

 private:
  struct Region {
    anyplace_address begin = 0;  // `bytes` from here on were asked for. The pages around them belong to the region.
    std::uint64_t bytes = 0;
    anyplace_address first_page = 0;  // The memory's pages are from here to `end_page`: without the guards.
    anyplace_address end_page = 0;
    std::uint64_t guard_bytes = 0;  // So many are before the first page, and behind the last.
    std::int32_t device = 0;
    bool freed = false;  // Only its record is left, in retired_.
    bool owned = false;  // Its addresses are this object's, and not the caller's of cover().
    bool open = false;   // Commands have access; without keys.
    const char* made_by = nullptr;
    const char* freed_by = nullptr;
    StackTrace made{};
    StackTrace end{};
    Region* next = nullptr;  // the next one in opened_

    anyplace_address outer_begin() const noexcept { return first_page - guard_bytes; }
    anyplace_address outer_end() const noexcept { return end_page + guard_bytes; }
  };
  using Regions = std::map<anyplace_address, Region>;  // The keys are their outer_begin().

  Protection(Protect how, backend::Host host);
  ~Protection() = delete;

  void end(Regions::iterator region, const char* operation, const StackTrace& here) noexcept;
  void close(Region& region) noexcept;
  void close_all() noexcept;
  bool lock_out(const Region& region) const noexcept;
  Regions::iterator at(anyplace_address address) noexcept;
  const Region* near(anyplace_address address) const noexcept;
  void report(const Region& region, anyplace_address address, const void* context) const noexcept;
  void add_who(ReportText& text) const noexcept;

  static std::atomic<Protection*> instance;

  const backend::Host host_;
  const std::uint64_t page_bytes_;
  const std::int64_t process_;  // that began it: a forked child has another number
  int key_ = -1;
  int pattern_ = -1;  // the descriptor of a file that is filled with `fresh`

  // It is a leaf of the lock order. The signal handler takes it, too: nobody accesses device memory under it. A process
  // is forked under it, so that the child finds the tables whole.
  std::mutex mutex_;
  Regions regions_;            // mutex_ guards it and its elements.
  Region* opened_ = nullptr;   // mutex_ guards it.
  std::uint32_t running_ = 0;  // mutex_ guards it; so many threads are in a command. It isn't counted with keys.
  // mutex_ guards them. It is a ring of the last regions that were freed, made at the beginning so that a free takes no
  // memory; next_retired_ is the oldest one.
  std::vector<Region> retired_;
  std::size_t next_retired_ = 0;
};

/// The thread is in a command as long as it lives, if memory is protected.
class CommandAccess {
 public:
  explicit CommandAccess(const char* what) noexcept : protection_(Protection::get()) {
    if (protection_ != nullptr) [[unlikely]]
      protection_->enter(what);
  }
  CommandAccess(const CommandAccess&) = delete;  // It is left once.
  CommandAccess& operator=(const CommandAccess&) = delete;
  ~CommandAccess() {
    if (protection_ != nullptr) [[unlikely]]
      protection_->leave();
  }

 private:
  Protection* const protection_;
};

}  // namespace anyplace::cpu_sim
