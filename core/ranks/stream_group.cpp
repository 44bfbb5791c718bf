// SPDX-License-Identifier: Apache-2.0
#include "ranks/stream_group.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "anyplace/memory.h"
#include "memory/address_book.h"
#include "plugins/device_properties.h"
#include "ranks/call_bounded.h"
#include "ranks/engine_error.h"
#include "ranks/host_runtime.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "streams/event_state.h"

namespace anyplace::detail {
namespace {

constexpr const char* group_operation = "Communicator";

class StreamGroup final : public EngineGroup, public std::enable_shared_from_this<StreamGroup> {
 public:
  StreamGroup(const Engine& engine, const anyplace_engine_group& made, DeviceState& device,
              std::chrono::nanoseconds timeout, std::shared_ptr<RanksHere> here)
      : EngineGroup(device, made.rank, made.size, timeout, std::move(here)),
        engine_(engine),
        table_(engine.table),
        group_(made.group),
        scratch_(Device(&device), ANYPLACE_ENGINE_SCRATCH_BYTES) {}
  ~StreamGroup() override;

  void require(const Part& part, const char* operation) const override;
  void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) override;
  std::shared_ptr<EngineGroup> split(int color, int key, const char* operation) override;
  bool idle() override { return wait(Deadline(0)); }
  bool wait(const Deadline& deadline) override;
  void end(const Error& error) noexcept override;

 private:
  struct Pending {
    std::shared_ptr<EventState> before, after;
    std::string what;
    std::uint64_t stream_id = 0;
    bool begun = false;
    Deadline::Clock::time_point deadline{};
  };

  /// The right to call the engine with the group, which one thread has at a time.
  class Entry {
   public:
    /// Has no group if it was aborted; also if another thread has the right, unless this one `may_wait` for it. A split
    /// whose other ranks never come keeps the right for good; the failure of the group ends the waits for it.
    Entry(StreamGroup& of, bool may_wait);
    Entry(const Entry&) = delete;  // its end gives the right back
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    /// Returns the group; 0 if this has none.
    anyplace_group group() const noexcept { return group_; }

   private:
    StreamGroup& of_;
    anyplace_group group_ = 0;
  };

  void require_device_memory(const Part& part, const char* operation) const;
  std::string advice_on_memory(const std::vector<Part>& parts) const;
  void enqueue(std::uint64_t native, const std::vector<Part>& parts);
  void watch(Pending pending);
  bool look() noexcept;
  void look_closely();
  bool post_abort() noexcept;
  void abort_group() noexcept;
  void end_group(std::unique_lock<std::mutex> lock) noexcept;

