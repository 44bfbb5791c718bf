// SPDX-License-Identifier: Apache-2.0
//
// USM that is ordinary memory of the host, pinned for the devices of a context; and copies without a queue.
#include <anyplace/stream.h>

#include "allocations.h"
#include "entries.h"

namespace anyplace_ur {

namespace {

void register_memory(ur_context_handle_t context, void* memory, std::size_t size) {
  require_handle(context);
  require_pointer(memory);
  require(size != 0, UR_RESULT_ERROR_INVALID_SIZE, "there are no bytes to register");
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(memory);
  require(!allocations().find(base).has_value(), UR_RESULT_ERROR_INVALID_OPERATION, "the memory is registered already");
  Allocation allocation;
  allocation.registration = anyplace::HostRegistration(context->devices.front()->device, {memory, size});
  allocation.info = {UR_USM_TYPE_HOST, context, nullptr, base, size, nullptr};
  allocation.context = Hold<ur_context_handle_t_>(context);
  allocations().add(std::move(allocation));
}

void unregister_memory(ur_context_handle_t context, void* memory) {
  require_handle(context);
  require_pointer(memory);
  const bool known = allocations().take(reinterpret_cast<std::uintptr_t>(memory)).has_value();
  require(known, UR_RESULT_ERROR_INVALID_MEM_OBJECT, "no registered memory begins at this address");
}

}  // namespace

ur_result_t urUSMHostAllocRegisterExp(ur_context_handle_t context, void* memory, size_t size,
                                      const ur_exp_usm_host_alloc_register_properties_t*) {
  return guarded("urUSMHostAllocRegisterExp", [&] { register_memory(context, memory, size); });
}

ur_result_t urUSMHostAllocUnregisterExp(ur_context_handle_t context, void* memory) {
  return guarded("urUSMHostAllocUnregisterExp", [&] { unregister_memory(context, memory); });
}

ur_result_t urUSMImportExp(ur_context_handle_t context, void* memory, size_t size) {
  return guarded("urUSMImportExp", [&] { register_memory(context, memory, size); });
}

ur_result_t urUSMReleaseExp(ur_context_handle_t context, void* memory) {
  return guarded("urUSMReleaseExp", [&] { unregister_memory(context, memory); });
}

ur_result_t urUSMContextMemcpyExp(ur_context_handle_t context, void* destination, const void* source, size_t size) {
  return guarded("urUSMContextMemcpyExp", [&] {
    require_handle(context);
    require_pointer(destination);
    require_pointer(source);
    const auto owner = allocations().find(reinterpret_cast<std::uintptr_t>(destination));
    const bool of_device = owner.has_value() && owner->device != nullptr;
    const anyplace::StreamView stream = (of_device ? owner->device : context->devices.front())->service();
    stream.copy(anyplace::Address(destination), anyplace::Address(source), size);
    stream.synchronize();
  });
}

}  // namespace anyplace_ur
