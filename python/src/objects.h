// SPDX-License-Identifier: Apache-2.0
//
// What Python's objects hold. Objects share what they own, so that a slice keeps its buffer, a kernel its module, and a
// stream that is current itself; closing an object ends its own share, and its use from then on is an invalid_handle.
#pragma once

#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "live.h"

namespace anyplace::python {

struct StreamObject {
  StreamView view;
  std::shared_ptr<const void> owner;  ///< null for a device's own streams
};

struct EventObject {
  Counted<Event> event;
};

struct BufferObject {
  BufferView view;
  std::shared_ptr<Buffer> owner;
  int lent = 0;             ///< how many memoryviews there are of it; it can't be closed meanwhile
  std::int64_t extent = 0;  ///< its bytes, for who takes it as a tensor of DLPack without owning that
};

struct HostBufferObject {
  std::shared_ptr<HostBuffer> memory;  ///< null once it is closed
  int lent = 0;
};

/// How a kernel's argument is passed; `automatic` goes by the Python type.
enum class ArgumentKind : std::uint8_t { automatic, pointer, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

struct KernelObject {
  KernelView view;
  std::shared_ptr<Module> module;
  std::vector<ArgumentKind> kinds;  ///< empty: all are automatic
};

struct ModuleObject {
  std::shared_ptr<Module> module;  ///< null once it is closed
};

/// A kernel with the sizes that it runs over: kernel[grid, block].
struct LauncherObject {
  KernelObject kernel;
  LaunchConfig config;
};

struct GraphObject {
  Graph graph;
  GraphExec exec;                                 ///< null before the first launch
  std::vector<std::shared_ptr<const void>> kept;  ///< memory that others own and its copies use
};

/// The calling thread's current stream on `device`, with its owner.
StreamObject current_of(const Device& device);

/// Sets Python's error. An exception of a host function becomes the cause of the stream's fault.
void set_python_error(const Error& error) noexcept;

/// Copies in the stream's order. Each side is a Buffer, an Array, a HostBuffer, or an object that lends memory.
void copy_between(const StreamObject& stream, const nb::object& destination, const nb::object& source);
/// Keeps the memory until the work that `stream` was given up to now is done. In a capture it is kept with the graph.
/// Needs no GIL.
void keep_until_done(const StreamView& stream, std::shared_ptr<const void> memory);
/// Gives back what such work no longer uses. Needs the GIL.
void release_finished();
/// Memory that copies use is kept with the graph while it is captured: from its addition to its removal.
void add_capture(GraphObject* graph);
void remove_capture(GraphObject* graph);

/// The mode of that name: "global", "thread_local" or "relaxed". Raises ValueError.
CaptureMode capture_mode_of(const std::string& name);

void bind_errors();
void bind_devices(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_events(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_raw(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_allocator(nb::module_& module);
void bind_random(nb::module_& module);
void bind_services(nb::module_& module);

}  // namespace anyplace::python
