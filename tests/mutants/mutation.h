// SPDX-License-Identifier: Apache-2.0
//
// What a mutation is, and what those that patch cpu_sim's table are written with. Each is one way for a backend to be
// wrong; the plugin applies one, the runner looks whether the conformance suite convicts it. The lists are in the
// files of their subjects: waits, streams, memory, allocation, virtual_memory, kernels, facts, devices, books, process,
// limits, liveness, pending, graphs, ipc, random, collectives, monitoring, lengths,
// texts.
//
// A mutation is wrong in one way and right in all others, and leaks what it would have to guess the end of: each runs
// in a process that ends soon.
#pragma once

#include <anyplace/backend/abi.h>

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace anyplace::mutants {

using Table = anyplace_backend_table;
using Status = anyplace_status;

struct Mutation {
  const char* name;          ///< value of ANYPLACE_TEST_MUTANT
  const char* what;          ///< what the backend does wrong
  const char* convicted_by;  ///< in "group: name" of the case that must fail; what starts with "refused: " never gets
                             ///< so far, and the text after it is in the reason; what starts with "innocent: " is
                             ///< right, and none of the cases after it may fail
  void (*apply)(Table& table);
};

std::span<const Mutation> wait_mutations() noexcept;
std::span<const Mutation> stream_mutations() noexcept;
std::span<const Mutation> memory_mutations() noexcept;
std::span<const Mutation> allocation_mutations() noexcept;
std::span<const Mutation> virtual_memory_mutations() noexcept;
std::span<const Mutation> kernel_mutations() noexcept;
std::span<const Mutation> fact_mutations() noexcept;
std::span<const Mutation> device_mutations() noexcept;
std::span<const Mutation> book_mutations() noexcept;
std::span<const Mutation> process_mutations() noexcept;
std::span<const Mutation> limit_mutations() noexcept;
std::span<const Mutation> liveness_mutations() noexcept;
std::span<const Mutation> pending_mutations() noexcept;
std::span<const Mutation> graph_mutations() noexcept;
std::span<const Mutation> ipc_mutations() noexcept;
std::span<const Mutation> random_mutations() noexcept;
std::span<const Mutation> collective_mutations() noexcept;
std::span<const Mutation> monitoring_mutations() noexcept;
std::span<const Mutation> length_mutations() noexcept;
std::span<const Mutation> text_mutations() noexcept;
std::vector<Mutation> all_mutations();

/// What cpu_sim filled; the plugin sets it before it applies a mutation.
extern Table real;
/// What the core gave.
extern const anyplace_host* core_host;
/// What cpu_sim was given: a copy, whose functions a mutation may replace.
extern anyplace_host cpu_sim_host;

constexpr Status ok = ANYPLACE_STATUS_OK;

/// What a mutation remembers of handles.
template <class Key, class Value>
class Notes {
 public:
  void set(Key key, Value value) {
    const std::lock_guard lock(mutex_);
    notes_[key] = value;
  }
  /// `otherwise` if there is none.
  Value get(Key key, Value otherwise = {}) const {
    const std::lock_guard lock(mutex_);
    const auto found = notes_.find(key);
    return found == notes_.end() ? otherwise : found->second;
  }
  /// The same, and forgets it.
  Value take(Key key, Value otherwise = {}) {
    const std::lock_guard lock(mutex_);
    const auto found = notes_.find(key);
    if (found == notes_.end()) return otherwise;
    const Value value = found->second;
    notes_.erase(found);
    return value;
  }
  std::map<Key, Value> all() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Value> notes_;  // guarded by mutex_
};

struct StreamNote {
  int32_t device = 0;
  uint32_t flags = 0;
  uint64_t cookie = 0;
  bool null = false;  ///< the device's null stream
};
/// Every stream that was made since note_streams().
extern Notes<anyplace_stream, StreamNote> streams;
/// Makes the table note streams as they are made.
void note_streams(Table& table);

/// A hidden stream of the same device, for work that loses its order; needs note_streams.
anyplace_stream side_stream(void* self, anyplace_stream stream);
anyplace_event new_event(void* self, int32_t device);

/// A kernel of the host as the core gave it.
struct HostKernel {
  anyplace_host_kernel function;
  void* user;
  void (*release)(void*);
  std::atomic<bool> dropped{false};

  Status run(const anyplace_block* block, void* const* arguments, const uint32_t* sizes, uint32_t count) const {
    return function(user, block, arguments, sizes, count);
  }
};
extern Notes<anyplace_kernel, HostKernel*> host_kernels;
void release_host_kernel(void* user);

/// Makes every kernel of the host run by `Run`, whose user is its HostKernel.
template <anyplace_host_kernel Run, void (*Release)(void*) = release_host_kernel>
void wrap_host_kernels(Table& table) {
  table.kernel_from_host = [](void* self, int32_t device, anyplace_host_kernel function, void* user,
                              void (*release)(void*), anyplace_kernel* out) {
    auto* const kernel = new HostKernel{function, user, release};
    const Status status = real.kernel_from_host(self, device, Run, kernel, Release, out);
    if (status == ok) host_kernels.set(*out, kernel);
    if (status != ok) delete kernel;
    return status;
  };
}

/// Memory that nobody has the address of.
void lose();

/// The case that looks for what a call leaves of the caller's changed.
constexpr const char* left_alone =
    "process: signals, the directory, the locale and the rounding of numbers stay as they were";

/// Calls `before` ahead of every submission to a stream; another status than OK is the submission's.
void before_submissions(Table& table, Status (*before)(void* self, anyplace_stream stream));

}  // namespace anyplace::mutants
