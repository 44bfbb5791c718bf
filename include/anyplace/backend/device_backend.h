// SPDX-License-Identifier: Apache-2.0
//
// What a vendor's C++ author derives from.
//
//   class AcmeBackend final : public anyplace::backend::DeviceBackend {
//    public:
//     explicit AcmeBackend(anyplace::backend::Host host) : host_(host) { ... }   // throw Failure to refuse
//     int32_t device_count() override;
//     ...
//   };
//   ANYPLACE_EXPORT_BACKEND(AcmeBackend, "acme", "1.2.0", "Acme accelerators")
//
// The macro defines the plugin's one exported symbol. Behind it a table of functions is generated: each calls the
// method of the same name, catches every exception and turns it into a status. So methods return values and throw;
// nothing thrown crosses the boundary. What each method must do is written once, at the entry of the same name in
// abi.h.
//
// A method that is left unoverridden and isn't pure becomes a null entry, which means to the core that the capability
// is absent. (So overrides must be public: the generated table compares their addresses' types.)
//
// This header is all inline: a plugin links nothing of anyplace's.
#ifndef ANYPLACE_BACKEND_DEVICE_BACKEND_H
#define ANYPLACE_BACKEND_DEVICE_BACKEND_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "abi.h"

namespace anyplace::backend {

/// What a method throws to fail: a status, and the vendor's own code, name and text of it. Without code and name the
/// text is the backend's: what is wrong, what would be right, where to look, on a line each ('\n' between); one will
/// do.
class Failure : public std::runtime_error {
 public:
  explicit Failure(anyplace_status status, const std::string& text, int64_t vendor_code = 0,
                   std::string vendor_name = {})
      : std::runtime_error(text), status_(status), vendor_code_(vendor_code), vendor_name_(std::move(vendor_name)) {}

  anyplace_status status() const noexcept { return status_; }
  int64_t vendor_code() const noexcept { return vendor_code_; }
  const std::string& vendor_name() const noexcept { return vendor_name_; }

 private:
  anyplace_status status_;
  int64_t vendor_code_;
  std::string vendor_name_;
};

/// The core's side, as a value. Copy it freely; it is valid for the life of the process.
class Host {
 public:
  explicit Host(const anyplace_host* host) noexcept : host_(host) {}

  void leave_message(int64_t vendor_code, const char* vendor_name, const char* text) const noexcept {
    host_->leave_message(host_->context, vendor_code, vendor_name, text);
  }
  /// `text` null: the message that was left on this thread.
  void stream_fault(uint64_t cookie, anyplace_status status, const char* text = nullptr, int64_t vendor_code = 0,
                    const char* vendor_name = nullptr) const noexcept {
    host_->stream_fault(host_->context, cookie, status, vendor_code, vendor_name, text);
  }
  void user_code_begin() const noexcept { host_->user_code_begin(host_->context); }
  void user_code_end() const noexcept { host_->user_code_end(host_->context); }
  void log(uint32_t level, const char* text) const noexcept { host_->log(host_->context, level, text); }

 private:
  const anyplace_host* host_;
};

/// A handle is any 64-bit number; these make one of a pointer and back.
template <class T>
uint64_t to_handle(T* object) noexcept {
  return static_cast<uint64_t>(reinterpret_cast<std::uintptr_t>(object));
}
template <class T>
T* from_handle(uint64_t handle) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(handle));
}

