// SPDX-License-Identifier: Apache-2.0
//
// DeviceBackend: the base class that a vendor's backend in C++ derives from.
//
//   class AcmeBackend final : public anyplace::backend::DeviceBackend {
//    public:
//     explicit AcmeBackend(anyplace::backend::Host host) : host_(host) { ... }   // throw Failure to refuse
//     std::int32_t device_count() override;
//     ...
//   };
//   ANYPLACE_EXPORT_BACKEND(AcmeBackend, "acme", "1.2.0", "Acme accelerators")
//
// The macro defines the plugin's one exported symbol and generates the table of functions: each calls the method of the
// same name, catches every exception and turns it into a status. So methods return values and throw, and no exception
// crosses the boundary. The entry of the same name in abi.h documents what each method must do.
//
// A method that isn't pure and isn't overridden becomes a null entry, which tells the core that the capability is
// absent. (So overrides must be public: the generated table compares their addresses' types.)
//
// Everything in this header is inline, so a plugin links no library of anyplace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "abi.h"
#include "entries.h"

namespace anyplace::backend {

/// The exception that a method throws to fail. It has a status, and the vendor's own code, name and text. Without code
/// and name the text is the backend's own: it says what is wrong and, if it can, what would be right and where to look,
/// on a line each ('\n' between).
class Failure : public std::runtime_error {
 public:
  /// A failure with this status. `text` is for people; the vendor's code and name are its own, if a call of the
  /// vendor's failed.
  explicit Failure(anyplace_status status, const std::string& text, std::int64_t vendor_code = 0,
                   std::string vendor_name = {})
      : std::runtime_error(text), status_(status), vendor_code_(vendor_code), vendor_name_(std::move(vendor_name)) {}

  /// The status that the entry returns.
  anyplace_status status() const noexcept { return status_; }
  /// The number that the vendor's call returned; 0 if none failed.
  std::int64_t vendor_code() const noexcept { return vendor_code_; }
  /// The vendor's name of it; "" if there is none.
  const std::string& vendor_name() const noexcept { return vendor_name_; }

 private:
  anyplace_status status_;
  std::int64_t vendor_code_;
  std::string vendor_name_;
};

/// The functions that the core offers to a backend, as a value that may be copied freely. Valid for the life of the
/// process.
class Host {
 public:
  /// Takes what the plugin's entry function was given, which stays valid for the life of the process.
  explicit Host(const anyplace_host* host) noexcept : host_(host) {}

  /// Says why the entry on this thread is about to fail, for code that returns statuses. A method of DeviceBackend
  /// throws Failure instead.
  void leave_message(std::int64_t vendor_code, const char* vendor_name, const char* text) const noexcept {
    host_->leave_message(host_->context, vendor_code, vendor_name, text);
  }
  /// If `text` is null, the message that was left on this thread is used.
  void stream_fault(std::uint64_t cookie, anyplace_status status, const char* text = nullptr,
                    std::int64_t vendor_code = 0, const char* vendor_name = nullptr) const noexcept {
    host_->stream_fault(host_->context, cookie, status, vendor_code, vendor_name, text);
  }
  /// Marks the beginning of user code that the backend runs itself: a call back into anyplace is not_permitted there.
  void user_code_begin() const noexcept { host_->user_code_begin(host_->context); }
  /// Ends what user_code_begin began, on the same thread. The calls nest.
  void user_code_end() const noexcept { host_->user_code_end(host_->context); }
  /// Logs a line for debugging; `level` is ANYPLACE_LOG_*. The log is off unless ANYPLACE_LOG is set.
  void log(std::uint32_t level, const char* text) const noexcept { host_->log(host_->context, level, text); }
  /// Does nothing if the core is of before this function.
  void host_access(std::uint32_t access, anyplace_address address, std::uint64_t bytes) const noexcept {
    if (host_->struct_size <= offsetof(anyplace_host, host_access) || host_->host_access == nullptr) return;
    host_->host_access(host_->context, access, address, bytes);
  }

 private:
  const anyplace_host* host_;
};

/// These convert a pointer to a handle, which is any 64-bit number, and back.
template <class T>
std::uint64_t to_handle(T* object) noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object));
}
/// The object of a handle that to_handle made.
template <class T>
T* from_handle(std::uint64_t handle) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(handle));
}

