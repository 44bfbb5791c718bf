// SPDX-License-Identifier: Apache-2.0
//
// What libcuda.so.1 exports: each entry under its symbol, and what comes before every one of them: the count, the
// failures on demand, whether the driver may be called at all (initialised, not in a host function, not in a forked
// child, not at the end of the process). Also cuInit, cuGetProcAddress and cuDriverGetVersion.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "entries.h"
#include "exports.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

enum Index : std::size_t {
#define CUDA_DOUBLE_INDEX(kind, symbol, since, parameters, arguments) kIndex_##symbol,
  CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_INDEX, CUDA_DOUBLE_INDEX, CUDA_DOUBLE_INDEX)
#undef CUDA_DOUBLE_INDEX
};

enum class Phase : uint8_t { kUninitialised, kReady, kEnded, kForked };
std::atomic<Phase> phase{Phase::kUninitialised};

bool is_sticky(int code) noexcept {
  return (code >= 700 && code != 701 && code != 704 && code != 705 && code != 708 && code < 720 && code != 712 &&
          code != 713 && code != 711 && code != 703) ||
         code == 214 || code == 220 || code == 914;
}

/// What the entry may not even begin with, or success.
CUresult check_phase(const char* symbol) {
  switch (phase.load(std::memory_order_acquire)) {
    case Phase::kUninitialised:
    case Phase::kForked:
      return CUDA_ERROR_NOT_INITIALIZED;
    case Phase::kEnded:
      return CUDA_ERROR_DEINITIALIZED;
    case Phase::kReady:
      break;
  }
  if (!Engine::in_user_code()) return CUDA_SUCCESS;
  misuses().add(std::string(symbol) + " was called inside a host function or a kernel");
  return CUDA_ERROR_NOT_PERMITTED;
}

/// Whether the entry looks at no current context: those that change it or ask which it is, those of devices and primary
/// contexts, and of memory that is no context's (pools, virtual memory).
bool needs_no_context(std::string_view symbol) {
  constexpr std::string_view without[] = {
      "cuDevice",           "cuCtxCreate",        "cuCtxDestroy",      "cuCtxGetCurrent",
      "cuCtxSetCurrent",    "cuCtxPushCurrent",   "cuCtxPopCurrent",   "cuThreadExchangeStreamCaptureMode",
      "cuMemPool",          "cuMemAddress",       "cuMemCreate",       "cuMemRelease",
      "cuMemMap",           "cuMemUnmap",         "cuMemSetAccess",    "cuMemGetAccess",
      "cuMemGetAllocation", "cuMemRetain",        "cuCtxGetDevice_v2", "cuCtxGetId",
      "cuCtxGetApiVersion", "cuCtxSynchronize_v2"};
  return std::any_of(std::begin(without), std::end(without),
                     [symbol](std::string_view name) { return symbol.substr(0, name.size()) == name; });
}

