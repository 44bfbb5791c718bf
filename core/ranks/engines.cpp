// SPDX-License-Identifier: Apache-2.0
#include "ranks/engines.h"

#include <fmt/format.h>

#include <string_view>

#include "ranks/lone_group.h"
#include "ranks/mpi_group.h"
#include "ranks/mpi_library.h"
#include "ranks/nccl_group.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {
namespace detail {
namespace {

constexpr const char* engine_mpi = "mpi";
constexpr const char* engine_none = "none";

/// The engine of a backend: its vendor's, or MPI.
const char* engine_of(const DeviceState& device) noexcept {
  for (const NcclFlavor& flavor : nccl_flavors) {
    if (device.backend->name == flavor.backend) return flavor.engine;
  }
  return engine_mpi;
}

bool is_vendors(const char* engine) noexcept { return std::string_view(engine) != engine_mpi; }

/// The engine that was asked for, by a name that lives for ever. Throws for one that there isn't, or that can't serve
/// the device.
const char* chosen_engine(const DeviceState& device, const std::string& name, const char* operation) {
  if (name.empty()) return engine_of(device);
  if (name == engine_mpi) return engine_mpi;
  for (const NcclFlavor& flavor : nccl_flavors) {
    if (name != flavor.engine) continue;
    if (device.backend->name == flavor.backend) return flavor.engine;
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format(
             "the engine {} is for {} alone\nuse {}, or leave the engine's name empty\nsee docs/ranks.md",
             flavor.engine, flavor.backend,
             is_vendors(engine_of(device)) ? fmt::format("{} or {}", engine_of(device), engine_mpi) : engine_mpi));
  }
  fail(
      ErrorCode::invalid_argument, device.place, operation,
      fmt::format("there is no engine {}\nengines are nccl, rccl and mpi\n`anyplace doctor` lists them", quoted(name)));
}

}  // namespace

MadeGroup make_group(DeviceState& device, const BootstrapPlan& asked, const CommunicatorOptions& options,
                     const char* operation) {
  const char* const engine = chosen_engine(device, options.engine, operation);
  if (options.timeout <= std::chrono::nanoseconds(0)) {
    fail(ErrorCode::invalid_argument, device.place, operation, "the timeout isn't more than 0");
  }
  const BootstrapPlan plan = decide(asked, device.place, operation);
  const bool by_mpi = plan.kind == BootstrapPlan::Kind::mpi;
  if (!by_mpi && plan.size == 1 && options.engine.empty()) {
    return {make_lone_group(device, options.timeout), engine_none};
  }
  if (!is_vendors(engine)) {
    return {make_mpi_group(device, by_mpi ? -1 : plan.rank, by_mpi ? -1 : plan.size, options.timeout, operation),
            engine_mpi};
  }
  return {make_nccl_group(engine, device, plan, options.timeout, operation), engine};
}

}  // namespace detail

std::vector<CommunicatorEngine> communicator_engines() {
  detail::enter("communicator_engines");
  std::vector<CommunicatorEngine> engines;
  for (const detail::NcclFlavor& flavor : detail::nccl_flavors) {
    static_cast<void>(detail::nccl_library(flavor, engines.emplace_back()));
  }
  static_cast<void>(detail::mpi_library(engines.emplace_back()));
  return engines;
}

}  // namespace anyplace
