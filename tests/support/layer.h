// SPDX-License-Identifier: Apache-2.0
//
// A layer: a table between the core and a backend, whose every entry calls the backend's. A plugin of that kind is
//
//   struct Mine : test::Layer {
//     anyplace_status stream_query(anyplace_stream stream, int32_t* done) { ...; return
//     pass_on<&Table::stream_query>(...); }
//   };
//   TEST_LAYER(Mine, "/the/plugin/of/the/backend.so", "its_name")
//
// A member function of an entry's name is what that entry does, with the entry's arguments but for `self`; the backend
// needn't have it. All other entries come by `call`, which a layer may have, too, to do something at each of them:
//
//   template <auto Entry, class... Args>
//   anyplace_status call(Args... args) { ...; return pass_on<Entry>(args...); }
//
// where Entry is &Table::stream_query and so on. So an entry that is new goes through every layer.
#pragma once

#include <anyplace/backend/entries.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace test {

using Table = anyplace_backend_table;

struct Layer {
  Table backend{};  ///< as its plugin filled it

  template <auto Entry, class... Args>
  anyplace_status pass_on(Args... args) const {
    return (backend.*Entry)(backend.self, args...);
  }
  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    return pass_on<Entry>(args...);
  }
  /// Called once, when the table is complete but for what this does to it.
  void begin(const anyplace_host*, Table&) {}
};

/// Whether Entry is one of those.
template <auto Entry, auto... Entries>
inline constexpr bool is_one_of = (std::is_same_v<std::integral_constant<decltype(Entry), Entry>,
                                                  std::integral_constant<decltype(Entries), Entries>> ||
                                   ...);

/// Makes null what only devices with one of the capabilities in `absent` need: ANYPLACE_FOR(...).
inline void remove_entries(Table& table, std::uint64_t absent) {
#define REMOVE_ENTRY(entry, presence, capabilities) \
  if ((capabilities) != 0 && ((capabilities) & ~absent) == 0) table.entry = nullptr;
  ANYPLACE_ENTRY_LIST(REMOVE_ENTRY)
#undef REMOVE_ENTRY
}

template <class Mine, auto Entry, class... Args>
anyplace_status call_layer(void* self, Args... args) {
  return static_cast<Mine*>(self)->template call<Entry>(args...);
}
template <class Mine, auto Entry, class... Args>
void put_entry(Table& table, anyplace_status (*Table::*)(void*, Args...)) {
  if (table.*Entry != nullptr) table.*Entry = &call_layer<Mine, Entry, Args...>;
}

template <class Mine, auto Member, class... Args>
anyplace_status call_member(void* self, Args... args) {
  return (static_cast<Mine*>(self)->*Member)(args...);
}
template <class Mine, auto Member, class... Args>
void put_member(anyplace_status (*&entry)(void*, Args...)) {
  entry = &call_member<Mine, Member, Args...>;
}

/// Fills the table as the plugin in `file` does, but under another name.
inline anyplace_status fill_as(const char* name, const char* file, const anyplace_host* host, Table& table) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (entry == nullptr) {
    host->leave_message(host->context, 0, nullptr, dlerror());
    return ANYPLACE_STATUS_LIBRARY_MISSING;
  }
  const anyplace_status status = reinterpret_cast<anyplace_backend_entry_function>(entry)(host, &table);
  if (status != ANYPLACE_STATUS_OK) return status;
  std::memset(table.name, 0, sizeof(table.name));
  std::strncpy(table.name, name, sizeof(table.name) - 1);
  return status;
}

/// Fills the table with the layer over the backend whose plugin that is. `layer` lives as long as the process.
template <class Mine>
anyplace_status put_layer(Mine& layer, const char* name, const char* file, const anyplace_host* host, Table& table) {
  const anyplace_status status = fill_as(name, file, host, table);
  if (status != ANYPLACE_STATUS_OK) return status;
  layer.backend = table;
  table.self = &layer;
#define PUT_ENTRY(entry, presence, capabilities)          \
  if constexpr (requires { &Mine::entry; }) {             \
    put_member<Mine, &Mine::entry>(table.entry);          \
  } else {                                                \
    put_entry<Mine, &Table::entry>(table, &Table::entry); \
  }
  ANYPLACE_ENTRY_LIST(PUT_ENTRY)
#undef PUT_ENTRY
  layer.begin(host, table);
  return status;
}

}  // namespace test

#define TEST_LAYER(Mine, file, name)                                                                        \
  extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,       \
                                                                           anyplace_backend_table* table) { \
    static auto& layer = *new Mine;                                                                         \
    return test::put_layer(layer, name, file, host, *table);                                                \
  }
