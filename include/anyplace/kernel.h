// SPDX-License-Identifier: Apache-2.0
//
// Kernels: made from a module image of the device's own kind, or from a C++ callable where the device runs host code
// (cpu_sim).
//
// A kernel runs over a grid of blocks of threads. A callable is invoked once per block, for several blocks at the same
// time and in any order; it goes over the block's threads itself:
//
//   anyplace::Kernel scale(device, [](const anyplace::Block& block, float* data, float factor) {
//     block.for_each_thread([&](const anyplace::Thread& t) { data[t.global[0]] *= factor; });
//   });
//   stream.launch(scale, {blocks, 256}, buffer, 2.0f);  // blocks of 256 threads; LaunchConfig has the rest
//
// Arguments: a BufferView becomes the device address, a pointer is taken for one; everything else must be trivially
// copyable and is copied at the launch. A callable's parameters must have the same number and sizes, else the launch
// fails with invalid_argument.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "device.h"
#include "export.h"
#include "kernel_images.h"
#include "memory.h"

namespace anyplace {

namespace detail {
/// The types of which sizes of a grid are made. A number of 64 bits could lose its upper half, and a fraction its
/// remainder, so those don't compile.
template <class T>
concept GridNumber = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= sizeof(std::uint32_t);
}  // namespace detail

/// A size or a position in three directions, of 32 bits each. A wider number, such as a std::size_t, needs a cast by
/// code that knows that it fits. A single number is one in x.
struct Dim3 {
  std::uint32_t x = 1;  ///< the size or position in x, which changes fastest
  std::uint32_t y = 1;  ///< in y
  std::uint32_t z = 1;  ///< in z

  constexpr Dim3() noexcept = default;
  /// Numbers of at most 32 bits, as they are.
  template <detail::GridNumber X, detail::GridNumber Y = std::uint32_t, detail::GridNumber Z = std::uint32_t>
  constexpr Dim3(X x_size, Y y_size = 1, Z z_size = 1) noexcept
      : x(static_cast<std::uint32_t>(x_size)),
        y(static_cast<std::uint32_t>(y_size)),
        z(static_cast<std::uint32_t>(z_size)) {}
  /// Any other number, which doesn't compile, with an error that says what to do.
  template <class X, class Y = std::uint32_t, class Z = std::uint32_t>
  requires(std::is_arithmetic_v<X>&& std::is_arithmetic_v<Y>&& std::is_arithmetic_v<Z> &&
           !(detail::GridNumber<X> && detail::GridNumber<Y> && detail::GridNumber<Z>)) constexpr Dim3(X, Y = {},
                                                                                                      Z = {}) noexcept {
    static_assert(detail::GridNumber<X> && detail::GridNumber<Y> && detail::GridNumber<Z>,
                  "sizes of grids and blocks have 32 bits: pass static_cast<std::uint32_t>(...) of what fits");
  }

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// The sizes that a kernel runs over: {blocks, threads}, {{2, 3}, {16, 16}}, or with names,
/// {.grid = blocks, .block = 256, .shared_bytes = 1024}.
struct LaunchConfig {
  Dim3 grid = {};                  ///< blocks
  Dim3 block = {};                 ///< threads of each block
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory of each block
};

/// One thread of a block of a host kernel.
struct Thread {
  std::uint32_t index[3];   ///< within the block
  std::uint64_t global[3];  ///< block index x block size + index
};

namespace detail {
/// A block as a backend that runs host code describes it: the anyplace_block of backend/abi.h.
struct BlockDescription {
  std::uint32_t struct_size;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t index[3];
  void* shared;
  std::uint64_t shared_bytes;
};
}  // namespace detail

/// One block of a running host kernel. Valid during the call.
class Block {
 public:
  /// The block that a backend described; this is for anyplace's own use.
  explicit Block(const detail::BlockDescription& block) noexcept : block_(block) {}

  /// How many blocks the launch has.
  Dim3 grid_size() const noexcept { return {block_.grid[0], block_.grid[1], block_.grid[2]}; }
  /// How many threads each block has.
  Dim3 size() const noexcept { return {block_.block[0], block_.block[1], block_.block[2]}; }
  /// Which block this is: less than grid_size() in each direction.
  Dim3 index() const noexcept { return {block_.index[0], block_.index[1], block_.index[2]}; }
  /// The block's own memory, as large as the launch said, aligned to 64 bytes, not cleared.
  std::span<std::byte> shared() const noexcept {
    return {static_cast<std::byte*>(block_.shared), static_cast<std::size_t>(block_.shared_bytes)};
  }
  /// Calls `body(const Thread&)` for each thread of the block, x fastest.
  template <class Body>
  void for_each_thread(Body&& body) const {
    for (std::uint32_t z = 0; z < block_.block[2]; ++z) {
      for (std::uint32_t y = 0; y < block_.block[1]; ++y) {
        for (std::uint32_t x = 0; x < block_.block[0]; ++x) {
          body(Thread{{x, y, z},
                      {std::uint64_t{block_.index[0]} * block_.block[0] + x,
                       std::uint64_t{block_.index[1]} * block_.block[1] + y,
                       std::uint64_t{block_.index[2]} * block_.block[2] + z}});
        }
      }
    }
  }

