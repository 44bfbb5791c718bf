// SPDX-License-Identifier: Apache-2.0
// Launches that draw random numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

struct RandomDraw;

/// As StreamView::launch_arguments. A node of a graph that is made of the launch has `draw`, which may be null.
void launch_drawing(std::uint64_t stream_id, std::uint64_t kernel_id, const anyplace_launch& launch,
                    std::shared_ptr<const RandomDraw> draw, const char* called);

}  // namespace anyplace::detail
