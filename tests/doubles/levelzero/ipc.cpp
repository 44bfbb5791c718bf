// SPDX-License-Identifier: Apache-2.0
//
// Memory of several processes. A handle holds, as Intel's does, a descriptor of the process that made it, which whoever
// sends the handle has to send, too: opened with a number that is no such descriptor in the opening process, it is
// misuse. LEVELZERO_DOUBLE_IPC=opaque: it names its process, and the driver fetches the descriptor itself.
//
// Stricter than the reference: a process that opens what it made itself is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

uint64_t start_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// The first three are where Intel's drivers have them.
struct IpcData {
  int64_t descriptor;
  uint64_t offset;
  int32_t process;  // opaque: whose descriptor it is; else 0
  uint32_t reserved[3];
  uint64_t bytes;
};
static_assert(sizeof(IpcData) <= sizeof(ze_ipc_mem_handle_t) && offsetof(IpcData, process) == 16);

bool is_opaque() { return state().config.ipc == "opaque"; }

/// Closed at the end of the scope.
struct Fetched {
  ~Fetched() {
    if (file >= 0) close(file);
  }
  int file = -1;
};

/// As a driver does whose handles name their process.
int fetch(const IpcData& data) {
  const auto process = static_cast<int>(syscall(434 /* pidfd_open */, data.process, 0));
  if (process < 0) return -1;
  const auto file = static_cast<int>(syscall(438 /* pidfd_getfd */, process, static_cast<int>(data.descriptor), 0));
  close(process);
  return file;
}

}  // namespace

void end_exports(uint64_t start) {
  const Locked lock(state().mutex);
  const auto found = state().exported.find(start);
  if (found == state().exported.end()) return;
  close(found->second);
  state().exported.erase(found);
}

ze_result_t do_zeMemGetIpcHandle(ze_context_handle_t context_handle, const void* address, ze_ipc_mem_handle_t* out) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (address == nullptr || out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (state().config.ipc == "none") return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  const auto block = state().memory.block_at(start_of(address));
  if (!block || block->kind != MemoryKind::device || (block->flags & opened) != 0)
    return misuse("a handle was asked for what is no beginning of device memory of this process");
  if (block->owner != context->id) return misuse("a handle was asked for on another context than the memory's");
  IpcData data{};
  const Locked lock(state().mutex);
  const auto [entry, is_new] = state().exported.try_emplace(block->start, -1);
  const int file = state().memory.file_of(block->start, data.offset);
  if (is_new) entry->second = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 3);
  if (entry->second < 0) {
    state().exported.erase(entry);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  data.descriptor = entry->second;
  data.process = is_opaque() ? getpid() : 0;
  data.bytes = block->bytes;
  std::memset(out, 0, sizeof(*out));
  std::memcpy(out->data, &data, sizeof(data));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeMemPutIpcHandle(ze_context_handle_t context_handle, ze_ipc_mem_handle_t handle) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  IpcData data{};
  std::memcpy(&data, handle.data, sizeof(data));
  const Locked lock(state().mutex);
  for (auto each = state().exported.begin(); each != state().exported.end(); ++each) {
    if (each->second != data.descriptor) continue;
    close(each->second);
    state().exported.erase(each);
    return ZE_RESULT_SUCCESS;
  }
  return misuse("a handle was put back that wasn't given, or was put back already");
}

ze_result_t do_zeMemOpenIpcHandle(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                  ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void** out) {
  DeviceRef device;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find(state().device_table, device_handle, device, "device"));
  LEVELZERO_DOUBLE_TRY(health_of(*device));
  if (flags > 3) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  IpcData data{};
  std::memcpy(&data, handle.data, sizeof(data));
  Fetched fetched;
  if (is_opaque()) fetched.file = fetch(data);
  const int file = is_opaque() ? fetched.file : static_cast<int>(data.descriptor);
  struct stat found {};
  if (file < 0 || !AddressSpace::is_memory_file(file) || fstat(file, &found) != 0)
    return misuse("a handle was opened whose descriptor is no memory in this process");
  if (state().memory.is_own_file(file)) return misuse("a handle was opened in the process that made it");
  const auto file_bytes = static_cast<uint64_t>(found.st_size);
  if (data.bytes == 0 || data.offset > file_bytes || data.bytes > file_bytes - data.offset)
    return misuse("a handle was opened whose bytes were changed");
  Block model;
  model.kind = MemoryKind::device;
  model.owner = context->id;
  model.device = device->index;
  model.flags = opened;
  const uint64_t mapped = state().memory.open_shared(model, file, 0, data.bytes, data.offset);
  if (mapped == 0) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  *out = reinterpret_cast<void*>(mapped);  // NOLINT: a number
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeMemCloseIpcHandle(ze_context_handle_t context_handle, const void* address) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (address == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto block = state().memory.block_at(start_of(address));
  if (!block || (block->flags & opened) == 0)
    return misuse("an address was closed that isn't one of another process's memory, or not any more");
  if (block->owner != context->id) return misuse("memory was closed on another context than it was opened on");
  if (!state().memory.free(block->start, block->id) && !any_device_lost()) {
    misuse("another process's memory was closed while a command ran on it");
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyplace::doubles::levelzero