  const Engine& engine_;
  const anyplace_engine_table& table_;
  ServiceRoom room_{group_operation};
  std::mutex group_mutex_;  // guards group_, has_entry_ and is_to_abort_; a leaf
  std::condition_variable group_free_;
  anyplace_group group_;      ///< 0 once it was aborted
  bool has_entry_ = false;    ///< there is an Entry that has the group
  bool is_to_abort_ = false;  ///< there is to be no other Entry, and the one that there is aborts the group at its end
  const Buffer scratch_;      ///< the memory that a barrier works on
  std::mutex pending_mutex_;  // guards the three below; the backend's event_query is called under it
  std::deque<Pending> pending_;
  bool watched_ = false;  ///< the polling thread calls look()
  /// The events behind each stream's last operation, which layers are to hear that wait() waited for: look() may have
  /// found them complete before, and that isn't the application's to know. Empty unless layers listen.
  std::map<std::uint64_t, std::shared_ptr<EventState>> unheard_;
};

StreamGroup::~StreamGroup() {
  const anyplace_group group = std::exchange(group_, 0);
  if (group == 0 || !backends_callable()) return;
  // group_destroy may wait for what the engine still does, and the thread that destroys this mustn't wait. So the
  // service thread calls it.
  post_to_service([table = &table_, group] { table->group_destroy(table->self, group); });
}

/// Returns the part of a text that proposes an engine for every backend; empty if there is no other one.
std::string other_engine(const Engine& engine) {
  const Engine* const other = engine_for_others();
  if (other == nullptr || other == &engine) return "";
  return fmt::format("make the communicator with the engine {}, or ", other->name);
}

/// Refuses memory that is known to be the host's. Memory that anyplace doesn't know is left to the engine, which
/// refuses it itself if it can't use it.
void StreamGroup::require_device_memory(const Part& part, const char* operation) const {
  for (const bool is_source : {true, false}) {
    const std::uint64_t bytes = is_source ? part.source_bytes(rank(), size()) : part.destination_bytes(rank(), size());
    const AddressKind kind =
        bytes == 0 ? AddressKind::device : find_address(is_source ? part.source : part.destination, &device()).kind;
    if (kind != AddressKind::pinned && kind != AddressKind::registered) continue;
    fail(ErrorCode::invalid_argument, device().place, operation,
         fmt::format("the {} is memory of the host, and {} takes its device's alone\n{}copy to a buffer of {}\nsee "
                     "docs/ranks.md",
                     is_source ? "source" : "destination", engine_.name, other_engine(engine_), device().place));
  }
}

/// Returns a remedy that names the first address that anyplace doesn't know; empty if it knows all of them.
std::string StreamGroup::advice_on_memory(const std::vector<Part>& parts) const {
  for (const Part& part : parts) {
    for (const bool is_source : {true, false}) {
      const std::uint64_t bytes =
          is_source ? part.source_bytes(rank(), size()) : part.destination_bytes(rank(), size());
      const anyplace_address address = is_source ? part.source : part.destination;
      if (bytes == 0 || find_address(address, &device()).kind != AddressKind::unknown) continue;
      return fmt::format(
          "the {} {:#x} of {} is of no memory that was made here: if it is the host's, {}copy to a buffer of {}",
          is_source ? "source" : "destination", address, describe(part), other_engine(engine_), device().place);
    }
  }
  return "";
}

void StreamGroup::require(const Part& part, const char* operation) const {
  require_device_memory(part, operation);
  if (table_.part_check == nullptr) return;
  const anyplace_engine_part crossing = crossing_part(part);
  check_engine(engine_, table_.part_check(table_.self, &crossing), device().place, operation);
}

// ---- The engine's entries ------------------------------------------------------------------------------------------

StreamGroup::Entry::Entry(StreamGroup& of, bool may_wait) : of_(of) {
  std::unique_lock lock(of_.group_mutex_);
  if (may_wait) of_.group_free_.wait(lock, [&] { return !of_.has_entry_ || of_.is_to_abort_; });
  if (of_.has_entry_ || of_.is_to_abort_) return;
  of_.has_entry_ = true;
  group_ = of_.group_;
}

StreamGroup::Entry::~Entry() {
  if (group_ == 0) return;
  std::unique_lock lock(of_.group_mutex_);
  of_.has_entry_ = false;
  if (of_.is_to_abort_) {
    of_.end_group(std::move(lock));
  } else {
    of_.group_free_.notify_one();
  }
}

void StreamGroup::end_group(std::unique_lock<std::mutex> lock) noexcept {
  const anyplace_group group = std::exchange(group_, 0);
  lock.unlock();
  if (group != 0) table_.group_abort(table_.self, group);
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

void StreamGroup::enqueue(std::uint64_t native, const std::vector<Part>& parts) {
  std::vector<anyplace_engine_part> crossing = crossing_parts(parts);
  for (anyplace_engine_part& part : crossing) {
    if (part.collective == ANYPLACE_COLLECTIVE_BARRIER) part.source = part.destination = scratch_.address();
  }
  const Entry entry(*this, true);
  if (entry.group() == 0) return;  // the group has failed meanwhile, and the stream has got its fault
  const anyplace_status status =
      table_.group_enqueue(table_.self, entry.group(), native, crossing.data(),
                           static_cast<std::uint32_t>(crossing.size()), sizeof(crossing.front()));
  if (status == ANYPLACE_STATUS_OK) return;
  Message message = take_message();
  throw engine_error(engine_, status, std::move(message), device().place, group_operation, "failed",
                     status == ANYPLACE_STATUS_BACKEND_FAILED ? advice_on_memory(parts) : "");
}

void StreamGroup::submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) {
  DeviceState& state = device();
  std::uint64_t native = 0;
  detail::check(state.table->stream_native(state.self, stream->handle, &native), state, operation);
  Pending pending;
  pending.what = "do " + describe(parts.front());
  pending.stream_id = stream->id;
  pending.before = make_event(state, 0, operation);
  pending.after = make_event(state, 0, operation);
  record(*pending.before, *stream, operation);
  const auto self = shared_from_this();
  const bool held = stream->held.load(std::memory_order_acquire) && hold_back(*stream, [self, native, parts] {
                      self->enqueue(native, parts);
                      return anyplace_status{ANYPLACE_STATUS_OK};
                    });
  if (!held) enqueue(native, parts);
  record(*pending.after, *stream, operation);
  watch(std::move(pending));
}

// ---- Watching ------------------------------------------------------------------------------------------------------

void StreamGroup::watch(Pending pending) {
  auto self = std::make_unique<std::shared_ptr<StreamGroup>>(shared_from_this());
  const std::lock_guard lock(pending_mutex_);
  if (layers_listen()) unheard_[pending.stream_id] = pending.after;
  pending_.push_back(std::move(pending));
  if (std::exchange(watched_, true)) return;
  poll_in_service([group = self.release()] {
    if (!(*group)->look()) return false;
    delete group;
    return true;
  });
}

/// Watches the pending operations once, on the polling thread. Returns true if there is nothing to watch any more.
bool StreamGroup::look() noexcept {
  const CoreCalls scope;
  bool is_over = false;
  try {
    if (!failure()) look_closely();
  } catch (const Error& error) {
    if (fail_with(error)) HostRuntime::give_up_all();  // the other ranks of a world would wait for this one
  } catch (const std::exception&) {                    // without memory it looks again later
  }
  if (failure()) is_over = post_abort();
  const std::lock_guard lock(pending_mutex_);
  if (!pending_.empty() && !is_over) return false;
  watched_ = false;
  return true;
}

/// Makes the service thread abort the group, because the engine's abort may wait for its own threads, which the polling
/// thread mustn't. Returns false if there is no memory for that.
bool StreamGroup::post_abort() noexcept {
  auto* const group = new (std::nothrow) std::shared_ptr<StreamGroup>(shared_from_this());
  if (group == nullptr) return false;
  post_to_service([group] {
    (*group)->abort_group();
    delete group;
  });
  return true;
}

void StreamGroup::look_closely() {
  if (const Entry entry(*this, false); entry.group() != 0) {
    check_engine(engine_, table_.group_error(table_.self, entry.group()), device().place, group_operation);
  }
  const std::lock_guard lock(pending_mutex_);
  while (!pending_.empty() && query(*pending_.front().after, group_operation)) pending_.pop_front();
  if (pending_.empty()) return;
  Pending& first = pending_.front();
  const auto now = Deadline::Clock::now();
  if (!first.begun && query(*first.before, group_operation)) {
    first.begun = true;
    first.deadline = now + timeout();
  }
  if (first.begun && now >= first.deadline) {
    throw timeout_error(device().place, group_operation, first.what, timeout());
  }
}

/// Gives the failure to the streams, and lets them go on: at once, or when the thread that is in an entry leaves it.
void StreamGroup::abort_group() noexcept {
  const std::optional<Error> error = failure();
  {
    const std::lock_guard lock(pending_mutex_);
    for (const Pending& pending : pending_) {
      bool done = false;  // it may be done without look() having noticed
      try {
        done = query(*pending.after, group_operation);
      } catch (const std::exception&) {  // the device is lost
      }
      if (!done) record_fault(pending.stream_id, *error);
    }
    pending_.clear();
  }
  std::unique_lock lock(group_mutex_);
  is_to_abort_ = true;
  group_free_.notify_all();
  if (!has_entry_) end_group(std::move(lock));
}

void StreamGroup::end(const Error& error) noexcept {
  fail_with(error);
  abort_group();
}

bool StreamGroup::wait(const Deadline& deadline) {
  while (true) {
    std::shared_ptr<EventState> first;
    {
      const std::lock_guard lock(pending_mutex_);
      if (failure()) return true;
      if (!pending_.empty()) {
        first = pending_.front().after;
      } else if (!unheard_.empty()) {
        first = unheard_.begin()->second;
        unheard_.erase(unheard_.begin());
      } else {
        return true;
      }
    }
    if (!synchronize(*first, deadline.left(), group_operation)) return failure().has_value();
    const std::lock_guard lock(pending_mutex_);
    if (!pending_.empty() && pending_.front().after == first) pending_.pop_front();
  }
}

// ---- Making --------------------------------------------------------------------------------------------------------

/// The result of a call of the engine that may wait for ever, and so is made on a thread of its own. A group that comes
/// when nobody waits for it any more is aborted.
struct Made {
  const anyplace_engine_table& table;
  anyplace_status status = ANYPLACE_STATUS_OK;
  Message message;
  anyplace_engine_group group{};