/// One vendor's devices. Contract, threading and errors of every method: the entry of the same name in abi.h.
/// The object is made once, when the name is first used, and never destroyed.
/// Methods with a timeout return false when time ran out.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;  // the table holds its address
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  // -- Life.
  virtual bool shutdown(uint64_t /*timeout_ns*/) { absent("shutdown"); }

  // -- Devices.
  virtual int32_t device_count() = 0;
  /// `out` is zeroed and has the size of the newest struct; the core gets as much of it as it knows.
  virtual void device_properties(int32_t device, anyplace_device_properties& out) = 0;
  virtual uint64_t device_native(int32_t /*device*/, uint32_t /*kind*/) { absent("device_native"); }
  virtual void device_memory(int32_t device, anyplace_memory_info& out) = 0;
  virtual bool device_synchronize(int32_t device, uint64_t timeout_ns) = 0;
  virtual void device_reset(int32_t /*device*/) { absent("device_reset"); }

  // -- Peer access.
  virtual bool peer_query(int32_t /*device*/, int32_t /*peer*/) { absent("peer_query"); }
  virtual void peer_enable(int32_t /*device*/, int32_t /*peer*/) { absent("peer_enable"); }
  virtual void peer_disable(int32_t /*device*/, int32_t /*peer*/) { absent("peer_disable"); }

  // -- Streams.
  virtual anyplace_stream stream_create(int32_t device, const anyplace_stream_desc& desc) = 0;
  virtual anyplace_stream stream_default(int32_t device, const anyplace_stream_desc& desc) = 0;
  virtual anyplace_stream stream_from_native(int32_t /*device*/, uint64_t /*native*/,
                                             const anyplace_stream_desc& /*desc*/) {
    absent("stream_from_native");
  }
  virtual uint64_t stream_native(anyplace_stream /*stream*/) { absent("stream_native"); }
  virtual void stream_destroy(anyplace_stream stream) = 0;
  virtual bool stream_query(anyplace_stream stream) = 0;
  virtual bool stream_synchronize(anyplace_stream stream, uint64_t timeout_ns) = 0;
  virtual void stream_wait_event(anyplace_stream stream, anyplace_event event) = 0;
  virtual void stream_host_function(anyplace_stream /*stream*/, anyplace_host_function /*function*/, void* /*user*/) {
    absent("stream_host_function");
  }

  // -- Gates.
  virtual anyplace_gate gate_create(int32_t /*device*/) { absent("gate_create"); }
  virtual void gate_open(anyplace_gate /*gate*/) { absent("gate_open"); }
  virtual void gate_destroy(anyplace_gate /*gate*/) { absent("gate_destroy"); }
  virtual void stream_wait_gate(anyplace_stream /*stream*/, anyplace_gate /*gate*/) { absent("stream_wait_gate"); }

  // -- Events.
  virtual anyplace_event event_create(int32_t device, const anyplace_event_desc& desc) = 0;
  virtual void event_destroy(anyplace_event event) = 0;
  virtual void event_record(anyplace_event event, anyplace_stream stream) = 0;
  virtual bool event_query(anyplace_event event) = 0;
  virtual bool event_synchronize(anyplace_event event, uint64_t timeout_ns) = 0;
  virtual double event_elapsed(anyplace_event /*start*/, anyplace_event /*end*/) { absent("event_elapsed"); }
  virtual uint64_t event_native(anyplace_event /*event*/) { absent("event_native"); }

  // -- Memory.
  virtual anyplace_address memory_allocate(int32_t device, uint32_t kind, uint64_t bytes) = 0;
  virtual void memory_free(int32_t device, uint32_t kind, anyplace_address address) = 0;
  virtual anyplace_address memory_allocate_async(anyplace_stream /*stream*/, uint64_t /*bytes*/) {
    absent("memory_allocate_async");
  }
  virtual void memory_free_async(anyplace_stream /*stream*/, anyplace_address /*address*/) {
    absent("memory_free_async");
  }
  virtual void host_register(int32_t /*device*/, void* /*address*/, uint64_t /*bytes*/) { absent("host_register"); }
  virtual void host_unregister(int32_t /*device*/, void* /*address*/) { absent("host_unregister"); }

  // -- Copies and fills.
  virtual void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source,
                           uint64_t bytes, uint32_t kind) = 0;
  virtual void memory_copy_2d(anyplace_stream /*stream*/, const anyplace_copy_2d& /*copy*/) {
    absent("memory_copy_2d");
  }
  virtual void memory_copy_peer(anyplace_stream /*stream*/, int32_t /*destination_device*/,
                                anyplace_address /*destination*/, int32_t /*source_device*/,
                                anyplace_address /*source*/, uint64_t /*bytes*/) {
    absent("memory_copy_peer");
  }
  virtual void memory_set(anyplace_stream stream, anyplace_address address, uint32_t value, uint32_t width,
                          uint64_t count) = 0;

  // -- Kernels.
  virtual anyplace_module module_load(int32_t /*device*/, const anyplace_module_desc& /*desc*/) {
    absent("module_load");
  }
  virtual void module_unload(anyplace_module /*module*/) { absent("module_unload"); }
  virtual anyplace_kernel module_kernel(anyplace_module /*module*/, const char* /*name*/) { absent("module_kernel"); }
  /// If it throws, `release` is not called.
  virtual anyplace_kernel kernel_from_host(int32_t /*device*/, anyplace_host_kernel /*function*/, void* /*user*/,
                                           void (* /*release*/)(void*)) {
    absent("kernel_from_host");
  }
  virtual void kernel_destroy(anyplace_kernel /*kernel*/) { absent("kernel_destroy"); }
  virtual void kernel_launch(anyplace_stream /*stream*/, anyplace_kernel /*kernel*/,
                             const anyplace_launch& /*launch*/) {
    absent("kernel_launch");
  }

  // -- Virtual memory.
  virtual uint64_t virtual_granularity(int32_t /*device*/) { absent("virtual_granularity"); }
  virtual anyplace_address virtual_reserve(int32_t /*device*/, uint64_t /*bytes*/) { absent("virtual_reserve"); }
  virtual void virtual_release(int32_t /*device*/, anyplace_address /*address*/, uint64_t /*bytes*/) {
    absent("virtual_release");
  }
  virtual anyplace_physical physical_create(int32_t /*device*/, uint64_t /*bytes*/) { absent("physical_create"); }
  virtual void physical_destroy(anyplace_physical /*physical*/) { absent("physical_destroy"); }
  virtual void virtual_map(int32_t /*device*/, anyplace_address /*address*/, anyplace_physical /*physical*/) {
    absent("virtual_map");
  }
  virtual void virtual_unmap(int32_t /*device*/, anyplace_address /*address*/, uint64_t /*bytes*/) {
    absent("virtual_unmap");
  }

 private:
  [[noreturn]] static void absent(const char* entry) {
    throw Failure(ANYPLACE_STATUS_UNSUPPORTED, std::string("this backend has no ") + entry);
  }
};

