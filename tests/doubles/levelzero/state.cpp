// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <algorithm>
#include <chrono>

namespace anyplace::doubles::levelzero {
namespace {

std::atomic<State*> the_state{nullptr};

int device_count(const Config& config) { return config.roots * (1 + config.sub_devices); }

EngineConfig engine_config(const Config& config) {
  EngineConfig engine;
  engine.devices = device_count(config);
  engine.workers = config.workers;
  engine.seed = config.seed;
  return engine;
}

}  // namespace

OneAtATime::OneAtATime(std::atomic<bool>& busy, const char* what) : busy_(busy) {
  taken_ = !busy_.exchange(true);
  if (!taken_) misuse(std::string("two threads used one ") + what + " at a time");
}

OneAtATime::~OneAtATime() {
  if (taken_) busy_.store(false);
}

namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

}  // namespace

void KernelTime::begin() {
  const std::lock_guard lock(mutex_);
  if (running_++ != 0) return;
  since_ns_ = now_ns();
  if (first_ns_ == 0) first_ns_ = since_ns_;
}

void KernelTime::end() {
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) active_ns_ += now_ns() - since_ns_;
}

KernelTime::Microseconds KernelTime::now() const {
  const std::lock_guard lock(mutex_);
  if (first_ns_ == 0) return {0, 0};
  const int64_t now = now_ns();
  const int64_t active = active_ns_ + (running_ != 0 ? now - since_ns_ : 0);
  return {static_cast<uint64_t>(active / 1000), static_cast<uint64_t>((now - first_ns_) / 1000)};
}

State::State(const Config& from)
    : config(from),
      engine(*new Engine(engine_config(from))),
      memory(*new AddressSpace(device_count(from), from.device_bytes, from.host_bytes)) {
  memory.put_device_blocks_into_files();
  const auto add = [this](int parent, int number) {
    auto device = std::make_shared<Device>();
    device->index = static_cast<int>(devices.size());
    device->parent = parent;
    device->number = number;
    device->handle = device_table.add(device);
    if (parent >= 0) device->kernel_time = devices[static_cast<std::size_t>(parent)]->kernel_time;
    devices.push_back(device);
    return device->index;
  };
  for (int root = 0; root < config.roots; ++root) {
    const int parent = add(-1, root);
    for (int i = 0; i < config.sub_devices; ++i) add(parent, i);
  }
}

State& state() { return *the_state.load(std::memory_order_acquire); }
State* state_if_any() noexcept { return the_state.load(std::memory_order_acquire); }
void make_state() { the_state.store(new State(config()), std::memory_order_release); }

ze_result_t misuse(const std::string& text, ze_result_t result) {
  misuses().add(text);
  return result;
}

ze_result_t health_of(const Device& device) noexcept {
  return device.fault->code.load() == 0 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

bool any_device_lost() noexcept {
  return std::any_of(state().devices.begin(), state().devices.end(),
                     [](const DeviceRef& device) { return health_of(*device) != ZE_RESULT_SUCCESS; });
}

// -- Memory.

bool reaches(const Device& device, const Device& other) {
  const auto root = [](const Device& of) { return of.parent < 0 ? of.index : of.parent; };
  return root(device) == root(other) || state().config.peers;
}

bool serves(const Device& made_for, const Device& device) {
  return made_for.index == device.index || made_for.index == device.parent;
}

namespace {

ze_result_t check_block(const CommandList& list, const Block& block, Access access) {
  if (block.owner != list.context->id) return misuse("a command was given memory of another context");
  if (block.kind == MemoryKind::mapped && block.access == 0)
    return misuse("an address was given to a device that has no access to it");
  const bool of_host = block.kind == MemoryKind::pinned || block.kind == MemoryKind::managed;
  if (!of_host && !reaches(*list.device, *state().devices[static_cast<std::size_t>(block.device)]))
    return misuse("an address was given to a device that has no access to it");
  if (access == Access::write && (block.flags & read_only) != 0)
    return misuse("a command would write to memory that is mapped for reading");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t check_range(const CommandList& list, const void* pointer, uint64_t bytes, Access access,
                        std::vector<Use>& uses) {
  if (pointer == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Finding finding = state().memory.find(address, bytes);
  switch (finding.verdict) {
    case Verdict::foreign:
      return misuse("an address of memory that isn't Level Zero's was given to a command");
    case Verdict::freed:
    case Verdict::free_queued:
      return misuse("a freed address was given to a command");
    case Verdict::out_of_range:
      return misuse("a command would reach behind the end of its memory");
    case Verdict::usable:
      break;
  }
  const Block& block = finding.block;
  LEVELZERO_DOUBLE_TRY(check_block(list, block, access));
  uses.push_back(Use{address, block.id});
  // Of mappings that adjoin, each may be unmapped on its own.
  for (uint64_t next = block.start + block.bytes; next < address + bytes;) {
    const auto more = state().memory.block_of(next);
    if (!more) return misuse("a command would reach behind the end of its memory");
    LEVELZERO_DOUBLE_TRY(check_block(list, *more, access));
    uses.push_back(Use{next, more->id});
    next += more->bytes;
  }
  return ZE_RESULT_SUCCESS;
}

namespace {

/// Of a driver that gives physical memory one address: whether the memory that was mapped there has another since.
bool moved_away(const Use& use) {
  if (!state().config.one_address) return false;
  const auto block = state().memory.block_of(use.address);
  const Locked lock(state().mutex);
  if (!block || state().moved_away.count(block->start) == 0) return false;
  misuse("a command ran on an address whose memory was mapped at another since, which is its only one");
  return true;
}

}  // namespace

int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work) {
  AddressSpace& memory = state().memory;
  int result = 0;
  std::size_t begun = 0;
  for (; begun < uses.size(); ++begun) {
    if (moved_away(uses[begun])) {
      result = fault;
      break;
    }
    if (memory.begin_use(uses[begun].address, uses[begun].id)) continue;
    if (!any_device_lost()) {
      const auto block = memory.block_of(uses[begun].address);
      const bool of_host = block && block->kind == MemoryKind::pinned;
      misuse(std::string(what) + (of_host ? " ran on host memory that was freed" : " ran on memory that was freed"));
    }
    result = fault;
    break;
  }
  if (result == 0) result = work();
  for (std::size_t i = 0; i < begun; ++i) memory.end_use(uses[i].address, uses[i].id);
  return result;
}

}  // namespace anyplace::doubles::levelzero