  explicit Made(const anyplace_engine_table& its) noexcept : table(its) {}
  Made(const Made&) = delete;  // it owns the group
  Made& operator=(const Made&) = delete;
  ~Made() {
    if (group.group != 0 && backends_callable()) table.group_abort(table.self, group.group);
  }
  /// Returns the group, and no longer owns it.
  anyplace_engine_group take() noexcept {
    const anyplace_engine_group taken = group;
    group.group = 0;
    return taken;
  }
  template <class Call>
  void by(const Call& call) {
    group.struct_size = sizeof(group);
    take_message();
    status = call(&group);
    message = take_message();
  }
};

void require_made(const Engine& engine, const Made& made, const std::string& place, const char* operation) {
  if (made.status == ANYPLACE_STATUS_OK) return;
  throw engine_error(engine, made.status, made.message, place, operation, "can't make the communicator");
}

std::shared_ptr<EngineGroup> StreamGroup::split(int color, int key, const char* operation) {
  const auto made = std::make_shared<Made>(table_);
  const std::uint32_t number = meetings().count_split();
  std::shared_ptr<RanksHere> here = color < 0 ? nullptr : join_split_here(meetings().here(), number, color);
  const bool done = call_bounded(Deadline(to_timeout_ns(timeout())), [self = shared_from_this(), made, color, key] {
    const Entry entry(*self, true);
    made->by([&](anyplace_engine_group* out) -> anyplace_status {
      if (entry.group() == 0) return ANYPLACE_STATUS_INVALID_HANDLE;  // it has failed meanwhile
      return self->table_.group_split(self->table_.self, entry.group(), color, key, out);
    });
  });
  if (!done) {
    const Error error = timeout_error(device().place, operation, "split the communicator", timeout());
    HostRuntime::give_up_all();
    end(error);
    throw error;
  }
  require_made(engine_, *made, device().place, operation);
  if (made->group.group == 0) return nullptr;
  return std::make_shared<StreamGroup>(engine_, made->take(), device(), timeout(), std::move(here));
}

}  // namespace

