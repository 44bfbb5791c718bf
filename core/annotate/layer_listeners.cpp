// SPDX-License-Identifier: Apache-2.0
#include "annotate/layer_listeners.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <mutex>

#include "annotate/libraries.h"
#include "annotate/subsystem.h"
#include "anyplace/backend/layer.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

/// A layer that hears annotations, in a list that only grows. Never freed.
struct LayerListener {
  const anyplace_layer_table* table;
  LayerListener* next;
};

struct LayerListeners {
  std::mutex mutex;                            // guards the adding; a leaf, but for that of Listening
  std::atomic<LayerListener*> first{nullptr};  ///< is read without the lock
};
constinit NoDestructor<LayerListeners> layer_listeners;

bool hears(const anyplace_layer_table& table) noexcept {
  return table.struct_size >= offsetof(anyplace_layer_table, annotation) + sizeof(table.annotation) &&
         table.annotation != nullptr;
}

void add_layer(const anyplace_layer_table& table) {
  if (!hears(table)) return;
  LayerListeners& all = layer_listeners.value;
  watch_forks_for_annotations();
  const std::lock_guard lock(all.mutex);
  LayerListener* const first = all.first.load(std::memory_order_relaxed);
  for (const LayerListener* one = first; one != nullptr; one = one->next) {
    if (one->table == &table) return;
  }
  all.first.store(new LayerListener{&table, first}, std::memory_order_release);
  add_permanent_listener();
}

/// A text of the registry's ends with '\0'; an empty one may have no text at all.
const char* terminated(std::string_view text) noexcept { return text.empty() ? "" : text.data(); }

void set_payload(anyplace_annotation& told, const annotate::Payload& payload) noexcept {
  using Kind = annotate::Payload::Kind;
  switch (payload.kind()) {
    case Kind::none:
      told.payload_kind = ANYPLACE_ANNOTATION_NO_PAYLOAD;
      return;
    case Kind::i64:
      told.payload_kind = ANYPLACE_ANNOTATION_I64;
      told.payload = static_cast<std::uint64_t>(payload.i64());
      return;
    case Kind::u64:
      told.payload_kind = ANYPLACE_ANNOTATION_U64;
      told.payload = payload.u64();
      return;
    case Kind::f64:
      told.payload_kind = ANYPLACE_ANNOTATION_F64;
      told.payload = std::bit_cast<std::uint64_t>(payload.f64());
      return;
  }
}

}  // namespace

void tell_layers(AnnotatingThread& thread, std::uint32_t kind, const annotate::Event& event) noexcept {
  const LayerListener* layer = layer_listeners.value.first.load(std::memory_order_acquire);
  if (layer == nullptr) return;
  anyplace_annotation told{};
  told.struct_size = sizeof(told);
  told.kind = kind;
  told.name = event.name.empty() ? "" : event.name.data();
  told.name_bytes = event.name.size();
  told.domain = terminated(event.domain);
  told.category = terminated(event.category);
  told.range = event.range;
  told.stream = event.stream;
  set_payload(told, event.payload);
  told.has_color = event.color ? 1 : 0;
  told.color = event.color.value_or(0);
  told.depth = event.depth;
  const InsideListener inside(&thread);
  const CallbackScope scope;
  for (; layer != nullptr; layer = layer->next) {
    try {
      layer->table->annotation(layer->table->self, &told);
    } catch (...) {
      report_current("", "anyplace_layer_table::annotation");
    }
  }
}

constinit const Subsystem annotate_subsystem{.layer_put = add_layer};

}  // namespace anyplace::detail
