// SPDX-License-Identifier: Apache-2.0
// Makes communicators over engines on the host.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>

#include "ranks/call_bounded.h"
#include "ranks/engine_error.h"
#include "ranks/host_group.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

/// Makes a group by calling `make`, which waits for the other ranks and puts the group where its argument points. If
/// there is a `parent`, all its ranks pass a barrier first, so that a rank can be missing only if it ends during the
/// call. The call is made on a thread of its own, and is left running if it takes longer than the timeout; so `make`
/// has to own what it uses. If the engine may be called by one thread at a time only, the call is made here instead,
/// and has no limit.
template <class Make>
anyplace_engine_group make_group(HostRuntime& runtime, std::optional<anyplace_group> parent,
                                 std::chrono::nanoseconds timeout, const std::string& place, const char* operation,
                                 const Make& make) {
  const Deadline deadline(to_timeout_ns(timeout));
  constexpr const char* what = "make the communicator";
  if (parent) runtime.run(*parent, Part(), deadline, place, operation, what, timeout);  // a barrier
  struct Made {
    anyplace_engine_group group{};
    anyplace_status status = ANYPLACE_STATUS_OK;
    Message message;
  };
  const auto made = std::make_shared<Made>();
  made->group.struct_size = sizeof(made->group);
  const auto call = [made, make] {
    take_message();
    made->status = make(&made->group);
    made->message = take_message();
  };
  if (runtime.may_wait_elsewhere()) {
    if (!call_bounded(deadline, call)) {
      runtime.give_up();
      throw timeout_error(place, operation, what, timeout);
    }
  } else {
    const HostProgress::Calls calls;
    runtime.require_open(place, operation);
    call();
  }
  if (made->status != ANYPLACE_STATUS_OK) {
    throw engine_error(runtime.engine(), made->status, std::move(made->message), place, operation);
  }
  return made->group;
}

}  // namespace

std::shared_ptr<EngineGroup> HostGroup::split(int color, int key, const char* operation) {
  const std::uint32_t number = meetings().count_split();
  std::shared_ptr<RanksHere> here = color < 0 ? nullptr : join_split_here(meetings().here(), number, color);
  const anyplace_engine_group made =
      make_group(runtime_, group_, timeout(), device().place, operation,
                 [&table = table_, group = group_, color, key](anyplace_engine_group* out) {
                   return table.group_split(table.self, group, color, key, out);
                 });
  if (made.group == 0) return nullptr;
  return std::make_shared<HostGroup>(runtime_, made, device(), timeout(), std::move(here));
}

std::shared_ptr<EngineGroup> make_host_group(const Engine& engine, DeviceState& device, const BootstrapPlan& plan,
                                             std::chrono::nanoseconds timeout, const char* operation) {
  HostRuntime& runtime = HostRuntime::get(engine, device.place, operation, timeout);
  struct Asked {
    anyplace_engine_device device;
    anyplace_engine_id id{};
    anyplace_engine_group_desc desc{};
  };
  const auto asked = std::make_shared<Asked>(Asked{crossing_device(device)});
  std::optional<anyplace_group> parent;
  std::shared_ptr<RanksHere> here;  // null for a world, whose ranks are processes
  int rank = -1, size = -1;
  if (engine.has_world()) {
    parent = runtime.world().group;
    if (plan.kind != BootstrapPlan::Kind::launcher) rank = plan.rank, size = plan.size;
  } else {
    const MetRanks met = meet(engine, asked->device, plan, {device.place, operation, timeout, {}});
    here = join_ranks_here({met.id.bytes, met.id.byte_count});
    asked->id = met.id;
    asked->desc.id = &asked->id;
    rank = met.rank, size = met.size;
  }
  asked->desc.struct_size = sizeof(asked->desc);
  asked->desc.rank = rank;
  asked->desc.size = size;
  asked->desc.device = &asked->device;
  const anyplace_engine_group made = make_group(runtime, parent, timeout, device.place, operation,
                                                [&table = engine.table, asked](anyplace_engine_group* out) {
                                                  return table.group_create(table.self, &asked->desc, out);
                                                });
  return std::make_shared<HostGroup>(runtime, made, device, timeout, std::move(here));
}

}  // namespace anyplace::detail
