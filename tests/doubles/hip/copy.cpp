// SPDX-License-Identifier: Apache-2.0
//
// The entries of copies and fills: what a kind says that the ends are.
#include "runtime.h"

namespace anyplace::doubles::hip {

bool ends_of(int kind, Want& destination, Want& source) {
  constexpr Want host = Want::host, device = Want::device, any = Want::any;
  constexpr Want rows[][2] = {{host, host}, {device, host}, {host, device}, {device, device}, {any, any}};
  static_assert(hipMemcpyHostToHost == 0 && hipMemcpyHostToDevice == 1 && hipMemcpyDeviceToHost == 2 &&
                hipMemcpyDeviceToDevice == 3 && hipMemcpyDefault == 4);
  if (kind < 0 || kind > hipMemcpyDefault) return false;
  destination = rows[kind][0];
  source = rows[kind][1];
  return true;
}

namespace {

int copy_kind(void* destination, const void* source, size_t bytes, int kind, hipStream_t stream,
              Form form = Form::in_stream) {
  Want to{};
  Want from{};
  if (!ends_of(kind, to, from)) return hipErrorInvalidMemcpyDirection;
  return copy_bytes(destination, to, source, from, bytes, stream, form);
}

/// The address is memory of that device, or of the host, and the device hasn't failed.
int check_end(int device, const void* address) {
  if (const int result = check_device(device); result != hipSuccess) return result;
  const Context& of_device = *primary_of(device);
  const int foreign = check_device_of(of_device, Word(address));
  return foreign != hipSuccess ? foreign : fault_of(of_device);
}

template <class Element>
int set_all(void* destination, Element value, size_t count, hipStream_t stream) {
  return fill<Element>({Word(destination), count, count}, value, stream, Form::in_stream);
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemcpy)(void* destination, const void* source, size_t bytes, int kind) {
  return copy_kind(destination, source, bytes, kind, nullptr, Form::synchronous);
}
HIP_DOUBLE_ENTRY(hipMemcpyAsync)
(void* destination, const void* source, size_t bytes, int kind, hipStream_t stream) {
  return copy_kind(destination, source, bytes, kind, stream);
}
HIP_DOUBLE_ENTRY(hipMemcpyHtoDAsync)(void* destination, const void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyHostToDevice, stream);
}
HIP_DOUBLE_ENTRY(hipMemcpyDtoHAsync)(void* destination, void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyDeviceToHost, stream);
}
HIP_DOUBLE_ENTRY(hipMemcpyDtoDAsync)(void* destination, void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyDeviceToDevice, stream);
}

HIP_DOUBLE_ENTRY(hipMemcpy2DAsync)
(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width, size_t height,
 int kind, hipStream_t stream) {
  Copy rows{{Word(destination), destination_pitch}, {Word(source), source_pitch}, width, height};
  if (!ends_of(kind, rows.destination.want, rows.source.want)) return hipErrorInvalidMemcpyDirection;
  if (width == 0 || height == 0) return hipSuccess;
  const size_t most = static_cast<size_t>(max_pitch);
  if (destination_pitch < width || source_pitch < width || destination_pitch > most || source_pitch > most) {
    return hipErrorInvalidPitchValue;
  }
  return copy_on(stream, rows, Form::in_stream);
}

HIP_DOUBLE_ENTRY(hipMemcpyPeerAsync)
(void* destination, int destination_device, const void* source, int source_device, size_t bytes, hipStream_t stream) {
  if (const int result = check_end(destination_device, destination); result != hipSuccess) return result;
  if (const int result = check_end(source_device, source); result != hipSuccess) return result;
  return copy_bytes(destination, Want::device, source, Want::device, bytes, stream, Form::in_stream);
}

HIP_DOUBLE_ENTRY(hipMemsetD8Async)(void* destination, unsigned char value, size_t count, hipStream_t stream) {
  return set_all<uint8_t>(destination, value, count, stream);
}
HIP_DOUBLE_ENTRY(hipMemsetD16Async)(void* destination, unsigned short value, size_t count, hipStream_t stream) {
  return set_all<uint16_t>(destination, value, count, stream);
}
HIP_DOUBLE_ENTRY(hipMemsetD32Async)(void* destination, int value, size_t count, hipStream_t stream) {
  return set_all<uint32_t>(destination, static_cast<uint32_t>(value), count, stream);
}

}  // namespace anyplace::doubles::hip
