// SPDX-License-Identifier: Apache-2.0
//
// One compilation: which formats a target takes, which compilers there are for them, and in which order they are asked.
// The source is a text in the dialect, or an image in SPIR-V.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/compile.h"
#include "anyplace/device.h"
#include "compile/cache.h"
#include "compile/compiler_plugins.h"
#include "compile/job.h"

namespace anyplace::detail {

/// What images a target takes, the best first.
struct Target {
  std::string text;
  std::vector<std::uint32_t> formats;
  std::string architecture;
  bool is_device = false;  ///< the architecture is a device's, and nobody has named it
  bool lacks_doubles = false;
};

/// What the device itself takes.
Target target_of(const Device& device, const char* operation);

/// The ANYPLACE_IMAGE_* whose bits are set.
std::vector<std::uint32_t> formats_in(std::uint64_t bits);
/// The format's word: "ptx".
const char* word_of(std::uint32_t format);

/// A name expression as compilers get it: "k<float>" for "&k<float>".
std::string_view without_ampersand(std::string_view expression);

/// An image that a compiler has made.
struct MadeImage {
  CompileResult result;
  std::string format, architecture, compiler;
  std::vector<KernelAlias> aliases;
};

struct Asked;

class Compilation {
 public:
  /// Of a text in the dialect. `options` outlives this.
  Compilation(std::string_view source, const CompileOptions& options);
  /// Of an image in SPIR-V.
  Compilation(std::span<const std::byte> spirv, const CompileOptions& options);

  const std::vector<const CompilerPlugin*>& compilers() const noexcept { return compilers_; }

  /// Compiles for a target by the first compiler that can. One that fails itself gives way to the next, as one that
  /// isn't there does; what it failed of is in the log. Throws what compile() throws.
  MadeImage make(const Target& target);

 private:
  void set_for_device(bool is_so);
  std::optional<CompileResult> try_compiler(const CompilerPlugin& compiler, const Target& target, Asked& asked);
  CompileResult cached_or_made(const CompilerPlugin& compiler, const CompilerLibrary& library) const;
  CompileResult make_anew(const CompilerPlugin& compiler) const;

  const CompileOptions& options_;
  const std::vector<const CompilerPlugin*> compilers_;
  CompileJob job_;
  std::optional<KernelCache> cache_;
};

}  // namespace anyplace::detail
