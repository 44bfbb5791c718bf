// SPDX-License-Identifier: Apache-2.0
#include "captures.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace anyplace::doubles {
namespace {

std::atomic<State*> the_state{nullptr};

EngineConfig engine_config(const Settings& settings) {
  EngineConfig engine;
  engine.devices = static_cast<int>(settings.visible.size());
  engine.workers = settings.workers;
  engine.seed = settings.seed;
  return engine;
}

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

constinit thread_local ThreadState* of_this_thread __attribute__((tls_model("initial-exec"))) =
    nullptr;  // see life.cpp

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
    stream = make_stream(lock, context, 0, 0);
  }
  return stream;
}

/// Lets go of destroyed streams whose work is done.
void prune(Context& context) {
  std::erase_if(context.streams,
                [](const StreamRef& stream) { return stream->destroyed && state().engine.is_done(stream->queue); });
}

}  // namespace

State::State(const Settings& from)
    : settings(from),
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
  memory.set_alignment(from.alignment);
}

State& state() { return *the_state.load(std::memory_order_acquire); }
State* state_if_any() noexcept { return the_state.load(std::memory_order_acquire); }

void make_state() {
  the_state.store(new State(settings()), std::memory_order_release);
  if (!vendor.device_is_context) return;
  const Locked lock(state().mutex);
  for (const DeviceState& device : state().devices) begin_context(lock, device.primary);
}

void stop_engine() { state().engine.stop(); }

// -- Contexts.

std::vector<ContextRef>& context_stack() { return thread_state().stack; }

int fault_of(const Context& context) noexcept { return context.fault == nullptr ? 0 : context.fault->code.load(); }

int current_context_to_release(ContextRef& context) {
  const auto& stack = context_stack();
  if (stack.empty() && !vendor.device_is_context) return code::invalid_context;
  ContextRef found = stack.empty() ? primary_of(0) : stack.back();
  const Locked lock(state().mutex);
  if (!found->alive) return code::context_is_destroyed;
  context = std::move(found);
  return 0;
}

int current_context(ContextRef& context) {
  ContextRef found;
  const int result = current_context_to_release(found);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const int fault = fault_of(*found);
  if (fault == 0) context = std::move(found);
  return fault;
}

int check_device(int device) {
  const bool known = device >= 0 && static_cast<std::size_t>(device) < state().settings.visible.size();
  return known ? 0 : code::invalid_device;
}

ContextRef primary_of(int device) { return state().device(device).primary; }

void begin_context(const Locked& lock, const ContextRef& context) {
  context->id = ++state().ids;
  context->fault = std::make_shared<FaultDomain>();
  context->alive = true;
  context->peers.clear();
  context->legacy = make_stream(lock, context, 0, 0);
}

// -- Streams.

StreamRef make_stream(const Locked&, const ContextRef& context, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, vendor.greatest_priority, vendor.least_priority);
  stream->id = ++state().ids;
  stream->queue = std::make_shared<Queue>(context->device, stream->priority, context->fault);
  context->streams.push_back(stream);
  return stream;
}

int resolve_stream(uint64_t handle, StreamRef& stream) {
  const SpecialStream special = special_stream(handle);
  if (special != SpecialStream::none) {
    ContextRef context;
    const int result = current_context(context);
    if (result != 0) return result;
    if (special == SpecialStream::per_thread) {
      stream = thread_stream(context);
    } else {
      const Locked lock(state().mutex);
      if (const int refused = refuse_legacy(lock, *context); refused != 0) return refused;
      stream = context->legacy;
    }
    return 0;
  }
  const Locked lock(state().mutex);
  StreamRef found = state().streams.find(handle);
  if (found == nullptr) return vendor.unknown_stream;
  const int fault = fault_of(*found->context);
  if (fault == 0) stream = std::move(found);
  return fault;
}

