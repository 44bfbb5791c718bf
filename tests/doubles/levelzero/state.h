// SPDX-License-Identifier: Apache-2.0
//
// The double's objects, the tables of their handles, and what all entries share.
//
// Lock order: State::mutex, then the engine's, then the address space's. State::mutex guards every object below but
// what is atomic; it is not held while the double waits or runs an operation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "../engine/address_space.h"
#include "../engine/call_book.h"
#include "../engine/engine.h"
#include "../engine/handle_table.h"
#include "../engine/host_image.h"
#include "../engine/life.h"
#include "config.h"
#include "entries.h"

namespace anyplace::doubles::levelzero {

/// An object that Level Zero forbids two threads to use at a time: notes when they do.
class OneAtATime {
 public:
  OneAtATime(std::atomic<bool>& busy, const char* what);
  ~OneAtATime();
  /// INVALID_ARGUMENT for who came second: nothing is done for it, since the object isn't guarded otherwise.
  ze_result_t result() const noexcept { return taken_ ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT; }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  std::atomic<bool>& busy_;
  bool taken_ = false;
};

/// For how long kernels ran, as the engines' counters have it: since the first one began, and at least one at a time.
class KernelTime {
 public:
  void begin();
  void end();
  struct Microseconds {
    uint64_t active, clock;
  };
  Microseconds now() const;

 private:
  mutable std::mutex mutex_;  // guards what follows; the last lock that is taken
  int running_ = 0;
  int64_t first_ns_ = 0, since_ns_ = 0, active_ns_ = 0;  // first_ns_ is 0 before any kernel
};

struct Device {
  ze_device_handle_t handle = nullptr;
  int index = 0;    // among all, sub-devices too
  int parent = -1;  // of a sub-device
  int number = 0;   // among the roots, or among the parent's sub-devices
  std::shared_ptr<FaultDomain> fault = std::make_shared<FaultDomain>();
  std::shared_ptr<KernelTime> kernel_time = std::make_shared<KernelTime>();  // of a sub-device: its parent's
  uint64_t kernels_until_fault = 0;                                          // 0: none is to fault
  int kernel_fault = 0;
};
using DeviceRef = std::shared_ptr<Device>;

struct Context {
  uint64_t id = 0;  // the owner of its blocks; never 0
};
using ContextRef = std::shared_ptr<Context>;

struct EventPool {
  ContextRef context;
  uint32_t count = 0;
  ze_event_pool_flags_t flags = 0;
  std::vector<int> devices;  // that see it; empty: all
  std::vector<bool> used;
};
using EventPoolRef = std::shared_ptr<EventPool>;

struct Event {
  EventPoolRef pool;
  uint32_t index = 0;
  CompletionRef signal = std::make_shared<Completion>();  // since the last reset
  bool signalled_by_command = false;                      // it will be, or was
  DeviceRef device;                                       // of that command
  std::vector<CompletionRef> waits;                       // commands that wait for it
};
using EventRef = std::shared_ptr<Event>;

/// A command of a list that isn't immediate: what is submitted at each execution.
struct Recorded {
  ze_event_handle_t signal = nullptr;
  std::vector<ze_event_handle_t> waits;
  bool is_barrier = false;
  ze_event_handle_t reset = nullptr;  // an event that it resets
  Operation operation;
};

struct CommandList {
  ContextRef context;
  DeviceRef device;
  bool in_order = false;
  bool synchronous = false;
  int priority = 0;
  QueueRef queue;  // in_order: all commands; else each has a queue of its own
  CompletionRef barrier;
  std::vector<CompletionRef> barrier_after;  // what `barrier` comes behind
  std::vector<CompletionRef> outstanding;
  // -- Of one that isn't immediate.
  bool immediate = true;
  bool closed = false;
  uint32_t ordinal = 0;
  std::vector<Recorded> recorded;
  std::atomic<bool> busy{false};
};
using CommandListRef = std::shared_ptr<CommandList>;

struct CommandQueue {
  ContextRef context;
  DeviceRef device;
  uint32_t ordinal = 0;
  int priority = 0;
  std::vector<CompletionRef> outstanding;
};

struct Module {
  ContextRef context;
  DeviceRef device;
  std::shared_ptr<HostImage> image;
  std::map<std::string, uint32_t, std::less<>> shared_arguments;
  uint32_t kernels = 0;
  std::map<std::string, Block, std::less<>> variables;  // those that were asked for

  Module() = default;
  Module(const Module&) = delete;  // its variables are in the address space
  Module& operator=(const Module&) = delete;
  ~Module();
};
using ModuleRef = std::shared_ptr<Module>;

struct Kernel {
  ModuleRef module;
  std::string name;
  HostKernel host;
  int shared_argument = -1;
  uint64_t shared_bytes = 0;
  uint32_t group[3] = {0, 0, 0};
  std::vector<std::vector<unsigned char>> values;  // of the host kernel's parameters; empty: not set
  std::atomic<uint32_t> launches{0};               // queued or running
  std::atomic<bool> busy{false};
};
using KernelRef = std::shared_ptr<Kernel>;

struct BuildLog {
  std::string text;
};

struct Physical {
  ContextRef context;
  int device = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  uint32_t mappings = 0;
};
using PhysicalRef = std::shared_ptr<Physical>;

struct Reservation {
  ContextRef context;
  uint64_t bytes = 0;
};

constexpr uint16_t handles = 0x02e0;  // a part of each

/// Everything. Made by the first zeInit, and kept until the process ends.
struct State {
  explicit State(const Config& from);

