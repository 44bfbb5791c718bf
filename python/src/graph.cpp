// SPDX-License-Identifier: Apache-2.0
//
// Graph: work that is captured once and launched again and again.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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
  capture.graph = nb::cast(GraphObject());
  add_capture(nb::inst_ptr<GraphObject>(capture.graph));
  return capture.graph;
}

/// Ends the capture. After an exception of the body the graph stays empty, and that exception goes on.
void leave(CaptureObject& capture, const nb::object& type, const nb::object&, const nb::object&) {
  auto* const graph = nb::inst_ptr<GraphObject>(capture.graph);
  remove_capture(graph);
  try {
    const nb::gil_scoped_release release;
    graph->graph = capture.stream.view.end_capture();
  } catch (const Error&) {
    if (type.is_none()) throw;
  }
  if (!type.is_none()) graph->graph = Graph();
}

GraphExec instantiated(const GraphObject& graph, bool native) {
  const nb::gil_scoped_release release;
  return graph.graph.instantiate({native});
}

void instantiate(GraphObject& graph, bool native) { graph.exec = instantiated(graph, native); }

/// A launch may wait for the launch before.
void launch(GraphObject& graph, const StreamObject& stream) {
  if (!graph.exec) {
    GraphExec made = instantiated(graph, true);
    if (!graph.exec) graph.exec = std::move(made);  // another thread may have been first, and launch it now
  }
  const nb::gil_scoped_release release;
  graph.exec.launch(stream.view);
}

}  // namespace

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
      .def(
          "update",
          [](GraphObject& graph, const GraphObject& other) {
            if (!graph.exec) instantiate(graph, true);
            graph.exec.update(other.graph);
            graph.kept.insert(graph.kept.end(), other.kept.begin(), other.kept.end());
          },
          "other"_a, "Gives later launches the work of another graph of the same form.")
      .def_prop_ro("device", [](const GraphObject& graph) { return graph.graph.device(); })
      .def_prop_ro("is_native", [](const GraphObject& graph) { return graph.exec && graph.exec.is_native(); })
      .def("__len__", [](const GraphObject& graph) { return graph.graph ? graph.graph.size() : 0; })
      .def(
          "to_dot", [](const GraphObject& graph) { return graph.graph.to_dot(); }, "The graph as text for Graphviz.")
      .def(
          "close", [](GraphObject& graph) { graph = GraphObject(); }, "Gives the graph up; launches of it go on.");
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
