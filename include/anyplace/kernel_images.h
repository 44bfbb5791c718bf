// SPDX-License-Identifier: Apache-2.0
//
// KernelImages: one module in several forms, of which a device gets the one that it can use. The CMake function
// anyplace_add_kernels makes them of one source and puts them into the application, with a header that declares them:
//
//   #include "blur_kernels.h"                              // extern const anyplace::KernelImages blur_kernels;
//   const anyplace::Module module(device, blur_kernels);   // on any device: picks the image
//   stream.launch(module.kernel("blur"), ...);
//
// Module (kernel.h) loads them. Nothing here is copied, so the bytes must stay; those in the program do.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "temporary_owner.h"

namespace anyplace {

/// A kernel that an image has under another name than the source: "scale<float>", "_Z5scaleIfEvPT_j".
struct KernelAlias {
  std::string_view name;      ///< as Module::kernel is asked for it
  std::string_view in_image;  ///< as the image has it
};

/// A module in one form.
struct KernelImage {
  std::string_view format;  ///< a word of DeviceProperties::image_formats: "ptx"
  /// The architecture that it was compiled for, as in DeviceProperties::architecture; may be empty.
  std::string_view architecture;
  const void* data = nullptr;                 ///< the first byte; it stays as long as a Module is made of it
  std::size_t size = 0;                       ///< bytes
  std::span<const KernelAlias> aliases = {};  ///< kernels that have another name in the image than in the source

  /// All bytes of the image.
  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data), size}; }
};

/// A module in several forms. Free to copy.
class KernelImages {
 public:
  constexpr KernelImages() noexcept = default;
  /// `name` is for error messages. `images` are tried in their order, but those for the very architecture of the device
  /// come first.
  constexpr KernelImages(std::string_view name, std::span<const KernelImage> images) noexcept
      : name_(name), images_(images) {}
  template <class Name, class Images>
  requires(
      std::is_constructible_v<std::string_view, Name>&& std::is_constructible_v<std::span<const KernelImage>, Images> &&
      (detail::TemporaryOwner<Name> || detail::TemporaryOwner<Images>)) KernelImages(Name&& name, Images&& images)
  = delete;  // the images would end with the statement: give them a name first

  /// The name for messages.
  constexpr std::string_view name() const noexcept { return name_; }
  /// The forms, in the order in which they are tried.
  constexpr std::span<const KernelImage> images() const noexcept { return images_; }

 private:
  std::string_view name_;
  std::span<const KernelImage> images_;
};

}  // namespace anyplace
