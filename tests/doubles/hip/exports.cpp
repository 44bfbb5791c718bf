// SPDX-License-Identifier: Apache-2.0
//
// What libamdhip64 exports: each entry under its symbol, and what comes before every one of them: the count, the
// failures on demand, whether HIP may be called at all (not in a host function, not in a forked child, not at the end
// of the process), and the beginning of it all, which HIP does at the first call, hipInit or not. And what comes
// behind: the thread's last error. Up to HIP 6 that is what the last call returned, success or not; from 7 on the last
// error that a call returned, "not ready" aside.
#include <string>

#include "../engine/runtime/entry.h"
#include "../engine/runtime/graphs.h"
#include "runtime.h"

namespace anyplace::doubles {

// HIP has kept the numbers of the codes that the runtime gives.
static_assert(code::invalid_value == hipErrorInvalidValue && code::out_of_memory == hipErrorOutOfMemory &&
              code::not_initialized == hipErrorNotInitialized && code::deinitialized == hipErrorDeinitialized &&
              code::invalid_device == hipErrorInvalidDevice && code::invalid_image == hipErrorInvalidImage &&
              code::invalid_context == hipErrorInvalidContext && code::invalid_handle == hipErrorInvalidHandle &&
              code::not_found == hipErrorNotFound && code::not_ready == hipErrorNotReady &&
              code::illegal_address == hipErrorIllegalAddress &&
              code::peer_access_already_enabled == hipErrorPeerAccessAlreadyEnabled &&
              code::peer_access_not_enabled == hipErrorPeerAccessNotEnabled &&
              code::context_is_destroyed == hipErrorContextIsDestroyed &&
              code::already_registered == hipErrorHostMemoryAlreadyRegistered &&
              code::not_registered == hipErrorHostMemoryNotRegistered && code::launch_failed == hipErrorLaunchFailure &&
              code::not_supported == hipErrorNotSupported);

SpecialStream special_stream(uint64_t handle) noexcept {
  if (handle == Word(hip::per_thread_stream)) return SpecialStream::per_thread;
  const bool legacy = handle == 0 || (handle == Word(hip::legacy_stream) && hip::config().major() >= 6);
  return legacy ? SpecialStream::legacy : SpecialStream::none;
}

bool is_sticky(int code) noexcept { return code == 214 || code == 700 || code == 702 || code == 710 || code == 719; }

namespace {

/// What HIP answers without a device. HIP 5 says that the device is invalid, all but hipGetDeviceCount.
int no_device() { return hip::config().major() < 6 ? hipErrorInvalidDevice : hipErrorNoDevice; }

int may_begin() {
  if (phase() != Phase::uninitialised) return hipSuccess;
  if (settings().init_result != 0) return settings().init_result;
  return settings().visible.empty() ? no_device() : static_cast<int>(hipSuccess);
}

int hip_begin() { return begin(may_begin, make_state, stop_engine); }

}  // namespace

const Vendor vendor{.handles = 0x0a3d,
                    .unknown_stream = hipErrorContextIsDestroyed,  // what HIP says of a stream that it doesn't know
                    .least_priority = 1,
                    .greatest_priority = -1,
                    .device_is_context = true,
                    .memory_fails_with_device = true,
                    .begin = hip_begin};

// A call looks at the current device where it needs one.
int check_current(Kind, const char*) { return hipSuccess; }

namespace hip {
namespace {

enum Index : std::size_t {
#define HIP_DOUBLE_INDEX(kind, symbol, parameters, arguments) kIndex_##symbol,
  HIP_DOUBLE_ENTRIES(HIP_DOUBLE_INDEX)
#undef HIP_DOUBLE_INDEX
};

constinit thread_local hipError_t last_error __attribute__((tls_model("initial-exec"))) = hipSuccess;  // see life.cpp

hipError_t remember(int code) {
  const auto result = static_cast<hipError_t>(code);
  if (config().major() < 7 || (result != hipSuccess && result != hipErrorNotReady)) last_error = result;
  return result;
}

// The device that a call is about: that of its stream or event, or the one that memory is to be of; else null.
ContextRef device_of(hipStream_t stream) { return context_of_object(state().streams.find(Word(stream))); }
ContextRef device_of(hipEvent_t event) { return context_of_object(state().events.find(Word(event))); }
ContextRef device_of(hipGraph_t graph) { return context_of_object(state().graphs.find(Word(graph))); }
ContextRef device_of(hipGraphExec_t exec) { return context_of_object(state().graph_execs.find(Word(exec))); }
ContextRef device_of(const AllocationProperties* properties) {
  const bool known = properties != nullptr && properties->location.type == hipMemLocationTypeDevice &&
                     check_device(properties->location.id) == hipSuccess;
  return known ? primary_of(properties->location.id) : nullptr;
}
template <class Argument>
ContextRef device_of(const Argument&) {
  return nullptr;
}

/// What an error that stays is lost with: the device that the call is about, else the current one; of calls that are
/// about none, all of them.
struct VictimsOf {
  Index index;
  template <class... Arguments>
  std::vector<ContextRef> operator()(const Arguments&... arguments) const {
    const Locked lock(state().mutex);
    std::vector<ContextRef> lost;
    if (index == kIndex_hipThreadExchangeStreamCaptureMode) return lost;
    if (index == kIndex_hipGetDevice || index == kIndex_hipSetDevice) {
      for (const DeviceState& device : state().devices) lost.push_back(device.primary);
      return lost;
    }
    ContextRef about;
    static_cast<void>(((about = device_of(arguments), about != nullptr) || ...));
    if (about == nullptr) about = context_stack().empty() ? primary_of(0) : context_stack().back();
    lost.push_back(about);
    return lost;
  }
};

#define HIP_DOUBLE_VISIBLE extern "C" __attribute__((visibility("default")))

// The symbols are given to the linker by name, and pass through one macro alone: newer headers have macros of some of
// these names.
#define HIP_DOUBLE_EXPORT(kind, symbol, parameters, arguments)                                \
  HIP_DOUBLE_VISIBLE hipError_t exported_##symbol parameters __asm__(#symbol);                \
  hipError_t exported_##symbol parameters {                                                   \
    return remember(enter(                                                                    \
        kIndex_##symbol, Kind::kind, #symbol, [&]() -> int { return do_##symbol arguments; }, \
        [&] { return VictimsOf{kIndex_##symbol} arguments; }));                               \
  }
HIP_DOUBLE_ENTRIES(HIP_DOUBLE_EXPORT)

constexpr const char* symbols[] = {
#define HIP_DOUBLE_SYMBOL(kind, symbol, parameters, arguments) #symbol,
    HIP_DOUBLE_ENTRIES(HIP_DOUBLE_SYMBOL)};

}  // namespace

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
  return check_phase("hipGetStreamDeviceId") == hipSuccess && resolve_stream(Word(stream), found) == hipSuccess
             ? found->context->device
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
  const int result = check_phase("hipGetDeviceCount");
  if (result == no_device()) {
    *count = 0;
    return hipErrorNoDevice;
  }
  if (result == hipSuccess) *count = static_cast<int>(config().visible.size());
  return result;
}

}  // namespace hip

CallBook& call_book() {
  static CallBook& made = make_call_book({std::begin(hip::symbols), std::end(hip::symbols)}, settings());
  return made;
}

}  // namespace anyplace::doubles
