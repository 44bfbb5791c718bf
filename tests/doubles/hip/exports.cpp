// SPDX-License-Identifier: Apache-2.0
//
// What libamdhip64 exports: each entry under its symbol, and what comes before every one of them: the count, the
// failures on demand, whether HIP may be called at all (not in a host function, not in a forked child, not at the end
// of the process), and the beginning of it all, which HIP does at the first call, hipInit or not. And what comes
// behind: the thread's last error. Up to HIP 6 that is what the last call returned, success or not; from 7 on the last
// error that a call returned, "not ready" aside.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "entries.h"
#include "exports.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

enum Index : std::size_t {
#define HIP_DOUBLE_INDEX(kind, symbol, parameters, arguments) kIndex_##symbol,
  HIP_DOUBLE_ENTRIES(HIP_DOUBLE_INDEX)
#undef HIP_DOUBLE_INDEX
};

enum class Phase : uint8_t { kUninitialised, kReady, kEnded, kForked };
std::atomic<Phase> phase{Phase::kUninitialised};

thread_local hipError_t last_error = hipSuccess;

hipError_t remember(hipError_t result) {
  if (config().major() < 7 || (result != hipSuccess && result != hipErrorNotReady)) last_error = result;
  return result;
}

bool is_sticky(int code) noexcept { return code == 214 || code == 700 || code == 702 || code == 710 || code == 719; }

void at_exit() {
  Phase ready = Phase::kReady;
  if (phase.compare_exchange_strong(ready, Phase::kEnded)) state().engine.stop();
}

void in_forked_child() {
  Phase ready = Phase::kReady;
  phase.compare_exchange_strong(ready, Phase::kForked);
}

/// What HIP answers without a device. HIP 5 says that the device is invalid, all but hipGetDeviceCount.
hipError_t no_device() { return config().major() < 6 ? hipErrorInvalidDevice : hipErrorNoDevice; }

hipError_t begin() {
  static std::mutex& mutex = *new std::mutex;  // one call makes the state
  const std::lock_guard lock(mutex);
  if (phase.load() != Phase::kUninitialised) return hipSuccess;
  if (config().init_result != 0) return static_cast<hipError_t>(config().init_result);
  if (config().visible.empty()) return no_device();
  make_state(config());
  std::atexit(at_exit);
  pthread_atfork(nullptr, nullptr, in_forked_child);
  phase.store(Phase::kReady, std::memory_order_release);
  return hipSuccess;
}

/// What the entry may not even begin with, or success.
hipError_t check_phase(const char* symbol) {
  if (Engine::in_user_code()) {
    misuses().add(std::string(symbol) + " was called inside a host function or a kernel");
    return hipErrorNotSupported;
  }
  if (phase.load(std::memory_order_acquire) == Phase::kUninitialised) {
    const hipError_t result = begin();
    if (result != hipSuccess) return result;
  }
  switch (phase.load(std::memory_order_acquire)) {
    case Phase::kForked:
      return hipErrorNotInitialized;
    case Phase::kEnded:
      return hipErrorDeinitialized;
    default:
      return hipSuccess;
  }
}

/// The device that a call is about: that of its stream or event, or the one that memory is to be of, else the current
/// one.
DeviceRef device_of(hipStream_t stream) {
  const StreamRef found = state().streams.find(stream);
  return found == nullptr ? nullptr : found->device;
}
DeviceRef device_of(hipEvent_t event) {
  const EventRef found = state().events.find(event);
  return found == nullptr ? nullptr : found->device;
}
DeviceRef device_of(const AllocationProperties* properties) {
  const bool known = properties != nullptr && properties->location.type == hipMemLocationTypeDevice &&
                     check_device(properties->location.id) == hipSuccess;
  return known ? state().devices[static_cast<std::size_t>(properties->location.id)] : nullptr;
}
template <class Argument>
DeviceRef device_of(const Argument&) {
  return nullptr;
}
template <class... Arguments>
DeviceRef device_of_call(const Arguments&... arguments) {
  DeviceRef found;
  static_cast<void>(((found = device_of(arguments), found != nullptr) || ...));
  return found == nullptr ? current_device_or_first() : found;
}

template <class Victim>
DeviceRef locked(Victim victim) {
  const Locked lock(state().mutex);
  return victim();
}

/// An error that stays has made the device unusable, also if it is only said to have happened.
template <class Victim>
void corrupt_if_sticky(Index index, int failure, Victim victim) {
  if (!is_sticky(failure) || phase.load() != Phase::kReady || index == kIndex_hipThreadExchangeStreamCaptureMode)
    return;
  const Locked lock(state().mutex);
  if (index == kIndex_hipGetDevice || index == kIndex_hipSetDevice) {
    // About no device, so about all of them.
    for (const DeviceRef& device : state().devices) state().engine.fail(device->fault, failure);
    return;
  }
  state().engine.fail(victim()->fault, failure);
}

