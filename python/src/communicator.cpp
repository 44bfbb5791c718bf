// SPDX-License-Identifier: Apache-2.0
//
// Communicator: collective operations between processes, on arrays that are contiguous.
#include <anyplace/anyplace.h>
#include <anyplace/communicator.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "extensions.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;
using Type = nb::class_<Communicator>;

Reduction reduction_of(const std::string& name) {
  for (const Reduction each : {Reduction::sum, Reduction::prod, Reduction::min, Reduction::max, Reduction::avg}) {
    if (name == to_string(each)) return each;
  }
  throw nb::value_error(("op: '" + name + "' is no reduction; sum, prod, min, max and avg are").c_str());
}

[[noreturn]] void refuse(const std::string& text) { throw nb::value_error(text.c_str()); }

/// The arrays of operations in groups that this thread has open: they are submitted when the groups end.
struct UsedInGroup {
  StreamView stream;
  Array array;
};
thread_local std::vector<UsedInGroup> used_in_groups;
thread_local int open_groups = 0;

/// The arrays of an operation, which stay until it is done.
class UsedArrays {
 public:
  explicit UsedArrays(const StreamObject& stream) noexcept : stream_(stream.view), memory_(stream.view) {}

  /// The number of elements of an array that the operation reads or writes in one piece.
  std::uint64_t add(const Array& array, const char* name) {
    if (!array.is_contiguous()) refuse(std::string(name) + ": the array isn't contiguous; copy() of it is");
    array.record_stream(stream_);
    memory_.add(array);
    if (open_groups > 0) used_in_groups.push_back({stream_, array});
    return static_cast<std::uint64_t>(array.view().size());
  }

 private:
  StreamView stream_;
  UsedMemory memory_;
};

/// Once the outermost group has begun, its arrays stay as those of other operations do.
void end_groups() {
  if (--open_groups > 0) return;
  for (const UsedInGroup& each : std::exchange(used_in_groups, {})) {
    UsedMemory memory(each.stream);
    memory.add(each.array);
    each.array.record_stream(each.stream);
  }
}

/// The elements of a destination, which have the source's type and are `times` as many.
void require_like(const Array& destination, const Array& source, std::uint64_t count, std::uint64_t times) {
  if (destination.is_read_only()) refuse("destination: the array is read-only");
  if (destination.dtype() != source.dtype()) {
    refuse(std::string("destination: it has elements of ") + numpy_name(destination.dtype()) + ", and the source of " +
           numpy_name(source.dtype()));
  }
  const auto elements = static_cast<std::uint64_t>(destination.view().size());
  if (elements != count * times) {
    refuse("destination: it has " + std::to_string(elements) + " elements; " + std::to_string(count * times) +
           " are needed for a source of " + std::to_string(count) + " each");
  }
}

std::uint64_t part_of(std::uint64_t count, int size, const char* name) {
  const auto ranks = static_cast<std::uint64_t>(size);
  if (count % ranks != 0) {
    refuse(std::string(name) + ": " + std::to_string(count) + " elements can't be divided by " + std::to_string(size) +
           " ranks");
  }
  return count / ranks;
}

void all_reduce(const Communicator& self, const StreamObject& stream, const Array& destination, const Array& source,
                const std::string& op) {
  UsedArrays arrays(stream);
  const Reduction reduction = reduction_of(op);
  const std::uint64_t count = arrays.add(source, "source");
  arrays.add(destination, "destination");
  require_like(destination, source, count, 1);
  const nb::gil_scoped_release release;
  self.all_reduce(stream.view, destination.address(), source.address(), count, source.dtype(), reduction);
}

void reduce(const Communicator& self, const StreamObject& stream, const std::optional<Array>& destination,
            const Array& source, int root, const std::string& op) {
  UsedArrays arrays(stream);
  const Reduction reduction = reduction_of(op);
  const std::uint64_t count = arrays.add(source, "source");
  if (destination) {
    arrays.add(*destination, "destination");
    require_like(*destination, source, count, 1);
  } else if (self.rank() == root) {
    refuse("destination: the root needs one");
  }
  const Address to = destination ? destination->address() : Address(std::uint64_t{0});
  const nb::gil_scoped_release release;
  self.reduce(stream.view, to, source.address(), count, source.dtype(), root, reduction);
}

