// SPDX-License-Identifier: Apache-2.0
//
// The entries of copies and fills: between contexts, of rows, and by the kind of memory that each names.
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr Form synchronous = Form::synchronous, in_stream = Form::in_stream;

/// The address is memory of that context's device, or of the host.
int check_context_of(CUcontext handle, CUdeviceptr address) {
  ContextRef context;
  const int result = find_context(handle, context);
  if (result != CUDA_SUCCESS) return result;
  const int fault = fault_of(*context);
  return fault == CUDA_SUCCESS ? check_device_of(*context, address) : fault;
}

int copy_peer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context,
              size_t bytes, CUstream stream, Form form) {
  int result = check_context_of(destination_context, destination);
  if (result == CUDA_SUCCESS) result = check_context_of(source_context, source);
  if (result != CUDA_SUCCESS) return result;
  return copy_bytes(destination, Want::device, source, Want::device, bytes, stream, form);
}

int copy_2d(const CUDA_MEMCPY2D* asked, CUstream stream, Form form) {
  if (asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (asked->WidthInBytes == 0 || asked->Height == 0) return CUDA_SUCCESS;
  Copy copy;
  copy.width = asked->WidthInBytes;
  copy.height = asked->Height;
  int result = end_of(asked->srcMemoryType, asked->srcHost, asked->srcDevice, asked->srcXInBytes, asked->srcY,
                      asked->srcPitch, copy.width, copy.source);
  if (result == CUDA_SUCCESS) {
    result = end_of(asked->dstMemoryType, asked->dstHost, asked->dstDevice, asked->dstXInBytes, asked->dstY,
                    asked->dstPitch, copy.width, copy.destination);
  }
  return result == CUDA_SUCCESS ? copy_on(stream, copy, form) : result;
}

}  // namespace

int end_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch, size_t width,
           End& end) {
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
  if (x > SIZE_MAX - width || pitch < x + width || pitch > static_cast<size_t>(max_pitch)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t base = on_host ? Word(host) : Word(device);
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  end.address = base + y * pitch + x;
  end.pitch = pitch;
  end.want = on_host ? Want::host : type == CU_MEMORYTYPE_DEVICE ? Want::device : Want::any;
  return CUDA_SUCCESS;
}

// -- Without a stream: in the null stream, or the thread's own in the forms for that.

CUDA_DOUBLE_ENTRY(cuMemcpyHtoD_v2)(CUdeviceptr destination, const void* source, size_t bytes) {
  return copy_bytes(destination, Want::device, source, Want::host, bytes, nullptr, synchronous);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoH_v2)(void* destination, CUdeviceptr source, size_t bytes) {
  return copy_bytes(destination, Want::host, source, Want::device, bytes, nullptr, synchronous);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoD_v2)(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy_bytes(destination, Want::device, source, Want::device, bytes, nullptr, synchronous);
}

// -- In a stream.

CUDA_DOUBLE_ENTRY(cuMemcpyPeerAsync)
(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context, size_t bytes,
 CUstream stream) {
  return copy_peer(destination, destination_context, source, source_context, bytes, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemcpyHtoDAsync_v2)(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  return copy_bytes(destination, Want::device, source, Want::host, bytes, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoHAsync_v2)(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_bytes(destination, Want::host, source, Want::device, bytes, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoDAsync_v2)(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_bytes(destination, Want::device, source, Want::device, bytes, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_2d(copy, stream, in_stream);
}

// -- Fills.

CUDA_DOUBLE_ENTRY(cuMemsetD8_v2)(CUdeviceptr destination, unsigned char value, size_t count) {
  return fill<uint8_t>({destination, count, count}, value, nullptr, synchronous);
}
CUDA_DOUBLE_ENTRY(cuMemsetD16_v2)(CUdeviceptr destination, unsigned short value, size_t count) {
  return fill<uint16_t>({destination, count, count}, value, nullptr, synchronous);
}
CUDA_DOUBLE_ENTRY(cuMemsetD32_v2)(CUdeviceptr destination, unsigned value, size_t count) {
  return fill<uint32_t>({destination, count, count}, value, nullptr, synchronous);
}
CUDA_DOUBLE_ENTRY(cuMemsetD8Async)(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream) {
  return fill<uint8_t>({destination, count, count}, value, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemsetD16Async)(CUdeviceptr destination, unsigned short value, size_t count, CUstream stream) {
  return fill<uint16_t>({destination, count, count}, value, stream, in_stream);
}
CUDA_DOUBLE_ENTRY(cuMemsetD32Async)(CUdeviceptr destination, unsigned value, size_t count, CUstream stream) {
  return fill<uint32_t>({destination, count, count}, value, stream, in_stream);
}

}  // namespace anyplace::doubles::cuda
