// SPDX-License-Identifier: Apache-2.0
//
// What the double exports: the tables that a loader asks a driver for, and each function under its own name, so that
// the same code can stand in for the loader. And what comes before every one of them: the count, the failures on
// demand, whether the driver may be called at all (initialised, not in a forked child, not at the end of the process).
// Also zeInit.
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <thread>

#include "../engine/control.h"
#include "entries.h"
#include "state.h"

namespace anyplace::doubles {
namespace levelzero {
namespace {

enum Index : std::size_t {
#define LEVELZERO_DOUBLE_INDEX(table, member, kind, symbol, parameters, arguments) kIndex_##symbol,
  LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_DOUBLE_INDEX)
#undef LEVELZERO_DOUBLE_INDEX
#define LEVELZERO_DOUBLE_INDEX(symbol, parameters, arguments) kIndex_##symbol,
      LEVELZERO_DOUBLE_NEWER_ENTRIES(LEVELZERO_DOUBLE_INDEX)
#undef LEVELZERO_DOUBLE_INDEX
};

const char* const symbols[] = {
#define LEVELZERO_DOUBLE_NAME(table, member, kind, symbol, parameters, arguments) #symbol,
    LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_DOUBLE_NAME)
#undef LEVELZERO_DOUBLE_NAME
#define LEVELZERO_DOUBLE_NAME(symbol, parameters, arguments) #symbol,
        LEVELZERO_DOUBLE_NEWER_ENTRIES(LEVELZERO_DOUBLE_NAME)
#undef LEVELZERO_DOUBLE_NAME
};

// ---- A failure that says the device is lost makes it so
// --------------------------------------------------------------

void lose(const DeviceRef& device) {
  if (device != nullptr) state().engine.fail(device->fault, fault);
}
template <class Table, class Handle>
auto found(const Table& table, Handle handle) {
  const Locked lock(state().mutex);
  return table.find(handle);
}
void lose_of(ze_device_handle_t handle) { lose(found(state().device_table, handle)); }
void lose_of(ze_command_list_handle_t handle) {
  if (const auto list = found(state().lists, handle)) lose(list->device);
}
void lose_of(ze_command_queue_handle_t handle) {
  if (const auto queue = found(state().queues, handle)) lose(queue->device);
}
/// What belongs to no one device: whichever is lost, the caller can't tell, so all are.
void lose_all() {
  for (const DeviceRef& device : state().devices) lose(device);
}
void lose_of(ze_context_handle_t) { lose_all(); }
void lose_of(ze_event_pool_handle_t) { lose_all(); }
void lose_of(ze_event_handle_t handle) {
  const auto event = found(state().events, handle);
  if (event != nullptr && event->device != nullptr) return lose(event->device);
  lose_all();
}
void lose_of(ze_module_handle_t handle) {
  if (const auto module = found(state().modules, handle)) lose(module->device);
}
void lose_of(ze_kernel_handle_t handle) {
  if (const auto kernel = found(state().kernels, handle)) lose(kernel->module->device);
}
template <class Other>
void lose_of(const Other&) {}

/// Of the arguments a device says most, and else the first does.
template <class First, class... Others>
void lose_device_of(const First& first, const Others&... others) {
  if (phase() != Phase::ready) return;
  if constexpr ((std::is_same_v<Others, ze_device_handle_t> || ...)) {
    const auto lose_if_device = [](const auto& argument) {
      if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, ze_device_handle_t>) lose_of(argument);
    };
    (lose_if_device(others), ...);
  } else {
    lose_of(first);
  }
}

bool is_loss(int code) {
  return code == static_cast<int>(ZE_RESULT_ERROR_DEVICE_LOST) || code == 0x70000006 /* DEVICE_REQUIRES_RESET */;
}

// ---- The way in
// ------------------------------------------------------------------------------------------------------

bool names(const std::vector<std::string>& list, std::string_view symbol) {
  return std::any_of(list.begin(), list.end(),
                     [symbol](const std::string& name) { return name == symbol || name == "all"; });
}

std::atomic<int> calls_under_way{0};

[[noreturn]] void called_at_the_end(const char* what) {
  std::fprintf(stderr, "Level Zero double: %s when the driver had ended: a true one would crash\n", what);
  std::abort();
}

/// A call of a driver whose end crashes whoever is in it, or comes later.
class FragileCall {
 public:
  explicit FragileCall(const char* symbol) : counts_(config().fragile_end) {
    if (!counts_) return;
    ++calls_under_way;
    if (phase() == Phase::ended) called_at_the_end(symbol);
  }
  ~FragileCall() {
    if (counts_) --calls_under_way;
  }
  FragileCall(const FragileCall&) = delete;
  FragileCall& operator=(const FragileCall&) = delete;

