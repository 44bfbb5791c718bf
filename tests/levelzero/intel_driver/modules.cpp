// SPDX-License-Identifier: Apache-2.0
//
// Modules and kernels, which this driver really compiles; and the vendor's own handles, in and out. The loader is
// opened a second time for what anyplace doesn't do: a binary of a module, a list of the user's own.
#include <dlfcn.h>
#include <level_zero/ze_api.h>

#include <vector>

#include "spirv_by_hand.h"
#include "steps.h"

namespace intel_driver {
namespace {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::KernelView;
using anyplace::Module;
using anyplace::ModuleOptions;
using anyplace::Stream;

template <class Function>
Function* ze(Function*, const char* name) {
  static void* const loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = loader == nullptr ? nullptr : dlsym(loader, name);
  if (found == nullptr) throw Wrong(std::string("the loader has no ") + name);
  return reinterpret_cast<Function*>(found);
}
#define ZE(name) ze(static_cast<decltype(&name)>(nullptr), #name)

void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) throw Wrong(std::string(call) + " gives " + std::to_string(result));
}

Module load(const Device& device, const std::string& image, const ModuleOptions& options = {}) {
  return Module(device, std::as_bytes(std::span(image)), options);
}
ModuleOptions with_shared() {
  ModuleOptions options;
  options.metadata.push_back({"shared_first", 1});
  return options;
}

std::string cut_off_images(const Device& device) {
  const std::string good = SpirvByHand::make();
  expect_error(ErrorCode::invalid_image, "cut off", [&] { load(device, good.substr(0, 16)); });
  expect_error(ErrorCode::invalid_image, "cut off", [&] { load(device, good.substr(0, good.size() - 3)); });
  return "";
}

std::string damaged_image(const Device& device) {
  const std::string good = SpirvByHand::make();
  const std::string said = expect_error(ErrorCode::invalid_image, "zeModuleCreate",
                                        [&] { load(device, good.substr(0, good.size() / 8 * 4)); });
  const std::size_t log = said.find("the compiler's log:");
  expect(log != std::string::npos, "the error holds the compiler's log: " + said);
  std::string shown = said.substr(log);
  for (char& c : shown) c = c == '\n' ? ' ' : c;
  return shown;
}

std::string bad_options(const Device& device) {
  ModuleOptions options;
  options.compiler_options = "-not-an-option";
  try {
    load(device, SpirvByHand::make(), options);
  } catch (const anyplace::Error& error) {
    expect(error.code() == ErrorCode::invalid_image, std::string("invalid_image, not ") + error.what());
    return "refused";
  }
  return "this driver takes no notice of them";
}

std::string launches(const Device& device) {
  const Stream stream(device);
  const Buffer to(stream, 4096);
  const Module module = load(device, SpirvByHand::make(), with_shared());
  const KernelView fill = module.kernel("fill"), shared = module.kernel("shared_first");
  expect(fill.name() == "fill", "the kernel has its name");
  expect_error(ErrorCode::no_such_kernel, "nowhere", [&] { module.kernel("nowhere"); });
  stream.launch(fill, {4, 64}, to, 5u);
  stream.launch(fill, {{1, 1, 1}, {1, 1, 1}}, to.sub(512), 5u);
  stream.launch(fill, {{2, 2, 2}, {7, 3, 1}}, to, 5u);
  stream.launch(shared, {4, 64, 256}, to);
  stream.launch(shared, {4, 64}, to);
  expect(!stream.query(), "launches aren't done");
  const auto limits = device.properties();
  expect_error(ErrorCode::invalid_argument, "argument", [&] { stream.launch(fill, {1, 64}, to); });
  expect_error(ErrorCode::invalid_argument, "", [&] {
    stream.launch(fill, {1, limits.max_threads_per_block + 1}, to, 5u);
  });
  expect_error(ErrorCode::invalid_argument, "metadata", [&] { stream.launch(fill, {1, 64, 256}, to, 5u); });
  expect_error(ErrorCode::invalid_argument, "shared memory", [&] {
    stream.launch(shared, {1, 64, limits.max_shared_bytes + 1}, to);
  });
  return "fill and shared_first, unloaded with launches pending";
}

/// The API has no question for an argument's size, so only the driver can tell.
std::string argument_of_another_size(const Device& device) {
  const Stream stream(device);
  const Buffer to(stream, 4096);
  const Module module = load(device, SpirvByHand::make());
  try {
    stream.launch(module.kernel("fill"), {1, 64}, to, std::uint64_t{5});
  } catch (const anyplace::Error& error) {
    expect(error.code() == ErrorCode::invalid_argument, std::string("invalid_argument, not ") + error.what());
    return "refused";
  }
  return "this driver takes it";
}

std::string largest_block(const Device& device) {
  const Stream stream(device);
  const auto limits = device.properties();
  const Buffer to(stream, 4 * limits.max_threads_per_block);
  const Module module = load(device, SpirvByHand::make(), with_shared());
  stream.launch(module.kernel("fill"), {1, limits.max_threads_per_block}, to, 5u);
  stream.launch(module.kernel("shared_first"), {1, 64, limits.max_shared_bytes}, to);
  return std::to_string(limits.max_threads_per_block) + " threads; " + std::to_string(limits.max_shared_bytes) +
         " bytes of shared memory";
}

