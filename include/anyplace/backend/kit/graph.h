// SPDX-License-Identifier: Apache-2.0
//
// Graph: the object that an anyplace_graph names, for a vendor whose graphs are made of typed nodes and then
// instantiated (CUDA, HIP). Each description becomes a graph of the vendor's, which lives until the executable graph is
// made or updated from it.
//
// These nodes are refused as UNSUPPORTED, and the core then submits the graph's nodes itself: copies between devices,
// because no vendor says that a graph's copies may cross contexts; copies whose pitch exceeds the vendor's limit; and
// nodes that the vendor calls unsupported.
//
// `Vendor` supplies the vendor's calls. All its members are static; those that don't throw are noexcept:
//
//   Device, Scope, End        a ClassDevice; DeviceScope and EndScope of device_base.h, or with the same members
//   Stream, Event, Kernel     the backend's classes; Event is a RecordedEvent
//   Native, Node, Executable  types: the vendor's graph, a node of it, what is made of it to be launched
//   const char* vendor        its name in a sentence: "CUDA"
//   bool update_spares_launches       an update leaves alone the launches that were made before it
//   Called<Result> create(Native&);  destroy(Native)
//   Called<Result> add_empty(const Place&);  add_host(const Place&, void (*)(void*), void* user)
//   Called<Result> add_record(const Place&, event's native);  add_wait
//   Called<Result> add_copy(const Place&, Device&, const anyplace_copy_2d&)     in one go, of one line or several
//   Called<Result> add_fill(const Place&, Device&, const anyplace_graph_node&)  of width 1, 2 or 4
//   void add_kernel(const Place&, Kernel&, const anyplace_launch&)   throws what a launch throws, or UNSUPPORTED
//   bool has_event_nodes()
//   std::uint64_t max_pitch(const Device&)                 of a copy's line too
//   bool refuses_copy(Result, const anyplace_copy_2d&)     a graph can't have it; a stream may
//   Called<Result> make(Executable&, Native);  launch(Executable, native stream);  end(Executable)
//   Called<Result> update(Executable, Native);  bool refuses_update(Result)        that needs another executable graph
//   Place is Vendor::Place, an aggregate of { Native graph; const Node* after; std::size_t count; Node* made; }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../device_backend.h"
#include "graph_host_calls.h"
#include "graph_nodes.h"
#include "refusals.h"
#include "results.h"

namespace anyplace::backend {

/// Where a node is added, and where its handle is written. It comes after the `count` nodes at `after`.
template <class Native, class Node>
struct GraphPlace {
  Native graph;       ///< the graph that it is added to
  const Node* after;  ///< the nodes that it comes after
  std::size_t count;  ///< how many they are
  Node* made;         ///< where its handle is written
};

/// Thread-safe. Launches and updates are serialised, as the vendors ask for. destroy() is the last call.
template <class Vendor>
class Graph {
 public:
  using Device = typename Vendor::Device;
  using Stream = typename Vendor::Stream;
  using Result = typename Device::Result;

  /// Makes an executable graph of the description, as the entry graph_create. Throws what the vendor reports.
  Graph(Device& device, const anyplace_graph_desc& desc) : device_(device), calls_(new GraphHostCalls) {
    const typename Vendor::Scope scope(device);
    const Template made(*this, desc);
    device.check(Vendor::make(executable_, made.native()));
  }
  Graph(const Graph&) = delete;  // it owns the vendor's
  Graph& operator=(const Graph&) = delete;

  /// Does what the entry graph_update does.
  void update(const anyplace_graph_desc& desc) {
    const std::lock_guard lock(mutex_);
    if (!Vendor::update_spares_launches && !device_.work().is_idle()) {
      refuse(ANYPLACE_STATUS_UNSUPPORTED,
             std::string("work is pending on ") + device_.place() + ", and " + Vendor::vendor +
                 " doesn't say that a graph's launches keep what they had when it is updated");
    }
    const typename Vendor::Scope scope(device_);
    const Template made(*this, desc);
    const Called<Result> updated = Vendor::update(executable_, made.native());
    if (Vendor::refuses_update(updated.result)) {
      Device::Vendor::Results::fail(updated.result, updated.call, ANYPLACE_STATUS_UNSUPPORTED,
                                    "another graph has to be made");
    }
    device_.check(updated);
  }
  /// Does what the entry graph_launch does.
  void launch(const Stream& stream) {
    const std::lock_guard lock(mutex_);
    const typename Vendor::Scope scope(device_);
    device_.check(Vendor::launch(executable_, stream.native()));
  }
  /// Called when no launch is pending or the device is lost. In the latter case the vendor may still call a host
  /// function later, which is then ignored.
  static void destroy(Graph* graph) {
    const std::unique_ptr<Graph> ended(graph);
    Device& device = ended->device_;
    struct Calls {
      Graph& of;
      ~Calls() { GraphHostCalls::end(of.calls_.release(), of.device_.lost()); }
    } const calls{*ended};
    const typename Vendor::End scope(device);
    scope.end([&] { return Vendor::end(ended->executable_); });
  }

 private:
  /// The vendor's graph of one description. The context is current while it lives.
  class Template {
   public:
    Template(Graph& of, const anyplace_graph_desc& desc) : device_(of.device_), calls_(*of.calls_) {
      device_.check(Vendor::create(native_));
      try {
        add_all(desc);
      } catch (...) {
        end();
        throw;
      }
    }
    Template(const Template&) = delete;  // it owns the vendor's graph
    Template& operator=(const Template&) = delete;
    ~Template() { end(); }

