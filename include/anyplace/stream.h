// SPDX-License-Identifier: Apache-2.0
//
// Stream: a queue of work on one device. Work of one stream runs in order; work of different streams may overlap.
//
// Submitting returns before the work is done. What a host function or a host kernel throws becomes the stream's fault:
// query and synchronize show it, synchronize clears it, and later work still runs.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

#include "address.h"
#include "annotate.h"
#include "device.h"
#include "event.h"
#include "export.h"
#include "graph_types.h"
#include "kernel.h"
#include "memory.h"

namespace anyplace {

namespace detail {
struct GraphPoolState;
}  // namespace detail

class Graph;
class StreamView;

/// Memory that graphs share: buffers that are made in captures with this pool come from it. The graphs have to be
/// launched in the order in which they were captured, and not at the same time, because a later one may use memory that
/// an earlier one has let go of. Free to copy; the memory is freed with the last copy, graph and buffer. A null pool
/// throws invalid_handle.
class ANYPLACE_API GraphPool {
 public:
  GraphPool() noexcept = default;
  /// Makes an empty pool of the device's.
  explicit GraphPool(const Device& device);

  /// Whether there is a pool.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Bytes of the pool: those of existing buffers, and those that earlier buffers left for others.
  std::uint64_t reserved_bytes() const;

 private:
  friend class StreamView;
  std::shared_ptr<detail::GraphPoolState> state_;
};

/// How a stream runs beside others.
struct StreamOptions {
  /// A lower number runs first. A number outside the device's range becomes the nearest end of it.
  int priority = 0;
  /// Whether the stream synchronises with the device's null stream the way CUDA's legacy default stream does.
  bool blocking = false;
};

/// Names a stream without owning it: 64 bits, free to copy, never reused. Using one whose stream was destroyed, or a
/// null one, throws invalid_handle. Every member may be called from any thread, also on the same stream at the same
/// time: then the order of the submissions is unspecified. Every member can throw device_lost, forked, shut_down, and
/// not_permitted inside a host function or kernel; each says what else it throws.
class ANYPLACE_API StreamView {
 public:
  constexpr StreamView() noexcept = default;
  /// The stream with that number, which id() gave; nothing is checked before it is used.
  constexpr explicit StreamView(std::uint64_t id) noexcept : id_(id) {}

  /// The number of the stream; 0 for a null view. It means the same in this process alone.
  constexpr std::uint64_t id() const noexcept { return id_; }
  /// Whether it names a stream, which may have been destroyed.
  constexpr explicit operator bool() const noexcept { return id_ != 0; }

  /// The device whose work it queues.
  Device device() const;
  /// Its priority, within the device's range: a lower number runs first.
  int priority() const;
  /// The vendor's stream (CUstream). Throws unsupported where there is none.
  std::uint64_t native_handle() const;

  // -- State.
  /// Whether all submitted work is done. Throws the stream's fault, without clearing it, if there is one.
  ANYPLACE_HOT [[nodiscard]] bool query() const;
  /// Returns when all work submitted before the call is done. Throws the stream's first fault, and clears it. A device
  /// that is made of threads (cpu_sim) may run kernels and copies on this thread meanwhile, but never host functions;
  /// so hold no lock that a callable takes. With a timeout nothing runs on this thread.
  ANYPLACE_HOT void synchronize() const;
  /// Waits as above, but at most `timeout`: returns false if it ran out first, and the work goes on.
  [[nodiscard]] bool synchronize(std::chrono::nanoseconds timeout) const;

  // -- Order between streams.
  /// Makes an event with `options`, records it, and returns it.
  Event record_event(EventOptions options = {}) const;
  /// Records `event`, and returns it. Throws invalid_argument if it is of another device.
  EventView record_event(EventView event) const;
  /// Holds back what is submitted later until the most recent record of `event`, as of now, is complete. Never blocks
  /// the host. The event may be of any device and backend.
  ANYPLACE_HOT void wait_event(EventView event) const;
  /// Holds back what is submitted later until all work that was submitted to `other` up to now is done. Never blocks
  /// the host.
  void wait_stream(const StreamView& other) const;

  // -- Host functions.
  /// Runs `function` after earlier and before later work, on a thread that the runtime owns. It may not call anyplace,
  /// except to destroy handles. Throws unsupported where the backend has no host functions.
  void launch_host_func(std::function<void()> function) const;

  // -- Annotations (annotate.h).
  /// Marks a point of the stream's work with a name: listeners hear it when the earlier work is done, before later work
  /// begins. The name is copied. Where somebody listens at the call, the mark is a host function; where nobody does,
  /// the call does nothing and doesn't even look at the stream. A backend without host functions has no marks. In a
  /// capture it becomes a host function node, so that listeners hear it at each launch. Throws what launch_host_func
  /// does but unsupported.
  void mark(annotate::Name name, const annotate::Attributes& attributes = annotate::no_attributes) const {
    if (annotate::listening()) mark_when_reached(name, attributes);
  }