 private:
  const bool counts_;
};

constexpr std::chrono::milliseconds end_of_driver{200};

void take_time(std::string_view symbol) {
  if (config().slow.empty() || !names(config().slow, symbol)) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(config().slow_milliseconds));
}

template <class Call, class... Arguments>
ze_result_t enter(Index index, Kind kind, const char* symbol, Call call, const Arguments&... arguments) noexcept {
  try {
    const FragileCall fragile(symbol);
    const int failure = call_book().count(index);
    take_time(symbol);
    if (failure != 0 && is_loss(failure)) lose_device_of(arguments...);
    if (failure != 0 && kind != Kind::release) return static_cast<ze_result_t>(failure);
    // Ahead of the next: where zeInit does nothing, nothing ever is initialised.
    if (!config().nothing.empty() && names(config().nothing, symbol)) return ZE_RESULT_SUCCESS;
    if (kind != Kind::early && phase() != Phase::ready) return ZE_RESULT_ERROR_UNINITIALIZED;
    const ze_result_t result = call();
    return failure != 0 ? static_cast<ze_result_t>(failure) : result;
  } catch (const std::bad_alloc&) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
}

#define LEVELZERO_DOUBLE_ARGUMENTS(...) __VA_ARGS__
#define LEVELZERO_DOUBLE_ENTER(kind, symbol, arguments) \
  enter(                                                \
      kIndex_##symbol, kind, #symbol, [&] { return do_##symbol arguments; }, LEVELZERO_DOUBLE_ARGUMENTS arguments)

#define LEVELZERO_DOUBLE_EXPORT(table, member, kind, symbol, parameters, arguments)                            \
  extern "C" __attribute__((visibility("default"))) ze_result_t exported_##symbol parameters __asm__(#symbol); \
  ze_result_t exported_##symbol parameters { return LEVELZERO_DOUBLE_ENTER(Kind::kind, symbol, arguments); }
LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_DOUBLE_EXPORT)
#define LEVELZERO_DOUBLE_EXPORT_NEWER(symbol, parameters, arguments) \
  LEVELZERO_DOUBLE_EXPORT(, , use, symbol, parameters, arguments)
LEVELZERO_DOUBLE_NEWER_ENTRIES(LEVELZERO_DOUBLE_EXPORT_NEWER)

void end() {
  if (config().fragile_end) {
    if (calls_under_way.load() != 0) called_at_the_end("a call was under way");
    std::this_thread::sleep_for(end_of_driver);  // destructors of a true one take their time, too
  }
  state().engine.stop();
}

int may_begin() {
  const bool over = phase() == Phase::ended || phase() == Phase::forked;
  return over ? ZE_RESULT_ERROR_UNINITIALIZED : ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t do_zeInit(ze_init_flags_t flags) {
  if (flags > 3) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (config().init_result != 0) return static_cast<ze_result_t>(config().init_result);
  return static_cast<ze_result_t>(begin(may_begin, make_state, end));
}

// ---- The tables of a driver
// ------------------------------------------------------------------------------------------

namespace {

// An entry is of one table; for each table all are tried, and those of it are taken.
#define LEVELZERO_DOUBLE_FILL(table, member, kind, symbol, parameters, arguments) \
  fill_##table(out, [](auto& of) { of.pfn##member = exported_##symbol; });
// clang-format off
#define LEVELZERO_DOUBLE_TABLES(X) \
  X(Global, ze_global_dditable_t) \
  X(Driver, ze_driver_dditable_t) \
  X(Device, ze_device_dditable_t) \
  X(Context, ze_context_dditable_t) \
  X(CommandList, ze_command_list_dditable_t) \
  X(CommandQueue, ze_command_queue_dditable_t) \
  X(EventPool, ze_event_pool_dditable_t) \
  X(Event, ze_event_dditable_t) \
  X(Mem, ze_mem_dditable_t) \
  X(VirtualMem, ze_virtual_mem_dditable_t) \
  X(PhysicalMem, ze_physical_mem_dditable_t) \
  X(Module, ze_module_dditable_t) \
  X(ModuleBuildLog, ze_module_build_log_dditable_t) \
  X(Kernel, ze_kernel_dditable_t)
#define LEVELZERO_DOUBLE_EMPTY_TABLES(X) \
  X(DeviceExp, ze_device_exp_dditable_t) \
  X(Image, ze_image_dditable_t) \
  X(ImageExp, ze_image_exp_dditable_t) \
  X(Fence, ze_fence_dditable_t) \
  X(EventExp, ze_event_exp_dditable_t) \
  X(KernelExp, ze_kernel_exp_dditable_t) \
  X(Sampler, ze_sampler_dditable_t) \
  X(FabricVertexExp, ze_fabric_vertex_exp_dditable_t) \
  X(FabricEdgeExp, ze_fabric_edge_exp_dditable_t)
// clang-format on

#define LEVELZERO_DOUBLE_FILLER(name, type)  \
  template <class Fill>                      \
  void fill_##name(type* table, Fill fill) { \
    fill(*table);                            \
  }                                          \
  template <class Other, class Fill>         \
  void fill_##name(Other*, Fill) {}
LEVELZERO_DOUBLE_TABLES(LEVELZERO_DOUBLE_FILLER)

template <class Type>
ze_result_t give_table(ze_api_version_t version, Type* out, bool filled) {
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(static_cast<uint32_t>(version)) != 1) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  *out = Type{};
  if (filled) {
    LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_DOUBLE_FILL)
  }
  return ZE_RESULT_SUCCESS;
}

