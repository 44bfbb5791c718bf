// SPDX-License-Identifier: Apache-2.0
//
// What the controls (../engine/control.h) ask of the double.
#include "../engine/control.h"

#include <algorithm>

#include "state.h"

namespace anyplace::doubles {
namespace levelzero {
namespace {

bool counts(const Device& device) { return health_of(device) == ZE_RESULT_SUCCESS; }

}  // namespace
}  // namespace levelzero

/// What a lost device has can't be relied on to be given back, so it doesn't count.
std::vector<Thing> live_things() {
  using levelzero::counts;
  std::vector<Thing> things;
  if (levelzero::state_if_any() == nullptr) return things;
  levelzero::State& all = levelzero::state();
  const levelzero::Locked lock(all.mutex);
  const bool any_lost =
      std::any_of(all.devices.begin(), all.devices.end(), [](const auto& one) { return !counts(*one); });
  const auto of_device = [](const levelzero::Device& device) { return "of device " + std::to_string(device.index); };
  for (const auto& [value, list] : all.lists.all()) {
    if (counts(*list->device)) things.push_back({"stream", of_device(*list->device)});
  }
  for (const auto& [value, module] : all.modules.all()) {
    if (counts(*module->device)) things.push_back({"module", of_device(*module->device)});
  }
  for (const auto& [value, kernel] : all.kernels.all()) {
    if (counts(*kernel->module->device)) things.push_back({"kernel", kernel->name});
  }
  for (const Block& block : all.memory.live()) {
    const bool of_host = block.kind == MemoryKind::pinned;
    if (of_host ? any_lost : !counts(*all.devices[static_cast<std::size_t>(block.device)])) continue;
    things.push_back({kind_of(block), std::to_string(block.bytes) + " bytes"});
  }
  for (std::size_t i = 0; i < all.logs.all().size(); ++i) things.push_back({"build_log", ""});
  for (const auto& [value, physical] : all.physicals.all()) {
    if (counts(*all.devices[static_cast<std::size_t>(physical->device)])) things.push_back({"physical", ""});
  }
  if (any_lost) return things;  // what belongs to no one device
  for (std::size_t i = 0; i < all.contexts.all().size(); ++i) things.push_back({"context", ""});
  for (std::size_t i = 0; i < all.events.all().size(); ++i) things.push_back({"event", ""});
  for (std::size_t i = 0; i < all.pools.all().size(); ++i) things.push_back({"pool", ""});
  for (std::size_t i = all.memory.reserved(); i > 0; --i) things.push_back({"reservation", ""});
  return things;
}

uint64_t left_behind() { return 0; }

Engine* engine_if_any() noexcept { return levelzero::state_if_any() == nullptr ? nullptr : &levelzero::state().engine; }

int device_count() { return static_cast<int>(levelzero::state().devices.size()); }

std::vector<std::shared_ptr<FaultDomain>> domains_of_device(int device) {
  return {levelzero::state().devices[static_cast<std::size_t>(device)]->fault};
}

void set_kernel_fault(int device, uint64_t nth, int code) {
  const levelzero::Locked lock(levelzero::state().mutex);
  levelzero::Device& of = *levelzero::state().devices[static_cast<std::size_t>(device)];
  of.kernels_until_fault = nth;
  of.kernel_fault = code;
}

}  // namespace anyplace::doubles
