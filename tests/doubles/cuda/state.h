// SPDX-License-Identifier: Apache-2.0
//
// The double's objects (contexts, streams, events, pools, modules, functions), the tables of their handles, and what
// all entries share: which context is current, what a stream argument means, how an operation gets into a stream.
//
// Handles are numbers that are never given out twice and point at nothing, so that a destroyed, a foreign and a made-up
// handle are told apart from a good one, and none can crash.
//
// Lock order: State::mutex, then the engine's, then the address space's. State::mutex guards every object below but
// what is atomic; it is not held while the double waits or runs an operation.
#ifndef ANYPLACE_TESTS_DOUBLES_CUDA_STATE_H
#define ANYPLACE_TESTS_DOUBLES_CUDA_STATE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../engine/address_space.h"
#include "../engine/call_book.h"
#include "../engine/engine.h"
#include "../engine/host_image.h"
#include "compat.h"
#include "config.h"
#include "entries.h"

namespace anyplace::doubles::cuda {

struct Context;
using ContextRef = std::shared_ptr<Context>;

struct Stream {
  CUstream handle = nullptr;
  ContextRef context;
  QueueRef queue;
  unsigned flags = CU_STREAM_DEFAULT;
  int priority = 0;
  uint64_t id = 0;
  bool destroyed = false;
  bool blocking() const noexcept { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};
using StreamRef = std::shared_ptr<Stream>;

struct Context {
  CUcontext handle = nullptr;
  int device = 0;
  uint64_t id = 0;
  bool primary = false;
  bool alive = false;     // a primary context: it is retained
  unsigned retained = 0;  // of a primary context
  unsigned flags = 0;
  std::shared_ptr<FaultDomain> fault;
  StreamRef legacy;
  std::vector<StreamRef> streams;  // that may have work, destroyed ones too
  std::set<int> peers;             // devices whose memory it may use
  std::map<CUlimit, size_t> limits;
};

struct Event {
  ContextRef context;
  unsigned flags = 0;
  CompletionRef record;  // of the most recent record
};
using EventRef = std::shared_ptr<Event>;

struct Pool {
  CUmemoryPool handle = nullptr;
  int device = 0;
  bool is_default = false;
  bool destroyed = false;
  uint64_t limit = 0;  // 0: none
  std::array<int, 3> reuse{1, 1, 1};
  uint64_t threshold = 0, used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  std::set<int> access;  // other devices that may use its memory
};
using PoolRef = std::shared_ptr<Pool>;

struct Physical {
  int device = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  unsigned handles = 0;  // not yet released
  unsigned mappings = 0;
  CUmemGenericAllocationHandle handle = 0;
};
using PhysicalRef = std::shared_ptr<Physical>;

struct Module {
  CUmodule handle = nullptr;
  ContextRef context;
  std::shared_ptr<HostImage> image;
  std::vector<std::string> entries;  // the kernels' names by the device's compiler; empty if there was none
  std::map<std::string, CUfunction, std::less<>> functions;
  std::map<std::string, Block, std::less<>> variables;  // those that were asked for
  std::atomic<bool> unloaded{false};
  std::atomic<uint64_t> launches{0};  // submitted and not over

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();
};
using ModuleRef = std::shared_ptr<Module>;

struct Function {
  CUfunction handle = nullptr;
  std::string name;
  ModuleRef module;
  HostKernel kernel;
  std::vector<uint32_t> offsets;  // of the parameters, in a buffer of them
  int max_dynamic_shared = 0;
  int carveout = -1;
};
using FunctionRef = std::shared_ptr<Function>;

/// Marks the block of a module's variable among registered memory (Block::flags).
constexpr uint32_t kVariableOfModule = uint32_t{1} << 31U;

enum class HandleKind : uint8_t { kContext = 1, kStream, kEvent, kModule, kFunction, kPool, kPhysical };

/// The objects of one kind by their handles.
template <class Handle, class Object, HandleKind kind>
class Table {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const uint64_t value = uint64_t{0x0cda} << 48U | ++last_ << 8U | static_cast<uint64_t>(kind);
    objects_[value] = std::move(object);
    return to_handle(value);
  }
  /// Null if there is none.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(to_value(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { objects_.erase(to_value(handle)); }
  const std::map<uint64_t, std::shared_ptr<Object>>& all() const noexcept { return objects_; }
  static Handle to_handle(uint64_t value) noexcept { return (Handle)value; }     // NOLINT: a pointer or a number
  static uint64_t to_value(Handle handle) noexcept { return (uint64_t)handle; }  // NOLINT

 private:
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<Object>> objects_;
};

struct DeviceState {
  ContextRef primary;
  PoolRef default_pool, pool;
  uint64_t kernels_until_fault = 0;  // 0: none is to fault
  int kernel_fault = 0;
};

/// Everything. Made by the first cuInit, and kept until the process ends.
struct State {
  explicit State(const Config& from);