  // -- Copies and fills. Both sides have the same number of bytes, and ranges don't overlap, else invalid_argument; 0
  // bytes is a no-op. A buffer is of the stream's device; in a copy between buffers one of them is. Host memory must
  // stay valid until the copy is done. A copy from or to memory that isn't pinned may block the caller, and may read
  // its source at the call, before earlier work of the stream has run.
  /// Copies from the host to a device.
  void copy(BufferView destination, ConstHostSpan source) const;
  /// Copies from a device to the host.
  void copy(HostSpan destination, BufferView source) const;
  /// Copies on one device, between devices, or between backends. Between devices that can reach each other only through
  /// host memory the call may block, because some backends take host memory that they didn't pin themselves only at the
  /// call.
  void copy(BufferView destination, BufferView source) const;
  /// Copies `rows` lines of `width` bytes. A pitch is the distance in bytes between the starts of two lines.
  void copy_2d(BufferView destination, std::uint64_t destination_pitch, ConstHostSpan source,
               std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const;
  /// Copies lines from a device to the host.
  void copy_2d(HostSpan destination, std::uint64_t destination_pitch, BufferView source, std::uint64_t source_pitch,
               std::uint64_t width, std::uint64_t rows) const;
  /// Copies lines on one device, between devices, or between backends.
  void copy_2d(BufferView destination, std::uint64_t destination_pitch, BufferView source, std::uint64_t source_pitch,
               std::uint64_t width, std::uint64_t rows) const;
  /// Copies between memory of the host, which may be pinned or not: it is read and written in the stream's order. Where
  /// the device has neither Capability::host_copy nor host functions, the caller waits for the stream and copies.
  void copy(HostSpan destination, ConstHostSpan source) const;

  // -- Copies and fills by address. Memory that pointer_attributes() doesn't know is taken for the host's. The rules
  // above hold: a range that begins in an allocation ends in it, and memory of another device than the stream's is one
  // side of a copy between devices. A side of 0 bytes may be null.
  /// Copies `bytes` bytes, whatever memory the two are in.
  void copy(Address destination, Address source, std::uint64_t bytes) const;
  /// Copies `rows` lines of `width` bytes, whatever memory the two are in.
  void copy_2d(Address destination, std::uint64_t destination_pitch, Address source, std::uint64_t source_pitch,
               std::uint64_t width, std::uint64_t rows) const;
  /// Writes the pattern again and again, from `destination` on. `pattern_bytes` is a power of two, 128 at most, and
  /// `bytes` a multiple of it; the address may be any. The pattern is copied at the call. Memory of the host is written
  /// in the stream's order, too.
  void fill(Address destination, const void* pattern, std::uint64_t pattern_bytes, std::uint64_t bytes) const;
  /// Fills `rows` lines of `width` bytes, each of which begins with a whole pattern.
  void fill_2d(Address destination, std::uint64_t pitch, const void* pattern, std::uint64_t pattern_bytes,
               std::uint64_t width, std::uint64_t rows) const;

  /// Fill `destination` with `value`. An element has 128 bytes at most. If it has 1, 2 or 4 bytes, or repeats those, it
  /// takes one submission; else a few fills and copies within the destination, about log2 of its size.
  template <class T>
  void fill(BufferSpan<T> destination, const std::type_identity_t<T>& value) const {
    static_assert(sizeof(T) <= 128, "an element that fill writes has 128 bytes at most");
    fill_elements(destination, &value, sizeof(T));
  }
  template <class T, class Value>
  requires(std::is_integral_v<T>&& std::is_floating_point_v<Value>) void fill(
      BufferSpan<T> destination, Value /*a fraction for elements that are whole numbers*/) const = delete;
  /// Fill `destination` with an integer of 8, 16 or 32 bits. Throws invalid_argument unless its address and size are
  /// multiples of the integer's size.
  void memset8(BufferView destination, std::uint8_t value) const;
  /// As memset8, with an integer of 16 bits.
  void memset16(BufferView destination, std::uint16_t value) const;
  /// As memset8, with an integer of 32 bits.
  void memset32(BufferView destination, std::uint32_t value) const;
  template <class Value>
  requires std::is_floating_point_v<Value>
  void memset8(BufferView destination, Value /*an integer is meant; fill writes values of a type*/) const = delete;
  template <class Value>
  requires std::is_floating_point_v<Value>
  void memset16(BufferView destination, Value /*an integer is meant; fill writes values of a type*/) const = delete;
  template <class Value>
  requires std::is_floating_point_v<Value>
  void memset32(BufferView destination, Value /*an integer is meant; fill writes values of a type*/) const = delete;

  // -- Kernels.
  /// Throws invalid_argument if the kernel is of another device, a size is 0 or over the device's limit, or a
  /// callable's parameters don't fit the arguments.
  template <class... Args>
  void launch(KernelView kernel, const LaunchConfig& config, const Args&... args) const {
    const std::tuple<detail::ArgumentValue<Args>...> values{detail::ArgumentValue<Args>(args)...};
    const std::array<LaunchArgument, sizeof...(Args)> arguments = std::apply(
        [](const auto&... value) { return std::array<LaunchArgument, sizeof...(Args)>{value.describe()...}; }, values);
    detail::LaunchDescription launch;
    detail::describe_launch(launch, config, sizeof...(Args));
    launch.arguments = arguments.data();
    launch_on(id_, kernel.id(), launch);
  }
  /// Launches with arguments made at run time. Throws as above.
  void launch_arguments(KernelView kernel, const LaunchConfig& config, std::span<const LaunchArgument> arguments) const;

  // -- Graphs (graph.h).
  /// From now on what is submitted to the stream becomes nodes of a graph instead of running. Calls that can't be part
  /// of one are refused with `capturing`, and invalidate the capture: waiting for the stream or asking it, waiting for
  /// events that weren't recorded in the capture, and, as `mode` says, calls that act on a whole device. Buffers that
  /// are made on the stream come from `pool`; without one, from a pool of the graph's own. Throws capturing if the
  /// stream is captured, and invalid_argument for a null stream or another device's pool.
  void begin_capture(CaptureMode mode = CaptureMode::global) const;
  /// As above, with a pool that several graphs share.
  void begin_capture(CaptureMode mode, const GraphPool& pool) const;
  /// Ends the capture that began on this stream, on the thread where it began (any, with CaptureMode::relaxed). Throws
  /// capture_invalidated, with the reason, if a call was made that isn't allowed, or if a stream that joined isn't
  /// waited for; the capture has ended then, too.
  Graph end_capture() const;
  /// Whether the stream is captured, and whether the capture is still good.
  CaptureStatus capture_status() const;
  /// Whether the stream is captured, also if the capture was invalidated.
  bool is_capturing() const { return capture_status() != CaptureStatus::none; }
  /// In a capture: adds a node that records the event at each launch, for others to wait for. Elsewhere it does what
  /// record_event does.
  void record_external_event(EventView event) const;
  /// In a capture: adds a node that waits, at each launch, for the event's most recent record then. Elsewhere it does
  /// what wait_event does.
  void wait_external_event(EventView event) const;

  friend constexpr bool operator==(StreamView, StreamView) noexcept = default;
  friend constexpr auto operator<=>(StreamView, StreamView) noexcept = default;

 protected:
  std::uint64_t id_ = 0;

 private:
  void fill_elements(BufferView destination, const void* element, std::uint32_t size) const;
  void mark_when_reached(annotate::Name name, const annotate::Attributes& attributes) const;
  /// launch_arguments() for arguments that ArgumentValue made, which need no check: each has a value, of the size that
  /// its kind has.
  ANYPLACE_HOT static void launch_on(std::uint64_t stream_id, std::uint64_t kernel_id,
                                     const detail::LaunchDescription& launch);
};

/// Owns a stream. Destroying it returns at once, and pending work still completes. It is safe inside a host function.
class ANYPLACE_API Stream : public StreamView {
 public:
  Stream() noexcept = default;
  /// Makes a stream of the device. Throws unsupported for a blocking one where the device lacks
  /// Capability::blocking_streams.
  explicit Stream(const Device& device, StreamOptions options = {});
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;  // two owners would destroy it twice; copy the view
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  /// Wraps the vendor's stream, which stays the caller's: it is never destroyed from here. Throws unsupported where the
  /// device lacks Capability::stream_from_native.
  static Stream from_native(const Device& device, std::uint64_t native_handle);

  /// The stream as a view, without the ownership.
  StreamView view() const noexcept { return *this; }
};

/// The calling thread's current stream on `device`; the null stream until set.
ANYPLACE_API StreamView current_stream(const Device& device);
/// Makes `stream` the calling thread's current stream on its device. guard.h has the form that restores.
ANYPLACE_API void set_current_stream(StreamView stream);

}  // namespace anyplace

template <>
struct std::hash<anyplace::StreamView> {
  std::size_t operator()(anyplace::StreamView stream) const noexcept { return std::hash<std::uint64_t>()(stream.id()); }
};