 private:
  const detail::BlockDescription& block_;
};

namespace detail {

/// How to run a block of a callable, and what its arguments must look like.
struct HostKernel {
  std::function<void(const Block&, void* const*)> run;
  std::vector<std::uint32_t> argument_sizes;
};

template <class T>
T load_argument(const void* from) noexcept {
  std::remove_cv_t<T> value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class Callable, class... Args>
HostKernel make_host_kernel(Callable callable, void (*)(const Block&, Args...)) {
  static_assert((std::is_trivially_copyable_v<std::decay_t<Args>> && ...), "kernel arguments are copied as bytes");
  static_assert((std::is_convertible_v<std::decay_t<Args>, Args> && ...),
                "a kernel's parameters are passed by value or by reference to const: each block gets copies of the "
                "launch's arguments");
  HostKernel kernel;
  kernel.argument_sizes = {static_cast<std::uint32_t>(sizeof(std::decay_t<Args>))...};
  kernel.run = [callable = std::move(callable)](const Block& block, void* const* arguments) mutable {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_cast<void>(arguments);
      callable(block, load_argument<std::decay_t<Args>>(arguments[I])...);
    }
    (std::index_sequence_for<Args...>());
  };
  return kernel;
}

template <class... Rest>
std::true_type takes_block_first(void (*)(const Block&, Rest...));
std::false_type takes_block_first(...);
template <class... Args>
concept BlockFirst = decltype(takes_block_first(std::declval<void (*)(Args...)>()))::value;

/// The parameters of a callable that has more than one call operator, or a template.
struct UnknownCall {};
template <class Callable>
HostKernel make_host_kernel(const Callable&, UnknownCall*) {
  return {};
}
template <class Callable, class... Args>
requires(!BlockFirst<Args...>) HostKernel make_host_kernel(const Callable&, void (*)(Args...)) {
  static_assert(BlockFirst<Args...>,
                "a kernel's callable takes the block first: [](const anyplace::Block& block, float* data) { ... }");
  return {};
}

template <class T>
concept OneCallOperator = requires {
  &T::operator();
};

template <class T>
struct CallSignature {
  static_assert(
      OneCallOperator<T>,
      "a kernel is a function, or an object with one call operator whose parameters have types, since a launch "
      "is checked against their sizes: [](const anyplace::Block& block, float* data) { ... }, and not "
      "(const auto& block, auto* data)");
  using Pointer = UnknownCall*;
};
template <OneCallOperator T>
struct CallSignature<T> : CallSignature<decltype(&T::operator())> {};
template <class Result, class... Args>
struct CallSignature<Result (*)(Args...)> {
  using Pointer = void (*)(Args...);
};
template <class Result, class... Args>
struct CallSignature<Result (*)(Args...) noexcept> : CallSignature<Result (*)(Args...)> {};
#define ANYPLACE_CALL_SIGNATURE(qualifiers)           \
  template <class Class, class Result, class... Args> \
  struct CallSignature<Result (Class::*)(Args...) qualifiers> : CallSignature<Result (*)(Args...)> {};
ANYPLACE_CALL_SIGNATURE()
ANYPLACE_CALL_SIGNATURE(const)
ANYPLACE_CALL_SIGNATURE(&)
ANYPLACE_CALL_SIGNATURE(const&)
ANYPLACE_CALL_SIGNATURE(noexcept)
ANYPLACE_CALL_SIGNATURE(const noexcept)
ANYPLACE_CALL_SIGNATURE(&noexcept)
ANYPLACE_CALL_SIGNATURE(const& noexcept)
#undef ANYPLACE_CALL_SIGNATURE

}  // namespace detail

/// An argument of Stream::launch_arguments. `value` points at `size` bytes, which are copied at the launch.
struct LaunchArgument {
  /// What an argument is.
  enum class Kind : std::uint32_t {
    value = 1,    ///< bytes that the kernel gets as they are
    address = 2,  ///< 8 bytes, for the device to follow
  };
  Kind kind = Kind::value;      ///< how the bytes are passed
  std::uint32_t size = 0;       ///< how many bytes there are
  const void* value = nullptr;  ///< the bytes, which have to stay until the call returns
};

namespace detail {

/// A launch as it goes to the backend without another copy: the anyplace_launch of backend/abi.h.
struct LaunchDescription {
  std::uint32_t struct_size;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t argument_count;
  std::uint32_t argument_stride;
  std::uint32_t reserved;
  std::uint64_t shared_bytes;
  const LaunchArgument* arguments;
};

/// The bytes of one launch argument, kept until the launch was submitted.
template <class T>
struct ArgumentValue {
  static_assert(std::is_trivially_copyable_v<T>, "kernel arguments are copied as bytes");
  T value;
  explicit ArgumentValue(const T& from) : value(from) {}
  LaunchArgument describe() const noexcept { return {LaunchArgument::Kind::value, sizeof(T), &value}; }
};
/// A pointer's bytes are passed as an address, for the device to follow.
template <class T>
requires(sizeof(T*) == sizeof(std::uint64_t)) struct ArgumentValue<T*> {
  T* value;
  explicit ArgumentValue(T* from) : value(from) {}
  LaunchArgument describe() const noexcept { return {LaunchArgument::Kind::address, sizeof(value), &value}; }
};
template <class T>
requires std::is_base_of_v<BufferView, T>
struct ArgumentValue<T> {
  std::uint64_t value;
  explicit ArgumentValue(const BufferView& from) : value(from.size_bytes() == 0 ? 0 : from.address()) {}
  LaunchArgument describe() const noexcept { return {LaunchArgument::Kind::address, sizeof(value), &value}; }
};

/// Fills all members but the arguments' address.
inline void describe_launch(LaunchDescription& launch, const LaunchConfig& config,
                            std::uint32_t argument_count) noexcept {
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  launch.struct_size = sizeof(launch);
  launch.grid[0] = grid.x, launch.grid[1] = grid.y, launch.grid[2] = grid.z;
  launch.block[0] = block.x, launch.block[1] = block.y, launch.block[2] = block.z;
  launch.argument_count = argument_count;
  launch.argument_stride = sizeof(LaunchArgument);
  launch.reserved = 0;
  launch.shared_bytes = config.shared_bytes;
}

}  // namespace detail

/// Facts about a kernel; those that the vendor can't tell are empty.
struct KernelAttributes {
  std::uint32_t max_threads_per_block = 0;      ///< threads of a block of this kernel; at most the device's limit
  std::optional<std::uint32_t> registers;       ///< registers of a thread
  std::optional<std::uint32_t> sub_group_size;  ///< threads that run in step
  std::optional<std::uint64_t> shared_bytes;    ///< static shared memory of a block, beside what a launch asks for
  std::optional<std::uint64_t> local_bytes;     ///< local memory of a thread
  std::optional<std::uint64_t> constant_bytes;  ///< constant memory that it uses, in bytes
};

/// Names a kernel without owning it. Using one that is null, or whose module or owner is gone, throws invalid_handle.
class ANYPLACE_API KernelView {
 public:
  constexpr KernelView() noexcept = default;
  /// The kernel with that number, which id() gave; nothing is checked before it is used.
  constexpr explicit KernelView(std::uint64_t id) noexcept : id_(id) {}