/// The devices of one vendor. The entries of the same names in abi.h document contract, threading and errors of the
/// methods. The object is made once, when the backend's name is first used, and never destroyed. Methods with a timeout
/// return false when time ran out.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;  // the table holds its address
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  // -- Life.
  virtual bool shutdown(std::uint64_t /*timeout_ns*/) { absent("shutdown"); }

  // -- Devices.
  virtual std::int32_t device_count() = 0;
  /// `out` is zeroed and has the size of this header's struct; the core gets as much of it as its own struct holds.
  virtual void device_properties(std::int32_t device, anyplace_device_properties& out) = 0;
  virtual std::uint64_t device_native(std::int32_t /*device*/, std::uint32_t /*kind*/) { absent("device_native"); }
  virtual void device_memory(std::int32_t device, anyplace_memory_info& out) = 0;
  virtual bool device_synchronize(std::int32_t device, std::uint64_t timeout_ns) = 0;
  virtual void device_reset(std::int32_t /*device*/) { absent("device_reset"); }

  // -- Peer access.
  virtual bool peer_query(std::int32_t /*device*/, std::int32_t /*peer*/) { absent("peer_query"); }
  virtual void peer_enable(std::int32_t /*device*/, std::int32_t /*peer*/) { absent("peer_enable"); }
  virtual void peer_disable(std::int32_t /*device*/, std::int32_t /*peer*/) { absent("peer_disable"); }

  // -- Streams.
  virtual anyplace_stream stream_create(std::int32_t device, const anyplace_stream_desc& desc) = 0;
  virtual anyplace_stream stream_default(std::int32_t device, const anyplace_stream_desc& desc) = 0;
  virtual anyplace_stream stream_from_native(std::int32_t /*device*/, std::uint64_t /*native*/,
                                             const anyplace_stream_desc& /*desc*/) {
    absent("stream_from_native");
  }
  virtual std::uint64_t stream_native(anyplace_stream /*stream*/) { absent("stream_native"); }
  virtual void stream_destroy(anyplace_stream stream) = 0;
  virtual bool stream_query(anyplace_stream stream) = 0;
  virtual bool stream_synchronize(anyplace_stream stream, std::uint64_t timeout_ns) = 0;
  virtual void stream_wait_event(anyplace_stream stream, anyplace_event event) = 0;
  virtual void stream_host_function(anyplace_stream /*stream*/, anyplace_host_function /*function*/, void* /*user*/) {
    absent("stream_host_function");
  }

  // -- Gates.
  virtual anyplace_gate gate_create(std::int32_t /*device*/) { absent("gate_create"); }
  virtual void gate_open(anyplace_gate /*gate*/) { absent("gate_open"); }
  virtual void gate_destroy(anyplace_gate /*gate*/) { absent("gate_destroy"); }
  virtual void stream_wait_gate(anyplace_stream /*stream*/, anyplace_gate /*gate*/) { absent("stream_wait_gate"); }

  // -- Events.
  virtual anyplace_event event_create(std::int32_t device, const anyplace_event_desc& desc) = 0;
  virtual void event_destroy(anyplace_event event) = 0;
  virtual void event_record(anyplace_event event, anyplace_stream stream) = 0;
  virtual bool event_query(anyplace_event event) = 0;
  virtual bool event_synchronize(anyplace_event event, std::uint64_t timeout_ns) = 0;
  virtual double event_elapsed(anyplace_event /*start*/, anyplace_event /*end*/) { absent("event_elapsed"); }
  virtual std::uint64_t event_native(anyplace_event /*event*/) { absent("event_native"); }

  // -- Memory.
  virtual anyplace_address memory_allocate(std::int32_t device, std::uint32_t kind, std::uint64_t bytes) = 0;
  virtual void memory_free(std::int32_t device, std::uint32_t kind, anyplace_address address) = 0;
  virtual anyplace_address memory_allocate_async(anyplace_stream /*stream*/, std::uint64_t /*bytes*/) {
    absent("memory_allocate_async");
  }
  virtual void memory_free_async(anyplace_stream /*stream*/, anyplace_address /*address*/) {
    absent("memory_free_async");
  }
  virtual void host_register(std::int32_t /*device*/, void* /*address*/, std::uint64_t /*bytes*/) {
    absent("host_register");
  }
  virtual void host_unregister(std::int32_t /*device*/, void* /*address*/) { absent("host_unregister"); }

  // -- Copies and fills.
  virtual void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source,
                           std::uint64_t bytes, std::uint32_t kind) = 0;
  virtual void memory_copy_2d(anyplace_stream /*stream*/, const anyplace_copy_2d& /*copy*/) {
    absent("memory_copy_2d");
  }
  virtual void memory_copy_peer(anyplace_stream /*stream*/, std::int32_t /*destination_device*/,
                                anyplace_address /*destination*/, std::int32_t /*source_device*/,
                                anyplace_address /*source*/, std::uint64_t /*bytes*/) {
    absent("memory_copy_peer");
  }
  virtual void memory_set(anyplace_stream stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                          std::uint64_t count) = 0;

  // -- Kernels.
  virtual anyplace_module module_load(std::int32_t /*device*/, const anyplace_module_desc& /*desc*/) {
    absent("module_load");
  }
  virtual void module_unload(anyplace_module /*module*/) { absent("module_unload"); }
  virtual anyplace_kernel module_kernel(anyplace_module /*module*/, const char* /*name*/) { absent("module_kernel"); }
  /// If it throws, `release` is not called.
  virtual anyplace_kernel kernel_from_host(std::int32_t /*device*/, anyplace_host_kernel /*function*/, void* /*user*/,
                                           void (* /*release*/)(void*)) {
    absent("kernel_from_host");
  }
  virtual void kernel_destroy(anyplace_kernel /*kernel*/) { absent("kernel_destroy"); }
  virtual void kernel_launch(anyplace_stream /*stream*/, anyplace_kernel /*kernel*/,
                             const anyplace_launch& /*launch*/) {
    absent("kernel_launch");
  }

  // -- Virtual memory.
  virtual std::uint64_t virtual_granularity(std::int32_t /*device*/) { absent("virtual_granularity"); }
  virtual anyplace_address virtual_reserve(std::int32_t /*device*/, std::uint64_t /*bytes*/) {
    absent("virtual_reserve");
  }
  virtual void virtual_release(std::int32_t /*device*/, anyplace_address /*address*/, std::uint64_t /*bytes*/) {
    absent("virtual_release");
  }
  virtual anyplace_physical physical_create(std::int32_t /*device*/, std::uint64_t /*bytes*/) {
    absent("physical_create");
  }
  virtual void physical_destroy(anyplace_physical /*physical*/) { absent("physical_destroy"); }
  virtual void virtual_map(std::int32_t /*device*/, anyplace_address /*address*/, anyplace_physical /*physical*/) {
    absent("virtual_map");
  }
  virtual void virtual_unmap(std::int32_t /*device*/, anyplace_address /*address*/, std::uint64_t /*bytes*/) {
    absent("virtual_unmap");
  }

  // -- Processes.
  /// Returns all processes; the core gets as many as it has room for.
  virtual std::vector<anyplace_process> list_processes(std::int32_t /*device*/) { absent("list_processes"); }

  // -- More of virtual memory.
  virtual void virtual_map_all(std::int32_t /*device*/, anyplace_address /*address*/,
                               const anyplace_physical* /*physicals*/, std::uint64_t /*count*/) {
    absent("virtual_map_all");
  }

  // -- Clocks.
  virtual std::uint64_t event_timestamp(anyplace_event /*event*/) { absent("event_timestamp"); }
  /// device_properties says how `out` crosses.
  virtual void device_clock(std::int32_t /*device*/, anyplace_clock& /*out*/) { absent("device_clock"); }

  // -- More native handles.
  virtual anyplace_event event_from_native(std::int32_t /*device*/, std::uint64_t /*native*/, std::uint32_t /*flags*/) {
    absent("event_from_native");
  }
  virtual std::uint64_t module_native(anyplace_module /*module*/) { absent("module_native"); }
  virtual std::uint64_t kernel_native(anyplace_kernel /*kernel*/) { absent("kernel_native"); }

  // -- More of kernels. device_properties says how `out` crosses.
  virtual void kernel_attributes(anyplace_kernel /*kernel*/, anyplace_kernel_attributes& /*out*/) {
    absent("kernel_attributes");
  }
  virtual std::uint32_t kernel_occupancy(anyplace_kernel /*kernel*/, std::uint32_t /*threads*/,
                                         std::uint64_t /*shared_bytes*/) {
    absent("kernel_occupancy");
  }
  virtual void module_global(anyplace_module /*module*/, const char* /*name*/, anyplace_global& /*out*/) {
    absent("module_global");
  }

  // -- Graphs.
  virtual anyplace_graph graph_create(std::int32_t /*device*/, const anyplace_graph_desc& /*desc*/) {
    absent("graph_create");
  }
  virtual void graph_update(anyplace_graph /*graph*/, const anyplace_graph_desc& /*desc*/) { absent("graph_update"); }
  virtual void graph_launch(anyplace_graph /*graph*/, anyplace_stream /*stream*/) { absent("graph_launch"); }
  virtual void graph_destroy(anyplace_graph /*graph*/) { absent("graph_destroy"); }

  // -- Sharing between processes.
  virtual void memory_export(std::int32_t /*device*/, anyplace_address /*address*/, std::uint64_t /*bytes*/,
                             anyplace_ipc_handle& /*out*/) {
    absent("memory_export");
  }
  virtual void memory_export_end(std::int32_t /*device*/, anyplace_address /*address*/,
                                 const anyplace_ipc_handle& /*handle*/) {
    absent("memory_export_end");
  }
  virtual anyplace_address memory_import(std::int32_t /*device*/, const anyplace_ipc_handle& /*handle*/) {
    absent("memory_import");
  }
  virtual void memory_import_end(std::int32_t /*device*/, anyplace_address /*address*/) { absent("memory_import_end"); }
  virtual void event_export(anyplace_event /*event*/, anyplace_ipc_handle& /*out*/) { absent("event_export"); }
  virtual anyplace_event event_import(std::int32_t /*device*/, const anyplace_ipc_handle& /*handle*/) {
    absent("event_import");
  }

  // -- Monitoring. device_properties says how `out` crosses; kit/sampled.h sets figures together with their bits.
  virtual void device_sample(std::int32_t /*device*/, anyplace_device_sample& /*out*/) { absent("device_sample"); }

 private:
  [[noreturn]] static void absent(const char* entry) {
    throw Failure(ANYPLACE_STATUS_UNSUPPORTED, std::string("this backend has no ") + entry);
  }
};