namespace detail {

/// In a handler: leaves the exception's message with the core, and returns the status that it means. Apart from the
/// entries, so that their good path keeps no more than it needs.
[[gnu::noinline, gnu::cold]] inline anyplace_status status_of_exception(const anyplace_host* host) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    host->leave_message(host->context, failure.vendor_code(), failure.vendor_name().c_str(), failure.what());
    return failure.status() == ANYPLACE_STATUS_OK ? ANYPLACE_STATUS_INTERNAL : failure.status();
  } catch (const std::bad_alloc&) {
    host->leave_message(host->context, 0, "std::bad_alloc", "the host is out of memory");
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    host->leave_message(host->context, 0, "std::exception", exception.what());
    return ANYPLACE_STATUS_BACKEND_FAILED;
  } catch (...) {
    host->leave_message(host->context, 0, "", "an exception that is no std::exception");
    return ANYPLACE_STATUS_BACKEND_FAILED;
  }
}

/// Runs `body`, which may throw anything, and returns what crosses the boundary instead. `host` is read when it throws.
template <class Body>
anyplace_status guarded(const anyplace_host* const& host, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return status_of_exception(host);
  }
}

// One type per method, which calls Backend's own: the object is a Backend and nothing derived from it, so no virtual
// dispatch is needed.
#define ANYPLACE_BACKEND_METHOD(name)                                                   \
  struct name##_method {                                                                \
    template <class Backend, class... Args>                                             \
    [[gnu::always_inline]] static decltype(auto) of(Backend& backend, Args&&... args) { \
      return backend.Backend::name(std::forward<Args>(args)...);                        \
    }                                                                                   \
  };
