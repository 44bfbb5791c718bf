// SPDX-License-Identifier: Apache-2.0
//
// The locks of this room that other threads hold for moments are free in the child of a fork. A name's load_mutex may
// be held for long, so a fork doesn't wait for it: while a plugin is loaded, the child is refused (runtime/exit.h).
#include "plugins/subsystem.h"

#include "plugins/layer_choice.h"
#include "plugins/plugin_search.h"
#include "plugins/registry.h"

namespace anyplace::detail {
namespace {

void lock_all() noexcept {
  registered_mutex().lock();
  layer_choice_mutex().lock();
  registry_mutex().lock();
}

void unlock_all() noexcept {
  registry_mutex().unlock();
  layer_choice_mutex().unlock();
  registered_mutex().unlock();
}

}  // namespace

constinit const Subsystem plugins_subsystem{.before_fork = lock_all, .after_fork = unlock_all};

}  // namespace anyplace::detail
