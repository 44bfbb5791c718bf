// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills, in streams or not. Which of them block the caller is taken from the reference's page on the
// synchronisation of the driver API:
//   - from pageable host memory: up to 64 KiB are read during the call; of more, the call returns when the copy is
//   done.
//   - to pageable host memory, and from any host memory to any: the call returns when the copy is done.
//   - the forms without a stream: wait, but for copies within devices and fills of device memory, which don't.
// With CUDA_DOUBLE_PAGEABLE_ASYNC=1 the forms with a stream never block, and read and write the user's memory when the
// stream gets there: what wasn't waited for then shows.
//
// Stricter than the reference: copies whose ends overlap are noted as misuse.
#include <algorithm>
#include <cstring>
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr uint64_t kStaged = 64 * 1024;

unsigned char* pointer(uint64_t address) { return reinterpret_cast<unsigned char*>(address); }  // NOLINT: one space
uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }          // NOLINT

/// One end of a copy: `height` rows that begin `pitch` apart.
struct End {
  uint64_t address = 0;
  uint64_t pitch = 0;
  Want want = Want::kAny;
};

struct Copy {
  End destination, source;
  uint64_t width = 0;
  uint64_t height = 1;
};

/// What is known of a copy's ends once they were checked.
struct Checked {
  std::vector<Use> uses;
  bool pageable_destination = false, pageable_source = false;
  bool host_destination = false, host_source = false;
};

uint64_t extent(const End& end, const Copy& copy) { return end.pitch * (copy.height - 1) + copy.width; }

bool is_host_memory(uint64_t address) {
  const auto block = state().memory.block_of(address);
  return !block || block->kind == MemoryKind::kPinned || block->kind == MemoryKind::kRegistered;
}

CUresult check_ends(const Context& context, const Copy& copy, Checked& checked) {
  const End& to = copy.destination;
  const End& from = copy.source;
  CUresult result =
      check_range(context, to.address, extent(to, copy), to.want, checked.uses, &checked.pageable_destination);
  if (result != CUDA_SUCCESS) return result;
  result = check_range(context, from.address, extent(from, copy), from.want, checked.uses, &checked.pageable_source);
  if (result != CUDA_SUCCESS) return result;
  checked.host_destination = is_host_memory(to.address);
  checked.host_source = is_host_memory(from.address);
  const bool overlap = to.address < from.address + copy.width && from.address < to.address + copy.width;
  if (overlap && copy.height == 1) misuses().add("a copy whose ends overlap");
  return CUDA_SUCCESS;
}

void copy_rows(const Copy& copy) {
  for (uint64_t row = 0; row < copy.height; ++row) {
    std::memmove(pointer(copy.destination.address + row * copy.destination.pitch),
                 pointer(copy.source.address + row * copy.source.pitch), copy.width);
  }
}

/// The source's bytes now, as a copy that the operation can read later.
std::shared_ptr<std::vector<unsigned char>> stage(Copy& copy) {
  auto staged = std::make_shared<std::vector<unsigned char>>(copy.width * copy.height);
  for (uint64_t row = 0; row < copy.height; ++row) {
    std::memcpy(staged->data() + row * copy.width, pointer(copy.source.address + row * copy.source.pitch), copy.width);
  }
  copy.source.address = address_of(staged->data());
  copy.source.pitch = copy.width;
  return staged;
}

/// `synchronous`: the form without a stream.
CUresult copy_in(const StreamRef& stream, Copy copy, bool synchronous) {
  if (copy.width == 0 || copy.height == 0) return CUDA_SUCCESS;
  Checked checked;
  CUresult result = check_ends(*stream->context, copy, checked);
  if (result != CUDA_SUCCESS) return result;
  const bool async_anyway = !synchronous && state().config.pageable_async;
  const bool on_host_alone = checked.host_destination && checked.host_source;
  bool wait = !async_anyway && (checked.pageable_destination || on_host_alone);
  if (synchronous && (checked.host_destination || (checked.host_source && !checked.pageable_source))) wait = true;
  std::shared_ptr<std::vector<unsigned char>> staged;
  if (checked.pageable_source && !async_anyway && !wait) {
    // Without a stream, what was submitted before is waited for, but not the copy from the driver's own memory.
    if (synchronous) {
      std::vector<CompletionRef> before;
      {
        const Locked lock(state().mutex);
        before = pending(lock, *stream);
      }
      result = wait_for(before, *stream->context);
      if (result != CUDA_SUCCESS) return result;
    }
    wait = copy.width * copy.height > kStaged;
    if (!wait) staged = stage(copy);
  }
  Operation operation;
  operation.run = [uses = std::move(checked.uses), staged = std::move(staged), copy] {
    return run_on(uses, "a copy", [&] {
      copy_rows(copy);
      return 0;
    });
  };
  return submit_and(wait, stream, std::move(operation));
}

