// SPDX-License-Identifier: Apache-2.0
#include "ipc/share_table.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/process_access.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

using backend::ArenaAddress;
using backend::ArenaResult;

struct TableLayout {
  struct Entry {
    std::atomic<std::uint64_t> state;    // generation * 2, + 1 while it is shared
    std::atomic<std::uint64_t> holders;  // bit i is set while member i has it open
  };
  static constexpr std::uint32_t entries = 65536;

  backend::ArenaHeader header;
  Entry entry[entries];
};
using Table = backend::SharedArena<TableLayout>;

/// The table of this process.
struct OwnTable {
  std::mutex mutex;  // guards the rest; a leaf
  std::unique_ptr<Table> table;
  std::uint32_t used = 0;           // how many entries were ever taken
  std::vector<std::uint32_t> free;  // entries that were given back
};
constinit NoDestructor<OwnTable> own_table;

/// Clears the bits of processes that ended. Called under the mutex.
void clear_the_dead(OwnTable& own) noexcept {
  own.table->reclaim([&](unsigned member) {
    for (std::uint32_t i = 0; i < own.used; ++i) {
      (*own.table)->entry[i].holders.fetch_and(~(std::uint64_t{1} << member), std::memory_order_seq_cst);
    }
  });
}

TableLayout::Entry& entry_of(std::uint32_t number) noexcept { return (*own_table.value.table)->entry[number]; }

}  // namespace

// ---- Objects that this process shares ------------------------------------------------------------------------------

Share::Share(const std::string& place, const char* operation) {
  OwnTable& own = own_table.value;
  const std::lock_guard lock(own.mutex);
  if (own.table == nullptr) {
    own.table = Table::make("anyplace shares");
    if (own.table == nullptr) {
      const int error = errno;
      fail(ErrorCode::backend_failed, place, operation,
           backend::is_descriptor_shortage(error)
               ? backend::no_descriptor_text("sharing something", error)
               : fmt::format("there is no file in memory to share anything with, memfd_create: {}",
                             std::strerror(error)));
    }
  }
  if (!own.free.empty()) {
    entry_ = own.free.back();
    own.free.pop_back();
  } else if (own.used < TableLayout::entries) {
    if (own.free.capacity() <= own.used) own.free.reserve(own.used * 2 + 64);  // so that giving it back can't fail
    entry_ = own.used++;
  } else {
    fail(ErrorCode::out_of_memory, place, operation,
         fmt::format("this process shares {} buffers and events already, and can't share more", TableLayout::entries));
  }
  TableLayout::Entry& entry = entry_of(entry_);
  entry.state.store(entry.state.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
}

Share::~Share() {
  OwnTable& own = own_table.value;
  const std::lock_guard lock(own.mutex);
  TableLayout::Entry& entry = entry_of(entry_);
  entry.state.store((entry.state.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_seq_cst);
  own.free.push_back(entry_);
}

ShareAddress Share::address() const noexcept {
  OwnTable& own = own_table.value;
  const std::lock_guard lock(own.mutex);
  return {own.table->address(), entry_, entry_of(entry_).state.load(std::memory_order_relaxed) / 2};
}

bool Share::close() noexcept {
  OwnTable& own = own_table.value;
  const std::lock_guard lock(own.mutex);
  TableLayout::Entry& entry = entry_of(entry_);
  entry.state.fetch_and(~std::uint64_t{1}, std::memory_order_seq_cst);
  if (entry.holders.load(std::memory_order_seq_cst) == 0) return true;
  clear_the_dead(own);
  return entry.holders.load(std::memory_order_seq_cst) == 0;
}

// ---- Objects that others share -------------------------------------------------------------------------------------

/// The table of another process, kept as long as an object of it is open.
class GuestTable {
 public:
  explicit GuestTable(std::unique_ptr<Table> table) noexcept : table_(std::move(table)) {}

  /// Sets this process's bit. False if the object isn't shared any more.
  bool hold(std::uint32_t number, std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    int& count = counts_[number];
    TableLayout::Entry& entry = (*table_)->entry[number];
    if (count == 0) entry.holders.fetch_or(bit(), std::memory_order_seq_cst);
    if (entry.state.load(std::memory_order_seq_cst) == generation * 2 + 1) {
      ++count;
      return true;
    }
    let_go_if_unused(number, count);
    return false;
  }
  void let_go(std::uint32_t number) noexcept {
    const std::lock_guard lock(mutex_);
    int& count = counts_[number];
    --count;
    let_go_if_unused(number, count);
  }

 private:
  std::uint64_t bit() const noexcept { return std::uint64_t{1} << table_->self(); }
  void let_go_if_unused(std::uint32_t number, int count) noexcept {
    if (count != 0) return;
    (*table_)->entry[number].holders.fetch_and(~bit(), std::memory_order_seq_cst);
    counts_.erase(number);
  }

  const std::unique_ptr<Table> table_;
  std::mutex mutex_;                     // a leaf
  std::map<std::uint32_t, int> counts_;  // guarded by mutex_; how often each object is open in this process
};

namespace {

struct GuestTables {
  std::mutex mutex;  // guards the rest; taken before the mutex of a GuestTable
  std::vector<std::pair<ArenaAddress, std::weak_ptr<GuestTable>>> joined;
};
constinit NoDestructor<GuestTables> guest_tables;

std::shared_ptr<GuestTable> join(const ArenaAddress& address, const std::string& place, const char* operation) {
  GuestTables& all = guest_tables.value;
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.joined, [](const auto& each) { return each.second.expired(); });
  for (const auto& [where, joined] : all.joined) {
    if (where != address) continue;
    if (std::shared_ptr<GuestTable> found = joined.lock()) return found;
  }
  std::unique_ptr<Table> table;
  const std::uint32_t pid = address.owner.pid;
  switch (Table::join(address, table)) {
    case ArenaResult::joined:
      break;
    case ArenaResult::gone:
      fail(ErrorCode::peer_gone, place, operation, fmt::format("process {}, which made the handle, has ended", pid));
    case ArenaResult::full:
      fail(ErrorCode::out_of_memory, place, operation,
           fmt::format("{} processes have something of process {} open, and no more can", backend::arena_members - 1,
                       pid));
    case ArenaResult::refused:
      fail(ErrorCode::backend_failed, place, operation, backend::unopened_text("what is shared", pid, errno));
  }
  auto joined = std::make_shared<GuestTable>(std::move(table));
  all.joined.emplace_back(address, joined);
  return joined;
}

}  // namespace

SharedUse::SharedUse(const ShareAddress& address, const char* what, const std::string& place, const char* operation)
    : table_(join(address.table, place, operation)), entry_(address.entry) {
  if (entry_ < TableLayout::entries && table_->hold(entry_, address.generation)) return;
  table_.reset();
  fail(ErrorCode::invalid_handle, place, operation,
       fmt::format("{} of the handle was freed in process {}, which made it\nkeep it there until the other process has "
                   "opened it",
                   what, address.table.owner.pid));
}

SharedUse::SharedUse(SharedUse&& other) noexcept : table_(std::move(other.table_)), entry_(other.entry_) {}

SharedUse& SharedUse::operator=(SharedUse&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(entry_, other.entry_);
  return *this;
}

SharedUse::~SharedUse() {
  if (table_ != nullptr) table_->let_go(entry_);
}

}  // namespace anyplace::detail
