// SPDX-License-Identifier: Apache-2.0
//
// What the controls (../control.h) ask of the runtime.
#include <cstdio>

#include "../control.h"
#include "graphs.h"

namespace anyplace::doubles {
namespace {

using Things = std::vector<Thing>;

/// What a corrupted context has can't be given back any more, so it doesn't count.
bool counts(const ContextRef& context) { return fault_of(*context) == 0; }

/// Of what belongs to a device: that of its primary context.
bool counts(int device) { return counts(primary_of(device)); }

std::string of_device(int device) { return "of device " + std::to_string(device); }

template <class Table>
void add_all(Things& things, const Table& table, const char* kind) {
  char text[64];
  for (const auto& [value, object] : table.all()) {
    if (!counts(object->context)) continue;
    std::snprintf(text, sizeof(text), "0x%llx ", static_cast<unsigned long long>(value));
    things.push_back({kind, text + of_device(object->context->device)});
  }
}

/// Graphs are of no context, but of the one that was current when they were made, if any was.
template <class Table>
void add_graphs(Things& things, const Table& table, const char* kind) {
  for (const auto& [value, graph] : table.all()) {
    if (graph->context == nullptr || counts(graph->context)) things.push_back({kind, ""});
  }
}

ContextRef owner_of(const Block& block) {
  for (const auto& [value, context] : state().contexts.all()) {
    if (block.owner != 0 && context->id == block.owner) return context;
  }
  return primary_of(block.device);
}

void add_memory(Things& things) {
  State& all = state();
  for (const Block& block : all.memory.live()) {
    if ((block.flags & variable_of_module) != 0 || !counts(owner_of(block))) continue;
    char text[128];
    std::snprintf(text, sizeof(text), "0x%llx, %llu bytes, device %d%s%s", static_cast<unsigned long long>(block.start),
                  static_cast<unsigned long long>(block.bytes), block.device,
                  block.pool != 0 && block.kind == MemoryKind::device ? ", of a pool" : "",
                  block.state == MemoryState::free_queued ? ", its free is queued" : "");
    things.push_back({kind_of(block), text});
  }
  for (const auto& [value, physical] : all.physicals.all()) {
    if (physical->handles == 0 || !counts(physical->device)) continue;
    things.push_back({"physical", std::to_string(physical->bytes) + " bytes " + of_device(physical->device) +
                                      ", handles " + std::to_string(physical->handles)});
  }
  for (const DeviceState& device : all.devices) {
    if (!counts(device.primary)) return;  // a range of addresses belongs to no device
  }
  for (std::size_t i = all.memory.reserved(); i > 0; --i) things.push_back({"reservation", ""});
}

}  // namespace

std::vector<Thing> live_things() {
  Things things;
  if (state_if_any() == nullptr) return things;
  State& all = state();
  const Locked lock(all.mutex);
  for (const auto& [value, context] : all.contexts.all()) {
    const bool made = context->alive && (!context->primary || context->retained != 0);
    if (!made || !counts(context)) continue;
    const std::string what = context->primary ? "primary, retained " + std::to_string(context->retained) : "made";
    things.push_back({"context", what + ", " + of_device(context->device)});
  }
  add_all(things, all.streams, "stream");
  add_all(things, all.events, "event");
  add_all(things, all.modules, "module");
  for (const auto& [value, pool] : all.pools.all()) {
    if (pool->is_default || pool->destroyed || !counts(pool->device)) continue;
    things.push_back({"pool", of_device(pool->device)});
  }
  add_graphs(things, all.graphs, "graph");
  add_graphs(things, all.graph_execs, "executable graph");
  add_memory(things);
  return things;
}

uint64_t left_behind() {
  if (state_if_any() == nullptr) return 0;
  const Locked lock(state().mutex);
  return state().left_behind;
}

Engine* engine_if_any() noexcept { return state_if_any() == nullptr ? nullptr : &state().engine; }

int device_count() { return static_cast<int>(settings().visible.size()); }

std::vector<std::shared_ptr<FaultDomain>> domains_of_device(int device) {
  std::vector<std::shared_ptr<FaultDomain>> domains;
  const Locked lock(state().mutex);
  for (const auto& [value, context] : state().contexts.all()) {
    if (context->device == device && context->alive) domains.push_back(context->fault);
  }
  return domains;
}

void set_kernel_fault(int device, uint64_t nth, int code) {
  const Locked lock(state().mutex);
  DeviceState& of = state().device(device);
  of.kernels_until_fault = nth;
  of.kernel_fault = code;
}

}  // namespace anyplace::doubles
