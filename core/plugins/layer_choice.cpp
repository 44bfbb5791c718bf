// SPDX-License-Identifier: Apache-2.0
#include "plugins/layer_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plugins/layer_stack.h"
#include "plugins/names.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr const char* layers_variable = "ANYPLACE_LAYERS";
constexpr std::size_t layers_limit = 64;  // the most items of a list

/// An item of a list: a layer, for one backend or for all of them.
struct LayerItem {
  std::string backend;  ///< without aliases; "" for all backends
  std::string layer;
};

/// The list of use_layers().
struct ProgramLayers {
  std::mutex mutex;  // guards items; a leaf
  std::vector<LayerItem> items;
};
NoDestructor<ProgramLayers> program_layers;

[[noreturn]] void fail_item(std::string_view item, const std::string& problem, const LayerAsker& asker,
                            const std::string& meant = {}) {
  fail(ErrorCode::invalid_argument, asker.place, asker.operation,
       fmt::format("{} has the item {}: {}\nan item is LAYER for every backend, or BACKEND+LAYER, like trace or "
                   "cuda+trace{}\n`anyplace doctor` lists the layers",
                   asker.source, in_quotes(item), problem, meant.empty() ? meant : "; " + meant));
}

std::string backend_of_item(std::string_view name, std::string_view item, const LayerAsker& asker) {
  if (const std::string problem = name_problem(name); !problem.empty()) {
    fail_item(item, "before the '+' " + problem, asker);
  }
  if (name == automatic_name) fail_item(item, "'auto' is no backend", asker);
  std::string backend(without_table_alias(name));
  if (const std::string other = link_alias(backend); !other.empty()) backend = without_table_alias(other);
  const auto planned = planned_names();
  if (std::find(planned.begin(), planned.end(), backend) == planned.end() && find_plugins(backend).empty()) {
    fail_item(item, fmt::format("there is no {}", plugin_file_name(backend)), asker, suggestion(name));
  }
  return backend;
}

LayerItem parse_item(std::string_view item, const LayerAsker& asker) {
  const std::size_t plus = item.find('+');
  const std::string_view layer = plus == std::string_view::npos ? item : item.substr(plus + 1);
  LayerItem parsed;
  if (plus != std::string_view::npos) parsed.backend = backend_of_item(item.substr(0, plus), item, asker);
  if (const std::string problem = name_problem(layer); !problem.empty()) fail_item(item, problem, asker);
  require_layer_file(layer, asker);
  parsed.layer = layer;
  return parsed;
}

/// Adds an item, which may not name a layer twice for one backend.
void add_item(std::vector<LayerItem>& items, std::string_view text, const LayerAsker& asker) {
  LayerItem item = parse_item(text, asker);
  for (const LayerItem& other : items) {
    const bool same_backend = other.backend.empty() || item.backend.empty() || other.backend == item.backend;
    if (other.layer == item.layer && same_backend) {
      fail_item(text, fmt::format("the layer {} is there already", item.layer), asker);
    }
  }
  if (items.size() == layers_limit) fail_item(text, fmt::format("only {} items are taken", layers_limit), asker);
  items.push_back(std::move(item));
}

std::vector<LayerItem> items_of_variable(const LayerAsker& asker) {
  std::vector<LayerItem> items;
  const char* const value = ::secure_getenv(layers_variable);
  if (value == nullptr || *value == '\0') return items;
  const std::string copy(bounded(value));  // setenv() on another thread may free the original
  std::string_view rest = copy;
  for (;;) {
    const std::size_t comma = rest.find(',');
    add_item(items, rest.substr(0, comma), asker);
    if (comma == std::string_view::npos) return items;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<ChosenLayer> chosen_layers(const std::string& backend, const std::vector<std::string>& place_layers,
                                       const std::string& place, const char* operation) {
  std::vector<ChosenLayer> chosen;
  const auto add = [&](const std::string& layer, const LayerAsker& asker) {
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const auto& one) { return one.name == layer; });
    if (!known) chosen.push_back({layer, asker});
  };
  const auto add_all = [&](const std::vector<LayerItem>& items, const LayerAsker& asker) {
    for (const LayerItem& item : items) {
      if (item.backend.empty() || item.backend == backend) add(item.layer, asker);
    }
  };
  const LayerAsker variable{layers_variable, place, operation};
  add_all(items_of_variable(variable), variable);
  std::vector<LayerItem> items;
  {
    const std::lock_guard lock(program_layers.value.mutex);
    items = program_layers.value.items;
  }
  add_all(items, {"use_layers()", place, operation});
  const LayerAsker of_place{"the place", place, operation};
  for (const std::string& layer : place_layers) {
    require_layer_file(layer, of_place);
    add(layer, of_place);
  }
  return chosen;
}

void choose_layers(const std::vector<std::string>& texts, const char* operation) {
  const LayerAsker asker{"the list", "", operation};
  std::vector<LayerItem> items;
  for (const std::string& text : texts) add_item(items, text, asker);
  for (const Backend* const backend : accepted_backends()) {
    for (const LayerItem& item : items) {
      if (item.backend.empty() || item.backend == backend->name) require_layer(*backend, item.layer, asker);
    }
  }
  const std::lock_guard lock(program_layers.value.mutex);
  program_layers.value.items = std::move(items);
}

std::mutex& layer_choice_mutex() noexcept { return program_layers.value.mutex; }

}  // namespace anyplace::detail