ANYPLACE_BACKEND_METHOD(shutdown)
ANYPLACE_BACKEND_METHOD(device_count)
ANYPLACE_BACKEND_METHOD(device_properties)
ANYPLACE_BACKEND_METHOD(device_native)
ANYPLACE_BACKEND_METHOD(device_memory)
ANYPLACE_BACKEND_METHOD(device_synchronize)
ANYPLACE_BACKEND_METHOD(device_reset)
ANYPLACE_BACKEND_METHOD(peer_query)
ANYPLACE_BACKEND_METHOD(peer_enable)
ANYPLACE_BACKEND_METHOD(peer_disable)
ANYPLACE_BACKEND_METHOD(stream_create)
ANYPLACE_BACKEND_METHOD(stream_default)
ANYPLACE_BACKEND_METHOD(stream_from_native)
ANYPLACE_BACKEND_METHOD(stream_native)
ANYPLACE_BACKEND_METHOD(stream_destroy)
ANYPLACE_BACKEND_METHOD(stream_query)
ANYPLACE_BACKEND_METHOD(stream_synchronize)
ANYPLACE_BACKEND_METHOD(stream_wait_event)
ANYPLACE_BACKEND_METHOD(stream_host_function)
ANYPLACE_BACKEND_METHOD(gate_create)
ANYPLACE_BACKEND_METHOD(gate_open)
ANYPLACE_BACKEND_METHOD(gate_destroy)
ANYPLACE_BACKEND_METHOD(stream_wait_gate)
ANYPLACE_BACKEND_METHOD(event_create)
ANYPLACE_BACKEND_METHOD(event_destroy)
ANYPLACE_BACKEND_METHOD(event_record)
ANYPLACE_BACKEND_METHOD(event_query)
ANYPLACE_BACKEND_METHOD(event_synchronize)
ANYPLACE_BACKEND_METHOD(event_elapsed)
ANYPLACE_BACKEND_METHOD(event_native)
ANYPLACE_BACKEND_METHOD(memory_allocate)
ANYPLACE_BACKEND_METHOD(memory_free)
ANYPLACE_BACKEND_METHOD(memory_allocate_async)
ANYPLACE_BACKEND_METHOD(memory_free_async)
ANYPLACE_BACKEND_METHOD(host_register)
ANYPLACE_BACKEND_METHOD(host_unregister)
ANYPLACE_BACKEND_METHOD(memory_copy)
ANYPLACE_BACKEND_METHOD(memory_copy_2d)
ANYPLACE_BACKEND_METHOD(memory_copy_peer)
ANYPLACE_BACKEND_METHOD(memory_set)
ANYPLACE_BACKEND_METHOD(module_load)
ANYPLACE_BACKEND_METHOD(module_unload)
ANYPLACE_BACKEND_METHOD(module_kernel)
ANYPLACE_BACKEND_METHOD(kernel_from_host)
ANYPLACE_BACKEND_METHOD(kernel_destroy)
ANYPLACE_BACKEND_METHOD(kernel_launch)
ANYPLACE_BACKEND_METHOD(virtual_granularity)
ANYPLACE_BACKEND_METHOD(virtual_reserve)
ANYPLACE_BACKEND_METHOD(virtual_release)
ANYPLACE_BACKEND_METHOD(physical_create)
ANYPLACE_BACKEND_METHOD(physical_destroy)
ANYPLACE_BACKEND_METHOD(virtual_map)
ANYPLACE_BACKEND_METHOD(virtual_unmap)
#undef ANYPLACE_BACKEND_METHOD

/// The generated table of Backend. One object per plugin; the entries find it through `self`.
template <class Backend>
struct Exported {
  static_assert(std::is_base_of_v<DeviceBackend, Backend>);

  Backend* backend = nullptr;
  const anyplace_host* host = nullptr;

  /// Methods that return nothing.
  template <class Method, class... Args>
  static anyplace_status call(void* self, Args... args) noexcept {
    auto* me = static_cast<Exported*>(self);
    try {
      Method::of(*me->backend, args...);
      return ANYPLACE_STATUS_OK;
    } catch (...) {
      return status_of_exception(me->host);
    }
  }

  /// Methods whose result goes to the last parameter of the entry.
  template <class Method, class Out, class... Args>
  static anyplace_status call_out(void* self, Args... args, Out* out) noexcept {
    auto* me = static_cast<Exported*>(self);
    try {
      *out = static_cast<Out>(Method::of(*me->backend, args...));
      return ANYPLACE_STATUS_OK;
    } catch (...) {
      return status_of_exception(me->host);
    }
  }

