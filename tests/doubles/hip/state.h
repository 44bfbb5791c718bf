// SPDX-License-Identifier: Apache-2.0
//
// The double's objects (devices, streams, events, pools, modules, functions), the tables of their handles, and what all
// entries share: which device is current, what a stream argument means, how an operation gets into a stream.
//
// Handles are numbers that are never given out twice and point at nothing, so that a destroyed, a foreign and a made-up
// handle are told apart from a good one, and none can crash.
//
// Lock order: State::mutex, then the engine's, then the address space's. State::mutex guards every object below but
// what is atomic; it is not held while the double waits or runs an operation.
#ifndef ANYPLACE_TESTS_DOUBLES_HIP_STATE_H
#define ANYPLACE_TESTS_DOUBLES_HIP_STATE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../engine/address_space.h"
#include "../engine/call_book.h"
#include "../engine/engine.h"
#include "../engine/host_image.h"
#include "compat.h"
#include "config.h"
#include "entries.h"

namespace anyplace::doubles::hip {

struct Device;
using DeviceRef = std::shared_ptr<Device>;

struct Stream {
  hipStream_t handle = nullptr;
  DeviceRef device;
  QueueRef queue;
  unsigned flags = hipStreamDefault;
  int priority = 0;
  bool destroyed = false;
  bool blocking() const noexcept { return (flags & hipStreamNonBlocking) == 0; }
};
using StreamRef = std::shared_ptr<Stream>;

struct Event {
  DeviceRef device;
  unsigned flags = 0;
  CompletionRef record;  // of the most recent record
};
using EventRef = std::shared_ptr<Event>;

struct Pool {
  hipMemPool_t handle = nullptr;
  int device = 0;
  bool destroyed = false;
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
  hipMemGenericAllocationHandle_t handle = nullptr;
};
using PhysicalRef = std::shared_ptr<Physical>;

struct Module {
  hipModule_t handle = nullptr;
  DeviceRef device;
  std::shared_ptr<HostImage> image;
  std::map<std::string, hipFunction_t, std::less<>> functions;
  std::atomic<bool> unloaded{false};
  std::atomic<unsigned> launches{0};  // that are not over
};
using ModuleRef = std::shared_ptr<Module>;

struct Function {
  std::string name;
  ModuleRef module;
  HostKernel kernel;
};
using FunctionRef = std::shared_ptr<Function>;

enum class HandleKind : uint8_t { kDevice = 1, kStream, kEvent, kModule, kFunction, kPool, kPhysical };

/// The objects of one kind by their handles.
template <class Handle, class Object, HandleKind kind>
class Table {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const uint64_t value = uint64_t{0x0a3d} << 48U | ++last_ << 8U | static_cast<uint64_t>(kind);
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
  static Handle to_handle(uint64_t value) noexcept { return (Handle)value; }     // NOLINT: a number
  static uint64_t to_value(Handle handle) noexcept { return (uint64_t)handle; }  // NOLINT

 private:
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<Object>> objects_;
};

struct Device {
  int index = 0;
  uint64_t id = 0;
  std::shared_ptr<FaultDomain> fault;
  StreamRef null_stream;
  std::vector<StreamRef> streams;  // that may have work, destroyed ones too
  std::set<int> peers;             // devices whose memory it may use
  unsigned context_retained = 0;
  uint64_t kernels_until_fault = 0;  // 0: none is to fault
  int kernel_fault = 0;
};

/// Everything. Made by the first call, and kept until the process ends.
struct State {
  explicit State(const Config& from);

  const Config config;
  Engine& engine;
  AddressSpace& memory;

