// SPDX-License-Identifier: Apache-2.0
#include "graph_plan.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "anyplace/backend/kit/graph_nodes.h"
#include "copy.h"
#include "engine.h"
#include "failure.h"
#include "operation.h"
#include "short_copy.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

bool is_step(std::uint32_t kind) noexcept {
  return kind != ANYPLACE_GRAPH_NODE_HOST_FUNCTION && kind != ANYPLACE_GRAPH_NODE_EVENT_WAIT;
}

[[noreturn]] void bad_node(std::uint32_t i, const std::string& text) {
  bad_argument("node " + std::to_string(i) + " of the graph " + text);
}

}  // namespace

class GraphPlan::Compiler {
 public:
  Compiler(GraphPlan& plan, Engine& engine, Device& device, const anyplace_graph_desc& desc)
      : plan_(plan), engine_(engine), device_(device), desc_(desc), nodes_(desc.node_count) {}

  void compile() {
    if (desc_.node_count == 0 || desc_.nodes == nullptr || desc_.node_stride == 0) bad_argument("a graph has no nodes");
    for (std::uint32_t i = 0; i < desc_.node_count; ++i) nodes_[i].given = backend::node_at(desc_, i);
    plan_.node_count = desc_.node_count;
    check_dependencies();
    make_chains();
    for (Chain& chain : plan_.chains) fill(chain);
    link();
  }

 private:
  struct Node {
    anyplace_graph_node given{};
    std::uint32_t successors = 0;
    std::uint32_t chain = none;
    std::uint32_t next = none;  // This node comes next in the same chain.
  };