/// The error of the thread's current context, or success: also for calls whose handles are of another context. The
/// reference has a destroyed context stay current to other threads, and any use of it there fail; and it lets each call
/// return the error of earlier work.
CUresult check_current(Kind kind, const char* symbol) {
  if (context_stack().empty() || needs_no_context(symbol)) return CUDA_SUCCESS;
  const Locked lock(state().mutex);
  const Context& current = *context_stack().back();
  if (!current.alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return kind == Kind::kRelease ? CUDA_SUCCESS : fault_of(current);
}

// Whose context an argument of a call names.
template <class Argument>
ContextRef context_of(const Argument&) {
  return nullptr;
}
template <class Object>
ContextRef context_of_object(const std::shared_ptr<Object>& object) {
  return object == nullptr ? nullptr : object->context;
}
ContextRef context_of(CUstream stream) { return context_of_object(state().streams.find(stream)); }
ContextRef context_of(CUevent event) { return context_of_object(state().events.find(event)); }
ContextRef context_of(CUmodule module) { return context_of_object(state().modules.find(module)); }

/// That of an argument, else the current one, else null.
struct WhoseContext {
  template <class... Arguments>
  ContextRef operator()(const Arguments&... arguments) const {
    const Locked lock(state().mutex);
    ContextRef context;
    ((context = context == nullptr ? context_of(arguments) : context), ...);
    if (context == nullptr && !context_stack().empty()) context = context_stack().back();
    if constexpr (std::is_same_v<std::tuple<std::decay_t<Arguments>...>, std::tuple<CUcontext>>) {
      if (context == nullptr) ((context = state().contexts.find(arguments)), ...);
    }
    return context;
  }
};

/// An error that stays was said to have happened: the context is of no use from now on. Null: all of them.
void corrupt(const ContextRef& context, int code) {
  const Locked lock(state().mutex);
  for (const auto& [value, each] : state().contexts.all()) {
    const bool meant = context == nullptr || context == each;
    if (meant && each->fault != nullptr) state().engine.fail(each->fault, code);
  }
}

template <class Call, class Whose>
CUresult enter(Index index, Kind kind, const char* symbol, Call call, Whose whose) noexcept {
  const int failure = call_book().count(index);
  const bool sticky = failure != 0 && is_sticky(failure) && phase.load() == Phase::kReady;
  // Found before the call, as that may give the handle back.
  const ContextRef context = sticky ? whose() : nullptr;
  if (failure != 0 && kind != Kind::kRelease) {
    if (sticky) corrupt(context, failure);
    return static_cast<CUresult>(failure);
  }
  const CUresult allowed = kind == Kind::kEarly ? CUDA_SUCCESS : check_phase(symbol);
  if (allowed != CUDA_SUCCESS) return allowed;
  const CUresult current = kind == Kind::kEarly ? CUDA_SUCCESS : check_current(kind, symbol);
  if (current != CUDA_SUCCESS) return current;
  try {
    const CUresult result = call();
    if (sticky) corrupt(context, failure);
    return failure != 0 ? static_cast<CUresult>(failure) : result;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// The symbols are given to the linker by name, and pass through one macro alone: cuda.h has macros of many of these
// names.
#define CUDA_DOUBLE_PLAIN(kind, symbol, since, parameters, arguments)                                       \
  extern "C" __attribute__((visibility("default"))) CUresult exported_##symbol parameters __asm__(#symbol); \
  CUresult exported_##symbol parameters {                                                                   \
    return enter(                                                                                           \
        kIndex_##symbol, Kind::kind, #symbol, [&]() -> CUresult { return do_##symbol arguments; },          \
        [&] { return WhoseContext() arguments; });                                                          \
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

const Entry kEntries[] = {
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
CUresult find_function(const char* symbol, void** function, int cuda_version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult& status) {
  constexpr cuuint64_t kLegacy = 1, kPerThread = 2;
  if (symbol == nullptr || function == nullptr || (flags & ~(kLegacy | kPerThread)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (flags == (kLegacy | kPerThread) || cuda_version > config().driver_version) return CUDA_ERROR_INVALID_VALUE;
  const Entry* best = nullptr;
  bool newer = false;
  for (const Entry& entry : kEntries) {
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
    *function = flags == kPerThread && best->per_thread != nullptr ? best->per_thread : best->function;
  }
  return CUDA_SUCCESS;
}

void at_exit() {
  Phase ready = Phase::kReady;
  if (phase.compare_exchange_strong(ready, Phase::kEnded)) state().engine.stop();
}

void in_forked_child() {
  Phase ready = Phase::kReady;
  phase.compare_exchange_strong(ready, Phase::kForked);
}

std::mutex& init_mutex() {
  static std::mutex& mutex = *new std::mutex;  // one cuInit makes the state
  return mutex;
}

}  // namespace

CallBook& call_book() {
  static CallBook& book = *[] {
    std::vector<const char*> symbols;
    for (const Entry& entry : kEntries) symbols.push_back(entry.symbol);
    auto* const made = new CallBook(std::move(symbols));
    std::string wrong;
    if (!made->read_failures(config().failures, wrong)) {
      std::fprintf(stderr, "CUDA double: CUDA_DOUBLE_FAIL: '%s' is not entry:nth:code or entry:nth:code:always\n",
                   wrong.c_str());
      std::abort();
    }
    if (config().log) misuses().print_from_now_on();
    return made;
  }();
  return book;
}

bool may_be_called() noexcept { return phase.load(std::memory_order_acquire) == Phase::kReady; }
bool was_forked() noexcept { return phase.load(std::memory_order_acquire) == Phase::kForked; }

CUDA_DOUBLE_ENTRY(cuInit)(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (Engine::in_user_code()) return CUDA_ERROR_NOT_PERMITTED;
  if (config().init_result != 0) return static_cast<CUresult>(config().init_result);
  const std::lock_guard lock(init_mutex());
  if (phase.load() == Phase::kEnded) return CUDA_ERROR_DEINITIALIZED;
  if (phase.load() == Phase::kForked) return CUDA_ERROR_NOT_INITIALIZED;
  if (config().visible.empty()) return CUDA_ERROR_NO_DEVICE;
  if (phase.load() == Phase::kReady) return CUDA_SUCCESS;
  make_state(config());
  std::atexit(at_exit);
  pthread_atfork(nullptr, nullptr, in_forked_child);
  phase.store(Phase::kReady, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDriverGetVersion)(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = config().driver_version;
  return CUDA_SUCCESS;
}

// The first form says by an error that nothing was found, the second by the status.
CUDA_DOUBLE_ENTRY(cuGetProcAddress)(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result = find_function(symbol, function, cuda_version, flags, status);
  if (result != CUDA_SUCCESS) return result;
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUDA_DOUBLE_ENTRY(cuGetProcAddress_v2)
(const char* symbol, void** function, int cuda_version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result = find_function(symbol, function, cuda_version, flags, found);
  if (result == CUDA_SUCCESS && status != nullptr) *status = found;
  return result;
}

}  // namespace anyplace::doubles::cuda
