// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills. Which of them block the caller follows CUDA's rules, which HIP's reference points at without
// spelling them out:
//   - from pageable host memory: up to 64 KiB are read during the call; of more, the call returns when the copy is
//     done.
//   - to pageable host memory, and from any host memory to any: the call returns when the copy is done.
//   - hipMemcpy: waits, but for copies within devices.
// With HIP_DOUBLE_PAGEABLE_ASYNC=1 the forms with a stream never block, and read and write the user's memory when the
// stream gets there: what wasn't waited for then shows.
//
// Stricter than the reference: copies whose ends overlap are noted as misuse.
#include <algorithm>
#include <cstring>
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

constexpr uint64_t kStaged = 64 * 1024;

unsigned char* pointer(uint64_t address) { return static_cast<unsigned char*>(to_pointer(address)); }

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

hipError_t check_ends(const Device& device, const Copy& copy, Checked& checked) {
  const End& to = copy.destination;
  const End& from = copy.source;
  hipError_t result =
      check_range(device, to.address, extent(to, copy), to.want, checked.uses, &checked.pageable_destination);
  if (result != hipSuccess) return result;
  result = check_range(device, from.address, extent(from, copy), from.want, checked.uses, &checked.pageable_source);
  if (result != hipSuccess) return result;
  checked.host_destination = is_host_memory(to.address);
  checked.host_source = is_host_memory(from.address);
  const bool overlap = to.address < from.address + copy.width && from.address < to.address + copy.width;
  if (overlap && copy.height == 1) misuses().add("a copy whose ends overlap");
  return hipSuccess;
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
  copy.source.address = to_address(staged->data());
  copy.source.pitch = copy.width;
  return staged;
}

/// `synchronous`: the form without a stream.
hipError_t copy_in(const StreamRef& stream, Copy copy, bool synchronous) {
  if (copy.width == 0 || copy.height == 0) return hipSuccess;
  Checked checked;
  hipError_t result = check_ends(*stream->device, copy, checked);
  if (result != hipSuccess) return result;
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
      result = wait_for(before, *stream->device);
      if (result != hipSuccess) return result;
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

hipError_t copy_on(hipStream_t handle, const Copy& copy, bool synchronous = false) {
  StreamRef stream;
  const hipError_t result = resolve_stream(handle, stream);
  return result == hipSuccess ? copy_in(stream, copy, synchronous) : result;
}

Copy linear(uint64_t destination, Want destination_is, uint64_t source, Want source_is, uint64_t bytes) {
  return Copy{End{destination, bytes, destination_is}, End{source, bytes, source_is}, bytes, 1};
}

/// What the kind says that the ends are. False: there is no such kind.
bool ends_of(int kind, Want& destination, Want& source) {
  switch (kind) {
    case hipMemcpyHostToHost:
      destination = source = Want::kHost;
      return true;
    case hipMemcpyHostToDevice:
      destination = Want::kDevice;
      source = Want::kHost;
      return true;
    case hipMemcpyDeviceToHost:
      destination = Want::kHost;
      source = Want::kDevice;
      return true;
    case hipMemcpyDeviceToDevice:
      destination = source = Want::kDevice;
      return true;
    case hipMemcpyDefault:
      destination = source = Want::kAny;
      return true;
    default:
      return false;
  }
}

hipError_t copy_kind(void* destination, const void* source, size_t bytes, int kind, hipStream_t stream,
                     bool synchronous) {
  Want to = Want::kAny;
  Want from = Want::kAny;
  if (!ends_of(kind, to, from)) return hipErrorInvalidMemcpyDirection;
  return copy_on(stream, linear(to_address(destination), to, to_address(source), from, bytes), synchronous);
}

/// The address is memory of that device, or of the host, and the device hasn't failed.
hipError_t check_device_of(int device, uint64_t address) {
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  const auto block = state().memory.block_of(address);
  const bool on_device = block && (block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kMapped);
  if (on_device && block->device != device) return hipErrorInvalidValue;
  return fault_of(*state().devices[static_cast<std::size_t>(device)]);
}

// -- Fills.

template <class Element>
hipError_t fill(void* destination, Element value, size_t count, hipStream_t handle) {
  StreamRef stream;
  hipError_t result = resolve_stream(handle, stream);
  if (result != hipSuccess || count == 0) return result;
  const uint64_t start = to_address(destination);
  if (start % sizeof(Element) != 0 || count > SIZE_MAX / sizeof(Element)) return hipErrorInvalidValue;
  std::vector<Use> uses;
  result = check_range(*stream->device, start, count * sizeof(Element), Want::kAccess, uses);
  if (result != hipSuccess) return result;
  Operation operation;
  operation.run = [uses = std::move(uses), destination, value, count] {
    return run_on(uses, "a fill", [&] {
      std::fill_n(static_cast<Element*>(destination), count, value);
      return 0;
    });
  };
  return submit_and(false, stream, std::move(operation));
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemcpy)(void* destination, const void* source, size_t bytes, int kind) {
  return copy_kind(destination, source, bytes, kind, nullptr, true);
}
HIP_DOUBLE_ENTRY(hipMemcpyAsync)
(void* destination, const void* source, size_t bytes, int kind, hipStream_t stream) {
  return copy_kind(destination, source, bytes, kind, stream, false);
}
HIP_DOUBLE_ENTRY(hipMemcpyHtoDAsync)(void* destination, const void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyHostToDevice, stream, false);
}
HIP_DOUBLE_ENTRY(hipMemcpyDtoHAsync)(void* destination, void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyDeviceToHost, stream, false);
}
HIP_DOUBLE_ENTRY(hipMemcpyDtoDAsync)(void* destination, void* source, size_t bytes, hipStream_t stream) {
  return copy_kind(destination, source, bytes, hipMemcpyDeviceToDevice, stream, false);
}