CUresult copy_on(CUstream handle, const Copy& copy, bool synchronous = false) {
  ContextRef current;
  CUresult result = current_context(current);
  if (result != CUDA_SUCCESS) return result;
  StreamRef stream;
  result = resolve_stream(handle, stream);
  return result == CUDA_SUCCESS ? copy_in(stream, copy, synchronous) : result;
}

Copy linear(uint64_t destination, Want destination_is, uint64_t source, Want source_is, uint64_t bytes) {
  return Copy{End{destination, bytes, destination_is}, End{source, bytes, source_is}, bytes, 1};
}

// -- Copies between contexts.

/// The address is memory of that context's device, or of the host.
CUresult check_context_of(CUcontext handle, CUdeviceptr address) {
  ContextRef context;
  const CUresult result = find_context(handle, context);
  if (result != CUDA_SUCCESS) return result;
  if (const CUresult fault = fault_of(*context); fault != CUDA_SUCCESS) return fault;
  const auto block = state().memory.block_of(address);
  const bool on_device = block && (block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kMapped);
  return on_device && block->device != context->device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult copy_peer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context,
                   size_t bytes, CUstream stream, bool synchronous) {
  CUresult result = check_context_of(destination_context, destination);
  if (result == CUDA_SUCCESS) result = check_context_of(source_context, source);
  if (result != CUDA_SUCCESS) return result;
  return copy_on(stream, linear(destination, Want::kDevice, source, Want::kDevice, bytes), synchronous);
}

// -- Copies of rows.

