// SPDX-License-Identifier: Apache-2.0
#include "annotate/layer_listeners.h"

#include <atomic>
#include <bit>
#include <cstddef>

#include "annotate/libraries.h"
#include "annotate/subsystem.h"
#include "anyplace/backend/layer.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"

namespace anyplace::detail {
namespace {

/// Whether any layer hears annotations.
constinit std::atomic<bool> layers_hear{false};

bool hears(const anyplace_layer_table& table) noexcept {
  return table.struct_size >= offsetof(anyplace_layer_table, annotation) + sizeof(table.annotation) &&
         table.annotation != nullptr;
}

void begin_telling(const anyplace_layer_table& table) {
  if (!hears(table)) return;
  watch_forks_for_annotations();
  if (!layers_hear.exchange(true)) add_permanent_listener();
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
  if (!layers_hear.load(std::memory_order_relaxed)) return;
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
  for (const PutLayer* layer = put_layers_list(); layer != nullptr; layer = layer->next) {
    if (!hears(*layer->table)) continue;
    try {
      layer->table->annotation(layer->table->self, &told);
    } catch (...) {
      report_current("", "anyplace_layer_table::annotation");
    }
  }
}

constinit const Subsystem annotate_subsystem{.layer_put = begin_telling};

}  // namespace anyplace::detail