  /// Methods that take a struct by reference where the entry takes a pointer, as its last parameter.
  template <class Method, class Struct, class... Args>
  static anyplace_status call_struct(void* self, Args... args, const Struct* in) noexcept {
    if (in->struct_size < sizeof(Struct)) [[unlikely]]
      return call_widened<Method, Struct, Args...>(self, args..., in);
    auto* me = static_cast<Exported*>(self);
    try {
      Method::of(*me->backend, args..., *in);
      return ANYPLACE_STATUS_OK;
    } catch (...) {
      return status_of_exception(me->host);
    }
  }
  /// The same with a struct of an older core, which is shorter than ours: what it doesn't have reads as 0.
  template <class Method, class Struct, class... Args>
  [[gnu::noinline]] static anyplace_status call_widened(void* self, Args... args, const Struct* in) noexcept {
    auto* me = static_cast<Exported*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      Method::of(*me->backend, args..., widen(*in));
      return ANYPLACE_STATUS_OK;
    });
  }
  template <class Method, class Struct, class Out, class... Args>
  static anyplace_status call_struct_out(void* self, Args... args, const Struct* in, Out* out) noexcept {
    auto* me = static_cast<Exported*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      *out = Method::of(*me->backend, args..., widen(*in));
      return ANYPLACE_STATUS_OK;
    });
  }

  /// Methods that wait: false becomes TIMEOUT.
  template <class Method, class... Args>
  static anyplace_status call_wait(void* self, Args... args) noexcept {
    auto* me = static_cast<Exported*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      return Method::of(*me->backend, args...) ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_TIMEOUT;
    });
  }

  /// Methods that fill a struct of the core's: theirs is the newest, the core gets as much as it has.
  template <class Method, class Struct>
  static anyplace_status call_fill(void* self, int32_t device, Struct* out) noexcept {
    auto* me = static_cast<Exported*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      Struct filled{};
      Method::of(*me->backend, device, filled);
      filled.struct_size = static_cast<uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(Struct)));
      std::memcpy(out, &filled, filled.struct_size);
      return ANYPLACE_STATUS_OK;
    });
  }

  /// A struct of an older core is shorter than ours: what it doesn't have reads as 0.
  template <class Struct>
  static Struct widen(const Struct& in) noexcept {
    Struct wide{};
    std::memcpy(&wide, &in, std::min<std::size_t>(in.struct_size, sizeof(Struct)));
    return wide;
  }

  static void fill(anyplace_backend_table& table) noexcept;
};

/// Whether Backend's own class, or one between, overrides the method: then the pointer's class isn't DeviceBackend.
template <class Method>
inline constexpr bool is_default = false;
template <class Result, class... Args>
inline constexpr bool is_default<Result (DeviceBackend::*)(Args...)> = true;

#define ANYPLACE_ENTRY(name, ...)                          \
  do {                                                     \
    if constexpr (!is_default<decltype(&Backend::name)>) { \
      table.name = &Exported::template __VA_ARGS__;        \
    }                                                      \
  } while (false)
// Pure methods are always overridden, and the check would refuse a method that an intermediate class left pure.
#define ANYPLACE_REQUIRED_ENTRY(name, ...) table.name = &Exported::template __VA_ARGS__