  void check_dependencies() {
    for (std::uint32_t i = 0; i < desc_.node_count; ++i) {
      const anyplace_graph_node& node = nodes_[i].given;
      if (node.dependency_count != 0 && node.dependencies == nullptr) bad_node(i, "lacks its dependencies");
      for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
        if (node.dependencies[d] >= i) {
          bad_node(i, "comes after node " + std::to_string(node.dependencies[d]) + ", which isn't before it");
        }
        ++nodes_[node.dependencies[d]].successors;
      }
    }
  }

  /// Returns whether the node goes on with the chain of the one node that it comes after.
  bool continues(const anyplace_graph_node& node) const noexcept {
    if (node.dependency_count != 1 || !is_step(node.kind)) return false;
    const Node& before = nodes_[node.dependencies[0]];
    return before.successors == 1 && is_step(before.given.kind);
  }

  void make_chains() {
    for (std::uint32_t i = 0; i < desc_.node_count; ++i) {
      const anyplace_graph_node& node = nodes_[i].given;
      if (continues(node)) {
        Node& before = nodes_[node.dependencies[0]];
        before.next = i;
        nodes_[i].chain = before.chain;
        continue;
      }
      nodes_[i].chain = static_cast<std::uint32_t>(heads_.size());
      heads_.push_back(i);
    }
    plan_.chains.resize(heads_.size());
  }

  void fill(Chain& chain) {
    const auto number = static_cast<std::uint32_t>(&chain - plan_.chains.data());
    const std::uint32_t head = heads_[number];
    const anyplace_graph_node& first = nodes_[head].given;
    chain.dependencies = first.dependency_count;
    chain.node = head;
    if (first.kind == ANYPLACE_GRAPH_NODE_HOST_FUNCTION) {
      if (first.function == nullptr) bad_node(head, "has a host function that is null");
      chain.kind = Chain::host_function;
      chain.begin = static_cast<std::uint32_t>(plan_.host_calls.size());
      plan_.host_calls.push_back({first.function, first.user, number});
    } else if (first.kind == ANYPLACE_GRAPH_NODE_EVENT_WAIT) {
      chain.kind = Chain::wait;
      chain.begin = static_cast<std::uint32_t>(plan_.waits.size());
      plan_.waits.push_back(backend::from_handle<Event>(first.event));
    } else {
      chain.begin = static_cast<std::uint32_t>(plan_.steps.size());
      for (std::uint32_t i = head; i != none; i = nodes_[i].next) {
        add_step(i);
        plan_.step_nodes.resize(plan_.steps.size(), i);  // An empty node has no step.
      }
      chain.end = static_cast<std::uint32_t>(plan_.steps.size());
    }
  }

  void add_step(std::uint32_t i) {
    const anyplace_graph_node& node = nodes_[i].given;
    switch (node.kind) {
      case ANYPLACE_GRAPH_NODE_EMPTY:
        return;
      case ANYPLACE_GRAPH_NODE_KERNEL:
        if (node.launch == nullptr) bad_node(i, "lacks its launch");
        return add_launch(*backend::from_handle<Kernel>(node.kernel), backend::widened(node.launch));
      case ANYPLACE_GRAPH_NODE_COPY:
        if (node.copy == nullptr) bad_node(i, "lacks its copy");
        return add_copy(node, backend::widened(node.copy));
      case ANYPLACE_GRAPH_NODE_MEMSET:
        return add_fill(node);
      case ANYPLACE_GRAPH_NODE_EVENT_RECORD: {
        Step step;
        step.kind = Step::record;
        step.packed = static_cast<std::uint32_t>(plan_.records.size());
        plan_.records.push_back(backend::from_handle<Event>(node.event));
        plan_.steps.push_back(step);
        return;
      }
      default:
        fail(ANYPLACE_STATUS_UNSUPPORTED, "cpu_sim has no graph nodes of kind " + std::to_string(node.kind));
    }
  }

  void add_launch(Kernel& kernel, const anyplace_launch& launch) {
    const std::uint64_t bytes = check_launch(kernel, device_, launch);
    plan_.kernels_.push_back(Ref<Kernel>::share(kernel));
    if (is_one_block(launch) && launch.argument_count == 0) {
      Step step;
      step.kind = Step::launch;
      step.packed = pack(launch.block);
      step.kernel = &kernel;
      plan_.steps.push_back(step);
      return;
    }
    Launch& made = make<Launch>(kernel, std::uint64_t{0}, launch);
    made.take_arguments(launch, plan_.memory_.allocate(std::max<std::size_t>(bytes, 1), alignof(std::max_align_t)));
    add_work(made, &made);
  }

  void add_copy(const anyplace_graph_node& node, const anyplace_copy_2d& copy) {
    engine_.device(node.destination_device);
    engine_.device(node.source_device);
    if (copy.rows != 1) {
      check_copy_2d(copy);
      return add_work(make<Copy2d>(copy), nullptr);
    }
    if (copy.width > short_limit) {
      return add_work(make<Copy>(copy.destination, copy.source, copy.width), nullptr);
    }
    Step step;
    step.kind = Step::copy;
    step.address = copy.destination;
    step.source = copy.source;
    step.bytes = copy.width;
    plan_.steps.push_back(step);
  }

  void add_fill(const anyplace_graph_node& node) {
    check_fill(node.address, node.width);
    if (node.count > short_limit / node.width) {
      return add_work(make<Fill>(node.address, node.value, node.width, node.count), nullptr);
    }
    Step step;
    step.kind = Step::fill;
    step.packed = node.value;
    step.address = node.address;
    step.count = node.count;
    step.bytes = node.width;
    plan_.steps.push_back(step);
  }

  void add_work(Spreadable& work, Launch* launch) {
    const Spreadable::Extent extent = work.extent();
    Step step;
    step.kind = extent.units > extent.grain ? Step::spread : Step::work;
    step.work_ = &work;
    step.launched = launch;
    step.bytes = extent.units;
    plan_.steps.push_back(step);
    plan_.has_spread |= step.kind == Step::spread;
  }

  /// Makes a T that lives as long as the plan. It isn't destroyed, so it may own nothing.
  template <class T, class... Args>
  T& make(Args&&... args) {
    return *::new (plan_.memory_.allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  void link() {
    std::vector<Chain>& all = plan_.chains;
    const auto for_each_edge = [&](auto&& use) {
      for (std::uint32_t s = 0; s < all.size(); ++s) {
        const anyplace_graph_node& first = nodes_[heads_[s]].given;
        for (std::uint32_t d = 0; d < first.dependency_count; ++d) use(nodes_[first.dependencies[d]].chain, s);
      }
    };
    for_each_edge([&](std::uint32_t from, std::uint32_t) { ++all[from].last_successor; });
    std::uint32_t edges = 0;
    for (Chain& chain : all) {
      chain.first_successor = edges;
      edges += std::exchange(chain.last_successor, edges);
    }
    plan_.successors.resize(edges);
    for_each_edge([&](std::uint32_t from, std::uint32_t to) { plan_.successors[all[from].last_successor++] = to; });
  }

  GraphPlan& plan_;
  Engine& engine_;
  Device& device_;
  const anyplace_graph_desc& desc_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> heads_;  // It has the first node of each chain.
};

GraphPlan::GraphPlan(Engine& engine, Device& device, const anyplace_graph_desc& desc) {
  Compiler(*this, engine, device, desc).compile();
}

void GraphPlan::describe_step(std::uint32_t number, Operation& out) const {
  const Step& step = steps[number];
  switch (step.kind) {
    case GraphPlan::Step::launch:
      return out.be_kernel(step.kernel->name(), 1, threads_of(step.packed));
    case GraphPlan::Step::copy:
      return out.be_copy(step.address, step.source, step.bytes);
    case GraphPlan::Step::fill:
      return out.be_fill(step.address, step.bytes * step.count);
    case GraphPlan::Step::record:
      return out.be_silent("record");
    default:
      return step.work_->describe(out);
  }
}

void GraphPlan::describe(std::vector<Operation>& out) const {
  std::vector<std::vector<std::uint32_t>> after(chains.size());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const Chain& chain = chains[i];
    out.emplace_back();  // It takes no time, and stands for a host function or a wait, too.
    out.back().after = std::move(after[i]);
    for (std::uint32_t step = chain.begin; chain.kind == Chain::steps && step != chain.end; ++step) {
      const auto before = static_cast<std::uint32_t>(out.size() - 1);
      out.emplace_back();
      out.back().after.push_back(before);
      describe_step(step, out.back());
    }
    const auto last = static_cast<std::uint32_t>(out.size() - 1);
    for (std::uint32_t s = chain.first_successor; s < chain.last_successor; ++s) after[successors[s]].push_back(last);
  }
}

}  // namespace anyplace::cpu_sim
