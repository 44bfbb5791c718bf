// SPDX-License-Identifier: Apache-2.0
// Launches that draw random numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

struct RandomDraw;

/// Launches as StreamView::launch_arguments does. If the launch becomes a node of a graph, the node has `draw`, which
/// may be null.
void launch_drawing(std::uint64_t stream_id, std::uint64_t kernel_id, const anyplace_launch& launch,
                    std::shared_ptr<const RandomDraw> draw, const char* called);

}  // namespace anyplace::detail
