// SPDX-License-Identifier: Apache-2.0
// Chooses which of several images a device gets, and makes the error when it can use none.
#include "anyplace/kernel_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "anyplace/device.h"
#include "anyplace/error.h"
#include "anyplace/kernel.h"
#include "kernels/load_module.h"
#include "runtime/call.h"

namespace anyplace {

namespace detail {
namespace {

/// Whether an image for `architecture` is for exactly this device. A device's architecture may have features behind a
/// colon, which don't count.
bool is_for(std::string_view architecture, std::string_view device) {
  if (architecture.empty() || device.substr(0, architecture.size()) != architecture) return false;
  return device.size() == architecture.size() || device[architecture.size()] == ':';
}

/// Images with a higher rank are tried before the others: those for a variant of the device's architecture, as
/// x86-64-v3 is of x86-64, the highest first (the device refuses those that it isn't), then those for the very
/// architecture.
std::pair<int, std::string_view> rank_of(std::string_view architecture, std::string_view device) {
  if (is_for(architecture, device)) return {1, {}};
  const bool is_variant = !device.empty() && architecture.size() > device.size() && architecture.starts_with(device) &&
                          architecture[device.size()] == '-';
  if (is_variant) return {2, architecture};
  return {0, {}};
}

std::string name_of(const KernelImage& image) {
  return image.architecture.empty() ? std::string(image.format)
                                    : fmt::format("{} {}", image.format, image.architecture);
}

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

/// The images that the device may take, in the order in which they are tried, and the names of the others. Those in
/// SPIR-V of which a shared object would have to be made come last.
struct Choice {
  std::vector<const KernelImage*> usable;
  std::vector<std::string> others;
};
Choice choose(const KernelImages& images, const DeviceProperties& device) {
  Choice choice;
  std::vector<const KernelImage*> to_translate;
  const auto takes = [&](std::string_view format) {
    const auto& formats = device.image_formats;
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  for (const KernelImage& image : images.images()) {
    if (takes(image.format)) {
      choice.usable.push_back(&image);
    } else if (image.format == std::string_view("spirv") && takes("shared_object")) {
      to_translate.push_back(&image);
    } else {
      choice.others.push_back(name_of(image));
    }
  }
  std::stable_sort(choice.usable.begin(), choice.usable.end(), [&](const KernelImage* a, const KernelImage* b) {
    return rank_of(a->architecture, device.architecture) > rank_of(b->architecture, device.architecture);
  });
  choice.usable.insert(choice.usable.end(), to_translate.begin(), to_translate.end());
  return choice;
}

/// Why one image was refused, as a part of a sentence.
std::string reason(const Error& error) {
  std::string text = error.text();
  std::string vendor = error.vendor_name();
  if (!error.vendor_text().empty()) vendor += (vendor.empty() ? "" : ": ") + error.vendor_text();
  return vendor.empty() ? text : fmt::format("{} ({})", text, vendor);
}

/// The Error when no image is left, with the vendor's code of the last refusal if there was one.
ErrorDetails none_left(const KernelImages& images, const Device& device, const DeviceProperties& properties,
                       const Choice& choice, const std::vector<std::pair<std::string, Error>>& refused,
                       const char* operation) {
  ErrorDetails details;
  details.code = ErrorCode::invalid_image;
  details.place = device.to_string();
  details.operation = operation;
  const std::string name = images.name().empty() ? std::string("these kernels") : std::string(images.name());
  std::string& text = details.text;
  if (images.images().empty()) {
    text = fmt::format("{} has no image at all", name);
  } else if (refused.empty()) {
    text = fmt::format("{} has no image for this device", name);
  } else {
    text = fmt::format("no image of {} can be used here", name);
  }
  for (const auto& [image, error] : refused) text += fmt::format("; {}: {}", image, reason(error));
  if (!choice.others.empty()) text += fmt::format("; for other devices: {}", joined(choice.others));
  details.remedy = fmt::format("this device{} takes: {}",
                               properties.architecture.empty() ? "" : fmt::format(" ({})", properties.architecture),
                               joined(properties.image_formats));
  details.see = "docs/kernels.md says how an image for it is built";
  if (!refused.empty()) {
    details.vendor_code = refused.back().second.vendor_code();
    details.vendor_name = refused.back().second.vendor_name();
  }
  return details;
}

}  // namespace
}  // namespace detail

Module::Module(const Device& device, const KernelImages& images, const ModuleOptions& options) {
  constexpr const char* operation = "Module";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  const DeviceProperties properties = device.properties();
  const detail::Choice choice = detail::choose(images, properties);
  std::vector<std::pair<std::string, Error>> refused;
  for (const KernelImage* const image : choice.usable) {
    try {
      id_ = detail::load_module(*device.state(), image->bytes(), options, operation, image->aliases);
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_image) throw;
      refused.emplace_back(detail::name_of(*image), error);
    }
  }
  throw Error(detail::none_left(images, device, properties, choice, refused, operation));
}

}  // namespace anyplace