#define LEVELZERO_DOUBLE_GIVE(name, type, filled)                                                      \
  extern "C" __attribute__((visibility("default")))                                                    \
  ze_result_t give_##name(ze_api_version_t version, type* out) __asm__("zeGet" #name "ProcAddrTable"); \
  ze_result_t give_##name(ze_api_version_t version, type* out) { return give_table(version, out, filled); }
#define LEVELZERO_DOUBLE_GIVE_FILLED(name, type) LEVELZERO_DOUBLE_GIVE(name, type, true)
#define LEVELZERO_DOUBLE_GIVE_EMPTY(name, type) LEVELZERO_DOUBLE_GIVE(name, type, false)
// The functions for tools and for system management: a loader takes no driver without the tables.
// clang-format off
#define LEVELZERO_DOUBLE_TOOL_TABLES(X) \
  X(zet, Device, zet_device_dditable_t) \
  X(zet, Context, zet_context_dditable_t) \
  X(zet, CommandList, zet_command_list_dditable_t) \
  X(zet, Module, zet_module_dditable_t) \
  X(zet, Kernel, zet_kernel_dditable_t) \
  X(zet, MetricGroup, zet_metric_group_dditable_t) \
  X(zet, MetricGroupExp, zet_metric_group_exp_dditable_t) \
  X(zet, Metric, zet_metric_dditable_t) \
  X(zet, MetricStreamer, zet_metric_streamer_dditable_t) \
  X(zet, MetricQueryPool, zet_metric_query_pool_dditable_t) \
  X(zet, MetricQuery, zet_metric_query_dditable_t) \
  X(zet, TracerExp, zet_tracer_exp_dditable_t) \
  X(zet, Debug, zet_debug_dditable_t) \
  X(zes, Driver, zes_driver_dditable_t) \
  X(zes, Device, zes_device_dditable_t) \
  X(zes, Scheduler, zes_scheduler_dditable_t) \
  X(zes, PerformanceFactor, zes_performance_factor_dditable_t) \
  X(zes, Power, zes_power_dditable_t) \
  X(zes, Frequency, zes_frequency_dditable_t) \
  X(zes, Engine, zes_engine_dditable_t) \
  X(zes, Standby, zes_standby_dditable_t) \
  X(zes, Firmware, zes_firmware_dditable_t) \
  X(zes, Memory, zes_memory_dditable_t) \
  X(zes, FabricPort, zes_fabric_port_dditable_t) \
  X(zes, Temperature, zes_temperature_dditable_t) \
  X(zes, Psu, zes_psu_dditable_t) \
  X(zes, Fan, zes_fan_dditable_t) \
  X(zes, Led, zes_led_dditable_t) \
  X(zes, Ras, zes_ras_dditable_t) \
  X(zes, Diagnostics, zes_diagnostics_dditable_t)
// clang-format on
#define LEVELZERO_DOUBLE_GIVE_TOOL(prefix, name, type)                                   \
  extern "C" __attribute__((visibility("default"))) ze_result_t give_##prefix##_##name(  \
      ze_api_version_t version, type* out) __asm__(#prefix "Get" #name "ProcAddrTable"); \
  ze_result_t give_##prefix##_##name(ze_api_version_t version, type* out) { return give_table(version, out, false); }
LEVELZERO_DOUBLE_TABLES(LEVELZERO_DOUBLE_GIVE_FILLED)
LEVELZERO_DOUBLE_EMPTY_TABLES(LEVELZERO_DOUBLE_GIVE_EMPTY)
LEVELZERO_DOUBLE_TOOL_TABLES(LEVELZERO_DOUBLE_GIVE_TOOL)

}  // namespace
}  // namespace levelzero

CallBook& call_book() {
  static CallBook& book =
      make_call_book({std::begin(levelzero::symbols), std::end(levelzero::symbols)}, levelzero::config());
  return book;
}

}  // namespace anyplace::doubles
