// SPDX-License-Identifier: Apache-2.0
//
// Updates of graphs at the table: they are complete or not made at all, and affect only later launches.
#include <utility>

#include "table_graph.h"
#include "table_module.h"

namespace anyplace::conformance::graphs_table_update_cases {
namespace {

constexpr std::uint64_t bytes = 64 * 64;

ANYPLACE_CASE("graph table", "graphs.update", "an update changes every node, for later launches alone, and is copied",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(bytes);
  const anyplace_address copied = backend.allocate(3 * bytes);
  const auto describe = [&](GraphDescription& description, std::uint8_t value) {
    description.fill(memory, value, 1, bytes / 2);
    description.fill(memory + bytes / 2, value * 0x01010101u, 4, bytes / 8, {0});
  };
  GraphDescription first;
  describe(first, 0x11);
  const anyplace_graph graph = create_graph(backend, first);
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, graph_launch, graph, stream);
  MUST(backend, memory_copy, stream, copied, memory, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  std::uint8_t values[3] = {0x11, 0x11, 0x11};
  for (std::uint32_t i = 1; i < 3; ++i) {
    GraphDescription next;
    describe(next, static_cast<std::uint8_t>(0x11 + i));
    const bool updated = update_graph(backend, graph, next);
    values[i] = updated ? static_cast<std::uint8_t>(0x11 + i) : values[i - 1];
    MUST(backend, graph_launch, graph, stream);
    MUST(backend, memory_copy, stream, copied + i * bytes, memory, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  }
  hold.open();
  Bytes expected;
  for (const std::uint8_t value : values) expected.insert(expected.end(), bytes, value);
  CHECK_BYTES(backend.read(stream, copied, 3 * bytes), expected);
  MUST(backend, graph_destroy, graph);
}

/// A graph of three nodes whose update may fail after the first two were changed.
struct FailingUpdate {
  std::string label;
  std::vector<Capability> needs;
  /// Whether the last node is a kernel; otherwise it is a copy.
  bool kernel;
};
const std::vector<FailingUpdate> failing_updates = {
    {"a kernel that is given an argument too many", {Capability::modules}, true},
    {"a copy to another device", {Capability::peer_copy}, false},
};

/// The memory of such a graph, and its descriptions, which all write `value` to `memory`.
class FailingNodes {
 public:
  FailingNodes(const Run& run, const TableBackend& backend, bool kernel)
      : backend_(backend), is_kernel_(kernel), memory_(backend.allocate(3 * bytes)), from_(backend.allocate(bytes)) {
    if (kernel) {
      if (run.module_file().empty()) skip("a module of the test kernels");
      const TableImage image(run);
      anyplace_module module = 0;
      const anyplace_module_desc desc = image.desc();
      MUST(backend, module_load, backend.device(), &desc, &module);
      MUST(backend, module_kernel, module, "fill", &kernel_);
    } else {
      if (run.device_count() < 2) skip("a second device");
      MUST(backend, memory_allocate, backend.second(), ANYPLACE_MEMORY_DEVICE, bytes, &far_);
    }
  }

  anyplace_address memory() const noexcept { return memory_; }
  anyplace_address source() const noexcept { return from_; }
  /// Describes the graph with a last node that may make an update fail, or with one that doesn't.
  template <class Use>
  auto with(std::uint8_t value, bool failing, const Use& use) const {
    FillLaunch fill(memory_ + 2 * bytes, bytes / 4, value * 0x01010101u);
    GraphDescription description;
    description.fill(memory_, value, 1, bytes);
    description.fill(memory_ + bytes, value, 1, bytes, {0});
    if (is_kernel_) {
      const std::uint64_t extra = 7;
      const anyplace_argument four[] = {
          fill.argument(0), fill.argument(1), fill.argument(2), {ANYPLACE_ARGUMENT_VALUE, sizeof(extra), &extra}};
      if (failing) {
        fill.launch().argument_count = 4;
        fill.launch().arguments = four;
      }
      description.kernel(kernel_, &fill.launch(), {1});
      return use(description);
    }
    if (failing) {
      description.copy({0, ANYPLACE_COPY_DEVICE_TO_DEVICE, far_, bytes, from_, bytes, bytes, 1}, backend_.second(),
                       backend_.device(), {1});
    } else {
      description.copy_within(memory_ + 2 * bytes, from_, bytes, backend_.device(), {1});
    }
    return use(description);
  }

 private:
  const TableBackend& backend_;
  bool is_kernel_;
  anyplace_address memory_;
  anyplace_address from_;
  anyplace_address far_ = 0;
  anyplace_kernel kernel_ = 0;
};

ANYPLACE_CASES(failing_updates, "graph table", "graphs.update",
               "an update that fails at {} leaves the graph as it was, for launches before and after",
               Capability::graphs) {
  TableBackend backend(run);
  for (const Capability needed : parameter.needs) {
    if (!backend.has(needed)) skip(to_string(needed));
  }
  const anyplace_stream stream = backend.stream();
  const FailingNodes nodes(run, backend, parameter.kernel);
  const anyplace_address seen = backend.allocate(3 * bytes);
  backend.fill(stream, nodes.source(), 0x11, bytes);
  const anyplace_graph graph =
      nodes.with(0x11, false, [&](GraphDescription& description) { return create_graph(backend, description); });
  // Each is tried with a launch pending and without: a backend that refuses the one because of the launch may accept
  // the other.
  for (const bool pending : {true, false}) {
    backend.fill(stream, nodes.memory(), 0x99, 3 * bytes);
    TableHold hold(backend);
    if (pending) {
      hold.hold(stream);
      MUST(backend, graph_launch, graph, stream);
      MUST(backend, memory_copy, stream, seen, nodes.memory(), 3 * bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE);
    }
    const anyplace_status status = nodes.with(0x22, true, [&](GraphDescription& description) {
      const anyplace_status updated = ENTRY(backend, graph_update, graph, &description.desc());
      description.spoil();
      return updated;
    });
    static_cast<void>(TableBackend::message());
    hold.open();
    backend.synchronize(stream);
    if (pending) CHECK_BYTES(backend.read(stream, seen, 3 * bytes), Bytes(3 * bytes, 0x11));
    // A node that the device accepts may still be wrong when it runs, so it is replaced before it does.
    if (status == ANYPLACE_STATUS_OK) {
      const bool updated = nodes.with(
          0x11, false, [&](GraphDescription& description) { return update_graph(backend, graph, description); });
      if (!updated) break;
    }
    for (int launch = 0; launch < 2; ++launch) {
      backend.fill(stream, nodes.memory(), 0x99, 3 * bytes);
      MUST(backend, graph_launch, graph, stream);
      CHECK_BYTES(backend.read(stream, nodes.memory(), 3 * bytes), Bytes(3 * bytes, 0x11));
    }
  }
  MUST(backend, graph_destroy, graph);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_table_update_cases
