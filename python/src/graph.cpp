// SPDX-License-Identifier: Apache-2.0
//
// Graph: work that is captured once and launched again and again.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// What `with stream.capture() as graph:` enters and leaves.
struct CaptureObject {
  StreamObject stream;
  CaptureMode mode;
  nb::object graph;
};

nb::object enter(CaptureObject& capture) {
  capture.stream.view.begin_capture(capture.mode);
  begin_keeping(capture.stream.view);
  capture.graph = nb::cast(GraphObject());
  return capture.graph;
}

/// Ends the capture. After an exception of the body the graph stays empty, and that exception goes on.
void leave(CaptureObject& capture, const nb::object& type, const nb::object&, const nb::object&) {
  auto* const graph = nb::inst_ptr<GraphObject>(capture.graph);
  std::shared_ptr<const KeptMemory> memory = end_keeping(capture.stream.view);
  try {
    const nb::gil_scoped_release release;
    graph->graph = capture.stream.view.end_capture();
  } catch (const Error&) {
    if (type.is_none()) throw;
  }
  if (type.is_none()) {
    graph->memory = std::move(memory);
  } else {
    graph->graph = Graph();
  }
}

void instantiate(GraphObject& graph, bool native) {
  std::shared_ptr<Executable> made;
  {
    const nb::gil_scoped_release release;
    made = std::make_shared<Executable>(graph.graph.instantiate({native}), graph.memory);
  }
  graph.executable.swap(made);
}

/// The executable, which is made when it is first asked for. Another thread may close the graph while the caller uses
/// it.
std::shared_ptr<Executable> executable_of(GraphObject& graph) {
  if (!graph.executable) instantiate(graph, true);
  return graph.executable;
}

void launch(GraphObject& graph, const StreamObject& stream) {
  const std::shared_ptr<Executable> executable = executable_of(graph);
  const nb::gil_scoped_release release;
  executable->launch(stream.view);
}

void update(GraphObject& graph, const GraphObject& other) { executable_of(graph)->update(other.graph, other.memory); }

}  // namespace

Executable::Executable(GraphExec exec, std::shared_ptr<const KeptMemory> memory) noexcept
    : exec_(std::move(exec)), memory_(std::move(memory)) {}

Executable::~Executable() { keep_until(std::move(last_), std::move(memory_)); }

void Executable::launch(const StreamView& stream) {
  const std::lock_guard lock(mutex_);
  exec_.launch(stream);
  if (memory_ == nullptr) return;
  if (stream.is_capturing()) return keep_with_captures(memory_);
  // A launch waits for the one before, on whatever stream that was, so one event is behind all of them.
  if (last_) {
    stream.record_event(last_);
  } else {
    last_ = stream.record_event();
  }
}

void Executable::update(const Graph& graph, std::shared_ptr<const KeptMemory> memory) {
  Event last;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    exec_.update(graph);
    memory_.swap(memory);
    last = std::move(last_);
  }
  keep_until(std::move(last), std::move(memory));
}

void bind_graphs(nb::module_& module) {
  nb::class_<CaptureObject>(module, "Capture", "Made by Stream.capture, for a `with` statement.")
      .def("__enter__", &enter, nb::sig("def __enter__(self) -> Graph"))
      .def("__exit__", &leave, "type"_a.none(), "value"_a.none(), "traceback"_a.none());
  nb::class_<GraphObject>(module, "Graph",
                          "Work that is captured once and launched again and again. It keeps what it uses.")
      .def("launch", &launch, nb::lock_self(), "stream"_a,
           "Launches all of it in the stream's order; makes it ready at the first launch.")
      .def("instantiate", &instantiate, nb::lock_self(), nb::kw_only(), "native"_a = true,
           "Makes it ready to be launched. With `native` false the nodes are submitted one by one in any case.")
      .def("update", &update, nb::lock_self(), "other"_a,
           "Gives later launches the work of another graph of the same form.")
      .def_prop_ro("device", [](const GraphObject& graph) { return graph.graph.device(); })
      .def_prop_ro("is_native",
                   [](const GraphObject& graph) { return graph.executable && graph.executable->is_native(); })
      .def("__len__", [](const GraphObject& graph) { return graph.graph ? graph.graph.size() : 0; })
      .def(
          "to_dot", [](const GraphObject& graph) { return graph.graph.to_dot(); }, "The graph as text for Graphviz.")
      .def(
          "close", [](GraphObject& graph) { graph = GraphObject(); }, nb::lock_self(),
          "Gives the graph up; launches of it go on, and what they use stays until they are done.");
  auto stream = nb::borrow<nb::class_<StreamObject>>(nb::type<StreamObject>());
  stream.def(
      "capture",
      [](const StreamObject& self, const std::string& mode) {
        return CaptureObject{self, capture_mode_of(mode), nb::none()};
      },
      "mode"_a = "global",
      "with stream.capture() as graph: what is submitted to the stream becomes nodes of the graph instead of running. "
      "`mode` says which calls other threads may make: \"global\", \"thread_local\" or \"relaxed\".");
}

}  // namespace anyplace::python
