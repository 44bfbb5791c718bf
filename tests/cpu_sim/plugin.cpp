// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cpu_sim_test {
namespace {

thread_local std::string message;
thread_local int depth = 0;

void set_environment(const Environment& environment) {
  for (const char* name : {"DEVICES", "MEMORY", "WORKERS", "IDLE_BACKOFF", "FAULTS", "PROTECT"}) {
    const std::string variable = std::string("ANYPLACE_CPU_SIM_") + name;
    const auto value = environment.find(name);
    if (value == environment.end()) {
      unsetenv(variable.c_str());
    } else {
      setenv(variable.c_str(), value->second.c_str(), 1);
    }
  }
}

anyplace_backend_entry_function entry() {
  static const anyplace_backend_entry_function found = [] {
    void* library = dlopen(CPU_SIM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    void* symbol = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
    anyplace_backend_entry_function function = nullptr;
    std::memcpy(&function, &symbol, sizeof(function));
    return function;
  }();
  return found;
}

/// Entered plugins live as long as the process; what keeps them reachable for a leak checker.
void keep(void* self, HostStub* host) {
  static auto* kept = new std::vector<std::pair<void*, HostStub*>>;
  kept->emplace_back(self, host);
}

}  // namespace

HostStub::HostStub() {
  host_.struct_size = sizeof(host_);
  host_.abi_major = ANYPLACE_ABI_MAJOR;
  host_.abi_minor = ANYPLACE_ABI_MINOR;
  host_.context = this;
  host_.leave_message = [](void*, std::int64_t, const char*, const char* text) {
    message = text == nullptr ? "" : text;
  };
  host_.stream_fault = [](void* context, std::uint64_t cookie, anyplace_status status, std::int64_t, const char*,
                          const char* text) {
    static_cast<HostStub*>(context)->faults_.add({cookie, status, text != nullptr ? text : take_message()});
  };
  host_.user_code_begin = [](void*) { ++depth; };
  host_.user_code_end = [](void*) { --depth; };
  host_.log = [](void*, std::uint32_t, const char*) {};
}

int HostStub::user_code_depth() { return depth; }

std::string HostStub::take_message() { return std::exchange(message, std::string()); }

void check(anyplace_status status) {
  if (status != ANYPLACE_STATUS_OK) throw EntryFailed(status, HostStub::take_message());
}

bool check_wait(anyplace_status status) {
  if (status == ANYPLACE_STATUS_TIMEOUT) return false;
  check(status);
  return true;
}

anyplace_status status_of(const std::function<void()>& body, std::string* text) {
  try {
    body();
    return ANYPLACE_STATUS_OK;
  } catch (const EntryFailed& failed) {
    if (text != nullptr) *text = failed.what();
    return failed.status;
  }
}

Plugin::Plugin(const Environment& environment) : host_(new HostStub) {
  set_environment(environment);
  table_.struct_size = sizeof(table_);
  const anyplace_status status = entry()(host_->host(), &table_);
  keep(table_.self, host_);
  check(status);
}

Plugin::~Plugin() {
  if (!left_) CHECK(shut_down(60'000 * millisecond));
}

anyplace_status Plugin::enter(const Environment& environment, std::string* text) {
  static auto* host = new HostStub;
  set_environment(environment);
  anyplace_backend_table table{};
  table.struct_size = sizeof(table);
  const anyplace_status status = entry()(host->host(), &table);
  if (status == ANYPLACE_STATUS_OK) {
    keep(table.self, host);
  } else {
    *text = HostStub::take_message();
  }
  return status;
}

bool Plugin::shut_down(std::uint64_t timeout_ns) { return check_wait(table_.shutdown(self(), timeout_ns)); }

std::uint64_t Plugin::allocate(std::uint64_t bytes, std::int32_t device, std::uint32_t kind) {
  anyplace_address address = 0;
  check(table_.memory_allocate(self(), device, kind, bytes, &address));
  return address;
}

void Plugin::free(std::uint64_t address, std::int32_t device, std::uint32_t kind) {
  check(table_.memory_free(self(), device, kind, address));
}

anyplace_device_properties Plugin::properties(std::int32_t device) {
  anyplace_device_properties out{};
  out.struct_size = sizeof(out);
  check(table_.device_properties(self(), device, &out));
  return out;
}

std::uint64_t Plugin::free_bytes(std::int32_t device) {
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  check(table_.device_memory(self(), device, &info));
  return info.free_bytes;
}

bool Plugin::synchronize(std::int32_t device, std::uint64_t timeout_ns) {
  return check_wait(table_.device_synchronize(self(), device, timeout_ns));
}

Gate::Gate(Plugin& plugin, std::int32_t device) : plugin_(plugin) {
  check(plugin->gate_create(plugin.self(), device, &handle));
}
Gate::~Gate() { plugin_->gate_destroy(plugin_.self(), handle); }

namespace {

struct HostKernel {
  Block block;
  Flag* released;
};

anyplace_status run_block(void* user, const anyplace_block* block, void* const* arguments, const std::uint32_t* sizes,
                          std::uint32_t count) {
  return static_cast<HostKernel*>(user)->block(*block, arguments, sizes, count);
}

void release_kernel(void* user) {
  auto* kernel = static_cast<HostKernel*>(user);
  Flag* released = kernel->released;
  delete kernel;
  if (released != nullptr) released->set();
}

Block block_of(std::function<void()> body) {
  return [run = std::move(body)](const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t) {
    run();
    return anyplace_status{ANYPLACE_STATUS_OK};
  };
}

}  // namespace

Kernel::Kernel(Plugin& plugin, Block block, std::int32_t device, Flag* released) : plugin_(plugin) {
  auto* kernel = new HostKernel{std::move(block), released};
  check(plugin->kernel_from_host(plugin.self(), device, &run_block, kernel, &release_kernel, &handle));
}
Kernel::Kernel(Plugin& plugin, std::function<void()> body, std::int32_t device)
    : Kernel(plugin, block_of(std::move(body)), device) {}
Kernel::~Kernel() { plugin_->kernel_destroy(plugin_.self(), handle); }

Event::Event(Plugin& plugin, std::uint32_t flags, std::int32_t device) : plugin_(plugin) {
  anyplace_event_desc desc{sizeof(desc), flags};
  check(plugin->event_create(plugin.self(), device, &desc, &handle));
}
Event::~Event() { destroy(); }
void Event::destroy() {
  if (const anyplace_event event = std::exchange(handle, 0)) plugin_->event_destroy(plugin_.self(), event);
}
bool Event::done() {
  std::int32_t done = -1;
  check(plugin_->event_query(plugin_.self(), handle, &done));
  return done == 1;
}
bool Event::synchronize(std::uint64_t timeout_ns) {
  return check_wait(plugin_->event_synchronize(plugin_.self(), handle, timeout_ns));
}

Stream::Stream(Plugin& plugin, const Options& options) : plugin_(plugin) {
  cookie = plugin.next_cookie();
  const anyplace_stream_desc desc{sizeof(desc), options.flags, options.priority, 0, cookie};
  if (options.device < 0) {
    check(plugin->stream_default(plugin.self(), 0, &desc, &handle));
  } else {
    check(plugin->stream_create(plugin.self(), options.device, &desc, &handle));
  }
}
Stream::~Stream() { destroy(); }
void Stream::destroy() {
  if (const anyplace_stream stream = std::exchange(handle, 0)) plugin_->stream_destroy(plugin_.self(), stream);
}
bool Stream::done() {
  std::int32_t done = -1;
  check(plugin_->stream_query(plugin_.self(), handle, &done));
  return done == 1;
}
bool Stream::synchronize(std::uint64_t timeout_ns) {
  return check_wait(plugin_->stream_synchronize(plugin_.self(), handle, timeout_ns));
}

void Stream::launch(anyplace_kernel kernel, Grid grid, const std::vector<anyplace_argument>& arguments,
                    std::uint64_t shared_bytes) {
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  launch.grid[0] = grid.x;
  launch.grid[1] = grid.y;
  launch.grid[2] = grid.z;
  launch.block[0] = launch.block[1] = launch.block[2] = 1;
  launch.argument_count = static_cast<std::uint32_t>(arguments.size());
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = arguments.data();
  launch.shared_bytes = shared_bytes;
  check(plugin_->kernel_launch(plugin_.self(), handle, kernel, &launch));
}

void Stream::run(std::function<void()> body) {
  Kernel kernel(plugin_, std::move(body));
  launch(kernel);
}

void Stream::host(std::function<void()> body) {
  auto* heap = new std::function<void()>(std::move(body));
  const anyplace_host_function function = [](void* user, anyplace_status) {
    auto* run = static_cast<std::function<void()>*>(user);
    (*run)();
    delete run;
  };
  check(plugin_->stream_host_function(plugin_.self(), handle, function, heap));
}

void Stream::copy(void* destination, const void* source, std::uint64_t bytes, std::uint32_t kind) {
  check(plugin_->memory_copy(plugin_.self(), handle, reinterpret_cast<std::uint64_t>(destination),
                             reinterpret_cast<std::uint64_t>(source), bytes, kind));
}

}  // namespace cpu_sim_test
