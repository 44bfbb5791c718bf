// SPDX-License-Identifier: Apache-2.0
//
// Module, Kernel and launches. What a Python object becomes as a kernel's argument is decided here: by its own type, or
// by the type that the kernel was declared with.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

// -- Arguments.

constexpr std::size_t most_arguments = 128;

struct KindName {
  const char* name;
  ArgumentKind kind;
};
constexpr KindName kind_names[] = {
    {"pointer", ArgumentKind::pointer}, {"f32", ArgumentKind::f32}, {"f64", ArgumentKind::f64},
    {"i8", ArgumentKind::i8},           {"i16", ArgumentKind::i16}, {"i32", ArgumentKind::i32},
    {"i64", ArgumentKind::i64},         {"u8", ArgumentKind::u8},   {"u16", ArgumentKind::u16},
    {"u32", ArgumentKind::u32},         {"u64", ArgumentKind::u64}, {"bool", ArgumentKind::boolean},
};

ArgumentKind kind_of(const std::string& name) {
  for (const KindName& each : kind_names) {
    if (name == each.name) return each.kind;
  }
  throw nb::value_error(
      ("argtypes: '" + name + "' is no type; pointer, f32, f64, i8 to i64, u8 to u64 and bool are").c_str());
}

[[noreturn]] void refuse(PyObject* type, std::size_t i, const std::string& text) {
  PyErr_SetString(type, ("argument " + std::to_string(i) + " (counted from 0): " + text).c_str());
  throw nb::python_error();
}

/// The arguments of one launch, and the bytes that they point at.
class Arguments {
 public:
  Arguments(const std::vector<ArgumentKind>& kinds, UsedMemory& used) : kinds_(kinds), used_(used) {}

  void add(PyObject* object) {
    if (count_ == most_arguments) {
      throw nb::type_error(
          ("a launch from Python has at most " + std::to_string(most_arguments) + " arguments").c_str());
    }
    const ArgumentKind kind = kinds_.empty() ? ArgumentKind::automatic : kinds_[count_];
    if (kind == ArgumentKind::automatic) {
      add_by_type(object);
    } else {
      add_as(kind, object);
    }
    ++count_;
  }
  std::span<const LaunchArgument> all() const noexcept { return {described_.data(), count_}; }

 private:
  template <class T>
  void put(T value, LaunchArgument::Kind kind = LaunchArgument::Kind::value) {
    std::memcpy(&words_[count_], &value, sizeof(value));
    described_[count_] = {kind, sizeof(value), &words_[count_]};
  }
  void put_address(std::uint64_t address) { put(address, LaunchArgument::Kind::address); }

  /// Whether the object is memory, or None, which is the null pointer; it is added then.
  bool add_memory(PyObject* object) {
    static PyTypeObject* const buffer_type = reinterpret_cast<PyTypeObject*>(nb::type<BufferObject>().ptr());
    if (Py_TYPE(object) == buffer_type && nb::inst_ready(object)) {
      const BufferObject& buffer = *nb::inst_ptr<BufferObject>(object);
      if (!buffer.owner) refuse(PyExc_ValueError, count_, "the Buffer is closed");
      put_address(buffer.view.address());
    } else if (object == Py_None) {
      put_address(0);
    } else if (nb::isinstance<Array>(object)) {
      const auto& array = nb::cast<const Array&>(nb::handle(object));
      put_address(array.address().value());
      used_.add(array);
    } else if (nb::isinstance<HostBufferObject>(object)) {
      const auto& pinned = nb::cast<const HostBufferObject&>(nb::handle(object)).memory;
      if (!pinned) refuse(PyExc_ValueError, count_, "the HostBuffer is closed");
      put_address(reinterpret_cast<std::uintptr_t>(pinned->data()));
    } else {
      return false;
    }
    return true;
  }

  void add_by_type(PyObject* object) {
    if (add_memory(object)) return;
    if (PyBool_Check(object)) return put(object == Py_True);
    if (PyFloat_CheckExact(object)) return put(PyFloat_AsDouble(object));
    if (PyLong_CheckExact(object)) return put_integer(object);
    put_bytes(object);
  }

  void put_integer(PyObject* object) {
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return put(value);
    if (overflow > 0) return put(whole<std::uint64_t>(object));
    refuse(PyExc_OverflowError, count_, "the number has more than 64 bits");
  }