template <class Backend>
void Exported<Backend>::fill(anyplace_backend_table& table) noexcept {
  ANYPLACE_ENTRY(shutdown, call_wait<shutdown_method, uint64_t>);

  ANYPLACE_REQUIRED_ENTRY(device_count, call_out<device_count_method, int32_t>);
  ANYPLACE_REQUIRED_ENTRY(device_properties, call_fill<device_properties_method, anyplace_device_properties>);
  ANYPLACE_ENTRY(device_native, call_out<device_native_method, uint64_t, int32_t, uint32_t>);
  ANYPLACE_REQUIRED_ENTRY(device_memory, call_fill<device_memory_method, anyplace_memory_info>);
  ANYPLACE_REQUIRED_ENTRY(device_synchronize, call_wait<device_synchronize_method, int32_t, uint64_t>);
  ANYPLACE_ENTRY(device_reset, call<device_reset_method, int32_t>);

  ANYPLACE_ENTRY(peer_query, call_out<peer_query_method, int32_t, int32_t, int32_t>);
  ANYPLACE_ENTRY(peer_enable, call<peer_enable_method, int32_t, int32_t>);
  ANYPLACE_ENTRY(peer_disable, call<peer_disable_method, int32_t, int32_t>);

  ANYPLACE_REQUIRED_ENTRY(stream_create,
                          call_struct_out<stream_create_method, anyplace_stream_desc, anyplace_stream, int32_t>);
  ANYPLACE_REQUIRED_ENTRY(stream_default,
                          call_struct_out<stream_default_method, anyplace_stream_desc, anyplace_stream, int32_t>);
  ANYPLACE_ENTRY(stream_from_native,
                 call_struct_out<stream_from_native_method, anyplace_stream_desc, anyplace_stream, int32_t, uint64_t>);
  ANYPLACE_ENTRY(stream_native, call_out<stream_native_method, uint64_t, anyplace_stream>);
  ANYPLACE_REQUIRED_ENTRY(stream_destroy, call<stream_destroy_method, anyplace_stream>);
  ANYPLACE_REQUIRED_ENTRY(stream_query, call_out<stream_query_method, int32_t, anyplace_stream>);
  ANYPLACE_REQUIRED_ENTRY(stream_synchronize, call_wait<stream_synchronize_method, anyplace_stream, uint64_t>);
  ANYPLACE_REQUIRED_ENTRY(stream_wait_event, call<stream_wait_event_method, anyplace_stream, anyplace_event>);
  ANYPLACE_ENTRY(stream_host_function,
                 call<stream_host_function_method, anyplace_stream, anyplace_host_function, void*>);

  ANYPLACE_ENTRY(gate_create, call_out<gate_create_method, anyplace_gate, int32_t>);
  ANYPLACE_ENTRY(gate_open, call<gate_open_method, anyplace_gate>);
  ANYPLACE_ENTRY(gate_destroy, call<gate_destroy_method, anyplace_gate>);
  ANYPLACE_ENTRY(stream_wait_gate, call<stream_wait_gate_method, anyplace_stream, anyplace_gate>);

  ANYPLACE_REQUIRED_ENTRY(event_create,
                          call_struct_out<event_create_method, anyplace_event_desc, anyplace_event, int32_t>);
  ANYPLACE_REQUIRED_ENTRY(event_destroy, call<event_destroy_method, anyplace_event>);
  ANYPLACE_REQUIRED_ENTRY(event_record, call<event_record_method, anyplace_event, anyplace_stream>);
  ANYPLACE_REQUIRED_ENTRY(event_query, call_out<event_query_method, int32_t, anyplace_event>);
  ANYPLACE_REQUIRED_ENTRY(event_synchronize, call_wait<event_synchronize_method, anyplace_event, uint64_t>);
  ANYPLACE_ENTRY(event_elapsed, call_out<event_elapsed_method, double, anyplace_event, anyplace_event>);
  ANYPLACE_ENTRY(event_native, call_out<event_native_method, uint64_t, anyplace_event>);

  ANYPLACE_REQUIRED_ENTRY(memory_allocate,
                          call_out<memory_allocate_method, anyplace_address, int32_t, uint32_t, uint64_t>);
  ANYPLACE_REQUIRED_ENTRY(memory_free, call<memory_free_method, int32_t, uint32_t, anyplace_address>);
  ANYPLACE_ENTRY(memory_allocate_async,
                 call_out<memory_allocate_async_method, anyplace_address, anyplace_stream, uint64_t>);
  ANYPLACE_ENTRY(memory_free_async, call<memory_free_async_method, anyplace_stream, anyplace_address>);
  ANYPLACE_ENTRY(host_register, call<host_register_method, int32_t, void*, uint64_t>);
  ANYPLACE_ENTRY(host_unregister, call<host_unregister_method, int32_t, void*>);

  ANYPLACE_REQUIRED_ENTRY(
      memory_copy, call<memory_copy_method, anyplace_stream, anyplace_address, anyplace_address, uint64_t, uint32_t>);
  ANYPLACE_ENTRY(memory_copy_2d, call_struct<memory_copy_2d_method, anyplace_copy_2d, anyplace_stream>);
  ANYPLACE_ENTRY(
      memory_copy_peer,
      call<memory_copy_peer_method, anyplace_stream, int32_t, anyplace_address, int32_t, anyplace_address, uint64_t>);
  ANYPLACE_REQUIRED_ENTRY(memory_set,
                          call<memory_set_method, anyplace_stream, anyplace_address, uint32_t, uint32_t, uint64_t>);

  ANYPLACE_ENTRY(module_load, call_struct_out<module_load_method, anyplace_module_desc, anyplace_module, int32_t>);
  ANYPLACE_ENTRY(module_unload, call<module_unload_method, anyplace_module>);
  ANYPLACE_ENTRY(module_kernel, call_out<module_kernel_method, anyplace_kernel, anyplace_module, const char*>);
  ANYPLACE_ENTRY(
      kernel_from_host,
      call_out<kernel_from_host_method, anyplace_kernel, int32_t, anyplace_host_kernel, void*, void (*)(void*)>);
  ANYPLACE_ENTRY(kernel_destroy, call<kernel_destroy_method, anyplace_kernel>);
  ANYPLACE_ENTRY(kernel_launch, call_struct<kernel_launch_method, anyplace_launch, anyplace_stream, anyplace_kernel>);

  ANYPLACE_ENTRY(virtual_granularity, call_out<virtual_granularity_method, uint64_t, int32_t>);
  ANYPLACE_ENTRY(virtual_reserve, call_out<virtual_reserve_method, anyplace_address, int32_t, uint64_t>);
  ANYPLACE_ENTRY(virtual_release, call<virtual_release_method, int32_t, anyplace_address, uint64_t>);
  ANYPLACE_ENTRY(physical_create, call_out<physical_create_method, anyplace_physical, int32_t, uint64_t>);
  ANYPLACE_ENTRY(physical_destroy, call<physical_destroy_method, anyplace_physical>);
  ANYPLACE_ENTRY(virtual_map, call<virtual_map_method, int32_t, anyplace_address, anyplace_physical>);
  ANYPLACE_ENTRY(virtual_unmap, call<virtual_unmap_method, int32_t, anyplace_address, uint64_t>);
}

