// SPDX-License-Identifier: Apache-2.0
//
// Generator: random numbers, the same bits on every backend.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// What a fill writes: an Array, or a Buffer as elements of `dtype`.
RandomTarget target_of(const nb::object& target, const std::optional<std::string>& dtype, UsedMemory& used) {
  if (nb::isinstance<Array>(target)) {
    const auto& array = nb::cast<const Array&>(target);
    if (dtype) throw nb::type_error("dtype: an Array has its own");
    if (!array.is_contiguous()) throw nb::value_error("target: the Array isn't contiguous");
    used.add(array);
    return {array.address(), array.dtype(), array.view().size()};
  }
  if (!nb::isinstance<BufferObject>(target)) throw nb::type_error("target: it is an Array or a Buffer");
  const DType type = dtype_of_text(dtype.value_or("float32"));
  const BufferView view = nb::cast<const BufferObject&>(target).view;
  return {view, type, static_cast<std::int64_t>(view.size_bytes() / size_of(type))};
}

RandomInteger integer_of(const nb::object& number, const char* name) {
  if (!PyIndex_Check(number.ptr())) throw nb::type_error((std::string(name) + ": it is a whole number").c_str());
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow == 0) return value;
  if (overflow < 0) {
    PyErr_SetString(PyExc_OverflowError, (std::string(name) + ": the number has more than 64 bits").c_str());
    throw nb::python_error();
  }
  return unsigned_of(Whole{index}, name);
}

nb::bytes bytes_of_state(const std::vector<std::byte>& state) { return nb::bytes(state.data(), state.size()); }

/// The first fill of a device loads the library's kernels, so fills release the GIL.
template <class Fill>
void fill(const Generator& generator, const StreamObject& stream, const nb::object& target,
          const std::optional<std::string>& dtype, Fill submit) {
  UsedMemory used(stream.view);
  const RandomTarget to = target_of(target, dtype, used);
  const nb::gil_scoped_release release;
  submit(generator, stream.view, to);
}

void bind_fills(nb::class_<Generator>& type) {
  using Dtype = std::optional<std::string>;
  type.def(
          "uniform",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, double low, double high,
             const Dtype& dtype) {
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.uniform(on, to, low, high); });
          },
          "stream"_a, "target"_a, "low"_a = 0.0, "high"_a = 1.0, nb::kw_only(), "dtype"_a = nb::none(),
          "Evenly distributed from `low` on and below `high`.")
      .def(
          "normal",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, double mean, double stddev,
             const Dtype& dtype) {
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.normal(on, to, mean, stddev); });
          },
          "stream"_a, "target"_a, "mean"_a = 0.0, "stddev"_a = 1.0, nb::kw_only(), "dtype"_a = nb::none())
      .def(
          "exponential",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, double rate,
             const Dtype& dtype) {
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.exponential(on, to, rate); });
          },
          "stream"_a, "target"_a, "rate"_a = 1.0, nb::kw_only(), "dtype"_a = nb::none())
      .def(
          "integers",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, const nb::object& first,
             const nb::object& last, const Dtype& dtype) {
            const RandomInteger low = integer_of(first, "first");
            const RandomInteger high = integer_of(last, "last");
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.integers(on, to, low, high); });
          },
          "stream"_a, "target"_a, "first"_a, "last"_a, nb::kw_only(), "dtype"_a = nb::none(),
          "Whole numbers from `first` to `last`, both included.")
      .def(
          "bernoulli",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, double p,
             const Dtype& dtype) {
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.bernoulli(on, to, p); });
          },
          "stream"_a, "target"_a, "p"_a = 0.5, nb::kw_only(), "dtype"_a = nb::none(), "1 with probability `p`, else 0.")
      .def(
          "permutation",
          [](const Generator& self, const StreamObject& stream, const nb::object& target, const Dtype& dtype) {
            fill(self, stream, target, dtype,
                 [&](const Generator& g, StreamView on, const RandomTarget& to) { g.permutation(on, to); });
          },
          "stream"_a, "target"_a, nb::kw_only(), "dtype"_a = nb::none(), "The numbers from 0 on, in random order.");
}

}  // namespace

void bind_random(nb::module_& module) {
  auto type =
      nb::class_<Generator>(
          module, "Generator",
          "Random numbers of one device: the same seed gives the same bits on every backend. Fills are "
          "submitted to a stream, and take their numbers at the call.")
          .def(
              "__init__", [](Generator* self, const DeviceArgument& device) { new (self) Generator(device.place()); },
              "device"_a)
          .def_prop_ro("place", [](const Generator& self) { return self.place().to_string(); })
          .def(
              "manual_seed",
              [](const Generator& self, const Whole& seed) { self.manual_seed(unsigned_of(seed, "seed")); }, "seed"_a,
              "Sets the seed, and the offset to 0.")
          .def("seed", &Generator::seed, "Sets a seed from the system's random source, and returns it.")
          .def_prop_ro("initial_seed", &Generator::initial_seed)
          .def_prop_rw(
              "offset", &Generator::offset,
              [](const Generator& self, const Whole& offset) { self.set_offset(unsigned_of(offset, "offset")); },
              "Where the next fill begins, in words of 32 bits; a multiple of 4.")
          .def("get_state", [](const Generator& self) { return bytes_of_state(self.get_state()); })
          .def(
              "set_state",
              [](const Generator& self, const nb::bytes& state) {
                self.set_state({static_cast<const std::byte*>(state.data()), state.size()});
              },
              "state"_a)
          .def("clone", &Generator::clone);
  bind_fills(type);
  module.def(
      "default_generator", [](const DeviceArgument& device) { return default_generator(device.place()); }, "device"_a,
      "The device's own generator. Loads nothing.");
}

}  // namespace anyplace::python
