// SPDX-License-Identifier: Apache-2.0
//
// Modules, their functions, and launches.
//
// Stricter than the references: a module that is unloaded while one of its kernels is queued is noted as misuse, and
// the kernel fails.
#include <algorithm>
#include <utility>

#include "captures.h"

namespace anyplace::doubles {
namespace {

/// Where each parameter begins in a buffer of them, as a struct of the sizes would have it.
std::vector<uint32_t> offsets_of(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> offsets;
  uint32_t next = 0;
  for (const uint32_t size : sizes) {
    const uint32_t alignment = size == 0 ? 1 : std::min<uint32_t>(size & (~size + 1), 8);
    next = (next + alignment - 1) / alignment * alignment;
    offsets.push_back(next);
    next += size;
  }
  return offsets;
}

/// One launch, from its submission until it is over.
struct Launch {
  FunctionRef function;
  KernelShape shape;
  KernelArguments arguments;
  Uses uses;
  const char* fault = nullptr;  // why it will fail, known already

  Launch(FunctionRef of, const KernelShape& with, KernelArguments values)
      : function(std::move(of)), shape(with), arguments(std::move(values)) {
    ++function->module->launches;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() { --function->module->launches; }
};

void find_uses(const Context& context, Launch& launch) {
  for (const uint64_t address : launch.arguments.addresses()) {
    const Finding finding = state().memory.find(address, 1);
    if (finding.verdict == Verdict::foreign || finding.verdict == Verdict::out_of_range) continue;
    if (finding.verdict == Verdict::freed) {
      launch.fault = "a kernel was given the address of freed memory";
      continue;
    }
    {
      const Locked lock(state().mutex);
      if (!has_access(lock, context, finding.block)) {
        launch.fault = "a kernel was given an address that its device has no access to";
        continue;
      }
    }
    const bool doomed = finding.verdict == Verdict::free_queued;
    launch.uses.push_back(Use{address, finding.block.id, doomed, finding.block.device});
  }
}

/// The fault that a test has asked for, if it is this kernel's turn.
int fault_asked_for(int device) {
  const Locked lock(state().mutex);
  DeviceState& of = state().device(device);
  if (of.kernels_until_fault == 0 || --of.kernels_until_fault != 0) return 0;
  return of.kernel_fault;
}

int run(const Launch& launch) {
  const Module& module = *launch.function->module;
  if (const int fault = fault_asked_for(module.context->device); fault != 0) return fault;
  if (module.unloaded) return code::launch_failed;
  if (launch.fault != nullptr) {
    misuses().add(launch.fault);
    return code::illegal_address;
  }
  return run_on(launch.uses, "a kernel", [&launch]() -> int {
    const bool done =
        run_kernel(launch.function->kernel, launch.shape, launch.arguments, [] { return state().engine.stopped(); });
    return done ? 0 : code::launch_failed;
  });
}

}  // namespace

Module::~Module() {
  for (const auto& [name, block] : variables) state().memory.free(block.start, block.id);
}

int add_module(WordOut module, const ContextRef& context, const std::string& image, std::vector<std::string> entries,
               std::string& why) {
  auto made = std::make_shared<Module>();
  made->context = context;
  made->image = HostImage::load(image, why);
  if (made->image == nullptr) return code::invalid_image;
  made->entries = std::move(entries);
  const Locked lock(state().mutex);
  made->handle = state().modules.add(made);
  module.write(made->handle);
  return 0;
}

int find_module(const Locked&, uint64_t handle, ModuleRef& module) {
  ModuleRef found = state().modules.find(handle);
  if (found == nullptr) return code::invalid_handle;
  const int fault = fault_of(*found->context);
  if (fault == 0) module = std::move(found);
  return fault;
}

int unload_module(Word module, const ContextRef& owner) {
  ModuleRef found;  // goes behind the lock
  const Locked lock(state().mutex);
  found = state().modules.find(module);
  if (found == nullptr) {
    misused("of what is no module, or no longer");
    return code::invalid_handle;
  }
  if (owner != nullptr && found->context != owner) return code::invalid_context;
  const int fault = fault_of(*found->context);
  found->unloaded = true;
  if (fault == 0 && found->launches.load() != 0) {
    misuses().add("a module was unloaded while a kernel of it was queued or ran");
  }
  for (const auto& [name, function] : found->functions) state().functions.remove(function);
  state().modules.remove(module);
  return fault;
}

int get_variable(WordOut address, size_t* bytes, Word module, const char* name) {
  if (name == nullptr || (address.is_null() && bytes == nullptr)) return code::invalid_value;
  const Locked lock(state().mutex);
  ModuleRef found;
  if (const int result = find_module(lock, module, found); result != 0) return result;
  auto known = found->variables.find(name);
  if (known == found->variables.end()) {
    const auto variable = found->image->variable(name);
    if (!variable || variable->bytes == 0) return code::not_found;
    Block model;
    model.device = found->context->device;
    model.flags = variable_of_module;
    const Word start = variable->address;
    if (!state().memory.add_registered(model, start, variable->bytes)) return code::not_found;
    known = found->variables.emplace(name, *state().memory.block_at(start)).first;
  }
  if (!address.is_null()) address.write(known->second.start);
  if (bytes != nullptr) *bytes = known->second.bytes;
  return 0;
}

int get_function(WordOut function, Word module, const char* name) {
  if (function.is_null() || name == nullptr) return code::invalid_value;
  const Locked lock(state().mutex);
  ModuleRef found;
  const int result = find_module(lock, module, found);
  if (result != 0) return result;
  if (const auto known = found->functions.find(name); known != found->functions.end()) {
    function.write(known->second);
    return 0;
  }
  const std::vector<std::string>& entries = found->entries;
  if (!entries.empty() && std::find(entries.begin(), entries.end(), name) == entries.end()) return code::not_found;
  auto kernel = found->image->kernel(name);
  if (!kernel) return code::not_found;
  auto made = std::make_shared<Function>();
  made->name = name;
  made->module = found;
  made->offsets = offsets_of(kernel->sizes);
  made->kernel = std::move(*kernel);
  made->max_dynamic_shared = vendor.dynamic_shared;
  made->handle = state().functions.add(made);
  found->functions[name] = made->handle;
  function.write(made->handle);
  return 0;
}

int find_function(Word handle, FunctionRef& function) {
  const Locked lock(state().mutex);
  FunctionRef found = state().functions.find(handle);
  if (found == nullptr) return code::invalid_handle;
  const int fault = fault_of(*found->module->context);
  if (fault == 0) function = std::move(found);
  return fault;
}

int find_target(Word function, Word stream, LaunchTarget& target) {
  ContextRef current;
  int result = vendor.device_is_context ? 0 : current_context(current);
  if (result == 0) result = find_function(function, target.function);
  if (result == 0) result = resolve_stream(stream, target.stream);
  if (result != 0) return result;
  return target.stream->context == target.function->module->context ? 0 : code::invalid_handle;
}

uint64_t threads_of(const KernelShape& shape, const int (&max_grid)[3], const int (&max_block)[3]) {
  const auto fits = [](uint32_t extent, int most) { return extent != 0 && extent <= static_cast<uint32_t>(most); };
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!fits(shape.grid[i], max_grid[i]) || !fits(shape.block[i], max_block[i])) return 0;
    threads *= shape.block[i];
  }
  return threads;
}

