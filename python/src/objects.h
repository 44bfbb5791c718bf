// SPDX-License-Identifier: Apache-2.0
//
// What Python's objects hold. Objects share what they own, so that a slice keeps its buffer, a kernel its module, and a
// stream that is current itself; closing an object ends its own share, and its use from then on is an invalid_handle.
#pragma once

#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
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

/// Memory that others own, with who keeps it.
using KeptMemory = std::vector<std::shared_ptr<const void>>;

/// What is launched, and the memory that others own and its nodes use: that stays until the last launch is done, though
/// the graph is dropped, closed or given other work before.
class Executable {
 public:
  Executable(GraphExec exec, std::shared_ptr<const KeptMemory> memory) noexcept;
  Executable(const Executable&) = delete;  // its launches are counted once
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  bool is_native() const { return exec_.is_native(); }
  /// May wait for the launch before. Needs no GIL.
  void launch(const StreamView& stream);
  void update(const Graph& graph, std::shared_ptr<const KeptMemory> memory);

 private:
  GraphExec exec_;
  std::mutex mutex_;  // guards what follows; a thread that waits for it has no GIL
  std::shared_ptr<const KeptMemory> memory_;
  Event last_;  ///< behind the last launch; null if there was none
};

struct GraphObject {
  Graph graph;
  std::shared_ptr<const KeptMemory> memory;  ///< what the graph's nodes use; null if that is nothing
  std::shared_ptr<Executable> executable;    ///< null before the first launch
};

/// The calling thread's current stream on `device`, with its owner.
StreamObject current_of(const Device& device);

/// Sets Python's error. An exception of a host function becomes the cause of the stream's fault.
void set_python_error(const Error& error) noexcept;

/// Copies in the stream's order. Each side is a Buffer, an Array, a HostBuffer, or an object that lends memory.
void copy_between(const StreamObject& stream, const nb::object& destination, const nb::object& source);
/// Gives back what work no longer uses. Needs the GIL.
void release_finished();
/// Keeps the memory until the event is complete; a null event is. Needs the GIL.
void keep_until(Event done, std::shared_ptr<const void> memory) noexcept;

/// Keeps what the library doesn't keep by itself, memory that others own, until the work is done that `stream` is given
/// in this object's life. In a capture it is kept with the graph. Needs the GIL at its beginning and end.
class UsedMemory {
 public:
  explicit UsedMemory(const StreamView& stream) noexcept : stream_(stream) {}
  UsedMemory(const UsedMemory&) = delete;  // bound to its scope
  UsedMemory& operator=(const UsedMemory&) = delete;
  ~UsedMemory();

  void add(std::shared_ptr<const void> memory) { memory_.push_back(std::move(memory)); }
  void add(const Array& array);

 private:
  StreamView stream_;
  KeptMemory memory_;
};

/// Memory that captured work uses is kept from the beginning of the capture on; at its end the graph gets it.
void begin_keeping(const StreamView& stream);
std::shared_ptr<const KeptMemory> end_keeping(const StreamView& stream);
/// Keeps the memory with every graph that is being captured. Needs no GIL.
void keep_with_captures(const std::shared_ptr<const void>& memory);

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
