// SPDX-License-Identifier: Apache-2.0
//
// Programs and kernels through Unified Runtime itself: an image of the host, loaded as a binary and launched on the
// first device of the first platform. ur_programs IMAGE.so
#include <unified-runtime/ur_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

constexpr std::uint32_t count = 1000;
constexpr std::uint32_t factor = 3;
constexpr std::uint32_t offset = 5;

void must(ur_result_t result, const char* call) {
  if (result == UR_RESULT_SUCCESS) return;
  std::fprintf(stderr, "%s: result %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define MUST(call) must(call, #call)

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

std::vector<std::uint8_t> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Objects {
  ur_device_handle_t device = nullptr;
  ur_context_handle_t context = nullptr;
  ur_queue_handle_t queue = nullptr;
};

Objects open() {
  Objects objects;
  MUST(urLoaderInit(0, nullptr));
  ur_adapter_handle_t adapter = nullptr;
  MUST(urAdapterGet(1, &adapter, nullptr));
  ur_platform_handle_t platform = nullptr;
  MUST(urPlatformGet(adapter, 1, &platform, nullptr));
  MUST(urDeviceGet(platform, UR_DEVICE_TYPE_ALL, 1, &objects.device, nullptr));
  MUST(urContextCreate(1, &objects.device, nullptr, &objects.context));
  const ur_queue_properties_t properties{UR_STRUCTURE_TYPE_QUEUE_PROPERTIES, nullptr,
                                         UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE};
  MUST(urQueueCreate(objects.context, objects.device, &properties, &objects.queue));
  return objects;
}

ur_program_handle_t load(const Objects& objects, const char* path) {
  std::vector<std::uint8_t> image = read_file(path);
  expect(!image.empty(), "the image's file");
  ur_device_handle_t device = objects.device;
  std::size_t size = image.size();
  const std::uint8_t* bytes = image.data();
  ur_program_handle_t program = nullptr;
  MUST(urProgramCreateWithBinary(objects.context, 1, &device, &size, &bytes, nullptr, &program));
  MUST(urProgramBuildExp(program, 1, &device, 0, nullptr));
  return program;
}

ur_exp_kernel_arg_properties_t argument(std::uint32_t index, ur_exp_kernel_arg_type_t type, std::size_t size) {
  ur_exp_kernel_arg_properties_t one{};
  one.stype = UR_STRUCTURE_TYPE_EXP_KERNEL_ARG_PROPERTIES;
  one.type = type;
  one.index = index;
  one.size = size;
  return one;
}

void launch(const Objects& objects, ur_program_handle_t program) {
  ur_kernel_handle_t kernel = nullptr;
  expect(urKernelCreate(program, "no_such", &kernel) == UR_RESULT_ERROR_INVALID_KERNEL_NAME, "the name of a kernel");
  MUST(urKernelCreate(program, "scale", &kernel));
  void* in = nullptr;
  ur_mem_handle_t out = nullptr;
  MUST(urUSMDeviceAlloc(objects.context, objects.device, nullptr, nullptr, count * sizeof(std::uint32_t), &in));
  MUST(urMemBufferCreate(objects.context, UR_MEM_FLAG_READ_WRITE, count * sizeof(std::uint32_t), nullptr, &out));
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = i;
  ur_event_handle_t up = nullptr;
  ur_event_handle_t set = nullptr;
  MUST(urEnqueueUSMMemcpy(objects.queue, false, in, numbers.data(), count * sizeof(std::uint32_t), 0, nullptr, &up));
  MUST(urEnqueueDeviceGlobalVariableWrite(objects.queue, program, "offset", false, sizeof(offset), 0, &offset, 0,
                                          nullptr, &set));

  std::vector<ur_exp_kernel_arg_properties_t> arguments{argument(0, UR_EXP_KERNEL_ARG_TYPE_MEM_OBJ, sizeof(out)),
                                                        argument(1, UR_EXP_KERNEL_ARG_TYPE_POINTER, sizeof(in)),
                                                        argument(2, UR_EXP_KERNEL_ARG_TYPE_VALUE, sizeof(factor)),
                                                        argument(3, UR_EXP_KERNEL_ARG_TYPE_VALUE, sizeof(count))};
  arguments[0].value.memObjTuple = {out, UR_MEM_FLAG_READ_WRITE};
  arguments[1].value.pointer = in;
  arguments[2].value.value = &factor;
  arguments[3].value.value = &count;
  const std::size_t threads = 64;
  const std::size_t global = (count + threads - 1) / threads * threads;
  const ur_event_handle_t before[] = {up, set};
  ur_event_handle_t done = nullptr;
  MUST(urEnqueueKernelLaunchWithArgsExp(objects.queue, kernel, 1, nullptr, &global, &threads,
                                        static_cast<std::uint32_t>(arguments.size()), arguments.data(), nullptr, 2,
                                        before, &done));
  MUST(urEnqueueMemBufferRead(objects.queue, out, true, 0, count * sizeof(std::uint32_t), numbers.data(), 1, &done,
                              nullptr));
  for (std::uint32_t i = 0; i < count; ++i) expect(numbers[i] == factor * i + offset, "what the kernel wrote");
  for (const ur_event_handle_t event : {up, set, done}) MUST(urEventRelease(event));
  MUST(urMemRelease(out));
  MUST(urUSMFree(objects.context, in));
  MUST(urKernelRelease(kernel));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "ur_programs IMAGE.so\n"), 2;
  const Objects objects = open();
  const ur_program_handle_t program = load(objects, argv[1]);
  launch(objects, program);
  MUST(urProgramRelease(program));
  MUST(urQueueRelease(objects.queue));
  MUST(urContextRelease(objects.context));
  std::puts("ok");
  return 0;
}
