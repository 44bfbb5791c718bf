// SPDX-License-Identifier: Apache-2.0
//
// Variables of programs, and native handles.
#include "command.h"
#include "entries.h"
#include "program.h"

namespace anyplace_ur {

namespace {

/// Where a range of a variable is.
anyplace::Address within(const anyplace::ModuleGlobal& global, std::size_t offset, std::size_t size) {
  require(size != 0 && offset <= global.size_bytes && size <= global.size_bytes - offset, UR_RESULT_ERROR_INVALID_SIZE,
          "the range is empty, or not within the variable");
  return anyplace::Address(global.address + offset);
}

}  // namespace

ur_result_t urProgramGetGlobalVariablePointer(ur_device_handle_t device, ur_program_handle_t program, const char* name,
                                              size_t* size, void** pointer) {
  return guarded("urProgramGetGlobalVariablePointer", [&] {
    require_handle(device);
    require_handle(program);
    require_pointer(name);
    require_pointer(pointer);
    const anyplace::ModuleGlobal global = program->global(device, name);
    *pointer = reinterpret_cast<void*>(global.address);
    if (size != nullptr) *size = static_cast<size_t>(global.size_bytes);
  });
}

ur_result_t urEnqueueDeviceGlobalVariableWrite(ur_queue_handle_t queue, ur_program_handle_t program, const char* name,
                                               bool blocking, size_t size, size_t offset, const void* source,
                                               uint32_t count, const ur_event_handle_t* waits,
                                               ur_event_handle_t* event) {
  return guarded("urEnqueueDeviceGlobalVariableWrite", [&] {
    require_handle(queue);
    require_handle(program);
    require_pointer(name);
    require_pointer(source);
    const anyplace::Address to = within(program->global(queue->device, name), offset, size);
    submit(queue, UR_COMMAND_DEVICE_GLOBAL_VARIABLE_WRITE, blocking, {count, waits}, event,
           [&](anyplace::StreamView stream) {
             const anyplace::Buffer view = anyplace::Buffer::from_native(queue->device->device, to.value(), size);
             stream.copy(view, anyplace::ConstHostSpan(source, size));
           });
  });
}

ur_result_t urEnqueueDeviceGlobalVariableRead(ur_queue_handle_t queue, ur_program_handle_t program, const char* name,
                                              bool blocking, size_t size, size_t offset, void* destination,
                                              uint32_t count, const ur_event_handle_t* waits,
                                              ur_event_handle_t* event) {
  return guarded("urEnqueueDeviceGlobalVariableRead", [&] {
    require_handle(queue);
    require_handle(program);
    require_pointer(name);
    require_pointer(destination);
    const anyplace::Address from = within(program->global(queue->device, name), offset, size);
    submit(queue, UR_COMMAND_DEVICE_GLOBAL_VARIABLE_READ, blocking, {count, waits}, event,
           [&](anyplace::StreamView stream) {
             const anyplace::Buffer view = anyplace::Buffer::from_native(queue->device->device, from.value(), size);
             stream.copy(anyplace::HostSpan(destination, size), view);
           });
  });
}

ur_result_t urProgramGetNativeHandle(ur_program_handle_t program, ur_native_handle_t* native) {
  return guarded("urProgramGetNativeHandle", [&] {
    require_handle(program);
    require_pointer(native);
    const std::vector<ur_device_handle_t> built = program->built();
    require(built.size() == 1, UR_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "each device has a native module of its own, and the program isn't built for exactly one");
    *native = program->on.at(built.front()).module.native_handle();
  });
}

}  // namespace anyplace_ur
