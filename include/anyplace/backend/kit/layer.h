// SPDX-License-Identifier: Apache-2.0
//
// Layer: what a layer in C++ derives from (layer.h says what a layer is).
//
//   struct NoCopies : anyplace::backend::Layer {
//     using Layer::Layer;
//     anyplace_status memory_copy(anyplace_stream stream, anyplace_address to, anyplace_address from,
//                                 std::uint64_t bytes, std::uint32_t kind) {
//       host().log(ANYPLACE_LOG_INFO, "a copy");
//       return pass_on<&anyplace_backend_table::memory_copy>(stream, to, from, bytes, kind);
//     }
//   };
//   ANYPLACE_EXPORT_LAYER(NoCopies, "nocopies", "1.0", "Logs copies", "")
//
// A public member function with the name of an entry is that entry, with the entry's parameters but `self`; the backend
// needn't have it. All other entries that the table below has come by `call`, which a layer may have, too:
//
//   template <auto Entry, class... Args>
//   anyplace_status call(Args... args) { ...; return pass_on<Entry>(args...); }
//
// Entry is &anyplace_backend_table::memory_copy and so on, and EntryOf<Entry> knows its name and its arguments. So an
// entry that a later version adds comes through every layer that is built again.
//
// A layer may also have these members:
//
//   // Is called once, in the plugin's entry. An exception refuses the plugin.
//   static void load(Host host);
//   // Returns the answer to a command.
//   static std::string command(std::string_view name, std::string_view argument);
//   // Hears what the program annotates; layer.h says when.
//   static void annotation(const anyplace_annotation& annotation);
//   // Changes the finished table, for example to leave entries out.
//   void begin(anyplace_backend_table& table);
//   // layer.h says when this is called.
//   void end();
//   // What calls to the backend don't show; layer.h says when these are called. An exception that leaves host_access
//   // or engine_work is thrown to the application; none may leave the others.
//   void memory_taken(std::int32_t device, const anyplace_layer_memory& memory);
//   void memory_returned(std::int32_t device, const anyplace_layer_memory& memory);
//   void stream_waits(anyplace_event event, std::uint64_t stream);
//   void engine_work(std::uint64_t stream, const char* name, std::span<const anyplace_layer_access> accesses,
//                    std::span<const anyplace_layer_meeting> meetings);
//   static void argument(std::uint32_t access, anyplace_address address, std::uint64_t bytes);
//   static void launch_kept(const anyplace_launch& launch);
//   static void host_access(std::uint32_t access, anyplace_address address, std::uint64_t bytes);
//   static void core_calls(bool begin);
//   static void host_function(void* user, const anyplace_copy_2d* copy);
//
// An exception that leaves one of these or an entry becomes the status that it stands for, as in a DeviceBackend.
// An entry that has made something must not throw after that, because the core would never hear of what was made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "../arguments.h"
#include "../device_backend.h"
#include "../layer.h"

