// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace anyplace::doubles::cuda {
namespace {

std::atomic<State*> the_state{nullptr};

EngineConfig engine_config(const Config& config) {
  EngineConfig engine;
  engine.devices = static_cast<int>(config.visible.size());
  engine.workers = config.workers;
  engine.seed = config.seed;
  return engine;
}

thread_local bool per_thread_default = false;

/// What a thread has. Freed by a key's destructor, behind those of all thread_local objects: the user's may still call
/// the driver.
struct ThreadState {
  std::vector<ContextRef> stack;              // the current context on top
  std::map<uint64_t, StreamRef> own_streams;  // one for each context that it was asked for in

  ThreadState() = default;
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState() {
    if (own_streams.empty()) return;
    const Locked lock(state().mutex);
    for (const auto& [id, stream] : own_streams) stream->destroyed = true;
  }
};

thread_local ThreadState* of_this_thread = nullptr;

pthread_key_t thread_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* held) {
      of_this_thread = nullptr;
      delete static_cast<ThreadState*>(held);
    });
    return made;
  }();
  return key;
}

ThreadState& thread_state() {
  if (of_this_thread == nullptr) {
    of_this_thread = new ThreadState;
    pthread_setspecific(thread_key(), of_this_thread);
  }
  return *of_this_thread;
}

StreamRef thread_stream(const ContextRef& context) {
  StreamRef& stream = thread_state().own_streams[context->id];
  if (stream == nullptr) {
    const Locked lock(state().mutex);
    stream = make_stream(lock, context, CU_STREAM_DEFAULT, 0);
  }
  return stream;
}

/// Lets go of destroyed streams whose work is done.
void prune(Context& context) {
  auto& streams = context.streams;
  streams.erase(std::remove_if(
                    streams.begin(), streams.end(),
                    [](const StreamRef& stream) { return stream->destroyed && state().engine.is_done(stream->queue); }),
                streams.end());
}

template <class Table, class Belongs>
uint64_t remove_if(Table& table, Belongs belongs) {
  std::vector<uint64_t> gone;
  for (const auto& [value, object] : table.all()) {
    if (belongs(*object)) gone.push_back(value);
  }
  for (const uint64_t value : gone) table.remove(Table::to_handle(value));
  return gone.size();
}

}  // namespace

State::State(const Config& from)
    : config(from),
      engine(*new Engine(engine_config(from))),
      memory(*new AddressSpace(static_cast<int>(from.visible.size()), from.device_bytes, from.host_bytes)),
      devices(from.visible.size()) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceState& device = devices[i];
    device.primary = std::make_shared<Context>();
    device.primary->device = static_cast<int>(i);
    device.primary->primary = true;
    device.primary->handle = contexts.add(device.primary);
    device.default_pool = std::make_shared<Pool>();
    device.default_pool->device = static_cast<int>(i);
    device.default_pool->is_default = true;
    device.default_pool->handle = pools.add(device.default_pool);
    device.pool = device.default_pool;
  }
}

State& state() { return *the_state.load(std::memory_order_acquire); }
State* state_if_any() noexcept { return the_state.load(std::memory_order_acquire); }
void make_state(const Config& config) { the_state.store(new State(config), std::memory_order_release); }

MisuseLog& misuses() {
  static MisuseLog& log = *new MisuseLog;
  return log;
}

// -- Contexts.

std::vector<ContextRef>& context_stack() { return thread_state().stack; }

CUresult fault_of(const Context& context) noexcept {
  return context.fault == nullptr ? CUDA_SUCCESS : static_cast<CUresult>(context.fault->code.load());
}

CUresult current_context_to_release(ContextRef& context) {
  const auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const Locked lock(state().mutex);
  if (!stack.back()->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  context = stack.back();
  return CUDA_SUCCESS;
}

CUresult current_context(ContextRef& context) {
  ContextRef found;
  const CUresult result = current_context_to_release(found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const CUresult fault = fault_of(*found);
  if (fault == CUDA_SUCCESS) context = std::move(found);
  return fault;
}

CUresult check_device(CUdevice device) {
  const bool known = device >= 0 && static_cast<std::size_t>(device) < state().config.visible.size();
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

void begin_context(const Locked& lock, Context& context) {
  context.id = ++state().ids;
  context.fault = std::make_shared<FaultDomain>();
  context.alive = true;
  context.peers.clear();
  context.limits.clear();
  const ContextRef self = context.primary ? state().devices[static_cast<std::size_t>(context.device)].primary
                                          : state().contexts.find(context.handle);
  context.legacy = make_stream(lock, self, CU_STREAM_DEFAULT, 0);
  context.legacy->handle = CU_STREAM_LEGACY;
}

void end_context(const ContextRef& context) {
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *context);
  }
  wait_for(completions, *context);
  State& all = state();
  const Locked lock(all.mutex);
  const bool failed = fault_of(*context) != CUDA_SUCCESS;
  context->alive = false;
  const auto belongs = [&context](const auto& object) { return object.context == context; };
  all.left_behind += remove_if(all.streams, belongs) + remove_if(all.events, belongs);
  remove_if(all.functions, [&context](const Function& function) { return function.module->context == context; });
  all.left_behind += remove_if(all.modules, [&](Module& module) {
    if (module.context == context) module.unloaded = true;
    return module.context == context;
  });
  for (const Block& block : all.memory.live()) {
    if (block.owner != context->id || block.pool != 0) continue;
    all.memory.free(block.start, block.id, failed);
    ++all.left_behind;
  }
  context->streams.clear();
  context->legacy.reset();
}

// -- Streams.

PerThreadDefault::PerThreadDefault() noexcept { per_thread_default = true; }
PerThreadDefault::~PerThreadDefault() { per_thread_default = false; }

StreamRef make_stream(const Locked&, const ContextRef& context, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream->id = ++state().ids;
  stream->queue = std::make_shared<Queue>(context->device, stream->priority, context->fault);
  context->streams.push_back(stream);
  return stream;
}

CUresult resolve_stream(CUstream handle, StreamRef& stream) {
  if (handle == nullptr) handle = per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    ContextRef context;
    const CUresult result = current_context(context);
    if (result != CUDA_SUCCESS) return result;
    if (handle == CU_STREAM_PER_THREAD) {
      stream = thread_stream(context);
    } else {
      const Locked lock(state().mutex);
      stream = context->legacy;
    }
    return CUDA_SUCCESS;
  }
  const Locked lock(state().mutex);
  StreamRef found = state().streams.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult fault = fault_of(*found->context);
  if (fault == CUDA_SUCCESS) stream = std::move(found);
  return fault;
}

