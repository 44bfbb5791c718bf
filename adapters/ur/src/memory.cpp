// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <anyplace/address.h>

#include "entries.h"
#include "info.h"

namespace anyplace_ur {

namespace {

constexpr ur_mem_flags_t access_flags = UR_MEM_FLAG_READ_WRITE | UR_MEM_FLAG_WRITE_ONLY | UR_MEM_FLAG_READ_ONLY;
constexpr ur_mem_flags_t pointer_flags = UR_MEM_FLAG_USE_HOST_POINTER | UR_MEM_FLAG_ALLOC_COPY_HOST_POINTER;
constexpr ur_mem_flags_t known_flags = access_flags | pointer_flags | UR_MEM_FLAG_ALLOC_HOST_POINTER;

void check_flags(ur_mem_flags_t flags) {
  require((flags & ~known_flags) == 0, UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such flag of a buffer");
}

void* host_pointer(ur_mem_flags_t flags, const ur_buffer_properties_t* properties) {
  void* const host = properties == nullptr ? nullptr : properties->pHost;
  const bool wanted = (flags & pointer_flags) != 0;
  require(wanted == (host != nullptr), UR_RESULT_ERROR_INVALID_HOST_PTR,
          wanted ? "the flags ask for memory of the host, and none is given"
                 : "memory of the host is given, and the flags don't say what for");
  return host;
}

/// A buffer of memory that anyplace knows, from an address to the end of its allocation.
ur_mem_handle_t wrap(ur_context_handle_t context, std::uint64_t address) {
  const anyplace::PointerAttributes known = anyplace::pointer_attributes(anyplace::Address(address));
  const auto size = static_cast<std::size_t>(known.size_bytes - known.offset);
  if (known.kind == anyplace::AddressKind::pinned || known.kind == anyplace::AddressKind::registered) {
    return new ur_mem_handle_t_(context, UR_MEM_FLAG_READ_WRITE, size, reinterpret_cast<void*>(address),
                                Storage::Host::pinned);
  }
  ur_device_handle_t owner = nullptr;
  for (const ur_device_handle_t device : context->devices) {
    if (known.device == device->device) owner = device;
  }
  require(owner != nullptr, UR_RESULT_ERROR_INVALID_MEM_OBJECT,
          "a native handle is an address of memory that anyplace knows, of a device of the context or pinned");
  auto made = std::make_unique<ur_mem_handle_t_>(context, UR_MEM_FLAG_READ_WRITE, size, nullptr);
  made->storage->adopt(owner, address);
  return made.release();
}

}  // namespace

ur_result_t urMemBufferCreate(ur_context_handle_t context, ur_mem_flags_t flags, size_t size,
                              const ur_buffer_properties_t* properties, ur_mem_handle_t* buffer) {
  return guarded("urMemBufferCreate", [&] {
    require_handle(context);
    require_pointer(buffer);
    check_flags(flags);
    require(size != 0, UR_RESULT_ERROR_INVALID_BUFFER_SIZE, "a buffer has at least one byte");
    void* const host = host_pointer(flags, properties);
    const bool keeps_host = (flags & UR_MEM_FLAG_USE_HOST_POINTER) != 0;
    auto made = std::make_unique<ur_mem_handle_t_>(context, flags, size, keeps_host ? host : nullptr);
    if (host != nullptr && !keeps_host) made->storage->initialise(host);
    *buffer = made.release();
  });
}

ur_result_t urMemRetain(ur_mem_handle_t memory) {
  return guarded("urMemRetain", [&] {
    require_handle(memory);
    memory->retain();
  });
}

ur_result_t urMemRelease(ur_mem_handle_t memory) {
  return guarded("urMemRelease", [&] {
    require_handle(memory);
    release_handle(memory);
  });
}

ur_result_t urMemBufferPartition(ur_mem_handle_t buffer, ur_mem_flags_t flags, ur_buffer_create_type_t type,
                                 const ur_buffer_region_t* region, ur_mem_handle_t* part) {
  return guarded("urMemBufferPartition", [&] {
    require_handle(buffer);
    check_flags(flags);
    require(type == UR_BUFFER_CREATE_TYPE_REGION, UR_RESULT_ERROR_INVALID_ENUMERATION,
            "there is no such kind of part of a buffer");
    require_pointer(region);
    require_pointer(part);
    require(!buffer->parent, UR_RESULT_ERROR_INVALID_MEM_OBJECT, "a part of a buffer has no parts");
    require((flags & pointer_flags) == 0, UR_RESULT_ERROR_INVALID_VALUE, "a part has the memory of its buffer");
    const ur_mem_flags_t whole = buffer->flags & access_flags;
    const ur_mem_flags_t wanted = flags & access_flags;
    const bool restricted = whole == UR_MEM_FLAG_READ_ONLY || whole == UR_MEM_FLAG_WRITE_ONLY;
    require(!restricted || wanted == 0 || wanted == whole, UR_RESULT_ERROR_INVALID_VALUE,
            "a part allows nothing that its buffer doesn't");
    const bool within =
        region->size != 0 && region->origin <= buffer->size && region->size <= buffer->size - region->origin;
    require(within, UR_RESULT_ERROR_INVALID_BUFFER_SIZE, "the part is empty, or not within the buffer");
    *part = new ur_mem_handle_t_(buffer, wanted == 0 ? flags | whole : flags, region->origin, region->size);
  });
}

ur_result_t urMemGetInfo(ur_mem_handle_t memory, ur_mem_info_t name, size_t size, void* value, size_t* size_needed) {
  return guarded("urMemGetInfo", [&] {
    require_handle(memory);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_MEM_INFO_SIZE:
        return write(memory->size);
      case UR_MEM_INFO_CONTEXT:
        return write(memory->context.get());
      case UR_MEM_INFO_REFERENCE_COUNT:
        return write(memory->references());
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a buffer");
    }
  });
}

ur_result_t urMemGetNativeHandle(ur_mem_handle_t memory, ur_device_handle_t device, ur_native_handle_t* native) {
  return guarded("urMemGetNativeHandle", [&] {
    require_handle(memory);
    require_pointer(native);
    const ur_device_handle_t on = device == nullptr ? memory->context->devices.front() : device;
    require(memory->context->has(on), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the context's");
    const anyplace::StreamView service = on->service();
    *native = memory->storage->for_kernels(on, service, Access::write) + memory->offset;
    service.synchronize();
  });
}

ur_result_t urMemBufferCreateWithNativeHandle(ur_native_handle_t native, ur_context_handle_t context,
                                              const ur_mem_native_properties_t*, ur_mem_handle_t* buffer) {
  return guarded("urMemBufferCreateWithNativeHandle", [&] {
    require_handle(context);
    require_pointer(buffer);
    *buffer = wrap(context, native);
  });
}

}  // namespace anyplace_ur
