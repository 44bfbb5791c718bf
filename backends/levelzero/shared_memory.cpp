// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/ipc_bytes.h"
#include "device_base.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

/// The bytes of a handle for another process.
struct MemoryBytes {
  backend::DescriptorOwner owner;
  backend::CarriedDescriptor descriptor;
  std::uint32_t is_carried;
  std::uint32_t reserved;
  ze_ipc_mem_handle_t handle;
};

/// The file descriptor at the beginning of a handle; -1 if there is none.
int descriptor_in(const ze_ipc_mem_handle_t& handle) noexcept {
  int number = -1;
  std::memcpy(&number, handle.data, sizeof(number));
  const bool is_blank = std::all_of(handle.data, std::end(handle.data), [](char c) { return c == 0; });
  return is_blank || number < 0 || fcntl(number, F_GETFD) < 0 ? -1 : number;
}

/// Whether the handle names this process, so that the driver fetches the descriptor itself. Such a handle has the
/// process's number where the other kind has the kind of memory, a small number, and nonzero bytes behind it.
bool names_its_process(const ze_ipc_mem_handle_t& handle) noexcept {
  constexpr std::size_t process_at = 16, behind = 20;
  constexpr std::uint32_t largest_kind = 255;
  std::uint32_t process = 0;
  std::memcpy(&process, handle.data + process_at, sizeof(process));
  if (process != static_cast<std::uint32_t>(getpid())) return false;
  return process > largest_kind ||
         std::any_of(handle.data + behind, std::end(handle.data), [](char c) { return c != 0; });
}

}  // namespace

bool SharedMemory::is_supported(const DeviceBase& device) noexcept {
  const Api& a = api();
  return device.facts().shares_memory && a.MemGetIpcHandle != nullptr && a.MemOpenIpcHandle != nullptr &&
         a.MemCloseIpcHandle != nullptr;
}

// ---- Memory of this process ----------------------------------------------------------------------------------------

SharedMemory::Exported SharedMemory::get_handle(anyplace_address start) {
  Exported made;
  const ze_result_t result = api().MemGetIpcHandle(device_.context(), from_handle<const void>(start), &made.handle);
  if (result != ZE_RESULT_SUCCESS) backend::require_descriptor("sharing a buffer");
  if (result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_INVALID_ARGUMENT) {
    Results::fail(result, "zeMemGetIpcHandle", ANYPLACE_STATUS_UNSUPPORTED);
  }
  device_.check(result, "zeMemGetIpcHandle");
  if (names_its_process(made.handle)) return made;
  const int number = descriptor_in(made.handle);
  if (number < 0) {
    // The handle isn't given back, because its kind is unknown; it ends with the memory.
    refuse(
        ANYPLACE_STATUS_UNSUPPORTED,
        "the driver's handle neither begins with a file descriptor nor names its process: how to send it isn't known");
  }
  made.is_carried = true;
  made.descriptor = backend::descriptor_server().offer(number);
  return made;
}

ze_result_t SharedMemory::put_handle(const Exported& exported) noexcept {
  if (exported.is_carried) backend::descriptor_server().withdraw(static_cast<int>(exported.descriptor.number));
  // Before version 1.6 of the API a handle ends with the memory. A later loader has the function for such a driver,
  // too.
  if (api().MemPutIpcHandle == nullptr) return ZE_RESULT_SUCCESS;
  const ze_result_t result = api().MemPutIpcHandle(device_.context_or_null(), exported.handle);
  return result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE ? ZE_RESULT_SUCCESS : result;
}

void SharedMemory::export_memory(anyplace_address address, anyplace_ipc_handle& out) {
  const Memory::Allocation allocation = memory_.device_allocation_of(address);
  if (allocation.bytes == 0) refuse(ANYPLACE_STATUS_UNSUPPORTED, "Level Zero shares allocated device memory only");
  const std::lock_guard lock(mutex_);
  auto found = exported_.find(allocation.start);
  if (found == exported_.end()) {
    const auto place = exported_.emplace(allocation.start, Exported{}).first;
    try {
      place->second = get_handle(allocation.start);
    } catch (...) {
      exported_.erase(place);
      throw;
    }
    found = place;
  }
  Exported& exported = found->second;
  ++exported.count;
  const MemoryBytes bytes{backend::descriptor_server().owner(), exported.descriptor, exported.is_carried ? 1u : 0u, 0,
                          exported.handle};
  backend::write_ipc_bytes(bytes, out);
  out.offset = address - allocation.start;
  out.size = allocation.bytes;
}

void SharedMemory::end_export(anyplace_address address) {
  const Memory::Allocation allocation = memory_.device_allocation_of(address);
  const std::lock_guard lock(mutex_);
  const auto found = exported_.find(allocation.start);
  if (found == exported_.end() || --found->second.count != 0) return;
  const Exported ended = found->second;
  exported_.erase(found);
  device_.ending().check(put_handle(ended), "zeMemPutIpcHandle");
}

// ---- Memory of other processes -------------------------------------------------------------------------------------

anyplace_address SharedMemory::import_memory(const anyplace_ipc_handle& from) {
  auto bytes = backend::read_ipc_bytes<MemoryBytes>(from, "Level Zero");
  const ze_context_handle_t context = device_.context();
  Imported imported;
  if (bytes.is_carried != 0) {
    imported.descriptor = std::move(backend::fetch_descriptors(bytes.owner, {&bytes.descriptor, 1}).front());
    imported.inode = bytes.descriptor.inode;
    const int number = imported.descriptor.number();
    std::memcpy(bytes.handle.data, &number, sizeof(number));
  }
  const std::lock_guard lock(mutex_);
  void* opened = nullptr;
  const ze_result_t result = api().MemOpenIpcHandle(context, device_.native(), bytes.handle, 0, &opened);
  if (result != ZE_RESULT_SUCCESS) backend::require_descriptor("another process's memory");
  device_.check(result, "zeMemOpenIpcHandle");
  check_made(opened, "zeMemOpenIpcHandle");
  try {
    imported_.emplace(to_handle(opened), std::move(imported));
  } catch (...) {
    api().MemCloseIpcHandle(context, opened);
    throw;
  }
  return to_handle(opened);
}

/// The descriptor was kept because the specification doesn't say whether the driver still needs it. If the driver has
/// closed it, the number may be another file's by now, which must stay open.
void SharedMemory::let_go(Imported& imported) noexcept {
  if (imported.descriptor && backend::inode_of(imported.descriptor.number()) != imported.inode) {
    static_cast<void>(imported.descriptor.release());
  }
}

void SharedMemory::end_import(anyplace_address address) {
  const std::lock_guard lock(mutex_);
  const auto found = imported_.find(address);
  if (found == imported_.end()) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "no memory of another process is open at address " + std::to_string(address));
  }
  const Ending ending = device_.ending();
  const ze_result_t result = api().MemCloseIpcHandle(device_.context_or_null(), from_handle<const void>(address));
  let_go(found->second);
  imported_.erase(found);
  ending.check(result, "zeMemCloseIpcHandle");
}

void SharedMemory::close(FirstFailure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [address, imported] : imported_) {
    failure.add(api().MemCloseIpcHandle(device_.context_or_null(), from_handle<const void>(address)),
                "zeMemCloseIpcHandle");
    let_go(imported);
  }
  imported_.clear();
  for (const auto& [start, exported] : exported_) failure.add(put_handle(exported), "zeMemPutIpcHandle");
  exported_.clear();
}

}  // namespace anyplace::levelzero