std::shared_ptr<EngineGroup> make_stream_group(const Engine& engine, DeviceState& device, const BootstrapPlan& plan,
                                               std::chrono::nanoseconds timeout, const char* operation) {
  require_library(engine, device.place, operation);
  struct Asked {
    anyplace_engine_device device;
    Made made;
    MetRanks met{};
    Asked(const anyplace_engine_device& its, const anyplace_engine_table& table) : device(its), made(table) {}
  };
  const auto asked = std::make_shared<Asked>(crossing_device(device), engine.table);
  asked->met = meet(engine, asked->device, plan, {device.place, operation, timeout, {}});
  std::shared_ptr<RanksHere> here = join_ranks_here({asked->met.id.bytes, asked->met.id.byte_count});
  const bool done = call_bounded(Deadline(to_timeout_ns(timeout)), [asked, &table = engine.table] {
    anyplace_engine_group_desc desc{};
    desc.struct_size = sizeof(desc);
    desc.rank = asked->met.rank;
    desc.size = asked->met.size;
    desc.device = &asked->device;
    desc.id = &asked->met.id;
    asked->made.by([&](anyplace_engine_group* out) { return table.group_create(table.self, &desc, out); });
  });
  if (!done) throw timeout_error(device.place, operation, "make the communicator", timeout);
  require_made(engine, asked->made, device.place, operation);
  return std::make_shared<StreamGroup>(engine, asked->made.take(), device, timeout, std::move(here));
}

}  // namespace anyplace::detail