  /// The number of the kernel; 0 for a null view. It means the same in this process alone.
  constexpr std::uint64_t id() const noexcept { return id_; }
  /// Whether it names a kernel, which may be gone.
  constexpr explicit operator bool() const noexcept { return id_ != 0; }
  /// The device that it was made for.
  Device device() const;
  /// Its name in the module; "" for a callable. Throws as device() does.
  std::string name() const;
  /// What the vendor tells of it: registers, memory and limits. Throws as device() does.
  KernelAttributes attributes() const;
  /// How many blocks of `threads` threads, with `shared_bytes` of dynamic shared memory each, a multiprocessor of the
  /// device runs at the same time. Throws unsupported where the vendor can't tell, and invalid_argument for sizes over
  /// the device's limits.
  std::uint32_t max_active_blocks(std::uint32_t threads, std::uint64_t shared_bytes = 0) const;
  /// The vendor's kernel (CUfunction), for a kernel of a module. Throws unsupported where there is none.
  std::uint64_t native_handle() const;

  friend constexpr bool operator==(KernelView, KernelView) noexcept = default;
  friend constexpr auto operator<=>(KernelView, KernelView) noexcept = default;

 protected:
  std::uint64_t id_ = 0;
};

/// Owns a kernel made of a callable. Destroying it is safe while launches of it are queued or running. The callable may
/// be called by several threads at once: those of the backend, and any that is inside a synchronize. What it throws
/// becomes the stream's fault (kernel_failed).
class ANYPLACE_API Kernel : public KernelView {
 public:
  Kernel() noexcept = default;
  /// `callable` is a function, or an object with one call operator, of `(const Block&, arguments...)`. Throws
  /// unsupported if the device doesn't run host code.
  template <class Callable>
  requires(!std::is_base_of_v<KernelView, std::remove_cvref_t<Callable>>)
      Kernel(const Device& device, Callable&& callable)
      : Kernel(device, detail::make_host_kernel(std::decay_t<Callable>(std::forward<Callable>(callable)),
                                                typename detail::CallSignature<std::decay_t<Callable>>::Pointer())) {}
  /// Takes a callable that was prepared; this is for anyplace's own use.
  Kernel(const Device& device, detail::HostKernel kernel);
  Kernel(Kernel&& other) noexcept;
  Kernel& operator=(Kernel&& other) noexcept;
  Kernel(const Kernel&) = delete;  // two owners would destroy it twice; copy the view
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  /// The kernel as a view, without the ownership.
  KernelView view() const noexcept { return *this; }
};

/// Facts about a kernel that its image doesn't express. Those of SPIR-V needn't be given: Module finds them there.
struct KernelMetadata {
  std::string name;          ///< the name of the kernel in the image
  int shared_argument = -1;  ///< the index of the argument that is the dynamic shared memory, if it is one
};

/// A variable of a module, in device memory that lives as long as the module.
struct ModuleGlobal {
  std::uint64_t address = 0;     ///< the device address of the first byte
  std::uint64_t size_bytes = 0;  ///< how many bytes it has
};

/// What is said to the vendor with an image.
struct ModuleOptions {
  std::string compiler_options;          ///< options for the vendor's compiler
  std::vector<KernelMetadata> metadata;  ///< the metadata of those kernels that need it
};

struct CompileOptions;

/// Owns a loaded image. Unloading is safe while its kernels are queued or running; its KernelViews end with it.
class ANYPLACE_API Module {
 public:
  Module() noexcept = default;
  /// Finds out the format of `image` and loads it. Throws invalid_image, which names that format and those that the
  /// device takes, and holds the vendor compiler's log.
  Module(const Device& device, std::span<const std::byte> image, const ModuleOptions& options = {});
  /// Loads the first of `images` that the device takes: images for its own architecture come first, then all in their
  /// order. One that the device refuses as invalid_image gives way to the next. If none is left, throws invalid_image,
  /// which says the reason for each; other errors are thrown as they come.
  Module(const Device& device, const KernelImages& images, const ModuleOptions& options = {});
  /// Compiles CUDA C++ for this device, and loads what comes out (compile.h). Throws what compile() throws.
  static Module compile(const Device& device, std::string_view source, const CompileOptions& options);
  /// Compiles with the default options, as above.
  static Module compile(const Device& device, std::string_view source);
  /// Loads a module from a file. Throws as the constructor does, and invalid_argument if the file can't be read.
  static Module from_file(const Device& device, const std::string& path, const ModuleOptions& options = {});
  Module(Module&& other) noexcept;
  Module& operator=(Module&& other) noexcept;
  Module(const Module&) = delete;  // unloaded once
  Module& operator=(const Module&) = delete;
  ~Module();

  /// Whether there is a module: false for one that was made without an image, and for one that was moved from.
  explicit operator bool() const noexcept { return id_ != 0; }
  /// The number of the module; 0 for a null one. It means the same in this process alone.
  std::uint64_t id() const noexcept { return id_; }
  /// The device that it is loaded on.
  Device device() const;
  /// Throws no_such_kernel. The same name gives the same view.
  KernelView kernel(std::string_view name) const;
  /// A variable, by its name in the image. Buffer::from_native makes a Buffer of it. Throws no_such_global; unsupported
  /// where the backend can't tell.
  ModuleGlobal global(std::string_view name) const;
  /// The vendor's module (CUmodule). Throws unsupported where there is none.
  std::uint64_t native_handle() const;

 private:
  std::uint64_t id_ = 0;
};

}  // namespace anyplace

template <>
struct std::hash<anyplace::KernelView> {
  std::size_t operator()(anyplace::KernelView kernel) const noexcept { return std::hash<std::uint64_t>()(kernel.id()); }
};