namespace detail {

/// Called in a handler: leaves the exception's message with the core and returns the status that stands for it. It
/// isn't inlined, so that the entries' path without an exception stays short.
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

/// Runs `body`, which may throw anything, and returns a status. `host` is read only when it throws.
template <class Body>
anyplace_status guarded(const anyplace_host* const& host, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return status_of_exception(host);
  }
}

// Each method becomes a type that calls Backend's own method: the object's class is Backend and none derived from it,
// so no virtual dispatch is needed.
#define ANYPLACE_BACKEND_METHOD(entry, presence, capabilities)                          \
  struct entry##_method {                                                               \
    template <class Backend, class... Args>                                             \
    [[gnu::always_inline]] static decltype(auto) of(Backend& backend, Args&&... args) { \
      return backend.Backend::entry(std::forward<Args>(args)...);                       \
    }                                                                                   \
  };
ANYPLACE_ENTRY_LIST(ANYPLACE_BACKEND_METHOD)
#undef ANYPLACE_BACKEND_METHOD

/// How a parameter of a method crosses the boundary. By default it crosses unchanged.
template <class Parameter>
struct Crossing {
  using type = Parameter;
  static constexpr bool is_short(Parameter) noexcept { return false; }
  static constexpr Parameter widened(Parameter value) noexcept { return value; }
  static constexpr Parameter given(Parameter value) noexcept { return value; }
};
/// A struct of the core's crosses as a pointer. An older core's struct is shorter than this header's: the missing
/// fields read as 0.
template <class Struct>
struct Crossing<const Struct&> {
  using type = const Struct*;
  static bool is_short(const Struct* in) noexcept { return in->struct_size < sizeof(Struct); }
  static Struct widened(const Struct* in) noexcept {
    Struct wide{};
    std::memcpy(&wide, in, std::min<std::size_t>(in->struct_size, sizeof(Struct)));
    return wide;
  }
  static const Struct& given(const Struct* in) noexcept { return *in; }
};

