// SPDX-License-Identifier: Apache-2.0
//
// A layer: a table between the core and a backend, whose every entry calls the backend's. What it does besides, `Layer`
// says; it derives from LayerBase and has
//
//   template <auto Entry, class... Args>
//   anyplace_status call(Args... args) { ...; return pass_on<Entry>(args...); }
//
// where Entry is &anyplace_backend_table::stream_query and so on. One function for all entries, those to come included.
#pragma once

#include <anyplace/backend/entries.h>

namespace test {

struct LayerBase {
  anyplace_backend_table backend{};  ///< as its plugin filled it

  template <auto Entry, class... Args>
  anyplace_status pass_on(Args... args) const {
    return (backend.*Entry)(backend.self, args...);
  }
};

template <class Layer, auto Entry, class... Args>
anyplace_status call_layer(void* self, Args... args) {
  return static_cast<Layer*>(self)->template call<Entry>(args...);
}

template <class Layer, auto Entry, class... Args>
void put_layer(anyplace_backend_table& table, anyplace_status (*anyplace_backend_table::*)(void*, Args...)) {
  if (table.*Entry != nullptr) table.*Entry = &call_layer<Layer, Entry, Args...>;
}

/// Puts the layer over the table that a plugin filled. `layer` lives as long as the process.
template <class Layer>
void put_layer(Layer& layer, anyplace_backend_table& table) {
  layer.backend = table;
  table.self = &layer;
#define PUT_LAYER(entry, presence, capabilities) \
  put_layer<Layer, &anyplace_backend_table::entry>(table, &anyplace_backend_table::entry);
  ANYPLACE_ENTRY_LIST(PUT_LAYER)
#undef PUT_LAYER
}

}  // namespace test