  const Config config;
  Engine& engine;
  AddressSpace& memory;
  std::vector<DeviceRef> devices;  // never changed

  std::mutex mutex;  // guards all below
  HandleTable<Device, ze_device_handle_t> device_table{handles, 1};
  HandleTable<Context, ze_context_handle_t> contexts{handles, 2};
  HandleTable<EventPool, ze_event_pool_handle_t> pools{handles, 3};
  HandleTable<Event, ze_event_handle_t> events{handles, 4};
  HandleTable<CommandList, ze_command_list_handle_t> lists{handles, 5};
  HandleTable<Module, ze_module_handle_t> modules{handles, 6};
  HandleTable<Kernel, ze_kernel_handle_t> kernels{handles, 7};
  HandleTable<BuildLog, ze_module_build_log_handle_t> logs{handles, 8};
  HandleTable<Physical, ze_physical_mem_handle_t> physicals{handles, 9};
  HandleTable<CommandQueue, ze_command_queue_handle_t> queues{handles, 10};
  std::map<uint64_t, PhysicalRef> mapped;    // by address
  std::set<uint64_t> moved_away;             // of `mapped`: memory that has another address since
  std::map<uint64_t, Reservation> reserved;  // by address
  std::map<uint64_t, int> exported;          // by address: the descriptor in the handles of memory
  uint64_t contexts_made = 0;
  std::vector<CompletionRef> given_up;  // signals that never come, which commands wait for: these keep each other
};

using Locked = std::lock_guard<std::mutex>;

/// The state; only after zeInit succeeded.
State& state();
/// The state, or null before zeInit succeeded.
State* state_if_any() noexcept;
/// Makes the state, once. Called by zeInit.
void make_state();

/// Notes it and gives the result back.
ze_result_t misuse(const std::string& text, ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT);

/// Finds the object of a handle, or notes that there is none. Takes State::mutex.
template <class Table, class Handle, class Object>
ze_result_t find(const Table& table, Handle handle, std::shared_ptr<Object>& object, const char* what) {
  if (handle == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  {
    const Locked lock(state().mutex);
    object = table.find(handle);
  }
  if (object != nullptr) return ZE_RESULT_SUCCESS;
  return misuse(std::string("a handle that is no ") + what + ", or was destroyed", ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}
/// Takes the object out of its table.
template <class Table, class Handle>
void remove(Table& table, Handle handle) {
  const Locked lock(state().mutex);
  table.remove(handle);
}

/// The context of a handle.
inline ze_result_t find_context(ze_context_handle_t handle, ContextRef& context) {
  return find(state().contexts, handle, context, "context");
}
/// The memory is about to be freed: closes the descriptor in its handles, if it has any. Takes State::mutex.
void end_exports(uint64_t start);

bool any_device_lost() noexcept;
/// DEVICE_LOST if it is.
ze_result_t health_of(const Device& device) noexcept;
/// What every descriptor begins with.
template <class Desc>
ze_result_t check_desc(const Desc* desc, ze_structure_type_t type, const char* what) {
  if (desc == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->stype == type) return ZE_RESULT_SUCCESS;
  return misuse(std::string(what) + " has another stype than its own");
}

#define LEVELZERO_DOUBLE_TRY(call)                                                  \
  do {                                                                              \
    if (const ze_result_t tried = (call); tried != ZE_RESULT_SUCCESS) return tried; \
  } while (false)

// -- Memory.

/// What an operation runs on: checked when it is appended, and again when it runs.
struct Use {
  uint64_t address = 0;
  uint64_t id = 0;  // of the block
};
constexpr uint32_t read_only = 1;     // of Block::flags
constexpr uint32_t of_no_device = 2;  // the same: shared memory that is associated with none
constexpr uint32_t opened = 4;        // the same: another process's memory
enum class Access : uint8_t { read, write };
/// Whether commands of the list may use [address, address + bytes) so. Appends to `uses` what has to be there when they
/// run.
ze_result_t check_range(const CommandList& list, const void* address, uint64_t bytes, Access access,
                        std::vector<Use>& uses);
/// Whether a device may use another's memory: it is its own, or of one of the same root, or all are peers.
bool reaches(const Device& device, const Device& other);
/// Whether an object that was made for the one device may be used on the other: that is the same, or a part of it.
bool serves(const Device& made_for, const Device& device);
/// Runs `work` on what `uses` names. A fault, noted as misuse of `what`, if something of it isn't there.
int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work);

constexpr int fault = static_cast<int>(ZE_RESULT_ERROR_DEVICE_LOST);

}  // namespace anyplace::doubles::levelzero