/// The generated table of Backend. One object per plugin; the entries find it through `self`.
template <class Backend>
struct Exported {
  static_assert(std::is_base_of_v<DeviceBackend, Backend>);

  Backend* backend = nullptr;
  const anyplace_host* host = nullptr;

  static void fill(anyplace_backend_table& table) noexcept;
};

/// The functions below are the possible table entries for a method with these parameters.
template <class Backend, class Method, class... Parameters>
struct Thunk {
  /// The entry of a method that returns nothing.
  static anyplace_status call(void* self, typename Crossing<Parameters>::type... args) noexcept {
    if ((Crossing<Parameters>::is_short(args) || ...)) [[unlikely]]
      return call_widened(self, args...);
    auto* me = static_cast<Exported<Backend>*>(self);
    try {
      Method::of(*me->backend, Crossing<Parameters>::given(args)...);
      return ANYPLACE_STATUS_OK;
    } catch (...) {
      return status_of_exception(me->host);
    }
  }
  [[gnu::noinline]] static anyplace_status call_widened(void* self,
                                                        typename Crossing<Parameters>::type... args) noexcept {
    auto* me = static_cast<Exported<Backend>*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      Method::of(*me->backend, Crossing<Parameters>::widened(args)...);
      return ANYPLACE_STATUS_OK;
    });
  }

  /// The entry of a method whose result goes to the entry's last parameter.
  template <class Out>
  static anyplace_status call_out(void* self, typename Crossing<Parameters>::type... args, Out* out) noexcept {
    auto* me = static_cast<Exported<Backend>*>(self);
    try {
      *out = static_cast<Out>(Method::of(*me->backend, Crossing<Parameters>::widened(args)...));
      return ANYPLACE_STATUS_OK;
    } catch (...) {
      return status_of_exception(me->host);
    }
  }

  /// The entry of a method that waits; false becomes TIMEOUT.
  static anyplace_status call_wait(void* self, typename Crossing<Parameters>::type... args) noexcept {
    auto* me = static_cast<Exported<Backend>*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      return Method::of(*me->backend, args...) ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_TIMEOUT;
    });
  }
};