  /// A scalar of NumPy's or ctypes', a ctypes structure, or bytes: passed as they are.
  void put_bytes(PyObject* object) {
    if (!PyObject_CheckBuffer(object)) refuse_type(object);
    LentMemory lent(object, false, "argument");
    if (lent.dimensions() != 0 && !PyBytes_Check(object)) {
      refuse(PyExc_TypeError, count_,
             "a " + nb::cast<std::string>(nb::type_name(nb::handle(object).type())) +
                 " is memory of the host; copy it to a Buffer, or pass an element");
    }
    const HostSpan bytes = lent.span();
    described_[count_] = {LaunchArgument::Kind::value, static_cast<std::uint32_t>(bytes.size_bytes()), bytes.data()};
    lent_.push_back(std::move(lent));
  }

  [[noreturn]] void refuse_type(PyObject* object) const {
    refuse(PyExc_TypeError, count_,
           "a " + nb::cast<std::string>(nb::type_name(nb::handle(object).type())) +
               " is nothing that a kernel takes; buffers, arrays, None, int, float, bool, scalars of NumPy and ctypes, "
               "ctypes structures and bytes are");
  }

  /// The number, of the type that the kernel was declared with.
  template <class T>
  T whole(PyObject* object) const {
    const nb::object index = nb::steal(PyNumber_Index(object));
    if (!index) {
      PyErr_Clear();
      refuse(PyExc_TypeError, count_, "a whole number is declared");
    }
    T value = 0;
    bool fits = false;
    if constexpr (std::is_signed_v<T>) {
      int overflow = 0;
      const std::int64_t wide = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
      value = static_cast<T>(wide);
      fits = overflow == 0 && value == wide;
    } else {
      const std::uint64_t wide = PyLong_AsUnsignedLongLong(index.ptr());
      const bool failed = PyErr_Occurred() != nullptr;
      PyErr_Clear();
      value = static_cast<T>(wide);
      fits = !failed && value == wide;
    }
    if (!fits) {
      refuse(PyExc_OverflowError, count_,
             "the number doesn't fit " + std::string(std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T)));
    }
    return value;
  }

  double fraction(PyObject* object) const {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse(PyExc_TypeError, count_, "a number is declared");
    }
    return value;
  }

  void add_as(ArgumentKind kind, PyObject* object) {
    switch (kind) {
      case ArgumentKind::automatic:
        return add_by_type(object);
      case ArgumentKind::pointer:
        if (add_memory(object)) return;
        if (PyIndex_Check(object)) return put_address(whole<std::uint64_t>(object));
        refuse(PyExc_TypeError, count_, "memory is declared: a Buffer, an Array, a HostBuffer, an address, or None");
      case ArgumentKind::f32:
        return put(static_cast<float>(fraction(object)));
      case ArgumentKind::f64:
        return put(fraction(object));
      case ArgumentKind::i8:
        return put(whole<std::int8_t>(object));
      case ArgumentKind::i16:
        return put(whole<std::int16_t>(object));
      case ArgumentKind::i32:
        return put(whole<std::int32_t>(object));
      case ArgumentKind::i64:
        return put(whole<std::int64_t>(object));
      case ArgumentKind::u8:
        return put(whole<std::uint8_t>(object));
      case ArgumentKind::u16:
        return put(whole<std::uint16_t>(object));
      case ArgumentKind::u32:
        return put(whole<std::uint32_t>(object));
      case ArgumentKind::u64:
        return put(whole<std::uint64_t>(object));
      case ArgumentKind::boolean:
        return put(PyObject_IsTrue(object) == 1);
    }
  }

  const std::vector<ArgumentKind>& kinds_;
  UsedMemory& used_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, most_arguments> words_;
  std::array<LaunchArgument, most_arguments> described_;
  std::vector<LentMemory> lent_;
};

// -- Launches.

Dim3 dim3_of(nb::handle sizes, const char* name) {
  if (PyIndex_Check(sizes.ptr())) return Dim3(unsigned32_of(Whole{sizes}, name));
  if (!PyTuple_Check(sizes.ptr()) || NB_TUPLE_GET_SIZE(sizes.ptr()) < 1 || NB_TUPLE_GET_SIZE(sizes.ptr()) > 3) {
    throw nb::type_error((std::string(name) + ": it is a number, or a tuple of up to three").c_str());
  }
  std::uint32_t xyz[3] = {1, 1, 1};
  for (Py_ssize_t i = 0; i < NB_TUPLE_GET_SIZE(sizes.ptr()); ++i) {
    const nb::handle size = NB_TUPLE_GET_ITEM(sizes.ptr(), i);
    if (!PyIndex_Check(size.ptr())) throw nb::type_error((std::string(name) + ": sizes are whole numbers").c_str());
    xyz[i] = unsigned32_of(Whole{size}, name);
  }
  return {xyz[0], xyz[1], xyz[2]};
}

