// SPDX-License-Identifier: Apache-2.0
#include "host_functions.h"

#include <mutex>
#include <unordered_map>

#include "engine.h"
#include "thread.h"

namespace anyplace::validate {
namespace {

/// Guarded by the engine's mutex.
std::unordered_map<void*, anyplace_copy_2d>& own_functions() {
  static auto& all = *new std::unordered_map<void*, anyplace_copy_2d>();
  return all;
}

}  // namespace

void HostFunction::run(void* self, anyplace_status status) {
  const std::unique_ptr<HostFunction> call(static_cast<HostFunction*>(self));
  if (status == ANYPLACE_STATUS_OK && call->at != nullptr) {
    if (call->is_held) wait_for_other_threads();
    // It may tell other threads that the stream's earlier work is done, by means that can't be seen from here.
    Engine& engine = Engine::only();
    const std::lock_guard lock(engine.mutex);
    engine.host_saw(call->at->clock);
  }
  this_thread().at = call->at.get();
  call->function(call->user, status);
  this_thread().at = nullptr;
}

void tell_own_function(void* user, const anyplace_copy_2d* copy) {
  const std::lock_guard lock(Engine::only().mutex);
  if (copy == nullptr) {
    own_functions().erase(user);
  } else {
    own_functions()[user] = *copy;
  }
}

std::optional<anyplace_copy_2d> take_own_function(void* user) {
  const auto found = own_functions().find(user);
  if (found == own_functions().end()) return std::nullopt;
  const anyplace_copy_2d copy = found->second;
  own_functions().erase(found);
  return copy;
}

}  // namespace anyplace::validate