HIP_DOUBLE_ENTRY(hipMemcpy2DAsync)
(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width, size_t height,
 int kind, hipStream_t stream) {
  Copy copy;
  if (!ends_of(kind, copy.destination.want, copy.source.want)) return hipErrorInvalidMemcpyDirection;
  if (width == 0 || height == 0) return hipSuccess;
  const size_t most = static_cast<size_t>(kMaxPitch);
  if (destination_pitch < width || source_pitch < width || destination_pitch > most || source_pitch > most) {
    return hipErrorInvalidPitchValue;
  }
  copy.destination.address = to_address(destination);
  copy.destination.pitch = destination_pitch;
  copy.source.address = to_address(source);
  copy.source.pitch = source_pitch;
  copy.width = width;
  copy.height = height;
  return copy_on(stream, copy);
}

HIP_DOUBLE_ENTRY(hipMemcpyPeerAsync)
(void* destination, int destination_device, const void* source, int source_device, size_t bytes, hipStream_t stream) {
  hipError_t result = check_device_of(destination_device, to_address(destination));
  if (result == hipSuccess) result = check_device_of(source_device, to_address(source));
  if (result != hipSuccess) return result;
  return copy_on(stream, linear(to_address(destination), Want::kDevice, to_address(source), Want::kDevice, bytes));
}

HIP_DOUBLE_ENTRY(hipMemsetD8Async)(void* destination, unsigned char value, size_t count, hipStream_t stream) {
  return fill<uint8_t>(destination, value, count, stream);
}
HIP_DOUBLE_ENTRY(hipMemsetD16Async)(void* destination, unsigned short value, size_t count, hipStream_t stream) {
  return fill<uint16_t>(destination, value, count, stream);
}
HIP_DOUBLE_ENTRY(hipMemsetD32Async)(void* destination, int value, size_t count, hipStream_t stream) {
  return fill<uint32_t>(destination, static_cast<uint32_t>(value), count, stream);
}

}  // namespace anyplace::doubles::hip
