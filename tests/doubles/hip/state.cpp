// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <algorithm>
#include <utility>

namespace anyplace::doubles::hip {
namespace {

std::atomic<State*> the_state{nullptr};

EngineConfig engine_config(const Config& config) {
  EngineConfig engine;
  engine.devices = static_cast<int>(config.visible.size());
  engine.workers = config.workers;
  engine.seed = config.seed;
  return engine;
}

/// The calling thread's own streams, one for each device; retired when the thread ends.
struct ThreadStreams {
  std::map<int, StreamRef> by_device;
  ThreadStreams() = default;
  ThreadStreams(const ThreadStreams&) = delete;
  ThreadStreams& operator=(const ThreadStreams&) = delete;
  ~ThreadStreams() {
    if (by_device.empty()) return;
    const Locked lock(state().mutex);
    for (const auto& [index, stream] : by_device) stream->destroyed = true;
  }
};

StreamRef thread_stream(const DeviceRef& device) {
  thread_local ThreadStreams streams;
  StreamRef& stream = streams.by_device[device->index];
  if (stream == nullptr) {
    const Locked lock(state().mutex);
    stream = make_stream(lock, device, hipStreamDefault, 0);
  }
  return stream;
}

/// Lets go of destroyed streams whose work is done.
void prune(Device& device) {
  const auto gone = [](const StreamRef& stream) { return stream->destroyed && state().engine.is_done(stream->queue); };
  device.streams.erase(std::remove_if(device.streams.begin(), device.streams.end(), gone), device.streams.end());
}

}  // namespace

State::State(const Config& from)
    : config(from),
      engine(*new Engine(engine_config(from))),
      memory(*new AddressSpace(static_cast<int>(from.visible.size()), from.device_bytes, from.host_bytes)) {
  for (std::size_t i = 0; i < from.visible.size(); ++i) {
    auto device = std::make_shared<Device>();
    device->index = static_cast<int>(i);
    device->id = ++ids;
    device->fault = std::make_shared<FaultDomain>();
    devices.push_back(std::move(device));
  }
  memory.set_alignment(from.alignment);
}

State& state() { return *the_state.load(std::memory_order_acquire); }
State* state_if_any() noexcept { return the_state.load(std::memory_order_acquire); }

void make_state(const Config& config) {
  auto* const made = new State(config);
  {
    const Locked lock(made->mutex);
    for (const DeviceRef& device : made->devices) device->null_stream = make_stream(lock, device, hipStreamDefault, 0);
  }
  the_state.store(made, std::memory_order_release);
}

MisuseLog& misuses() {
  static MisuseLog& log = *new MisuseLog;
  return log;
}

// -- Devices.

int& current_index() noexcept {
  thread_local int index = 0;
  return index;
}

DeviceRef current_device_or_first() { return state().devices[static_cast<std::size_t>(current_index())]; }

hipError_t fault_of(const Device& device) noexcept { return static_cast<hipError_t>(device.fault->code.load()); }

hipError_t current_device(DeviceRef& device) {
  DeviceRef found = current_device_or_first();
  const hipError_t fault = fault_of(*found);
  if (fault == hipSuccess) device = std::move(found);
  return fault;
}

hipError_t check_device(int device) {
  const bool known = device >= 0 && static_cast<std::size_t>(device) < state().config.visible.size();
  return known ? hipSuccess : hipErrorInvalidDevice;
}

// -- Streams.

StreamRef make_stream(const Locked&, const DeviceRef& device, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream->queue = std::make_shared<Queue>(device->index, stream->priority, device->fault);
  device->streams.push_back(stream);
  return stream;
}

hipError_t resolve_stream(hipStream_t handle, StreamRef& stream) {
  const bool legacy = handle == kLegacyStream && state().config.major() >= 6;
  if (handle == nullptr || legacy || handle == kPerThreadStream) {
    DeviceRef device;
    const hipError_t result = current_device(device);
    if (result != hipSuccess) return result;
    stream = handle == kPerThreadStream ? thread_stream(device) : device->null_stream;
    return hipSuccess;
  }
  const Locked lock(state().mutex);
  StreamRef found = state().streams.find(handle);
  if (found == nullptr) return hipErrorContextIsDestroyed;  // what HIP says of a stream that it doesn't know
  const hipError_t fault = fault_of(*found->device);
  if (fault == hipSuccess) stream = std::move(found);
  return fault;
}

CompletionRef submit(const Locked&, const StreamRef& stream, Operation operation) {
  Engine& engine = state().engine;
  Device& device = *stream->device;
  prune(device);
  if (stream == device.null_stream) {
    for (const StreamRef& other : device.streams) {
      if (other != stream && other->blocking()) operation.after.push_back(engine.last(other->queue));
    }
  } else if (stream->blocking()) {
    operation.after.push_back(engine.last(device.null_stream->queue));
  }
  return engine.submit(stream->queue, std::move(operation));
}

hipError_t submit_and(bool wait, const StreamRef& stream, Operation operation) {
  CompletionRef done;
  {
    const Locked lock(state().mutex);
    done = submit(lock, stream, std::move(operation));
  }
  return wait ? wait_for({done}, *stream->device) : hipSuccess;
}

std::vector<CompletionRef> pending(const Locked&, const Stream& stream) {
  Engine& engine = state().engine;
  std::vector<CompletionRef> completions{engine.last(stream.queue)};
  if (&stream == stream.device->null_stream.get()) {
    for (const StreamRef& other : stream.device->streams) {
      if (other->blocking()) completions.push_back(engine.last(other->queue));
    }
  }
  return completions;
}

std::vector<CompletionRef> pending(const Locked&, Device& device) {
  prune(device);
  std::vector<CompletionRef> completions;
  for (const StreamRef& stream : device.streams) completions.push_back(state().engine.last(stream->queue));
  return completions;
}

hipError_t wait_for(const std::vector<CompletionRef>& completions, const Device& device) {
  if (!state().engine.wait(completions, {device.fault})) return hipErrorDeinitialized;
  const Locked lock(state().mutex);
  trim_pools(lock);
  return fault_of(device);
}

// -- Memory.

bool has_access(const Locked&, const Device& device, const Block& block) {
  switch (block.kind) {
    case MemoryKind::kMapped:
      return (block.access >> static_cast<unsigned>(device.index) & 1U) != 0;
    case MemoryKind::kDevice:
      if (block.device == device.index) return true;
      if (block.pool != 0) {
        const PoolRef pool = state().pools.find(decltype(state().pools)::to_handle(block.pool));
        return pool != nullptr && pool->access.count(device.index) != 0;
      }
      return device.peers.count(block.device) != 0;
    default:
      return true;
  }
}

hipError_t check_range(const Device& device, uint64_t address, uint64_t bytes, Want want, std::vector<Use>& uses,
                       bool* pageable) {
  if (address == 0) return hipErrorInvalidValue;
  if (pageable != nullptr) *pageable = false;
  const Finding finding = state().memory.find(address, bytes);
  if (finding.verdict == Verdict::kForeign) {
    if (pageable != nullptr) *pageable = true;
    return want == Want::kHost || want == Want::kAny ? hipSuccess : hipErrorInvalidValue;
  }
  if (finding.verdict == Verdict::kFreed) misuses().add("a freed address was given to an operation");
  if (finding.verdict == Verdict::kFreed || finding.verdict == Verdict::kOutOfRange) return hipErrorInvalidValue;
  const Block& block = finding.block;
  const bool device_only = block.kind == MemoryKind::kDevice || block.kind == MemoryKind::kMapped;
  if (want == Want::kHost && device_only) return hipErrorInvalidValue;
  if (block.kind == MemoryKind::kMapped && block.access == 0) return hipErrorInvalidValue;
  if (want == Want::kAccess) {
    const Locked lock(state().mutex);
    if (!has_access(lock, device, block)) return hipErrorInvalidValue;
  }
  uses.push_back(Use{address, block.id, finding.verdict == Verdict::kFreeQueued, block.device});
  return hipSuccess;
}

int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work) {
  AddressSpace& memory = state().memory;
  for (const Use& use : uses) {
    const hipError_t fault = fault_of(*state().devices[static_cast<std::size_t>(use.device)]);
    if (fault != hipSuccess) return fault;
  }
  int result = 0;
  std::size_t begun = 0;
  for (; begun < uses.size(); ++begun) {
    const Use& use = uses[begun];
    if (!use.doomed && memory.begin_use(use.address, use.id)) continue;
    const std::string why = use.doomed ? " on memory whose free was submitted before it"
                                       : " ran on memory that was freed, or not yet allocated in the order of streams";
    misuses().add(what + why);
    result = hipErrorIllegalAddress;
    break;
  }
  if (result == 0) result = work();
  for (std::size_t i = 0; i < begun; ++i) memory.end_use(uses[i].address, uses[i].id);
  return result;
}

}  // namespace anyplace::doubles::hip