void all_gather(const Communicator& self, const StreamObject& stream, const Array& destination, const Array& source) {
  UsedArrays arrays(stream);
  const std::uint64_t count = arrays.add(source, "source");
  arrays.add(destination, "destination");
  require_like(destination, source, count, static_cast<std::uint64_t>(self.size()));
  const nb::gil_scoped_release release;
  self.all_gather(stream.view, destination.address(), source.address(), count, source.dtype());
}

void reduce_scatter(const Communicator& self, const StreamObject& stream, const Array& destination, const Array& source,
                    const std::string& op) {
  UsedArrays arrays(stream);
  const Reduction reduction = reduction_of(op);
  const std::uint64_t count = part_of(arrays.add(source, "source"), self.size(), "source");
  arrays.add(destination, "destination");
  require_like(destination, source, count, 1);
  const nb::gil_scoped_release release;
  self.reduce_scatter(stream.view, destination.address(), source.address(), count, source.dtype(), reduction);
}

void all_to_all(const Communicator& self, const StreamObject& stream, const Array& destination, const Array& source) {
  UsedArrays arrays(stream);
  const std::uint64_t all = arrays.add(source, "source");
  const std::uint64_t count = part_of(all, self.size(), "source");
  arrays.add(destination, "destination");
  require_like(destination, source, all, 1);
  const nb::gil_scoped_release release;
  self.all_to_all(stream.view, destination.address(), source.address(), count, source.dtype());
}

void bind_operations(Type& type) {
  type.def("all_reduce", &all_reduce, "stream"_a, "destination"_a, "source"_a, "op"_a = "sum",
           "Reduces the elements of all ranks, and gives the result to all. `op`: sum, prod, min, max or avg.")
      .def("reduce", &reduce, "stream"_a, "destination"_a.none(), "source"_a, "root"_a, "op"_a = "sum",
           "The same, for `root` alone; the others may give None as the destination.")
      .def(
          "broadcast",
          [](const Communicator& self, const StreamObject& stream, const Array& data, int root) {
            UsedArrays arrays(stream);
            const std::uint64_t count = arrays.add(data, "data");
            const nb::gil_scoped_release release;
            self.broadcast(stream.view, data.address(), count, data.dtype(), root);
          },
          "stream"_a, "data"_a, "root"_a, "Gives the root's elements to all ranks, in place.")
      .def("all_gather", &all_gather, "stream"_a, "destination"_a, "source"_a,
           "Gives the elements of each rank to all, in the order of ranks.")
      .def("reduce_scatter", &reduce_scatter, "stream"_a, "destination"_a, "source"_a, "op"_a = "sum",
           "Reduces size times the destination's elements; rank i gets the i-th part.")
      .def("all_to_all", &all_to_all, "stream"_a, "destination"_a, "source"_a,
           "Sends the i-th part to rank i, and receives rank i's as the i-th.")
      .def(
          "send",
          [](const Communicator& self, const StreamObject& stream, const Array& source, int peer) {
            UsedArrays arrays(stream);
            const std::uint64_t count = arrays.add(source, "source");
            const nb::gil_scoped_release release;
            self.send(stream.view, source.address(), count, source.dtype(), peer);
          },
          "stream"_a, "source"_a, "peer"_a)
      .def(
          "recv",
          [](const Communicator& self, const StreamObject& stream, const Array& destination, int peer) {
            UsedArrays arrays(stream);
            const std::uint64_t count = arrays.add(destination, "destination");
            const nb::gil_scoped_release release;
            self.recv(stream.view, destination.address(), count, destination.dtype(), peer);
          },
          "stream"_a, "destination"_a, "peer"_a)
      .def(
          "barrier",
          [](const Communicator& self, const StreamObject& stream) {
            const nb::gil_scoped_release release;
            self.barrier(stream.view);
          },
          "stream"_a, "Submits work that is done when all ranks have come to it.");
}

void bind_bootstrap(nb::module_& module) {
  nb::class_<Bootstrap>(module, "Bootstrap", "How the ranks of a Communicator find each other.")
      .def_static("automatic", &Bootstrap::automatic, "mpirun's ranks, else the environment's.")
      .def_static("mpi", &Bootstrap::mpi)
      .def_static("environment", &Bootstrap::environment, "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.")
      .def_static("tcp", &Bootstrap::tcp, "rank"_a, "size"_a, "address"_a, "port"_a)
      .def_static("file", &Bootstrap::file, "rank"_a, "size"_a, "path"_a,
                  "By a file that doesn't exist yet, in a folder that all ranks see.")
      .def_static("alone", &Bootstrap::alone, "One rank alone.");
}