/// The entry of a method that fills a struct. The method fills this header's struct, and the core gets as much of it as
/// its own holds.
template <class Backend, class Method, class Struct, class... Args>
struct FillThunk {
  static anyplace_status call(void* self, Args... args, Struct* out) noexcept {
    auto* me = static_cast<Exported<Backend>*>(self);
    return guarded(me->host, [&]() -> anyplace_status {
      Struct filled{};
      Method::of(*me->backend, args..., filled);
      filled.struct_size = static_cast<std::uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(Struct)));
      std::memcpy(out, &filled, filled.struct_size);
      return ANYPLACE_STATUS_OK;
    });
  }
};

/// The entry of a method that returns an array. The core gets as many structs as it has room for, each cut to its
/// stride.
template <class Backend, class Method, class Struct>
anyplace_status call_list(void* self, std::int32_t device, Struct* out, std::uint32_t stride,
                          std::uint32_t* count) noexcept {
  auto* me = static_cast<Exported<Backend>*>(self);
  return guarded(me->host, [&]() -> anyplace_status {
    const std::vector<Struct> all = Method::of(*me->backend, device);
    const std::size_t given = std::min<std::size_t>(*count, all.size());
    for (std::size_t i = 0; i < given; ++i) {
      std::memcpy(reinterpret_cast<char*>(out) + i * stride, &all[i], std::min<std::size_t>(stride, sizeof(Struct)));
    }
    *count = static_cast<std::uint32_t>(all.size());
    return ANYPLACE_STATUS_OK;
  });
}