  std::mutex mutex;  // guards all below
  std::vector<DeviceRef> devices;
  Table<hipStream_t, Stream, HandleKind::kStream> streams;
  Table<hipEvent_t, Event, HandleKind::kEvent> events;
  Table<hipModule_t, Module, HandleKind::kModule> modules;
  Table<hipFunction_t, Function, HandleKind::kFunction> functions;
  Table<hipMemPool_t, Pool, HandleKind::kPool> pools;
  Table<hipMemGenericAllocationHandle_t, Physical, HandleKind::kPhysical> physicals;
  uint64_t ids = 0;
};

using Locked = std::lock_guard<std::mutex>;

/// The state; only after it was made.
State& state();
/// The state, or null before.
State* state_if_any() noexcept;
/// Makes the state, once.
void make_state(const Config& config);

MisuseLog& misuses();

const char* error_name(hipError_t error);
const char* error_text(hipError_t error);

// -- Devices. The caller holds State::mutex where `Locked` is asked for.

/// Of the calling thread; 0 until hipSetDevice.
int& current_index() noexcept;
DeviceRef current_device_or_first();
/// The current device, or its sticky error.
hipError_t current_device(DeviceRef& device);
/// The sticky error of the device, or success.
hipError_t fault_of(const Device& device) noexcept;
/// Success, or hipErrorInvalidDevice.
hipError_t check_device(int device);

// -- Streams.

constexpr int kLeastPriority = 1, kGreatestPriority = -1;
const auto kLegacyStream = reinterpret_cast<hipStream_t>(1);
const auto kPerThreadStream = reinterpret_cast<hipStream_t>(2);

/// The stream that an argument of the calling thread names: a handle, the null stream or the thread's own.
hipError_t resolve_stream(hipStream_t handle, StreamRef& stream);
/// A queue and its device's share in it. priority is clamped.
StreamRef make_stream(const Locked&, const DeviceRef& device, unsigned flags, int priority);

/// Puts the operation into the stream, by the rules of the null stream.
CompletionRef submit(const Locked&, const StreamRef& stream, Operation operation);
/// submit, then waits for it if `wait`. The device's error if it has failed by then.
hipError_t submit_and(bool wait, const StreamRef& stream, Operation operation);
/// What is to be waited for so that all in the stream is done; of the null stream, all in blocking streams too.
std::vector<CompletionRef> pending(const Locked&, const Stream& stream);
/// The same for all streams of a device.
std::vector<CompletionRef> pending(const Locked&, Device& device);
/// Waits for all; then the device's error, hipErrorDeinitialized if the process is ending, or success.
hipError_t wait_for(const std::vector<CompletionRef>& completions, const Device& device);

// -- Memory.

inline void* to_pointer(uint64_t address) noexcept { return reinterpret_cast<void*>(address); }  // NOLINT: one space
inline uint64_t to_address(const void* memory) noexcept { return reinterpret_cast<uint64_t>(memory); }  // NOLINT

/// Of Block::flags: memory that a stream can wait on.
constexpr uint32_t kSignalMemory = uint32_t{1} << 30U;

/// What an operation runs on: checked when it is submitted, and again when it runs.
struct Use {
  uint64_t address = 0;
  uint64_t id = 0;      // of the block
  bool doomed = false;  // its free was queued before the use was
  int device = 0;       // whose memory it is
};
enum class Want : uint8_t {
  kDevice,  // an end of a copy, on whichever device
  kAccess,  // what the device itself touches
  kHost,
  kAny,
};
/// Whether the device may use [address, address + bytes) as that. Appends to `uses` what has to be there when it runs;
/// nothing for memory of the user's own. `pageable`, if it isn't null, says that it is such.
hipError_t check_range(const Device& device, uint64_t address, uint64_t bytes, Want want, std::vector<Use>& uses,
                       bool* pageable = nullptr);
/// Whether the device may use the block.
bool has_access(const Locked&, const Device& device, const Block& block);
/// Runs `work` on what `uses` names. What a device has that failed isn't there any more: its fault, then.
/// A fault, noted in the misuse log as one of `what`, if something of it isn't there.
int run_on(const std::vector<Use>& uses, const char* what, const std::function<int()>& work);
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

}  // namespace anyplace::doubles::hip

#endif  // ANYPLACE_TESTS_DOUBLES_HIP_STATE_H
