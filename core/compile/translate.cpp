// SPDX-License-Identifier: Apache-2.0
#include "compile/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "anyplace/compile.h"
#include "compile/compilation.h"
#include "compile/compiler_plugins.h"
#include "runtime/call.h"

namespace anyplace {
namespace detail {

std::string translate_spirv(DeviceState& device, std::span<const std::byte> image, const char* operation) {
  const CompileOptions options;
  try {
    Compilation compilation(image, options);
    return compilation.make({Device(&device).to_string(), {ANYPLACE_IMAGE_SHARED_OBJECT}, ""}).result.image;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compile_failed && error.code() != ErrorCode::unsupported) {
      throw renamed(error, operation);
    }
    ErrorDetails details;
    details.code = ErrorCode::invalid_image;
    details.place = device.place;
    details.operation = operation;
    details.text = fmt::format("the image is SPIR-V, of which a shared object has to be made for this device; {}",
                               error.problem());
    details.vendor_text = error.vendor_text();
    details.see = "docs/kernels.md says what that takes";
    throw Error(std::move(details));
  }
}

}  // namespace detail

bool takes_images(const Device& device, std::string_view format) {
  detail::enter("takes_images");
  const std::vector<std::string> formats = device.properties().image_formats;
  const auto takes = [&](std::string_view one) {
    return std::find(formats.begin(), formats.end(), one) != formats.end();
  };
  if (takes(format)) return true;
  if (format != "spirv" || !takes("shared_object")) return false;
  const auto candidates = detail::compiler_candidates();
  return std::any_of(candidates.begin(), candidates.end(), [](const auto& candidate) {
    const detail::CompilerPlugin* const compiler = candidate.plugin;
    return compiler != nullptr && compiler->makes(ANYPLACE_IMAGE_SHARED_OBJECT, ANYPLACE_SOURCE_SPIRV) &&
           detail::library_of(*compiler, ANYPLACE_IMAGE_SHARED_OBJECT).is_there;
  });
}

}  // namespace anyplace