/// Chooses the entry by the types of the method and of the entry. If the method returns bool and the entry has no
/// output for it, the bool says whether a wait ended in time. The compiler checks the entry's type where it is
/// returned.
template <class Backend, class Method, class Result, class... Parameters, class... Crossed>
constexpr auto entry_of(Result (DeviceBackend::*)(Parameters...), anyplace_status (*)(void*, Crossed...)) noexcept
    -> anyplace_status (*)(void*, Crossed...) {
  using Entries = Thunk<Backend, Method, Parameters...>;
  if constexpr (sizeof...(Crossed) > sizeof...(Parameters)) {
    return &Entries::call_out;
  } else if constexpr (std::is_same_v<Result, bool>) {
    return &Entries::call_wait;
  } else {
    return &Entries::call;
  }
}
template <class Backend, class Method, class First, class Struct>
requires(!std::is_const_v<Struct>) constexpr auto entry_of(void (DeviceBackend::*)(First, Struct&),
                                                           anyplace_status (*)(void*, First, Struct*)) noexcept
    -> anyplace_status (*)(void*, First, Struct*) {
  return &FillThunk<Backend, Method, Struct, First>::call;
}
template <class Backend, class Method, class First, class Second, class Struct>
requires(!std::is_const_v<Struct>) constexpr auto entry_of(void (DeviceBackend::*)(First, Second, Struct&),
                                                           anyplace_status (*)(void*, First, Second, Struct*)) noexcept
    -> anyplace_status (*)(void*, First, Second, Struct*) {
  return &FillThunk<Backend, Method, Struct, First, Second>::call;
}
template <class Backend, class Method, class First, class Second, class Third, class Struct>
requires(!std::is_const_v<Struct>) constexpr auto entry_of(void (DeviceBackend::*)(First, Second, Third, Struct&),
                                                           anyplace_status (*)(void*, First, Second, Third,
                                                                               Struct*)) noexcept
    -> anyplace_status (*)(void*, First, Second, Third, Struct*) {
  return &FillThunk<Backend, Method, Struct, First, Second, Third>::call;
}
template <class Backend, class Method, class Struct>
constexpr auto entry_of(std::vector<Struct> (DeviceBackend::*)(std::int32_t),
                        anyplace_status (*)(void*, std::int32_t, Struct*, std::uint32_t, std::uint32_t*)) noexcept
    -> anyplace_status (*)(void*, std::int32_t, Struct*, std::uint32_t, std::uint32_t*) {
  return &call_list<Backend, Method, Struct>;
}

/// Whether the method isn't overridden by Backend or a class between: then its pointer's class is DeviceBackend.
template <class Method>
inline constexpr bool is_default = false;
template <class Result, class... Args>
inline constexpr bool is_default<Result (DeviceBackend::*)(Args...)> = true;

template <class Backend>
void Exported<Backend>::fill(anyplace_backend_table& table) noexcept {
// Pure methods are always overridden, and is_default would miss one that an intermediate class left pure.
#define ANYPLACE_FILL_ENTRY(entry, presence, capabilities)                                                        \
  if constexpr (ANYPLACE_ENTRY_##presence == ANYPLACE_ENTRY_REQUIRED || !is_default<decltype(&Backend::entry)>) { \
    table.entry = entry_of<Backend, entry##_method>(&DeviceBackend::entry, table.entry);                          \
  }
  ANYPLACE_ENTRY_LIST(ANYPLACE_FILL_ENTRY)
#undef ANYPLACE_FILL_ENTRY
}

/// The greatest length up to `length` that cuts no character of UTF-8 in two.
inline std::size_t whole_length(const char* text, std::size_t length) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t back = 1; back <= 3 && back <= length; ++back) {
    const unsigned char first = byte(length - back);
    if ((first & 0xc0u) == 0x80u) continue;  // not a character's first byte
    const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    return bytes > back ? length - back : length;
  }
  return length;
}

inline void copy_text(char* destination, std::size_t room, const char* text) noexcept {
  const std::size_t whole = std::strlen(text);
  const std::size_t length = whole < room ? whole : whole_length(text, room - 1);
  std::memcpy(destination, text, length);
  destination[length] = '\0';
}

/// The body of anyplace_backend_entry. It makes the backend, which lives as long as the process.
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
    table.struct_size = static_cast<std::uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(table)));
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

/// Removes a character of UTF-8 that was cut off at the end of a text.
inline void end_whole(char* text) noexcept { text[detail::whole_length(text, std::strlen(text))] = '\0'; }

/// Copies `text` into a fixed array of a properties struct. A longer text is cut between two characters of UTF-8.
template <std::size_t N>
void set_text(char (&destination)[N], const std::string& text) noexcept {
  detail::copy_text(destination, N, text.c_str());
}

}  // namespace anyplace::backend

/// Exports `Class` as the backend `name`. `Class` has a constructor from anyplace::backend::Host; an exception from it
/// refuses the plugin with that reason. Use it once per plugin, outside every namespace, and compile plugins with
/// -fvisibility=hidden.
#define ANYPLACE_EXPORT_BACKEND(Class, name, version, description)                                          \
  extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,       \
                                                                           anyplace_backend_table* table) { \
    return ::anyplace::backend::detail::export_backend<Class>(host, table, name, version, description);     \
  }