/// What `with communicator.group():` enters and leaves.
struct GroupObject {
  const Communicator* communicator;
  std::unique_ptr<GroupGuard> guard;
};

/// Ends the group. After an exception of the body it is dropped, which a guard does while an exception passes.
void leave(GroupObject& group, const nb::args& exception) {
  std::unique_ptr<GroupGuard> guard = std::move(group.guard);
  if (!guard) refuse("the group wasn't entered");
  struct Ended {
    Ended() = default;
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;
    ~Ended() { end_groups(); }
  };
  const Ended after;
  if (exception[0].is_none()) {
    const nb::gil_scoped_release release;
    guard.reset();
    return;
  }
  struct Dropped {};
  try {
    const std::unique_ptr<GroupGuard> ends_here = std::move(guard);
    throw Dropped();
  } catch (const Dropped&) {
  }
}

void bind_group(nb::module_& module, Type& type) {
  nb::class_<GroupObject>(module, "CommunicatorGroup", "Made by Communicator.group, for a `with` statement.")
      .def("__enter__",
           [](GroupObject& group) {
             if (group.guard) refuse("the group was entered already");
             group.guard = std::make_unique<GroupGuard>(*group.communicator);
             ++open_groups;
           })
      .def("__exit__", &leave, nb::sig("def __exit__(self, *exception: object) -> None"));
  type.def(
      "group",
      [](const Communicator& self) {
        return GroupObject{&self, nullptr};
      },
      nb::keep_alive<0, 1>(),
      "with communicator.group(): the operations in it begin together at its end. An exception drops them.");
}

/// Initialises and splits: waits for other ranks.
void bind_state(Type& type) {
  type.def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def_prop_ro("device", &Communicator::device)
      .def_prop_ro("engine", &Communicator::engine, "\"nccl\", \"rccl\" or \"mpi\"; \"none\" for one rank alone.")
      .def(
          "split",
          [](const Communicator& self, int color, int key) -> std::optional<Communicator> {
            const nb::gil_scoped_release release;
            Communicator made = self.split(color, key);
            if (made.is_null()) return std::nullopt;
            return made;
          },
          "color"_a, "key"_a = 0,
          "A communicator of all ranks that give the same color; None for a negative one. All ranks call it.")
      .def("query",
           [](const Communicator& self) {
             const nb::gil_scoped_release release;
             return self.query();
           })
      .def(
          "synchronize",
          [](const Communicator& self, std::optional<double> timeout) {
            return wait_interruptibly(timeout_of(timeout),
                                      [&](std::chrono::nanoseconds time) { return self.synchronize(time); });
          },
          "timeout"_a = nb::none(), "Waits for all operations submitted so far; raises what one failed with.")
      .def(
          "abort",
          [](const Communicator& self) {
            const nb::gil_scoped_release release;
            self.abort();
          },
          "Ends the pending operations of this rank, and the communicator.");
}

}  // namespace

void bind_communicators(nb::module_& module) {
  bind_bootstrap(module);
  Type type(module, "Communicator",
            "Collective operations between processes, each with a device: docs/ranks.md. Arrays are contiguous.");
  type.def(
      "__init__",
      [](Communicator* self, const DeviceArgument& device, const std::optional<Bootstrap>& bootstrap, double timeout,
         const std::string& engine) {
        const Device where = device.get();
        CommunicatorOptions options;
        options.timeout = *timeout_of(timeout);
        options.engine = engine;
        const nb::gil_scoped_release release;
        new (self) Communicator(where, bootstrap ? *bootstrap : Bootstrap::automatic(), options);
      },
      "device"_a, "bootstrap"_a = nb::none(), nb::kw_only(), "timeout"_a = 600.0, "engine"_a = "",
      "Waits for the other ranks, at most `timeout` seconds, which is also each operation's limit.");
  bind_operations(type);
  bind_state(type);
  bind_group(module, type);
}

}  // namespace anyplace::python