template <class Call, class Victim>
hipError_t enter(Index index, Kind kind, const char* symbol, Call call, Victim victim) noexcept {
  const int failure = call_book().count(index);
  if (failure != 0 && kind != Kind::kRelease) {
    // Else there would be no device yet for the error to stay with.
    if (kind == Kind::kPlain && is_sticky(failure)) static_cast<void>(check_phase(symbol));
    corrupt_if_sticky(index, failure, victim);
    return remember(static_cast<hipError_t>(failure));
  }
  const hipError_t allowed = kind == Kind::kEarly ? hipSuccess : check_phase(symbol);
  if (allowed != hipSuccess) return remember(allowed);
  try {
    // Afterwards it may be gone.
    const DeviceRef about = failure == 0 || phase.load() != Phase::kReady ? nullptr : locked(victim);
    const hipError_t result = call();
    if (failure == 0) return remember(result);
    if (about != nullptr) corrupt_if_sticky(index, failure, [&] { return about; });
    return remember(static_cast<hipError_t>(failure));
  } catch (const std::bad_alloc&) {
    return remember(hipErrorOutOfMemory);
  }
}

#define HIP_DOUBLE_VISIBLE extern "C" __attribute__((visibility("default")))

// The symbols are given to the linker by name, and pass through one macro alone: newer headers have macros of some of
// these names.
#define HIP_DOUBLE_EXPORT(kind, symbol, parameters, arguments)                                       \
  HIP_DOUBLE_VISIBLE hipError_t exported_##symbol parameters __asm__(#symbol);                       \
  hipError_t exported_##symbol parameters {                                                          \
    return enter(                                                                                    \
        kIndex_##symbol, Kind::kind, #symbol, [&]() -> hipError_t { return do_##symbol arguments; }, \
        [&] { return device_of_call arguments; });                                                   \
  }
HIP_DOUBLE_ENTRIES(HIP_DOUBLE_EXPORT)

constexpr const char* kSymbols[] = {
#define HIP_DOUBLE_SYMBOL(kind, symbol, parameters, arguments) #symbol,
    HIP_DOUBLE_ENTRIES(HIP_DOUBLE_SYMBOL)};

}  // namespace

CallBook& call_book() {
  static CallBook& book = *[] {
    auto* const made = new CallBook(std::vector<const char*>(std::begin(kSymbols), std::end(kSymbols)));
    std::string wrong;
    if (!made->read_failures(config().failures, wrong)) {
      std::fprintf(stderr, "HIP double: HIP_DOUBLE_FAIL: '%s' is not entry:nth:code or entry:nth:code:always\n",
                   wrong.c_str());
      std::abort();
    }
    if (config().log) misuses().print_from_now_on();
    return made;
  }();
  return book;
}

bool was_forked() noexcept { return phase.load(std::memory_order_acquire) == Phase::kForked; }

// ---- What is exported without being an entry.

HIP_DOUBLE_VISIBLE hipError_t exported_last_error() __asm__("hipGetLastError");
hipError_t exported_last_error() {
  const hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}

HIP_DOUBLE_VISIBLE hipError_t exported_peek() __asm__("hipPeekAtLastError");
hipError_t exported_peek() { return last_error; }

HIP_DOUBLE_VISIBLE const char* exported_error_name(hipError_t error) __asm__("hipGetErrorName");
const char* exported_error_name(hipError_t error) { return error_name(error); }

HIP_DOUBLE_VISIBLE const char* exported_error_string(hipError_t error) __asm__("hipGetErrorString");
const char* exported_error_string(hipError_t error) {
  return config().major() < 6 ? error_name(error) : error_text(error);
}

HIP_DOUBLE_VISIBLE int exported_stream_device(hipStream_t stream) __asm__("hipGetStreamDeviceId");
int exported_stream_device(hipStream_t stream) {
  StreamRef found;
  return check_phase("hipGetStreamDeviceId") == hipSuccess && resolve_stream(stream, found) == hipSuccess
             ? found->device->index
             : -1;
}

// ---- The entries that begin.

HIP_DOUBLE_ENTRY(hipInit)(unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  return check_phase("hipInit");
}

HIP_DOUBLE_ENTRY(hipRuntimeGetVersion)(int* version) {
  if (version == nullptr) return hipErrorInvalidValue;
  *version = config().version;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDriverGetVersion)(int* version) { return do_hipRuntimeGetVersion(version); }

HIP_DOUBLE_ENTRY(hipGetDeviceCount)(int* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_phase("hipGetDeviceCount");
  if (result == no_device()) {
    *count = 0;
    return hipErrorNoDevice;
  }
  if (result == hipSuccess) *count = static_cast<int>(config().visible.size());
  return result;
}

}  // namespace anyplace::doubles::hip
