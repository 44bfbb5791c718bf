// SPDX-License-Identifier: Apache-2.0
//
// The objects of a double of CUDA's or HIP's kind (contexts, streams, events, pools, modules, functions), and what all
// entries share: which context is current, what a stream argument means, how an operation gets into a stream.
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
#include <string_view>
#include <vector>

#include "../address_space.h"
#include "../engine.h"
#include "../handle_table.h"
#include "../host_image.h"
#include "../life.h"
#include "shared_events.h"
#include "vendor.h"

namespace anyplace::doubles {

struct Capture;  // captures.h
struct Context;
using ContextRef = std::shared_ptr<Context>;

struct Stream {
  uint64_t handle = 0;
  ContextRef context;
  QueueRef queue;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  bool destroyed = false;
  std::shared_ptr<Capture> capture;      // that it has a part in; null: it isn't captured
  std::vector<uint64_t> captured_after;  // nodes that the next one comes behind
  bool blocking() const noexcept { return (flags & 1U) == 0; }
};
using StreamRef = std::shared_ptr<Stream>;

struct Context {
  uint64_t handle = 0;
  int device = 0;
  uint64_t id = 0;
  bool primary = false;
  bool alive = false;     // a primary context: it is retained, or the device's own
  unsigned retained = 0;  // of a primary context
  unsigned flags = 0;
  std::shared_ptr<FaultDomain> fault;
  StreamRef legacy;
  std::vector<StreamRef> streams;  // that may have work, destroyed ones too
  std::set<int> peers;             // devices whose memory it may use
};

struct Event {
  ContextRef context;
  unsigned flags = 0;
  CompletionRef record;              // of the most recent record
  std::shared_ptr<Capture> capture;  // of the most recent record, if it was captured
  std::vector<uint64_t> captured_after;
  std::shared_ptr<SharedRecords> shared;  // of an interprocess event
  uint64_t number = 0;                    // of `record` in `shared`
};
using EventRef = std::shared_ptr<Event>;

struct Pool {
  uint64_t handle = 0;
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
  uint64_t handle = 0;
  int device = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  unsigned handles = 0;  // not yet released
  unsigned mappings = 0;
  bool shareable = false;  // made to be exported
  bool exported = false;
  int file = -1;  // of another process's memory, or of this one's that was imported: where it is

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical();  // closes the file
};
using PhysicalRef = std::shared_ptr<Physical>;

struct Module {
  uint64_t handle = 0;
  ContextRef context;
  std::shared_ptr<HostImage> image;
  std::vector<std::string> entries;  // the kernels' names by the device's compiler; empty if there was none
  std::map<std::string, uint64_t, std::less<>> functions;
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
  uint64_t handle = 0;
  std::string name;
  ModuleRef module;
  HostKernel kernel;
  std::vector<uint32_t> offsets;  // of the parameters, in a buffer of them
  int max_dynamic_shared = 0;
  int carveout = -1;
};
using FunctionRef = std::shared_ptr<Function>;

/// Marks the block of a module's variable among registered memory (Block::flags).
constexpr uint32_t variable_of_module = uint32_t{1} << 31U;

struct Graph;  // graphs.h
struct GraphNode;
struct GraphExec;

struct DeviceState {
  ContextRef primary;
  PoolRef default_pool, pool;
  uint64_t kernels_until_fault = 0;  // 0: none is to fault
  int kernel_fault = 0;
};

/// Everything. Made when the double begins, and kept until the process ends.
struct State {
  explicit State(const Settings& from);
  DeviceState& device(int index) { return devices[static_cast<std::size_t>(index)]; }

  const Settings settings;
  Engine& engine;
  AddressSpace& memory;

