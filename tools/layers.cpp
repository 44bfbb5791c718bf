// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <anyplace/error.h>
#include <anyplace/layers.h>

#include <exception>
#include <utility>

#include "forked.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

Json layer_json(const LayerInfo& layer) {
  return Json{{"name", layer.name},
              {"plugin", layer.plugin},
              {"usable", layer.usable},
              {"version", text_or_null(layer.version)},
              {"description", text_or_null(layer.description)},
              {"variables", layer.variables},
              {"reason", text_or_null(layer.reason)}};
}

Json examine_layers_here(const std::vector<std::string>& backends) {
  Json all = Json::array();
  Json on = Json::object();
  Json problem;
  try {
    for (const LayerInfo& layer : layers()) all.push_back(layer_json(layer));
    for (const std::string& backend : backends) on[backend] = layers_of(backend);
  } catch (const Error& error) {
    problem = std::string(error.problem());
    on = Json::object();
  }
  return Json{{"layers", std::move(all)}, {"on", std::move(on)}, {"problem", std::move(problem)}};
}

}  // namespace

Json examine_layers(const std::vector<std::string>& backends, std::chrono::milliseconds limit) {
  try {
    return in_forked_child([&] { return examine_layers_here(backends); }, limit);
  } catch (const std::exception& error) {
    return Json{{"layers", Json::array()},
                {"on", Json::object()},
                {"problem", std::string("opening them failed: ") + error.what()}};
  }
}

std::string layers_text(const Json& examined) {
  const auto text_of = [](const Json& layer, const char* key) { return layer.at(key).get<std::string>(); };
  std::string text;
  for (const Json& layer : examined.at("layers")) {
    const bool usable = layer.at("usable").get<bool>();
    text += "  " + text_of(layer, "name") + ": " +
            (usable ? painted(Paint::good, "can be used") : painted(Paint::doubtful, "can't be used")) + "\n";
    text += field("  plugin", text_of(layer, "plugin"));
    for (const char* const key : {"description", "version"}) {
      if (!layer.at(key).is_null()) text += field(std::string("  ") + key, text_of(layer, key));
    }
    const auto variables = layer.at("variables").get<std::vector<std::string>>();
    if (!variables.empty()) text += field("  reads", joined(variables));
    if (!layer.at("reason").is_null()) text += field("  why", text_of(layer, "reason"));
  }
  for (const auto& [backend, names] : examined.at("on").items()) {
    const auto list = names.get<std::vector<std::string>>();
    if (!list.empty()) text += field("on for " + backend, joined(list));
  }
  if (!examined.at("problem").is_null()) text += field("problem", examined.at("problem").get<std::string>());
  return text.empty() ? "  none\n" : text;
}

}  // namespace anyplace::tool
