// SPDX-License-Identifier: Apache-2.0
#include "ipc.h"

#include "anyplace/backend/kit/ipc_bytes.h"

namespace anyplace::cuda {
bool Ipc::has_events() noexcept {
  return driver().IpcGetEventHandle != nullptr && driver().IpcOpenEventHandle != nullptr;
}

bool Ipc::has_memory() noexcept {
  return driver().IpcGetMemHandle != nullptr && driver().IpcOpenMemHandle != nullptr &&
         driver().IpcCloseMemHandle != nullptr && driver().MemGetAddressRange != nullptr;
}

void Ipc::export_memory(DeviceBase& device, anyplace_address address, anyplace_ipc_handle& out) {
  const DeviceScope scope(device);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  device.check(driver().MemGetAddressRange(&base, &bytes, address), "cuMemGetAddressRange");
  CUipcMemHandle handle{};
  const CUresult result = driver().IpcGetMemHandle(&handle, base);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
    throw backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "CUDA shares memory of cuMemAlloc only", result,
                           "cuIpcGetMemHandle");
  }
  device.check(result, "cuIpcGetMemHandle");
  backend::write_ipc_bytes(handle, out);
  out.offset = address - base;
  out.size = bytes;
}

anyplace_address Ipc::import_memory(DeviceBase& device, const anyplace_ipc_handle& handle) {
  const auto native = backend::read_ipc_bytes<CUipcMemHandle>(handle, "CUDA");
  const DeviceScope scope(device);
  CUdeviceptr address = 0;
  device.check(driver().IpcOpenMemHandle(&address, native, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "cuIpcOpenMemHandle");
  return address;
}

void Ipc::end_import(DeviceBase& device, anyplace_address address) {
  const EndScope scope(device);
  scope.end("cuIpcCloseMemHandle", [&] { return driver().IpcCloseMemHandle(address); });
}

void Ipc::export_event(Event& event, anyplace_ipc_handle& out) {
  DeviceBase& device = event.device();
  const DeviceScope scope(device);
  CUipcEventHandle handle{};
  // Other processes know the event by this CUevent, so it must never be exchanged.
  device.check(driver().IpcGetEventHandle(&handle, event.hand_out()), "cuIpcGetEventHandle");
  backend::write_ipc_bytes(handle, out);
}

Event* Ipc::import_event(DeviceBase& device, const anyplace_ipc_handle& handle) {
  const auto native = backend::read_ipc_bytes<CUipcEventHandle>(handle, "CUDA");
  const DeviceScope scope(device);
  CUevent opened = nullptr;
  device.check(driver().IpcOpenEventHandle(&opened, native), "cuIpcOpenEventHandle");
  return new Event(device, Event::Adopted{opened});
}

}  // namespace anyplace::cuda