int resolve_stream_for_work(uint64_t handle, StreamRef& stream) {
  ContextRef current;
  const int result = vendor.device_is_context ? 0 : current_context(current);
  return result == 0 ? resolve_stream(handle, stream) : result;
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

int submit_and(bool wait, const StreamRef& stream, Operation operation) {
  CompletionRef done;
  {
    const Locked lock(state().mutex);
    if (const int refused = refuse_captured(lock, *stream); refused != 0) return refused;
    done = submit(lock, stream, std::move(operation));
  }
  return wait ? wait_for({done}, *stream->context) : 0;
}

std::vector<CompletionRef> pending(const Locked&, const Stream& stream) {
  Engine& engine = state().engine;
  std::vector<CompletionRef> completions{engine.last(stream.queue)};
  if (&stream == stream.context->legacy.get()) {
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

int wait_for(const std::vector<CompletionRef>& completions, const Context& context) {
  if (!state().engine.wait(completions, {context.fault})) return code::deinitialized;
  const Locked lock(state().mutex);
  trim_pools(lock);
  return fault_of(context);
}

int wait_for_all(const Stream& stream) {
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, stream);
  }
  return wait_for(completions, *stream.context);
}

int wait_for_all(Context& context) {
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, context);
  }
  return wait_for(completions, context);
}

// -- Memory.

bool has_access(const Locked&, const Context& context, const Block& block) {
  switch (block.kind) {
    case MemoryKind::mapped:
      return (block.access >> static_cast<unsigned>(context.device) & 1U) != 0;
    case MemoryKind::device:
      if (block.device == context.device) return true;
      if (block.pool != 0) {
        const PoolRef pool = state().pools.find(block.pool);
        return pool != nullptr && pool->access.count(context.device) != 0;
      }
      return context.peers.count(block.device) != 0;
    default:
      return true;
  }
}

int check_range(const Context& context, uint64_t address, uint64_t bytes, Want want, Uses& uses, bool* pageable) {
  if (address == 0) return code::invalid_value;
  if (pageable != nullptr) *pageable = false;
  const Finding finding = state().memory.find(address, bytes);
  if (finding.verdict == Verdict::foreign) {
    if (pageable != nullptr) *pageable = true;
    return want == Want::host || want == Want::any ? 0 : code::invalid_value;
  }
  if (finding.verdict == Verdict::freed) misuses().add("a freed address was given to an operation");
  if (finding.verdict == Verdict::freed || finding.verdict == Verdict::out_of_range) return code::invalid_value;
  const Block& block = finding.block;
  const bool device_only = block.kind == MemoryKind::device || block.kind == MemoryKind::mapped;
  if (want == Want::host && device_only) return code::invalid_value;
  if (block.kind == MemoryKind::mapped && block.access == 0) return code::invalid_value;
  if (want == Want::access) {
    const Locked lock(state().mutex);
    if (!has_access(lock, context, block)) return code::invalid_value;
  }
  uses.push_back(Use{address, block.id, finding.verdict == Verdict::free_queued, block.device});
  // Of mappings that adjoin, each may be unmapped on its own.
  for (uint64_t next = block.start + block.bytes; next < address + bytes;) {
    const auto more = state().memory.block_of(next);
    if (!more) return code::invalid_value;
    uses.push_back(Use{next, more->id, false, more->device});
    next += more->bytes;
  }
  return 0;
}

int run_on(const Uses& uses, const char* what, const std::function<int()>& work) {
  AddressSpace& memory = state().memory;
  if (vendor.memory_fails_with_device) {
    for (const Use& use : uses) {
      if (const int fault = fault_of(*primary_of(use.device)); fault != 0) return fault;
    }
  }
  int result = 0;
  std::size_t begun = 0;
  for (; begun < uses.size(); ++begun) {
    const Use& use = uses[begun];
    if (!use.doomed && memory.begin_use(use.address, use.id)) continue;
    const std::string why = use.doomed ? " on memory whose free was submitted before it"
                                       : " ran on memory that was freed, or not yet allocated in the order of streams";
    misuses().add(what + why);
    result = code::illegal_address;
    break;
  }
  if (result == 0) result = work();
  for (std::size_t i = 0; i < begun; ++i) memory.end_use(uses[i].address, uses[i].id);
  return result;
}

}  // namespace anyplace::doubles