void launch(const StreamObject& stream, const KernelObject& kernel, const LaunchConfig& config, const nb::args& args) {
  const std::size_t count = args.size();
  if (!kernel.kinds.empty() && kernel.kinds.size() != count) {
    throw nb::type_error(("the kernel is declared with " + std::to_string(kernel.kinds.size()) + " arguments; " +
                          std::to_string(count) + " were given")
                             .c_str());
  }
  UsedMemory used(stream.view);
  Arguments arguments(kernel.kinds, used);
  for (std::size_t i = 0; i < count; ++i) arguments.add(NB_TUPLE_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i)));
  const Submission submission;
  stream.view.launch_arguments(kernel.view, config, arguments.all());
}

LauncherObject launcher_of(const KernelObject& kernel, const nb::tuple& sizes) {
  const std::size_t count = nb::len(sizes);
  if (count != 2 && count != 3) throw nb::type_error("a kernel is launched as kernel[grid, block](stream, ...)");
  LaunchConfig config{dim3_of(sizes[0], "grid"), dim3_of(sizes[1], "block")};
  if (count == 3) config.shared_bytes = unsigned_of(Whole{sizes[2]}, "shared_bytes");
  return {kernel, config};
}

KernelObject kernel_of(const ModuleObject& module, const std::string& name,
                       const std::optional<std::vector<std::string>>& argtypes) {
  if (!module.module) throw nb::value_error("the Module is closed");
  KernelObject kernel{module.module->kernel(name), module.module, {}};
  for (const std::string& each : argtypes.value_or(std::vector<std::string>())) {
    kernel.kinds.push_back(kind_of(each));
  }
  return kernel;
}

// -- Modules.

ModuleObject compile(const DeviceArgument& device, const std::string& source, const CompileOptions& options) {
  const Device where = device.get();
  const nb::gil_scoped_release release;
  return {std::make_shared<Module>(Module::compile(where, source, options))};
}

void bind_module(nb::module_& module) {
  nb::class_<ModuleObject>(module, "Module", "Code for a device: kernels and variables.")
      .def(
          "__init__",
          [](ModuleObject* self, const DeviceArgument& device, const nb::object& image) {
            const Device where = device.get();
            const LentMemory lent(image, false, "image");
            const auto* bytes = static_cast<const std::byte*>(lent.span().data());
            const std::size_t size = lent.span().size_bytes();
            const nb::gil_scoped_release release;
            new (self) ModuleObject{std::make_shared<Module>(where, std::span(bytes, size))};
          },
          "device"_a, "image"_a,
          nb::sig("def __init__(self, device: Device | str, image: typing_extensions.Buffer) -> None"),
          "Loads an image: PTX, a cubin, HSACO, SPIR-V, or a shared object, as the device takes.")
      .def_static(
          "compile",
          [](const DeviceArgument& device, const std::string& source, const std::string& name,
             const std::vector<std::string>& defines, const std::vector<std::string>& includes, bool fast_math,
             bool debug, const std::vector<std::string>& name_expressions, const std::string& compiler, bool cached) {
            CompileOptions options;
            options.name = name;
            options.defines = defines;
            options.includes = includes;
            options.fast_math = fast_math;
            options.debug = debug;
            options.name_expressions = name_expressions;
            options.compiler = compiler;
            options.cached = cached;
            return compile(device, source, options);
          },
          "device"_a, "source"_a, nb::kw_only(), "name"_a = "kernels.cu", "defines"_a = nb::list(),
          "includes"_a = nb::list(), "fast_math"_a = false, "debug"_a = false, "name_expressions"_a = nb::list(),
          "compiler"_a = "", "cached"_a = true,
          "Compiles CUDA C++ for the device and loads what comes out. Raises CompileError with the compiler's log.")
      .def_static(
          "from_file",
          [](const DeviceArgument& device, const std::string& path) {
            const Device where = device.get();
            const nb::gil_scoped_release release;
            return ModuleObject{std::make_shared<Module>(Module::from_file(where, path))};
          },
          "device"_a, "path"_a)
      .def("kernel", &kernel_of, "name"_a, "argtypes"_a = nb::none(),
           "The kernel of that name. `argtypes` declares its arguments, as ctypes does: \"pointer\", \"f32\", \"f64\", "
           "\"i8\" to \"i64\", \"u8\" to \"u64\", \"bool\". Without it an int is passed in 64 bits, a float as a "
           "double, a bool in a byte, and scalars of NumPy and ctypes as what they are.")
      .def(
          "variable",
          [](const ModuleObject& self, const std::string& name) {
            if (!self.module) throw nb::value_error("the Module is closed");
            const ModuleGlobal found = self.module->global(name);
            return std::pair(found.address, found.size_bytes);
          },
          "name"_a, "The address and the bytes of a variable of the module.")
      .def(
          "close", [](ModuleObject& self) { self.module.reset(); },
          "Gives the module up; it is unloaded when the last of its kernels goes, too.");
}

}  // namespace

