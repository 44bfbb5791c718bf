// SPDX-License-Identifier: Apache-2.0
//
// The operators, reductions and conversions of Array. What they do is Python's (anyplace/_arithmetic.py, _creation.py),
// which compiles kernels of expressions; here are their names and types, so that the stubs have them.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <cstdint>

#include "extensions.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

constexpr const char* arithmetic = "anyplace._arithmetic";
constexpr const char* creation = "anyplace._creation";
using Type = nb::class_<Array>;

/// An operator and its reflected and in-place forms. The names are Python's with and without the letter.
template <const char* Name>
void def_binary(Type& type, const char* plain, const char* plain_sig, const char* reflected, const char* reflected_sig,
                const char* in_place, const char* in_place_sig) {
  type.def(
      plain, [](nb::handle self, nb::handle other) { return call_package(arithmetic, "binary", Name, self, other); },
      "other"_a, nb::is_operator(), nb::sig(plain_sig));
  if (reflected != nullptr) {
    type.def(
        reflected,
        [](nb::handle self, nb::handle other) {
          return call_package(arithmetic, "binary", Name, self, other, "reflected"_a = true);
        },
        "other"_a, nb::is_operator(), nb::sig(reflected_sig));
  }
  if (in_place != nullptr) {
    type.def(
        in_place,
        [](nb::handle self, nb::handle other) { return call_package(arithmetic, "in_place", Name, self, other); },
        "other"_a, nb::is_operator(), nb::sig(in_place_sig));
  }
}

