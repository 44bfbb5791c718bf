// SPDX-License-Identifier: Apache-2.0
#include "graphs/subsystem.h"

#include "graphs/retired_graphs.h"

namespace anyplace::detail {

constinit const Subsystem graphs_subsystem{.end_unused = end_retired_graphs};

}  // namespace anyplace::detail