#undef ANYPLACE_ENTRY
#undef ANYPLACE_REQUIRED_ENTRY

inline void copy_text(char* destination, std::size_t room, const char* text) noexcept {
  const std::size_t length = std::min(std::strlen(text), room - 1);
  std::memcpy(destination, text, length);
  destination[length] = '\0';
}

/// The body of anyplace_backend_entry. The backend is made here and lives as long as the process.
template <class Backend>
anyplace_status export_backend(const anyplace_host* host, anyplace_backend_table* out, const char* name,
                               const char* version, const char* description) noexcept {
  if (host == nullptr || out == nullptr) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  return guarded(host, [&]() -> anyplace_status {
    auto* exported = new Exported<Backend>;
    exported->host = host;
    try {
      exported->backend = new Backend(Host(host));
    } catch (...) {
      delete exported;
      throw;
    }
    anyplace_backend_table table{};
    Exported<Backend>::fill(table);
    table.struct_size = static_cast<uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(table)));
    table.abi_major = ANYPLACE_ABI_MAJOR;
    table.abi_minor = ANYPLACE_ABI_MINOR;
    copy_text(table.name, sizeof(table.name), name);
    copy_text(table.version, sizeof(table.version), version);
    copy_text(table.description, sizeof(table.description), description);
    table.self = exported;
    std::memcpy(out, &table, table.struct_size);
    return ANYPLACE_STATUS_OK;
  });
}

}  // namespace detail

/// Copies `text` into a fixed array of a properties struct, cut to its size.
template <std::size_t N>
void set_text(char (&destination)[N], const std::string& text) noexcept {
  detail::copy_text(destination, N, text.c_str());
}

}  // namespace anyplace::backend

/// Exports `Class` as the backend `name`. `Class` has a constructor from anyplace::backend::Host; what it throws
/// refuses the plugin with that reason. Once per plugin, outside every namespace. Compile plugins with
/// -fvisibility=hidden.
#define ANYPLACE_EXPORT_BACKEND(Class, name, version, description)                                          \
  extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,       \
                                                                           anyplace_backend_table* table) { \
    return ::anyplace::backend::detail::export_backend<Class>(host, table, name, version, description);     \
  }

#endif  // ANYPLACE_BACKEND_DEVICE_BACKEND_H
