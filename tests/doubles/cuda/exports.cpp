// SPDX-License-Identifier: Apache-2.0
//
// What libcuda.so.1 exports: each entry under its symbol, and what comes before every one of them: the count, the
// failures on demand, whether the driver may be called at all (initialised, not in a host function, not in a forked
// child, not at the end of the process). Also cuInit, cuGetProcAddress and cuDriverGetVersion.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "../engine/runtime/captures.h"
#include "../engine/runtime/entry.h"
#include "driver.h"

namespace anyplace::doubles {

// The codes that the runtime gives are the driver's.
static_assert(code::invalid_value == CUDA_ERROR_INVALID_VALUE && code::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY &&
              code::not_initialized == CUDA_ERROR_NOT_INITIALIZED && code::deinitialized == CUDA_ERROR_DEINITIALIZED &&
              code::invalid_device == CUDA_ERROR_INVALID_DEVICE && code::invalid_image == CUDA_ERROR_INVALID_IMAGE &&
              code::invalid_context == CUDA_ERROR_INVALID_CONTEXT &&
              code::invalid_handle == CUDA_ERROR_INVALID_HANDLE && code::not_found == CUDA_ERROR_NOT_FOUND &&
              code::not_ready == CUDA_ERROR_NOT_READY && code::illegal_address == CUDA_ERROR_ILLEGAL_ADDRESS &&
              code::peer_access_already_enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED &&
              code::peer_access_not_enabled == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED &&
              code::context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED &&
              code::already_registered == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED &&
              code::not_registered == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED &&
              code::launch_failed == CUDA_ERROR_LAUNCH_FAILED && code::not_supported == CUDA_ERROR_NOT_SUPPORTED);

const Vendor vendor{.handles = 0x0cda,
                    .greatest_priority = -5,
                    .not_permitted = CUDA_ERROR_NOT_PERMITTED,
                    .dynamic_shared = cuda::max_shared};

SpecialStream special_stream(uint64_t handle) noexcept {
  return cuda::meaning_of(static_cast<CUstream>(to_pointer(handle)));
}

bool is_sticky(int code) noexcept {
  return (code >= 700 && code != 701 && code != 704 && code != 705 && code != 708 && code < 720 && code != 712 &&
          code != 713 && code != 711 && code != 703) ||
         code == 214 || code == 220 || code == 914;
}

namespace {

/// Those that CUDA's reference calls potentially unsafe while a stream is captured. It names memory allocation; that
/// giving memory back, modules, queries and synchronisations are of them is our choice, which is the strict one.
bool is_unsafe_in_capture(std::string_view symbol) {
  constexpr std::string_view unsafe[] = {
      "cuMemAlloc_v2",       "cuMemAllocPitch_v2", "cuMemAllocHost_v2",    "cuMemHostAlloc",      "cuMemAllocManaged",
      "cuMemFree_v2",        "cuMemFreeHost",      "cuMemHostRegister_v2", "cuMemHostUnregister", "cuModuleLoadData",
      "cuModuleLoadDataEx",  "cuModuleUnload",     "cuEventQuery",         "cuEventSynchronize",  "cuStreamQuery",
      "cuStreamSynchronize", "cuCtxSynchronize"};
  return std::find(std::begin(unsafe), std::end(unsafe), symbol) != std::end(unsafe);
}

/// Whether the entry looks at no current context: those that change it or ask which it is, those of devices and primary
/// contexts, and of memory that is no context's (pools, virtual memory).
bool needs_no_context(std::string_view symbol) {
  constexpr std::string_view without[] = {
      "cuDevice",           "cuCtxCreate",      "cuCtxDestroy",       "cuCtxGetCurrent",
      "cuCtxSetCurrent",    "cuCtxPushCurrent", "cuCtxPopCurrent",    "cuThreadExchangeStreamCaptureMode",
      "cuMemPool",          "cuMemAddress",     "cuMemCreate",        "cuMemRelease",
      "cuMemMap",           "cuMemUnmap",       "cuMemSetAccess",     "cuMemGetAccess",
      "cuMemGetAllocation", "cuMemRetain",      "cuCtxSynchronize_v2"};
  return std::any_of(std::begin(without), std::end(without),
                     [symbol](std::string_view name) { return symbol.substr(0, name.size()) == name; });
}

}  // namespace

// Also for calls whose handles are of another context. The reference has a destroyed context stay current to other
// threads, and any use of it there fail; and it lets each call return the error of earlier work.
int check_current(Kind kind, const char* symbol) {
  if (is_unsafe_in_capture(symbol)) {
    if (const int refused = refuse_unsafe(); refused != CUDA_SUCCESS) return refused;
  }
  if (context_stack().empty() || needs_no_context(symbol)) return CUDA_SUCCESS;
  const Locked lock(state().mutex);
  const Context& current = *context_stack().back();
  if (!current.alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return kind == Kind::release ? CUDA_SUCCESS : fault_of(current);
}

namespace cuda {
namespace {

enum Index : std::size_t {
#define CUDA_DOUBLE_INDEX(kind, symbol, since, parameters, arguments) kIndex_##symbol,
  CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_INDEX, CUDA_DOUBLE_INDEX, CUDA_DOUBLE_INDEX)
#undef CUDA_DOUBLE_INDEX
};

// Whose context an argument of a call names.
template <class Argument>
ContextRef context_of(const Argument&) {
  return nullptr;
}
ContextRef context_of(CUstream stream) { return context_of_object(state().streams.find(Word(stream))); }
ContextRef context_of(CUevent event) { return context_of_object(state().events.find(Word(event))); }
ContextRef context_of(CUmodule module) { return context_of_object(state().modules.find(Word(module))); }
ContextRef context_of(CUgraph graph) { return context_of_object(state().graphs.find(Word(graph))); }
ContextRef context_of(CUgraphExec exec) { return context_of_object(state().graph_execs.find(Word(exec))); }

/// That of an argument, else the current one, else all.
struct WhoseContext {
  template <class... Arguments>
  std::vector<ContextRef> operator()(const Arguments&... arguments) const {
    const Locked lock(state().mutex);
    ContextRef context;
    ((context = context == nullptr ? context_of(arguments) : context), ...);
    if (context == nullptr && !context_stack().empty()) context = context_stack().back();
    if constexpr (std::is_same_v<std::tuple<std::decay_t<Arguments>...>, std::tuple<CUcontext>>) {
      if (context == nullptr) ((context = state().contexts.find(Word(arguments))), ...);
    }
    std::vector<ContextRef> meant;
    for (const auto& [value, each] : state().contexts.all()) {
      if ((context == nullptr || context == each) && each->fault != nullptr) meant.push_back(each);
    }
    return meant;
  }
};

// The symbols are given to the linker by name, and pass through one macro alone: cuda.h has macros of many of these
// names.
#define CUDA_DOUBLE_PLAIN(kind, symbol, since, parameters, arguments)                                       \
  extern "C" __attribute__((visibility("default"))) CUresult exported_##symbol parameters __asm__(#symbol); \
  CUresult exported_##symbol parameters {                                                                   \
    return static_cast<CUresult>(enter(                                                                     \
        kIndex_##symbol, Kind::kind, #symbol, [&]() -> int { return do_##symbol arguments; },               \
        [&] { return WhoseContext() arguments; }));                                                         \
  }
#define CUDA_DOUBLE_PER_THREAD(symbol, suffix, parameters, arguments)     \
  extern "C" __attribute__((visibility("default")))                       \
  CUresult exported_##symbol##suffix parameters __asm__(#symbol #suffix); \
  CUresult exported_##symbol##suffix parameters {                         \
    const PerThreadDefault per_thread;                                    \
    return exported_##symbol arguments;                                   \
  }
#define CUDA_DOUBLE_PTDS(kind, symbol, since, parameters, arguments) \
  CUDA_DOUBLE_PLAIN(kind, symbol, since, parameters, arguments)      \
  CUDA_DOUBLE_PER_THREAD(symbol, _ptds, parameters, arguments)
#define CUDA_DOUBLE_PTSZ(kind, symbol, since, parameters, arguments) \
  CUDA_DOUBLE_PLAIN(kind, symbol, since, parameters, arguments)      \
  CUDA_DOUBLE_PER_THREAD(symbol, _ptsz, parameters, arguments)
CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_PLAIN, CUDA_DOUBLE_PTDS, CUDA_DOUBLE_PTSZ)

