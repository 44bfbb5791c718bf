// SPDX-License-Identifier: Apache-2.0
// The rooms of the core that take part in what runtime/subsystem.h describes, from the lowest to the highest.
#include "annotate/subsystem.h"
#include "comm/subsystem.h"
#include "compile/subsystem.h"
#include "devices/subsystem.h"
#include "graphs/subsystem.h"
#include "handles/subsystem.h"
#include "kernels/subsystem.h"
#include "memory/subsystem.h"
#include "plugins/subsystem.h"
#include "random/subsystem.h"
#include "runtime/subsystem.h"
#include "streams/subsystem.h"

namespace anyplace::detail {

std::span<const Subsystem* const> subsystems() noexcept {
  static constexpr const Subsystem* all[] = {&runtime_subsystem, &plugins_subsystem, &annotate_subsystem,
                                             &handles_subsystem, &streams_subsystem, &memory_subsystem,
                                             &kernels_subsystem, &random_subsystem,  &comm_subsystem,
                                             &graphs_subsystem,  &devices_subsystem, &compile_subsystem};
  return all;
}

}  // namespace anyplace::detail
