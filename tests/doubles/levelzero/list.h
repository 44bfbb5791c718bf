// SPDX-License-Identifier: Apache-2.0
// What list.cpp does with commands, for those that commands.cpp makes.
#pragma once

#include <functional>
#include <vector>

#include "state.h"

namespace anyplace::doubles::levelzero {

struct Events {
  ze_event_handle_t signal = nullptr;
  uint32_t count = 0;
  ze_event_handle_t* waits = nullptr;
};

enum class Order : uint8_t { command, barrier };

/// Appends the operation, which resets an event if one is named: to a list that is immediate as work of the engine, to
/// another one as what it does each time that it is executed.
ze_result_t append(CommandList& list, const Events& events, Order order, Operation operation,
                   ze_event_handle_t reset = nullptr);
/// The same of a task that touches memory. `what` is its name in a fault's text.
ze_result_t append_task(CommandList& list, const Events& events, const char* what, std::vector<Use> uses,
                        std::function<int()> task);
ze_result_t find_list(ze_command_list_handle_t handle, CommandListRef& list);

}  // namespace anyplace::doubles::levelzero