void bind_kernels(nb::module_& module) {
  nb::class_<LauncherObject>(module, "Launcher", "A kernel with the sizes that it runs over.")
      .def(
          "__call__",
          [](const LauncherObject& self, const StreamObject& stream, const nb::args& args) {
            launch(stream, self.kernel, self.config, args);
          },
          "stream"_a, "args"_a, nb::sig("def __call__(self, stream: Stream, *args: object) -> None"));
  nb::class_<KernelObject>(
      module, "Kernel",
      "A kernel of a module, which it keeps. kernel[grid, block](stream, ...) launches it; grid and "
      "block are numbers, or tuples of up to three.")
      .def("__getitem__", &launcher_of, "sizes"_a,
           nb::sig("def __getitem__(self, sizes: tuple[typing.Any, ...]) -> Launcher"),
           "The kernel over [grid, block] or [grid, block, shared_bytes].")
      .def_prop_ro("name", [](const KernelObject& kernel) { return kernel.view.name(); })
      .def_prop_ro("device", [](const KernelObject& kernel) { return kernel.view.device(); })
      .def_prop_ro(
          "attributes",
          [](const KernelObject& kernel) {
            const KernelAttributes found = kernel.view.attributes();
            nb::dict facts;
            facts["max_threads_per_block"] = found.max_threads_per_block;
            facts["registers"] = nb::cast(found.registers);
            facts["sub_group_size"] = nb::cast(found.sub_group_size);
            facts["shared_bytes"] = nb::cast(found.shared_bytes);
            facts["local_bytes"] = nb::cast(found.local_bytes);
            facts["constant_bytes"] = nb::cast(found.constant_bytes);
            return facts;
          },
          nb::sig("def attributes(self) -> dict[str, int | None]"))
      .def(
          "max_active_blocks",
          [](const KernelObject& kernel, const Whole& threads, const Whole& shared_bytes) {
            return kernel.view.max_active_blocks(unsigned32_of(threads, "threads"),
                                                 unsigned_of(shared_bytes, "shared_bytes"));
          },
          "threads"_a, "shared_bytes"_a = 0)
      .def("native_handle", [](const KernelObject& kernel) { return kernel.view.native_handle(); })
      .def("__repr__", [](const KernelObject& kernel) { return nb::str("<Kernel {}>").format(kernel.view.name()); });
  bind_module(module);
  auto stream = nb::borrow<nb::class_<StreamObject>>(nb::type<StreamObject>());
  stream.def(
      "launch",
      [](const StreamObject& self, const KernelObject& kernel, nb::handle grid, nb::handle block, const nb::args& args,
         const Whole& shared_bytes) {
        launch(self, kernel,
               {dim3_of(grid, "grid"), dim3_of(block, "block"), unsigned_of(shared_bytes, "shared_bytes")}, args);
      },
      "kernel"_a, "grid"_a, "block"_a, "args"_a, "shared_bytes"_a = 0,
      nb::sig(
          "def launch(self, kernel: Kernel, grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: object, "
          "shared_bytes: typing.SupportsIndex = 0) -> None"),
      "Launches the kernel over `grid` blocks of `block` threads; each is a number, or a tuple of up to three.");
}

}  // namespace anyplace::python