    typename Vendor::Native native() const noexcept { return native_; }

   private:
    using Node = typename Vendor::Node;
    using Place = typename Vendor::Place;

    /// Ignores a failure, because the graph's purpose is fulfilled or has failed; but the failure may have lost the
    /// device.
    void end() noexcept {
      const Result result = Vendor::destroy(native_).result;
      if (Device::Vendor::Results::is_sticky(result)) device_.lose(result);
    }
    void add_all(const anyplace_graph_desc& desc) {
      std::vector<Node> nodes(desc.node_count);
      std::vector<Node> after;
      std::size_t host_functions = 0;
      for (std::uint32_t i = 0; i < desc.node_count; ++i) {
        const anyplace_graph_node node = node_at(desc, i);
        after.clear();
        for (std::uint32_t k = 0; k < node.dependency_count; ++k) after.push_back(nodes.at(node.dependencies[k]));
        if (node.kind == ANYPLACE_GRAPH_NODE_HOST_FUNCTION) ++host_functions;
        add({native_, after.empty() ? nullptr : after.data(), after.size(), &nodes[i]}, node, host_functions);
      }
    }
    void add(const Place& place, const anyplace_graph_node& node, std::size_t host_functions) {
      switch (node.kind) {
        case ANYPLACE_GRAPH_NODE_EMPTY:
          return device_.check(Vendor::add_empty(place));
        case ANYPLACE_GRAPH_NODE_KERNEL:
          return Vendor::add_kernel(place, *from_handle<typename Vendor::Kernel>(node.kernel), widened(node.launch));
        case ANYPLACE_GRAPH_NODE_COPY:
          return add_copy(place, node);
        case ANYPLACE_GRAPH_NODE_MEMSET:
          return add_fill(place, node);
        case ANYPLACE_GRAPH_NODE_HOST_FUNCTION:
          return device_.check(
              Vendor::add_host(place, GraphHostCalls::run, calls_.get(node.function, node.user, host_functions)));
        case ANYPLACE_GRAPH_NODE_EVENT_RECORD:
        case ANYPLACE_GRAPH_NODE_EVENT_WAIT:
          return add_event(place, node);
        default:
          refuse(ANYPLACE_STATUS_UNSUPPORTED,
                 std::string("a graph of ") + Vendor::vendor + " has no nodes of kind " + std::to_string(node.kind));
      }
    }
    void add_copy(const Place& place, const anyplace_graph_node& node) {
      anyplace_copy_2d copy = widened(node.copy);
      if (node.destination_device != node.source_device) {
        refuse(ANYPLACE_STATUS_UNSUPPORTED, std::string(Vendor::vendor) +
                                                " doesn't say that a graph's copy may go from the memory of one device "
                                                "to that of another");
      }
      if (copy.kind < ANYPLACE_COPY_HOST_TO_DEVICE || copy.kind > ANYPLACE_COPY_DEVICE_TO_DEVICE) {
        refuse_copy_kind(Vendor::vendor, copy.kind);
      }
      if (copy.width == 0 || copy.rows == 0) return device_.check(Vendor::add_empty(place));
      if (copy.rows == 1) copy.source_pitch = copy.destination_pitch = copy.width;
      const std::uint64_t most = Vendor::max_pitch(device_);
      if (copy.source_pitch > most || copy.destination_pitch > most) {
        refuse(ANYPLACE_STATUS_UNSUPPORTED, "lines further apart than " + std::to_string(most) +
                                                " bytes, which a graph's copy on " + device_.place() + " can't have");
      }
      const Called<Result> made = Vendor::add_copy(place, device_, copy);
      if (Vendor::refuses_copy(made.result, copy)) {
        Device::Vendor::Results::fail(made.result, made.call, ANYPLACE_STATUS_UNSUPPORTED);
      }
      device_.check(made);
    }
    void add_fill(const Place& place, const anyplace_graph_node& node) {
      if (node.width != 1 && node.width != 2 && node.width != 4) refuse_fill_width(Vendor::vendor, node.width);
      device_.check(node.count == 0 ? Vendor::add_empty(place) : Vendor::add_fill(place, device_, node));
    }
    void add_event(const Place& place, const anyplace_graph_node& node) {
      if (!Vendor::has_event_nodes()) {
        refuse(ANYPLACE_STATUS_UNSUPPORTED, "this driver's graphs can't record events or wait for them");
      }
      // The graph keeps the vendor's event, so it must never be exchanged.
      const auto event = from_handle<typename Vendor::Event>(node.event)->hand_out();
      device_.check(node.kind == ANYPLACE_GRAPH_NODE_EVENT_RECORD ? Vendor::add_record(place, event)
                                                                  : Vendor::add_wait(place, event));
    }

    Device& device_;
    GraphHostCalls& calls_;
    typename Vendor::Native native_{};
  };

  Device& device_;
  std::unique_ptr<GraphHostCalls> calls_;
  std::mutex mutex_;  // serialises launches and updates; the vendor is called and Work's mutex taken under it
  typename Vendor::Executable executable_{};
};

}  // namespace anyplace::backend
