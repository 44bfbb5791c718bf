// SPDX-License-Identifier: Apache-2.0
#include "ipc.h"

#include "anyplace/backend/kit/ipc_bytes.h"

namespace anyplace::hip {
bool Ipc::has_events() noexcept { return driver().IpcGetEventHandle && driver().IpcOpenEventHandle; }

bool Ipc::has_memory() noexcept {
  return driver().IpcGetMemHandle && driver().IpcOpenMemHandle && driver().IpcCloseMemHandle &&
         driver().MemGetAddressRange;
}

void Ipc::export_memory(DeviceBase& device, anyplace_address address, anyplace_ipc_handle& out) {
  const DeviceScope scope(device);
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  device.check(driver().MemGetAddressRange(&base, &bytes, backend::from_handle<void>(address)),
               "hipMemGetAddressRange");
  hipIpcMemHandle_t handle{};
  const hipError_t result = driver().IpcGetMemHandle(&handle, base);
  if (result == hipErrorInvalidValue || result == hipErrorNotSupported) {
    throw backend::Failure(ANYPLACE_STATUS_UNSUPPORTED, "HIP shares memory of hipMalloc only", result,
                           "hipIpcGetMemHandle");
  }
  device.check(result, "hipIpcGetMemHandle");
  backend::write_ipc_bytes(handle, out);
  out.offset = address - backend::to_handle(base);
  out.size = bytes;
}

anyplace_address Ipc::import_memory(DeviceBase& device, const anyplace_ipc_handle& handle) {
  const auto native = backend::read_ipc_bytes<hipIpcMemHandle_t>(handle, "HIP");
  const DeviceScope scope(device);
  void* address = nullptr;
  device.check(driver().IpcOpenMemHandle(&address, native, hipIpcMemLazyEnablePeerAccess), "hipIpcOpenMemHandle");
  return backend::to_handle(address);
}

void Ipc::end_import(DeviceBase& device, anyplace_address address) {
  const EndScope scope(device);
  scope.end("hipIpcCloseMemHandle", [&] { return driver().IpcCloseMemHandle(backend::from_handle<void>(address)); });
}

void Ipc::export_event(Event& event, anyplace_ipc_handle& out) {
  DeviceBase& device = event.device();
  const DeviceScope scope(device);
  hipIpcEventHandle_t handle{};
  // Other processes know the event by this hipEvent_t, so it must never be exchanged.
  device.check(driver().IpcGetEventHandle(&handle, event.hand_out()), "hipIpcGetEventHandle");
  backend::write_ipc_bytes(handle, out);
}

Event* Ipc::import_event(DeviceBase& device, const anyplace_ipc_handle& handle) {
  const auto native = backend::read_ipc_bytes<hipIpcEventHandle_t>(handle, "HIP");
  const DeviceScope scope(device);
  hipEvent_t opened = nullptr;
  device.check(driver().IpcOpenEventHandle(&opened, native), "hipIpcOpenEventHandle");
  return new Event(device, Event::Adopted{opened});
}

}  // namespace anyplace::hip