CompletionRef submit(const Locked&, const StreamRef& stream, Operation operation) {
  Engine& engine = state().engine;
  Context& context = *stream->context;
  prune(context);
  if (stream == context.legacy) {
    for (const StreamRef& other : context.streams) {
      if (other != stream && other->blocking()) operation.after.push_back(engine.last(other->queue));
    }
  } else if (stream->blocking() && context.legacy != nullptr) {
    operation.after.push_back(engine.last(context.legacy->queue));
  }
  return engine.submit(stream->queue, std::move(operation));
}

CUresult submit_and(bool wait, const StreamRef& stream, Operation operation) {
  CompletionRef done;
  {
    const Locked lock(state().mutex);
    done = submit(lock, stream, std::move(operation));
  }
  return wait ? wait_for({done}, *stream->context) : CUDA_SUCCESS;
}

std::vector<CompletionRef> pending(const Locked&, const Stream& stream) {
  Engine& engine = state().engine;
  std::vector<CompletionRef> completions{engine.last(stream.queue)};
  if (stream.handle == CU_STREAM_LEGACY) {
    for (const StreamRef& other : stream.context->streams) {
      if (other->blocking()) completions.push_back(engine.last(other->queue));
    }
  }
  return completions;
}

std::vector<CompletionRef> pending(const Locked&, Context& context) {
  prune(context);
  std::vector<CompletionRef> completions;
  for (const StreamRef& stream : context.streams) completions.push_back(state().engine.last(stream->queue));
  return completions;
}

CUresult wait_for(const std::vector<CompletionRef>& completions, const Context& context) {
  if (!state().engine.wait(completions, {context.fault})) return CUDA_ERROR_DEINITIALIZED;
  const Locked lock(state().mutex);
  trim_pools(lock);
  return fault_of(context);
}

// -- Memory.

bool has_access(const Locked&, const Context& context, const Block& block) {
  switch (block.kind) {
    case MemoryKind::kMapped:
      return (block.access >> static_cast<unsigned>(context.device) & 1U) != 0;
    case MemoryKind::kDevice:
      if (block.device == context.device) return true;
      if (block.pool != 0) {
        const PoolRef pool = state().pools.find(Table<CUmemoryPool, Pool, HandleKind::kPool>::to_handle(block.pool));
        return pool != nullptr && pool->access.count(context.device) != 0;
      }
      return context.peers.count(block.device) != 0;
    default:
      return true;
  }
}

CUresult check_range(const Context& context, uint64_t address, uint64_t bytes, Want want, std::vector<Use>& uses,
                     bool* pageable) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  if (pageable != nullptr) *pageable = false;
  const Finding finding = state().memory.find(address, bytes);
  if (finding.verdict == Verdict::kForeign) {
    if (pageable != nullptr) *pageable = true;
    return want == Want::kHost || want == Want::kAny ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (finding.verdict == Verdict::kFreed) misuses().add("a freed address was given to an operation");
  if (finding.verdict == Verdict::kFreed || finding.verdict == Verdict::kOutOfRange) return CUDA_ERROR_INVALID_VALUE;
  const Block& block = finding.block;
  const bool device_only = block.kind == MemoryKind::kDevice || block.kind == MemoryKind::kMapped;
  if (want == Want::kHost && device_only) return CUDA_ERROR_INVALID_VALUE;
  if (block.kind == MemoryKind::kMapped && block.access == 0) return CUDA_ERROR_INVALID_VALUE;
  if (want == Want::kAccess) {
    const Locked lock(state().mutex);
    if (!has_access(lock, context, block)) return CUDA_ERROR_INVALID_VALUE;
  }
  uses.push_back(Use{address, block.id, finding.verdict == Verdict::kFreeQueued});
  // Of mappings that adjoin, each may be unmapped on its own.
  for (uint64_t next = block.start + block.bytes; next < address + bytes;) {
    const auto more = state().memory.block_of(next);
    if (!more) return CUDA_ERROR_INVALID_VALUE;
    uses.push_back(Use{next, more->id, false});
    next += more->bytes;
  }
  return CUDA_SUCCESS;
}

int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work) {
  AddressSpace& memory = state().memory;
  int result = 0;
  std::size_t begun = 0;
  for (; begun < uses.size(); ++begun) {
    const Use& use = uses[begun];
    if (!use.doomed && memory.begin_use(use.address, use.id)) continue;
    const std::string why = use.doomed ? " on memory whose free was submitted before it"
                                       : " ran on memory that was freed, or not yet allocated in the order of streams";
    misuses().add(what + why);
    result = CUDA_ERROR_ILLEGAL_ADDRESS;
    break;
  }
  if (result == 0) result = work();
  for (std::size_t i = 0; i < begun; ++i) memory.end_use(uses[i].address, uses[i].id);
  return result;
}

}  // namespace anyplace::doubles::cuda
