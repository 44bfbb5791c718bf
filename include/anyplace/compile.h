// SPDX-License-Identifier: Apache-2.0
//
// Kernels from a string: compiles CUDA C++ while the program runs, for whatever device it has.
//
//   const anyplace::Device device("auto");
//   const anyplace::Module module = anyplace::Module::compile(device, R"(
//     extern "C" __global__ void scale(float* data, unsigned count, float by) {
//       const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//       if (i < count) data[i] *= by;
//     })");
//   stream.launch(module.kernel("scale"), {blocks, 256}, buffer, count, 2.0f);
//
// The dialect is that of anyplace/device_code.h, which needn't be included; ANYPLACE_EXPORT_KERNELS isn't needed. A
// kernel is `extern "C"`, or is named by an expression (CompileOptions::name_expressions). docs/kernels.md is the
// guide.
//
// What compiles is a plugin for each compiler, of which the first one is taken that makes an image which the device
// takes: NVRTC or Clang for cuda, hipRTC or Clang for hip, Clang with llvm-spirv for levelzero, the host's C++ compiler
// for cpu_sim. For an image in SPIR-V on cpu_sim, Module has another one make a shared object. A compiler runs in a
// process of its own unless CompileOptions::in_process says otherwise. What it makes is kept in a cache on disk
// (docs/kernels.md), so the same source is compiled once.
//
// Thread safety: everything here may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export.h"
#include "kernel_images.h"

namespace anyplace {

class Device;

/// How source is compiled.
struct CompileOptions {
  std::string name = "kernels.cu";         ///< the name of the source in messages
  int standard = 20;                       ///< of C++: 17 or 20; compilers may take a newer one
  std::vector<std::string> defines = {};   ///< "NAME" or "NAME=VALUE"
  std::vector<std::string> includes = {};  ///< folders with headers, in the order of the search
  bool fast_math = false;                  ///< less exact arithmetic
  bool debug = false;                      ///< with lines for a debugger, and without optimisation
  /// Kernels that aren't `extern "C"`, such as instantiations of templates: "scale<float>". Module::kernel finds them
  /// by the same text.
  std::vector<std::string> name_expressions = {};
  std::vector<std::string> compiler_options = {};  ///< words for the compiler itself; they name one with `compiler`
  /// The compiler to use, such as "nvrtc". Empty: those of ANYPLACE_COMPILERS, else all, the device's vendor's first.
  std::string compiler = {};
  std::chrono::nanoseconds timeout = std::chrono::minutes(2);  ///< for one compilation; 0 and less are refused
  std::uint64_t memory_limit = std::uint64_t{8} << 30;         ///< bytes of address space that the compiler may use
  /// Compiles on the calling thread, in a process that may not start a helper. A compiler that crashes then ends the
  /// application, and the timeout and the limit of memory don't hold.
  bool in_process = false;
  bool cached = true;  ///< false: neither read from the cache nor kept there
};

/// Images of one source, which it owns. Can be moved and copied; copies share the images.
class ANYPLACE_API CompiledKernels {
 public:
  CompiledKernels() noexcept = default;
  /// The images, for Module's constructor. Valid as long as a copy of this object is.
  KernelImages images() const noexcept;
  /// What the compilers said, warnings above all.
  const std::string& log() const noexcept;
  /// The compiler that made each image, in the order of images(): "nvrtc".
  std::vector<std::string> compilers() const;

  /// What the images are kept in; this is for anyplace's own use.
  struct Data;
  /// Takes finished images; this is for anyplace's own use.
  explicit CompiledKernels(std::shared_ptr<const Data> data) noexcept : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Compiles for each target, which is a place ("cuda:0"), an architecture ("sm_80", "gfx90a"), an image format ("ptx",
/// "spirv") or a backend's name ("cpu_sim"). Throws compile_failed with the compiler's whole log if the source can't be
/// compiled; invalid_argument for options that can't be; unsupported for a target that no compiler is there for, which
/// says for each one what is missing (one in OpenCL C needs no compiler: Module's constructor takes the text); timeout;
/// out_of_memory; backend_failed if the compiler crashes, and no other one makes the image; library_missing if
/// anyplace_compile_helper or anyplace_dialect isn't where the plugins are.
///
/// For a place whose device computes no doubles, ANYPLACE_NO_DOUBLES is defined, so that a source can leave out what
/// needs them: such a device refuses a whole image in SPIR-V in which one kernel does.
ANYPLACE_API CompiledKernels compile(std::string_view source, std::span<const std::string> targets,
                                     const CompileOptions& options = {});

/// An image format that a compiler could make, and what it lacks here for that, such as a second program.
struct MissingFormat {
  std::string format;  ///< the image format: "spirv"
  std::string reason;  ///< what it lacks, and which package has it
};
/// A compiler's plugin.
struct Compiler {
  std::string name;                     ///< the name by which CompileOptions::compiler chooses it: "nvrtc"
  std::string plugin;                   ///< the path of its file
  std::vector<std::string> formats;     ///< the image formats that it can make, as in KernelImage::format
  std::vector<std::string> from_spirv;  ///< those that it can make of SPIR-V, for devices that don't take that
  std::vector<MissingFormat> missing;   ///< those of them for which what it works with isn't there
  std::string library;                  ///< the library or program that it works with; empty if there is none
  std::string version;                  ///< the version of that library or program; empty if there is none
  bool usable = false;                  ///< for one of the formats at least
  std::string reason;                   ///< why it can't be used for any of them
};
/// Whether a Module on the device can be made of an image of the format ("spirv"): because the device takes it, or
/// because a compiler that is here makes of it what the device takes.
ANYPLACE_API bool takes_images(const Device& device, std::string_view format);
/// All compilers' plugins, in the order in which they are asked. Starts none.
ANYPLACE_API std::vector<Compiler> compilers();

}  // namespace anyplace