#define ANYPLACE_BINARY(name, key, types)                                                                          \
  {                                                                                                                \
    static constexpr char text[] = key;                                                                            \
    def_binary<text>(type, "__" #name "__", "def __" #name "__(self, other: Array | " types ", /) -> Array",       \
                     "__r" #name "__", "def __r" #name "__(self, other: " types ", /) -> Array", "__i" #name "__", \
                     "def __i" #name "__(self, other: Array | " types ", /) -> Array");                            \
  }
#define ANYPLACE_COMPARISON(name, key)                                                                              \
  {                                                                                                                 \
    static constexpr char text[] = key;                                                                             \
    def_binary<text>(type, "__" #name "__", "def __" #name "__(self, other: object, /) -> Array", nullptr, nullptr, \
                     nullptr, nullptr);                                                                             \
  }

void bind_operators(Type& type) {
  ANYPLACE_BINARY(add, "add", "float")
  ANYPLACE_BINARY(sub, "subtract", "float")
  ANYPLACE_BINARY(mul, "multiply", "float")
  ANYPLACE_BINARY(truediv, "divide", "float")
  ANYPLACE_BINARY(floordiv, "floor_divide", "float")
  ANYPLACE_BINARY(mod, "remainder", "float")
  ANYPLACE_BINARY(pow, "power", "float")
  ANYPLACE_BINARY(and, "bitwise_and", "int")
  ANYPLACE_BINARY(or, "bitwise_or", "int")
  ANYPLACE_BINARY(xor, "bitwise_xor", "int")
  ANYPLACE_COMPARISON(lt, "less")
  ANYPLACE_COMPARISON(le, "less_equal")
  ANYPLACE_COMPARISON(gt, "greater")
  ANYPLACE_COMPARISON(ge, "greater_equal")
  type.def(
      "__eq__",
      [](nb::handle self, nb::handle other) { return call_package(arithmetic, "binary", "equal", self, other); },
      "other"_a, nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> typing.Any"));
  type.def(
      "__ne__",
      [](nb::handle self, nb::handle other) { return call_package(arithmetic, "binary", "not_equal", self, other); },
      "other"_a, nb::is_operator(), nb::sig("def __ne__(self, other: object, /) -> typing.Any"));
}

void bind_unary(Type& type) {
  const auto unary = [&](const char* name, auto function, const char* signature) {
    type.def(name, function, nb::is_operator(), nb::sig(signature));
  };
  unary(
      "__neg__", [](nb::handle self) { return call_package(arithmetic, "unary", "negative", self); },
      "def __neg__(self) -> Array");
  unary(
      "__pos__", [](nb::handle self) { return call_package(arithmetic, "unary", "positive", self); },
      "def __pos__(self) -> Array");
  unary(
      "__abs__", [](nb::handle self) { return call_package(arithmetic, "unary", "absolute", self); },
      "def __abs__(self) -> Array");
  unary(
      "__invert__", [](nb::handle self) { return call_package(arithmetic, "unary", "invert", self); },
      "def __invert__(self) -> Array");
}

template <const char* Name>
void def_reduction(Type& type, const char* signature, const char* text) {
  type.def(
      Name,
      [](nb::handle self, nb::handle axis, bool keepdims) {
        return call_package(arithmetic, "reduce", Name, self, axis, keepdims);
      },
      "axis"_a = nb::none(), nb::kw_only(), "keepdims"_a = false, nb::sig(signature), text);
}

#define ANYPLACE_REDUCTION(name, text)                                                                           \
  {                                                                                                              \
    static constexpr char key[] = #name;                                                                         \
    def_reduction<key>(type, "def " #name "(self, axis: int | None = None, *, keepdims: bool = False) -> Array", \
                       text);                                                                                    \
  }

void bind_reductions(Type& type) {
  ANYPLACE_REDUCTION(sum, "The sum of all elements, or of those along `axis`. Small integers are added in 64 bits.")
  ANYPLACE_REDUCTION(min, "The smallest element; NaN if there is one.")
  ANYPLACE_REDUCTION(max, "The largest element; NaN if there is one.")
  ANYPLACE_REDUCTION(mean, "The mean; float64 for integers.")
}

void bind_conversions(Type& type) {
  type.def(
          "copy", [](nb::handle self) { return call_package(creation, "copy_of", self); },
          nb::sig("def copy(self) -> Array"), "A new contiguous array of the same elements, on the array's stream.")
      .def(
          "numpy", [](nb::handle self) { return call_package(creation, "numpy_of", self); },
          nb::sig("def numpy(self) -> typing.Any"), "Waits, and returns a NumPy array of its own memory.")
      .def(
          "item", [](nb::handle self) { return call_package(creation, "item_of", self); },
          nb::sig("def item(self) -> int | float | complex | bool"),
          "Waits, and returns the element of an array that has one.")
      .def(
          "tolist", [](nb::handle self) { return call_package(creation, "list_of", self); },
          nb::sig("def tolist(self) -> typing.Any"), "Waits, and returns the elements as lists of lists.")
      .def(
          "astype", [](nb::handle self, nb::handle dtype) { return call_package(arithmetic, "astype", self, dtype); },
          "dtype"_a, nb::sig("def astype(self, dtype: str) -> Array"), "A copy with elements of another type.")
      .def(
          "__setitem__",
          [](nb::handle self, nb::handle key, nb::handle value) {
            call_package(arithmetic, "assign", self[key], value);
          },
          "key"_a, "value"_a, nb::sig("def __setitem__(self, key: object, value: Array | float, /) -> None"))
      .def("__bool__", [](nb::handle self) { return nb::cast<bool>(call_package(creation, "truth_of", self)); })
      .def(
          "__float__",
          [](nb::handle self) { return nb::steal(PyNumber_Float(call_package(creation, "item_of", self).ptr())); },
          nb::sig("def __float__(self) -> float"))
      .def(
          "__int__",
          [](nb::handle self) { return nb::steal(PyNumber_Long(call_package(creation, "item_of", self).ptr())); },
          nb::sig("def __int__(self) -> int"));
}

}  // namespace

void bind_arithmetic() {
  auto type = nb::borrow<Type>(nb::type<Array>());
  bind_operators(type);
  bind_unary(type);
  bind_reductions(type);
  bind_conversions(type);
  type.def(
      "__hash__",
      [](const Array&) -> std::int64_t {
        throw nb::type_error("an Array has no hash, since == compares its elements: use id(array) as a key");
      },
      nb::sig("def __hash__(self) -> int"));
  // NumPy leaves operators to the class that has this None.
  type.attr("__array_ufunc__") = nb::none();
}

}  // namespace anyplace::python