namespace anyplace::backend {

/// arguments.h says what roles and kinds mean.
enum class Role {
  IN,     ///< it is read
  OUT,    ///< what it points to is written
  INOUT,  ///< what it points to is read and written
  END,    ///< it is read, and its object is gone afterwards
};
/// What an argument is.
enum class Kind {
  DEVICE,        ///< the index of a device
  STREAM,        ///< an anyplace_stream
  EVENT,         ///< an anyplace_event
  GATE,          ///< an anyplace_gate
  MODULE,        ///< an anyplace_module
  KERNEL,        ///< an anyplace_kernel
  PHYSICAL,      ///< an anyplace_physical
  GRAPH,         ///< an anyplace_graph
  ADDRESS,       ///< an address of device memory, or as abi.h says
  HOST_ADDRESS,  ///< an address of the host's memory
  NATIVE,        ///< a handle of the vendor's
  BYTES,         ///< a size in bytes
  NANOSECONDS,   ///< a time in nanoseconds
  MILLISECONDS,  ///< a time in milliseconds
  NUMBER,        ///< any other number
  TEXT,          ///< characters that end with NUL
  STRUCT,        ///< a pointer to one struct, or to several
  FUNCTION,      ///< a function that the backend calls
  USER,          ///< that function's argument
};

/// An argument of an entry.
struct Argument {
  Role role;         ///< what the entry does with it
  Kind kind;         ///< what it is
  const char* name;  ///< the name of the parameter
};

/// Whether an argument of that kind is the handle of an object that belongs to a device.
constexpr bool is_handle(Kind kind) noexcept { return kind >= Kind::STREAM && kind <= Kind::GRAPH; }

/// The entry that a pointer to a member of the table stands for: `index` is ANYPLACE_ENTRY_INDEX_<name>.
template <auto Entry>
struct EntryOf;
#define ANYPLACE_LAYER_ARGUMENT(role, kind, name) Argument{Role::role, Kind::kind, #name},
#define ANYPLACE_LAYER_ENTRY(entry, list)                      \
  template <>                                                  \
  struct EntryOf<&anyplace_backend_table::entry> {             \
    static constexpr int index = ANYPLACE_ENTRY_INDEX_##entry; \
    static constexpr const char* name = #entry;                \
    static constexpr Argument arguments[] = {list};            \
  };
ANYPLACE_ENTRY_ARGUMENTS(ANYPLACE_LAYER_ENTRY, ANYPLACE_LAYER_ARGUMENT)
#undef ANYPLACE_LAYER_ENTRY
#undef ANYPLACE_LAYER_ARGUMENT

namespace detail {

/// Whether a parameter of type T can be that argument.
template <class T>
constexpr bool fits(const Argument& argument) noexcept {
  using Value = std::remove_pointer_t<T>;
  const bool out = argument.role == Role::OUT || argument.role == Role::INOUT;
  if (out && (!std::is_pointer_v<T> || std::is_const_v<Value>)) return false;
  switch (argument.kind) {
    case Kind::DEVICE:
      return std::is_same_v<T, std::int32_t>;
    case Kind::NUMBER:
      return out ? std::is_integral_v<Value> : std::is_integral_v<T>;
    case Kind::MILLISECONDS:
      return std::is_same_v<Value, double>;
    case Kind::TEXT:
      return std::is_same_v<T, const char*>;
    case Kind::HOST_ADDRESS:
    case Kind::USER:
      return std::is_same_v<T, void*>;
    case Kind::FUNCTION:
      return std::is_pointer_v<T> && std::is_function_v<Value>;
    case Kind::STRUCT:
      return std::is_pointer_v<T> && !std::is_function_v<Value>;
    default:  // handles, addresses, bytes and nanoseconds
      return std::is_same_v<Value, std::uint64_t> && std::is_pointer_v<T> == out;
  }
}

template <class... Args>
constexpr bool all_fit(anyplace_status (*)(void*, Args...), std::span<const Argument> arguments) noexcept {
  std::size_t at = 0;
  return arguments.size() == sizeof...(Args) && (fits<Args>(arguments[at++]) && ...);
}
#define ANYPLACE_LAYER_CHECK(entry, presence, capabilities)                            \
  static_assert(all_fit(static_cast<decltype(anyplace_backend_table::entry)>(nullptr), \
                        EntryOf<&anyplace_backend_table::entry>::arguments),           \
                "the parameters of " #entry " in abi.h and its line in arguments.h differ");
ANYPLACE_ENTRY_LIST(ANYPLACE_LAYER_CHECK)
#undef ANYPLACE_LAYER_CHECK

}  // namespace detail

/// A layer over one backend. It is made when it is put over the backend, and never destroyed. Entries are called by any
/// thread, several at a time.
class Layer {
 public:
  /// Stands over `next`, which is the table below, on behalf of a backend that has `host`.
  Layer(Host host, const anyplace_backend_table& next) noexcept : host_(host), next_(next) {}
  Layer(const Layer&) = delete;  // the table holds its address
  Layer& operator=(const Layer&) = delete;

  /// What the core offers to the backend.
  const Host& host() const noexcept { return host_; }
  /// The table below. Entries that the backend lacks are null.
  const anyplace_backend_table& next() const noexcept { return next_; }

  /// Calls the entry of the table below. Returns UNSUPPORTED if it has none.
  template <auto Entry, class... Args>
  anyplace_status pass_on(Args... args) const {
    return next_.*Entry == nullptr ? ANYPLACE_STATUS_UNSUPPORTED : (next_.*Entry)(next_.self, args...);
  }
  /// What an entry does that the layer has no function for. A layer that has a `call` of its own hides this one.
  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    return pass_on<Entry>(args...);
  }

 private:
  const Host host_;
  const anyplace_backend_table next_;
};

namespace detail {

/// A layer over a backend: the `self` of its table.
template <class Mine>
struct LayerInstance {
  const anyplace_host* host;
  Mine layer;