CUresult end_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch, size_t width,
                End& end) {
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
  if (x > SIZE_MAX - width || pitch < x + width || pitch > static_cast<size_t>(kMaxPitch)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t base = on_host ? address_of(host) : device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  end.address = base + y * pitch + x;
  end.pitch = pitch;
  end.want = on_host ? Want::kHost : type == CU_MEMORYTYPE_DEVICE ? Want::kDevice : Want::kAny;
  return CUDA_SUCCESS;
}

CUresult copy_2d(const CUDA_MEMCPY2D* asked, CUstream stream, bool synchronous) {
  if (asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (asked->WidthInBytes == 0 || asked->Height == 0) return CUDA_SUCCESS;
  Copy copy;
  copy.width = asked->WidthInBytes;
  copy.height = asked->Height;
  CUresult result = end_of(asked->srcMemoryType, asked->srcHost, asked->srcDevice, asked->srcXInBytes, asked->srcY,
                           asked->srcPitch, copy.width, copy.source);
  if (result == CUDA_SUCCESS) {
    result = end_of(asked->dstMemoryType, asked->dstHost, asked->dstDevice, asked->dstXInBytes, asked->dstY,
                    asked->dstPitch, copy.width, copy.destination);
  }
  return result == CUDA_SUCCESS ? copy_on(stream, copy, synchronous) : result;
}

// -- Fills.

template <class Element>
CUresult fill(CUdeviceptr destination, size_t pitch, Element value, size_t width, size_t height, CUstream handle,
              bool synchronous) {
  ContextRef current;
  CUresult result = current_context(current);
  if (result != CUDA_SUCCESS) return result;
  StreamRef stream;
  result = resolve_stream(handle, stream);
  if (result != CUDA_SUCCESS || width == 0 || height == 0) return result;
  if (destination % sizeof(Element) != 0 || width > SIZE_MAX / sizeof(Element)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t row = width * sizeof(Element);
  if (height > 1 && (pitch < row || pitch % sizeof(Element) != 0)) return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && pitch > static_cast<size_t>(kMaxPitch)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Use> uses;
  const uint64_t extent = (height - 1) * pitch + row;
  result = check_range(*stream->context, destination, extent, Want::kAccess, uses);
  if (result != CUDA_SUCCESS) return result;
  const bool wait = synchronous && is_host_memory(destination);
  Operation operation;
  operation.run = [uses = std::move(uses), destination, pitch, value, width, height] {
    return run_on(uses, "a fill", [&] {
      for (size_t y = 0; y < height; ++y) {
        auto* const first = reinterpret_cast<Element*>(destination + y * pitch);  // NOLINT: one address space
        std::fill_n(first, width, value);
      }
      return 0;
    });
  };
  return submit_and(wait, stream, std::move(operation));
}

}  // namespace

// -- Without a stream: in the null stream, or the thread's own in the forms for that.

CUDA_DOUBLE_ENTRY(cuMemcpy)(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy_on(nullptr, linear(destination, Want::kAny, source, Want::kAny, bytes), true);
}
CUDA_DOUBLE_ENTRY(cuMemcpyPeer)
(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context, size_t bytes) {
  return copy_peer(destination, destination_context, source, source_context, bytes, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemcpyHtoD_v2)(CUdeviceptr destination, const void* source, size_t bytes) {
  return copy_on(nullptr, linear(destination, Want::kDevice, address_of(source), Want::kHost, bytes), true);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoH_v2)(void* destination, CUdeviceptr source, size_t bytes) {
  return copy_on(nullptr, linear(address_of(destination), Want::kHost, source, Want::kDevice, bytes), true);
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoD_v2)(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy_on(nullptr, linear(destination, Want::kDevice, source, Want::kDevice, bytes), true);
}
CUDA_DOUBLE_ENTRY(cuMemcpy2D_v2)(const CUDA_MEMCPY2D* copy) { return copy_2d(copy, nullptr, true); }
CUDA_DOUBLE_ENTRY(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D* copy) { return copy_2d(copy, nullptr, true); }

// -- In a stream.

CUDA_DOUBLE_ENTRY(cuMemcpyAsync)(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_on(stream, linear(destination, Want::kAny, source, Want::kAny, bytes));
}
CUDA_DOUBLE_ENTRY(cuMemcpyPeerAsync)
(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context, size_t bytes,
 CUstream stream) {
  return copy_peer(destination, destination_context, source, source_context, bytes, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemcpyHtoDAsync_v2)(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  return copy_on(stream, linear(destination, Want::kDevice, address_of(source), Want::kHost, bytes));
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoHAsync_v2)(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_on(stream, linear(address_of(destination), Want::kHost, source, Want::kDevice, bytes));
}
CUDA_DOUBLE_ENTRY(cuMemcpyDtoDAsync_v2)(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_on(stream, linear(destination, Want::kDevice, source, Want::kDevice, bytes));
}
CUDA_DOUBLE_ENTRY(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_2d(copy, stream, false);
}

// -- Fills.

CUDA_DOUBLE_ENTRY(cuMemsetD8_v2)(CUdeviceptr destination, unsigned char value, size_t count) {
  return fill<uint8_t>(destination, count, value, count, 1, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD16_v2)(CUdeviceptr destination, unsigned short value, size_t count) {
  return fill<uint16_t>(destination, count, value, count, 1, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD32_v2)(CUdeviceptr destination, unsigned value, size_t count) {
  return fill<uint32_t>(destination, count, value, count, 1, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D8_v2)
(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill<uint8_t>(destination, pitch, value, width, height, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D16_v2)
(CUdeviceptr destination, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill<uint16_t>(destination, pitch, value, width, height, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D32_v2)
(CUdeviceptr destination, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill<uint32_t>(destination, pitch, value, width, height, nullptr, true);
}
CUDA_DOUBLE_ENTRY(cuMemsetD8Async)(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream) {
  return fill<uint8_t>(destination, count, value, count, 1, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemsetD16Async)(CUdeviceptr destination, unsigned short value, size_t count, CUstream stream) {
  return fill<uint16_t>(destination, count, value, count, 1, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemsetD32Async)(CUdeviceptr destination, unsigned value, size_t count, CUstream stream) {
  return fill<uint32_t>(destination, count, value, count, 1, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D8Async)
(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
  return fill<uint8_t>(destination, pitch, value, width, height, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D16Async)
(CUdeviceptr destination, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
  return fill<uint16_t>(destination, pitch, value, width, height, stream, false);
}
CUDA_DOUBLE_ENTRY(cuMemsetD2D32Async)
(CUdeviceptr destination, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
  return fill<uint32_t>(destination, pitch, value, width, height, stream, false);
}

}  // namespace anyplace::doubles::cuda