/// The device's own binary, made by the driver of the same SPIR-V.
std::string native_image(const Device& device) {
  const std::string spirv = SpirvByHand::make();
  ze_module_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  desc.inputSize = spirv.size();
  desc.pInputModule = reinterpret_cast<const std::uint8_t*>(spirv.data());
  ze_module_handle_t module = nullptr;
  const auto context = reinterpret_cast<ze_context_handle_t>(device.native_context());
  check(ZE(zeModuleCreate)(context, reinterpret_cast<ze_device_handle_t>(device.native_handle()), &desc, &module,
                           nullptr),
        "zeModuleCreate");
  std::size_t size = 0;
  check(ZE(zeModuleGetNativeBinary)(module, &size, nullptr), "zeModuleGetNativeBinary");
  std::string binary(size, '\0');
  check(ZE(zeModuleGetNativeBinary)(module, &size, reinterpret_cast<std::uint8_t*>(binary.data())),
        "zeModuleGetNativeBinary");
  check(ZE(zeModuleDestroy)(module), "zeModuleDestroy");

  const Stream stream(device);
  const Buffer to(stream, 4096);
  const Module loaded = load(device, binary);
  stream.launch(loaded.kernel("fill"), {4, 64}, to, 5u);
  std::string damaged = binary;
  damaged.resize(damaged.size() / 2);
  expect_error(ErrorCode::invalid_image, "", [&] { load(device, damaged); });
  return std::to_string(size) + " bytes";
}

/// The conformance suite's kernels; nobody says which argument of block_sum is its shared memory.
std::string suite_image(const Device& device) {
  const Stream stream(device);
  const Buffer to(stream, 4096), from(stream, 4096);
  const Module module = Module::from_file(device, INTEL_DRIVER_SUITE_IMAGE);
  stream.launch(module.kernel("fill"), {4, 64}, to, 256u, 5u);
  stream.launch(module.kernel("block_sum"), {4, 64, 256}, to, from);
  return "";
}

std::string random_numbers(const Device& device) {
  const Stream stream(device);
  const Buffer to(stream, 4096);
  const anyplace::Generator generator(device);
  generator.normal(stream, anyplace::RandomTarget(to, anyplace::DType::f32, 64));
  const anyplace::RandomTarget doubles(to, anyplace::DType::f64, 64);
  if (device.properties().float64 == false) {
    expect_error(ErrorCode::unsupported, "computes no doubles", [&] { generator.normal(stream, doubles); });
    return "all but f64, as the device computes no doubles";
  }
  generator.normal(stream, doubles);
  return "";
}

std::string wrapped_list(const Device& device) {
  const auto context = reinterpret_cast<ze_context_handle_t>(device.native_context());
  const auto native = reinterpret_cast<ze_device_handle_t>(device.native_handle());
  ze_command_queue_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_list_handle_t list = nullptr;
  check(ZE(zeCommandListCreateImmediate)(context, native, &desc, &list), "zeCommandListCreateImmediate");
  const Stream stream = Stream::from_native(device, reinterpret_cast<std::uint64_t>(list)), own(device);
  const Buffer buffer(stream, 4096);
  stream.memset32(buffer, 1);
  own.wait_stream(stream);
  stream.wait_stream(own);
  stream.launch_host_func([] {});
  const anyplace::Event event = stream.record_event({true, false, false});
  expect(!event.query() && !stream.query(), "what it got isn't done");
  expect(stream.native_handle() == reinterpret_cast<std::uint64_t>(list), "its handle is the user's");
  // Never destroyed: it is in use until the process ends.

  const Stream again = Stream::from_native(device, own.native_handle());
  expect(again.native_handle() == own.native_handle(), "a list of the backend's own can be wrapped again");
  expect_error(ErrorCode::invalid_argument, "", [&] { Stream::from_native(device, 0); });
  return "";
}

std::string recorded_list(const Device& device) {
  ze_command_list_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  ze_command_list_handle_t list = nullptr;
  check(ZE(zeCommandListCreate)(reinterpret_cast<ze_context_handle_t>(device.native_context()),
                                reinterpret_cast<ze_device_handle_t>(device.native_handle()), &desc, &list),
        "zeCommandListCreate");
  expect_error(ErrorCode::invalid_argument, "immediate",
               [&] { Stream::from_native(device, reinterpret_cast<std::uint64_t>(list)); });
  check(ZE(zeCommandListDestroy)(list), "zeCommandListDestroy");
  return "";
}

}  // namespace

void module_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("images that are cut off", [&] { return cut_off_images(device); });
    steps.run("unknown build options", [&] { return bad_options(device); });
    steps.run("SPIR-V is compiled, and its kernels are launched", [&] { return launches(device); });
    steps.run("an argument of another size", [&] { return argument_of_another_size(device); });
    steps.run("the largest block and the most shared memory", [&] { return largest_block(device); });
    steps.run("a binary of the device's own is loaded", [&] { return native_image(device); });
  }
}

void damaged_steps(Steps& steps, const Machine& machine) {
  steps.run("an image that doesn't build", [&] { return damaged_image(machine.first()); });
}

void image_steps(Steps& steps, const Machine& machine) {
  steps.run("the suite's kernels, written once, are compiled", [&] { return suite_image(machine.first()); });
  steps.run("random numbers' kernels are compiled", [&] { return random_numbers(machine.first()); });
}

void native_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("a list of the user's own is a stream", [&] { return wrapped_list(device); });
    steps.run("a list that is no immediate one is refused", [&] { return recorded_list(device); });
  }
}

}  // namespace intel_driver