  LayerInstance(const anyplace_host* given, const anyplace_backend_table& next)
      : host(given), layer(Host(given), next) {}
};

template <class Mine, auto Entry, class... Args>
anyplace_status call_layer(void* self, Args... args) noexcept {
  auto* const instance = static_cast<LayerInstance<Mine>*>(self);
  return guarded(instance->host,
                 [&]() -> anyplace_status { return instance->layer.template call<Entry, Args...>(args...); });
}
template <class Mine, auto Entry, class... Args>
void put_call(anyplace_status (*&entry)(void*, Args...)) noexcept {
  if (entry != nullptr) entry = &call_layer<Mine, Entry, Args...>;
}

template <class Mine, auto Member, class... Args>
anyplace_status call_member(void* self, Args... args) noexcept {
  auto* const instance = static_cast<LayerInstance<Mine>*>(self);
  return guarded(instance->host, [&]() -> anyplace_status { return (instance->layer.*Member)(args...); });
}
template <class Mine, auto Member, class... Args>
void put_member(anyplace_status (*&entry)(void*, Args...)) noexcept {
  entry = &call_member<Mine, Member, Args...>;
}

/// Replaces the entries of a copy of the table below by the layer's.
template <class Mine>
void put_entries(anyplace_backend_table& table) noexcept {
#define ANYPLACE_LAYER_PUT(entry, presence, capabilities)        \
  if constexpr (requires { &Mine::entry; }) {                    \
    put_member<Mine, &Mine::entry>(table.entry);                 \
  } else {                                                       \
    put_call<Mine, &anyplace_backend_table::entry>(table.entry); \
  }
  ANYPLACE_ENTRY_LIST(ANYPLACE_LAYER_PUT)
#undef ANYPLACE_LAYER_PUT
}

template <class Mine>
anyplace_status begin_layer(void*, const anyplace_host* host, const anyplace_backend_table* given,
                            anyplace_backend_table* out) noexcept {
  return guarded(host, [&]() -> anyplace_status {
    // Entries beyond those that the core has stay null.
    anyplace_backend_table next{};
    std::memcpy(&next, given, std::min<std::size_t>(given->struct_size, sizeof(next)));
    auto* const instance = new LayerInstance<Mine>(host, next);
    anyplace_backend_table table = next;
    table.self = instance;
    put_entries<Mine>(table);
    if constexpr (requires { instance->layer.begin(table); }) instance->layer.begin(table);
    table.struct_size = static_cast<std::uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(table)));
    std::memcpy(out, &table, table.struct_size);
    return ANYPLACE_STATUS_OK;
  });
}

template <class Mine>
void end_layer(void* self) noexcept {
  auto* const instance = static_cast<LayerInstance<Mine>*>(self);
  guarded(instance->host, [&]() -> anyplace_status {
    instance->layer.end();
    return ANYPLACE_STATUS_OK;
  });
}

/// `self` is what the core offers to the layer, in the form in which `guarded` takes it.
template <class Mine>
anyplace_status command_layer(void* self, const char* name, const char* argument,
                              const anyplace_layer_reply* reply) noexcept {
  return guarded(static_cast<const anyplace_host*>(self), [&]() -> anyplace_status {
    const std::string answer = Mine::command(name, argument);
    reply->text(reply->context, answer.data(), answer.size());
    return ANYPLACE_STATUS_OK;
  });
}

/// What it throws is dropped, because a program mustn't fail over an annotation.
template <class Mine>
void annotation_layer(void* self, const anyplace_annotation* annotation) noexcept {
  guarded(static_cast<const anyplace_host*>(self), [&]() -> anyplace_status {
    Mine::annotation(*annotation);
    return ANYPLACE_STATUS_OK;
  });
}