int collect_values(const Function& function, void** arguments, std::vector<const void*>& values) {
  const std::size_t count = function.kernel.sizes.size();
  if (count != 0 && arguments == nullptr) return code::invalid_value;
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i] == nullptr) return code::invalid_value;
    values.push_back(arguments[i]);
  }
  return 0;
}

Operation launch_operation(const Context& context, const FunctionRef& function, const KernelShape& shape,
                           const void* const* values) {
  KernelArguments arguments(function->kernel.sizes, values);
  const auto made = std::make_shared<Launch>(function, shape, std::move(arguments));
  find_uses(context, *made);
  Operation operation;
  operation.run = [made] { return run(*made); };
  return operation;
}

int launch(const LaunchTarget& target, const KernelShape& shape, const std::vector<const void*>& values) {
  const auto node = [&](NodeWork& work) { return kernel_work(target.function, shape, values, work); };
  if (const auto captured = capture_node(target.stream, node)) return *captured;
  return submit_and(false, target.stream,
                    launch_operation(*target.stream->context, target.function, shape, values.data()));
}

int kernel_work(const FunctionRef& function, const KernelShape& shape, const std::vector<const void*>& values,
                NodeWork& work) {
  const auto kept = std::make_shared<KernelArguments>(function->kernel.sizes, values.data());
  work.kind = NodeKind::kernel;
  work.context = function->module->context;
  work.function = function;
  work.prepare = [function, shape, kept](const Context& on) {
    if (function->module->unloaded) misuses().add("a graph was launched with a kernel of a module that was unloaded");
    return launch_operation(on, function, shape, kept->pointers());
  };
  return 0;
}

}  // namespace anyplace::doubles