  const Config config;
  Engine& engine;
  AddressSpace& memory;

  std::mutex mutex;  // guards all below
  std::vector<DeviceState> devices;
  Table<CUcontext, Context, HandleKind::kContext> contexts;
  Table<CUstream, Stream, HandleKind::kStream> streams;
  Table<CUevent, Event, HandleKind::kEvent> events;
  Table<CUmodule, Module, HandleKind::kModule> modules;
  Table<CUfunction, Function, HandleKind::kFunction> functions;
  Table<CUmemoryPool, Pool, HandleKind::kPool> pools;
  Table<CUmemGenericAllocationHandle, Physical, HandleKind::kPhysical> physicals;
  uint64_t ids = 0;
  uint64_t left_behind = 0;
};

using Locked = std::lock_guard<std::mutex>;

/// The state; only after cuInit succeeded.
State& state();
/// The state, or null before cuInit succeeded.
State* state_if_any() noexcept;
/// Makes the state, once. Called by cuInit.
void make_state(const Config& config);

MisuseLog& misuses();

// -- Contexts. The caller holds State::mutex where `Locked` is asked for.

/// The calling thread's stack of current contexts, the last on top.
std::vector<ContextRef>& context_stack();
/// The current context, if it is one that can be worked with. Else INVALID_CONTEXT, CONTEXT_IS_DESTROYED or its sticky
/// error.
CUresult current_context(ContextRef& context);
/// The sticky error of the context, or success.
CUresult fault_of(const Context& context) noexcept;
/// The same for what gives something back: a sticky error is no hindrance.
CUresult current_context_to_release(ContextRef& context);
/// Success, or INVALID_DEVICE.
CUresult check_device(CUdevice device);
/// A context with its legacy stream, not yet in the table.
void begin_context(const Locked&, Context& context);
/// Waits for its work and gives back all that is in it.
void end_context(const ContextRef& context);

// -- Streams.

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

/// The stream that an argument of the calling thread names: a handle, the legacy stream or the thread's own.
CUresult resolve_stream(CUstream handle, StreamRef& stream);
/// Sets for the calling thread, while a _ptsz or _ptds entry runs, what the stream 0 is.
class PerThreadDefault {
 public:
  PerThreadDefault() noexcept;
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;
};
/// A queue and its context's share in it. priority is clamped.
StreamRef make_stream(const Locked&, const ContextRef& context, unsigned flags, int priority);

/// Puts the operation into the stream, by the rules of the null stream.
CompletionRef submit(const Locked&, const StreamRef& stream, Operation operation);
/// submit, then waits for it if `wait`. The context's error if it has failed by then.
CUresult submit_and(bool wait, const StreamRef& stream, Operation operation);
/// What is to be waited for so that all in the stream is done; of the legacy stream, all in blocking streams too.
std::vector<CompletionRef> pending(const Locked&, const Stream& stream);
/// The same for all streams of a context.
std::vector<CompletionRef> pending(const Locked&, Context& context);
/// Waits for all; then the context's error, DEINITIALIZED if the process is ending, or success.
CUresult wait_for(const std::vector<CompletionRef>& completions, const Context& context);

// -- Memory.

/// What an operation runs on: checked when it is submitted, and again when it runs.
struct Use {
  uint64_t address = 0;
  uint64_t id = 0;      // of the block
  bool doomed = false;  // its free was queued before the use was
};
enum class Want : uint8_t {
  kDevice,  // an end of a copy, on whichever device
  kAccess,  // what the context's own device touches
  kHost,
  kAny,
};
/// Whether the context may use [address, address + bytes) as that. Appends to `uses` what has to be there when it runs;
/// nothing for memory of the user's own. `pageable`, if it isn't null, says that it is such.
CUresult check_range(const Context& context, uint64_t address, uint64_t bytes, Want want, std::vector<Use>& uses,
                     bool* pageable = nullptr);
/// Whether the context may use the block.
bool has_access(const Locked&, const Context& context, const Block& block);
/// Runs `work` on what `uses` names. A fault, noted in the misuse log as one of `what`, if something of it isn't there.
int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work);
/// A context by its handle, current or not. INVALID_CONTEXT, or CONTEXT_IS_DESTROYED.
CUresult find_context(CUcontext handle, ContextRef& context);

/// A block of the pool's is gone, or was made (bytes negative: gone).
void account(const Locked&, Pool& pool, int64_t bytes);
/// What a synchronisation does to pools: what they keep above their threshold goes back.
void trim_pools(const Locked&);
/// Bytes of the device that are in use, with what pools keep.
uint64_t used_memory(const Locked&, int device);

// -- The null check that every entry begins with.
inline bool is_null() noexcept { return false; }
template <class... Pointers>
bool is_null(const void* first, Pointers... others) noexcept {
  return first == nullptr || is_null(others...);
}

}  // namespace anyplace::doubles::cuda

#endif  // ANYPLACE_TESTS_DOUBLES_CUDA_STATE_H
