// SPDX-License-Identifier: Apache-2.0
//
// The public functions of anyplace/layers.h.
#include "anyplace/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "plugins/layer_choice.h"
#include "plugins/layer_plugins.h"
#include "plugins/layer_stack.h"
#include "plugins/names.h"
#include "plugins/not_found.h"
#include "plugins/plugin_search.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/text.h"

namespace anyplace {
namespace {

/// Where the pieces of an answer are kept.
struct Answer {
  std::string text;
  bool complete = true;
};

void add_to_answer(void* context, const char* text, std::uint64_t count) {
  Answer& answer = *static_cast<Answer*>(context);
  try {
    answer.text.append(text, count);
  } catch (const std::exception&) {  // nothing may be thrown into the plugin
    answer.complete = false;
  }
}

std::string without_nul(std::string_view text, const char* operation) {
  if (text.find('\0') == std::string_view::npos) return std::string(text);
  detail::fail(ErrorCode::invalid_argument, "", operation, detail::in_quotes(text) + " has a NUL in it");
}

}  // namespace

std::vector<LayerInfo> layers() {
  detail::enter("layers");
  std::vector<LayerInfo> all;
  for (const auto& candidate : detail::layer_candidates()) {
    LayerInfo& info = all.emplace_back();
    info.name = candidate.file.name;
    info.plugin = candidate.file.path;
    info.usable = candidate.plugin != nullptr;
    if (!info.usable) {
      info.reason = candidate.refusal.reason;
      if (!candidate.refusal.remedy.empty()) info.reason += "; " + candidate.refusal.remedy;
      continue;
    }
    info.version = candidate.plugin->table.version;
    info.description = candidate.plugin->table.description;
    info.variables = detail::separate_words(candidate.plugin->table.variables);
  }
  return all;
}

void use_layers(const std::vector<std::string>& layers) {
  detail::enter("use_layers");
  detail::choose_layers(layers, "use_layers");
}

std::vector<std::string> layers_of(std::string_view backend) {
  detail::enter("layers_of");
  if (const std::string problem = detail::name_problem(backend); !problem.empty()) {
    detail::fail_bad_name(backend, problem, "layers_of");
  }
  std::string name(detail::without_table_alias(backend));
  if (const std::string other = detail::link_alias(name); !other.empty()) name = detail::without_table_alias(other);
  std::vector<std::string> names;
  if (const detail::Backend* const loaded = detail::loaded_backend(name)) {
    for (const auto& layer : loaded->layers) names.push_back(layer->name);
  } else {
    for (const detail::ChosenLayer& chosen : detail::chosen_layers(name, {}, "", "layers_of")) {
      names.push_back(chosen.name);
    }
  }
  return names;
}

std::string layer_command(std::string_view layer, std::string_view command, std::string_view argument) {
  constexpr const char* operation = "layer_command";
  detail::enter(operation);
  const std::string name = without_nul(layer, operation);
  const std::string command_name = without_nul(command, operation);
  const std::string text = without_nul(argument, operation);
  detail::watch_process();
  const detail::LayerAsker asker{"the call", "", operation};
  const detail::LayerPlugin& plugin = detail::layer_plugin(name, asker);
  if (plugin.table.command == nullptr) {
    detail::fail(ErrorCode::unsupported, "", operation, fmt::format("the layer {} takes no commands", name));
  }
  const detail::CallbackScope scope;  // the layer may not call anyplace
  Answer answer;
  const anyplace_layer_reply reply{sizeof(reply), 0, &answer, add_to_answer};
  detail::take_message();
  const anyplace_status status = plugin.table.command(plugin.table.self, command_name.c_str(), text.c_str(), &reply);
  if (status != ANYPLACE_STATUS_OK) throw detail::error_of(status, detail::take_message(), name, operation);
  if (!answer.complete) throw std::bad_alloc();
  return std::move(answer.text);
}

}  // namespace anyplace