/// Fills the entries for what calls to the backend don't show, as far as the layer has them.
template <class Mine>
void put_notes(anyplace_layer_table& table) noexcept {
  if constexpr (requires { &Mine::memory_taken; }) {
    table.memory_taken = [](void* self, std::int32_t device, const anyplace_layer_memory* memory) {
      static_cast<LayerInstance<Mine>*>(self)->layer.memory_taken(device, *memory);
    };
  }
  if constexpr (requires { &Mine::memory_returned; }) {
    table.memory_returned = [](void* self, std::int32_t device, const anyplace_layer_memory* memory) {
      static_cast<LayerInstance<Mine>*>(self)->layer.memory_returned(device, *memory);
    };
  }
  if constexpr (requires { &Mine::stream_waits; }) {
    table.stream_waits = [](void* self, anyplace_event event, std::uint64_t stream) {
      static_cast<LayerInstance<Mine>*>(self)->layer.stream_waits(event, stream);
    };
  }
  if constexpr (requires { &Mine::engine_work; }) {
    table.engine_work = [](void* self, std::uint64_t stream, const char* name, const anyplace_layer_access* accesses,
                           std::uint32_t count, const anyplace_layer_meeting* meetings, std::uint32_t meeting_count) {
      auto* const instance = static_cast<LayerInstance<Mine>*>(self);
      return guarded(instance->host, [&]() -> anyplace_status {
        instance->layer.engine_work(stream, name, std::span(accesses, count), std::span(meetings, meeting_count));
        return ANYPLACE_STATUS_OK;
      });
    };
  }
  if constexpr (requires { &Mine::argument; }) {
    table.argument = [](void*, std::uint32_t access, anyplace_address address, std::uint64_t bytes) {
      Mine::argument(access, address, bytes);
    };
  }
  if constexpr (requires { &Mine::launch_kept; }) {
    table.launch_kept = [](void*, const anyplace_launch* launch) { Mine::launch_kept(*launch); };
  }
  if constexpr (requires { &Mine::host_access; }) {
    table.host_access = [](void* self, std::uint32_t access, anyplace_address address, std::uint64_t bytes) {
      return guarded(static_cast<const anyplace_host*>(self), [&]() -> anyplace_status {
        Mine::host_access(access, address, bytes);
        return ANYPLACE_STATUS_OK;
      });
    };
  }
  if constexpr (requires { &Mine::core_calls; }) {
    table.core_calls = [](void*, std::uint32_t begin) { Mine::core_calls(begin != 0); };
  }
  if constexpr (requires { &Mine::host_function; }) {
    table.host_function = [](void*, void* user, const anyplace_copy_2d* copy) { Mine::host_function(user, copy); };
  }
}

/// The body of anyplace_layer_entry.
template <class Mine>
anyplace_status export_layer(const anyplace_layer_host* given, anyplace_layer_table* out, const char* name,
                             const char* version, const char* description, const char* variables) noexcept {
  if (given == nullptr || out == nullptr) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  static anyplace_host host;
  host.struct_size = sizeof(host);
  host.context = given->context;
  host.leave_message = given->leave_message;
  host.log = given->log;
  return guarded(&host, [&]() -> anyplace_status {
    if constexpr (requires { Mine::load(Host(&host)); }) Mine::load(Host(&host));
    anyplace_layer_table table{};
    table.struct_size = static_cast<std::uint32_t>(std::min<std::size_t>(out->struct_size, sizeof(table)));
    table.abi_major = ANYPLACE_LAYER_ABI_MAJOR;
    table.abi_minor = ANYPLACE_LAYER_ABI_MINOR;
    table.backend_abi_major = ANYPLACE_ABI_MAJOR;
    table.backend_table_size = sizeof(anyplace_backend_table);
    copy_text(table.name, sizeof(table.name), name);
    copy_text(table.version, sizeof(table.version), version);
    copy_text(table.description, sizeof(table.description), description);
    copy_text(table.variables, sizeof(table.variables), variables);
    table.self = &host;
    table.begin = &begin_layer<Mine>;
    if constexpr (requires(Mine & layer) { layer.end(); }) table.end = &end_layer<Mine>;
    if constexpr (requires(std::string_view text) { Mine::command(text, text); }) table.command = &command_layer<Mine>;
    if constexpr (requires(const anyplace_annotation& one) { Mine::annotation(one); }) {
      table.annotation = &annotation_layer<Mine>;
    }
    put_notes<Mine>(table);
    std::memcpy(out, &table, table.struct_size);
    return ANYPLACE_STATUS_OK;
  });
}

}  // namespace detail

}  // namespace anyplace::backend

/// Exports `Class`, which derives from Layer, as the layer `name`. `variables` are the environment variables that it
/// reads, with blanks between them. Use it once per plugin, outside every namespace, and compile plugins with
/// -fvisibility=hidden.
#define ANYPLACE_EXPORT_LAYER(Class, name, version, description, variables)                                      \
  extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_layer_entry(const anyplace_layer_host* host,        \
                                                                         anyplace_layer_table* table) {          \
    return ::anyplace::backend::detail::export_layer<Class>(host, table, name, version, description, variables); \
  }