struct Entry {
  const char* symbol;
  int since;
  void* function;
  void* per_thread;
};

const Entry all_entries[] = {
#define CUDA_DOUBLE_ROW(kind, symbol, since, parameters, arguments) \
  {#symbol, since, reinterpret_cast<void*>(&exported_##symbol), nullptr},
#define CUDA_DOUBLE_ROW_PTDS(kind, symbol, since, parameters, arguments) \
  {#symbol, since, reinterpret_cast<void*>(&exported_##symbol), reinterpret_cast<void*>(&exported_##symbol##_ptds)},
#define CUDA_DOUBLE_ROW_PTSZ(kind, symbol, since, parameters, arguments) \
  {#symbol, since, reinterpret_cast<void*>(&exported_##symbol), reinterpret_cast<void*>(&exported_##symbol##_ptsz)},
    CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_ROW, CUDA_DOUBLE_ROW_PTDS, CUDA_DOUBLE_ROW_PTSZ)};

bool is_missing(std::string_view symbol) {
  const auto& missing = config().missing;
  return std::any_of(missing.begin(), missing.end(), [symbol](const std::string& name) { return name == symbol; });
}

/// The newest form of the function that the driver has and the caller knows.
int find_address(const char* symbol, void** function, int cuda_version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult& status) {
  constexpr cuuint64_t legacy = 1, per_thread = 2;
  if (symbol == nullptr || function == nullptr || (flags & ~(legacy | per_thread)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (flags == (legacy | per_thread) || cuda_version > config().driver_version) return CUDA_ERROR_INVALID_VALUE;
  const Entry* best = nullptr;
  bool newer = false;
  for (const Entry& entry : all_entries) {
    if (without_version(entry.symbol) != symbol || entry.since > config().driver_version) continue;
    if (is_missing(entry.symbol)) continue;
    if (entry.since > cuda_version) {
      newer = true;
    } else if (best == nullptr || entry.since > best->since) {
      best = &entry;
    }
  }
  status = best != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
           : newer         ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  *function = nullptr;
  if (best != nullptr) {
    *function = flags == per_thread && best->per_thread != nullptr ? best->per_thread : best->function;
  }
  return CUDA_SUCCESS;
}

/// What cuInit finds when no other runs.
int may_begin() {
  if (phase() == Phase::ended) return CUDA_ERROR_DEINITIALIZED;
  if (phase() == Phase::forked) return CUDA_ERROR_NOT_INITIALIZED;
  return config().visible.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuInit)(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (Engine::in_user_code()) return CUDA_ERROR_NOT_PERMITTED;
  return config().init_result != 0 ? config().init_result : begin(may_begin, make_state, stop_engine);
}

CUDA_DOUBLE_ENTRY(cuDriverGetVersion)(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = config().driver_version;
  return CUDA_SUCCESS;
}

// The first form says by an error that nothing was found, the second by the status.
CUDA_DOUBLE_ENTRY(cuGetProcAddress)(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const int result = find_address(symbol, function, cuda_version, flags, status);
  if (result != CUDA_SUCCESS) return result;
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUDA_DOUBLE_ENTRY(cuGetProcAddress_v2)
(const char* symbol, void** function, int cuda_version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  const int result = find_address(symbol, function, cuda_version, flags, found);
  if (result == CUDA_SUCCESS && status != nullptr) *status = found;
  return result;
}

}  // namespace cuda

CallBook& call_book() {
  static CallBook& book = *[] {
    std::vector<const char*> symbols;
    for (const cuda::Entry& entry : cuda::all_entries) symbols.push_back(entry.symbol);
    return &make_call_book(std::move(symbols), settings());
  }();
  return book;
}

}  // namespace anyplace::doubles