  std::mutex mutex;  // guards all below
  std::vector<DeviceState> devices;
  HandleTable<Context> contexts{vendor.handles, 1};
  HandleTable<Stream> streams{vendor.handles, 2};
  HandleTable<Event> events{vendor.handles, 3};
  HandleTable<Module> modules{vendor.handles, 4};
  HandleTable<Function> functions{vendor.handles, 5};
  HandleTable<Pool> pools{vendor.handles, 6};
  HandleTable<Physical> physicals{vendor.handles, 7};
  HandleTable<Graph> graphs{vendor.handles, 8};
  HandleTable<GraphNode> graph_nodes{vendor.handles, 9};
  HandleTable<GraphExec> graph_execs{vendor.handles, 10};
  uint64_t ids = 0;
  uint64_t left_behind = 0;
};

using Locked = std::lock_guard<std::mutex>;

/// The state; only after the double has begun.
State& state();
/// The state, or null before.
State* state_if_any() noexcept;
/// Makes the state, once.
void make_state();
/// What ends with the process.
void stop_engine();

// -- Contexts. The caller holds State::mutex where `Locked` is asked for.

/// The calling thread's stack of current contexts, the last on top.
std::vector<ContextRef>& context_stack();
/// The current context, if it is one that can be worked with. Else invalid_context, context_is_destroyed or its sticky
/// error.
int current_context(ContextRef& context);
/// The same for what gives something back: a sticky error is no hindrance.
int current_context_to_release(ContextRef& context);
/// The sticky error of the context, or 0.
int fault_of(const Context& context) noexcept;
/// 0, or invalid_device.
int check_device(int device);
ContextRef primary_of(int device);
/// A context with its legacy stream. It is in the table already.
void begin_context(const Locked&, const ContextRef& context);

// -- Streams.

/// The stream that an argument of the calling thread names: a handle, the legacy stream or the thread's own.
int resolve_stream(uint64_t handle, StreamRef& stream);
/// The same for work. Where devices aren't contexts a context must be current, too.
int resolve_stream_for_work(uint64_t handle, StreamRef& stream);
/// A queue and its context's share in it. priority is clamped.
StreamRef make_stream(const Locked&, const ContextRef& context, unsigned flags, int priority);

/// Puts the operation into the stream, by the rules of the null stream.
CompletionRef submit(const Locked&, const StreamRef& stream, Operation operation);
/// submit, then waits for it if `wait`. The context's error if it has failed by then.
int submit_and(bool wait, const StreamRef& stream, Operation operation);
/// What is to be waited for so that all in the stream is done; of the legacy stream, all in blocking streams too.
std::vector<CompletionRef> pending(const Locked&, const Stream& stream);
/// The same for all streams of a context.
std::vector<CompletionRef> pending(const Locked&, Context& context);
/// Waits for all; then the context's error, deinitialized if the process is ending, or 0.
int wait_for(const std::vector<CompletionRef>& completions, const Context& context);
/// Waits for all that the stream or the context has.
int wait_for_all(const Stream& stream);
int wait_for_all(Context& context);

// -- Memory.

/// What an operation runs on: checked when it is submitted, and again when it runs.
struct Use {
  uint64_t address = 0;
  uint64_t id = 0;      // of the block
  bool doomed = false;  // its free was queued before the use was
  int device = 0;       // whose memory it is
};
using Uses = std::vector<Use>;
enum class Want : uint8_t {
  device,  // an end of a copy, on whichever device
  access,  // what the context's own device touches
  host,
  any,
};
/// Whether the context may use [address, address + bytes) as that. Appends to `uses` what has to be there when it runs;
/// nothing for memory of the user's own. `pageable`, if it isn't null, says that it is such.
int check_range(const Context& context, uint64_t address, uint64_t bytes, Want want, Uses& uses,
                bool* pageable = nullptr);
/// Whether the context may use the block.
bool has_access(const Locked&, const Context& context, const Block& block);
/// Runs `work` on what `uses` names. A fault, noted in the misuse log as one of `what`, if something of it isn't there.
int run_on(const Uses& uses, const char* what, const std::function<int()>& work);

/// A block of the pool's is gone, or was made (bytes negative: gone).
void account(const Locked&, Pool& pool, int64_t bytes);
/// The block is gone from the pool that it is of, if it is of any.
void leave_pool(const Block& block);
/// What a synchronisation does to pools: what they keep above their threshold goes back.
void trim_pools(const Locked&);
/// Bytes of the device that are in use, with what pools keep.
uint64_t used_memory(const Locked&, int device);
/// Whether the device lacks so much memory, also after pools gave back what they keep without need.
bool lacks_memory(const Locked&, int device, uint64_t bytes);

}  // namespace anyplace::doubles
