// SPDX-License-Identifier: Apache-2.0
//
// The tables of functions that the loader asks for, one for each kind of object.
#include <array>
#include <cstring>

#include "entries.h"
#include "handle.h"
#include "loader_check.h"

namespace anyplace_ur {

namespace {

/// Stands for every entry that the adapter lacks. It takes whatever it is called with: UR's entries have numbers and
/// pointers as parameters, which the caller puts away itself.
ur_result_t UR_APICALL unsupported_entry() { return UR_RESULT_ERROR_UNSUPPORTED_FEATURE; }

/// Tables are made of pointers to functions and nothing else. Filling all of them, whichever there are, leaves none
/// null also where the wheel's headers have entries that are newer than this code.
ur_dditable_t filled() {
  using Entry = ur_result_t (*)();
  std::array<Entry, sizeof(ur_dditable_t) / sizeof(Entry)> entries;
  static_assert(sizeof(entries) == sizeof(ur_dditable_t), "a table holds pointers to functions only");
  entries.fill(unsupported_entry);
  ur_dditable_t all;
  std::memcpy(&all, entries.data(), sizeof(all));
#define ENTRY(table, member, function) all.table.member = function;
#include "entries.def"
#undef ENTRY
  return all;
}

/// UR's minor versions are incompatible below 1.0: the tables of another one have other entries.
bool is_known(ur_api_version_t version) {
  return UR_MAJOR_VERSION(version) == UR_MAJOR_VERSION(UR_API_VERSION_CURRENT) &&
         UR_MINOR_VERSION(version) == UR_MINOR_VERSION(UR_API_VERSION_CURRENT);
}

template <class Table>
ur_result_t give(ur_api_version_t version, Table* to, const Table& from) noexcept {
  if (to == nullptr) return UR_RESULT_ERROR_INVALID_NULL_POINTER;
  if (!is_known(version) || !loader_is_known()) return UR_RESULT_ERROR_UNSUPPORTED_VERSION;
  *to = from;
  return UR_RESULT_SUCCESS;
}

}  // namespace

const ur_dditable_t& tables() noexcept {
  static const ur_dditable_t all = filled();
  return all;
}

}  // namespace anyplace_ur

#define GETTER(name, type, table)                                                                      \
  UR_DLLEXPORT ur_result_t UR_APICALL urGet##name##ProcAddrTable(ur_api_version_t version, type* to) { \
    return anyplace_ur::give(version, to, anyplace_ur::tables().table);                                \
  }

extern "C" {
GETTER(Adapter, ur_adapter_dditable_t, Adapter)
GETTER(Platform, ur_platform_dditable_t, Platform)
GETTER(Context, ur_context_dditable_t, Context)
GETTER(Event, ur_event_dditable_t, Event)
GETTER(EventExp, ur_event_exp_dditable_t, EventExp)
GETTER(Program, ur_program_dditable_t, Program)
GETTER(ProgramExp, ur_program_exp_dditable_t, ProgramExp)
GETTER(Kernel, ur_kernel_dditable_t, Kernel)
GETTER(Queue, ur_queue_dditable_t, Queue)
GETTER(QueueExp, ur_queue_exp_dditable_t, QueueExp)
GETTER(Sampler, ur_sampler_dditable_t, Sampler)
GETTER(Mem, ur_mem_dditable_t, Mem)
GETTER(PhysicalMem, ur_physical_mem_dditable_t, PhysicalMem)
GETTER(Enqueue, ur_enqueue_dditable_t, Enqueue)
GETTER(EnqueueExp, ur_enqueue_exp_dditable_t, EnqueueExp)
GETTER(USM, ur_usm_dditable_t, USM)
GETTER(USMExp, ur_usm_exp_dditable_t, USMExp)
GETTER(BindlessImagesExp, ur_bindless_images_exp_dditable_t, BindlessImagesExp)
GETTER(CommandBufferExp, ur_command_buffer_exp_dditable_t, CommandBufferExp)
GETTER(GraphExp, ur_graph_exp_dditable_t, GraphExp)
GETTER(IPCExp, ur_ipc_exp_dditable_t, IPCExp)
GETTER(MemoryExportExp, ur_memory_export_exp_dditable_t, MemoryExportExp)
GETTER(UsmP2PExp, ur_usm_p2p_exp_dditable_t, UsmP2PExp)
GETTER(VirtualMem, ur_virtual_mem_dditable_t, VirtualMem)
GETTER(Device, ur_device_dditable_t, Device)
GETTER(DeviceExp, ur_device_exp_dditable_t, DeviceExp)
}
