// SPDX-License-Identifier: Apache-2.0
// The names of domains and categories, which live until the process ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "annotate/vendor_listener.h"

namespace anyplace::detail {

inline constexpr std::uint32_t max_domains = 64;       ///< including the default one, 0
inline constexpr std::uint32_t max_categories = 1024;  ///< including 0, which stands for none

/// The name of a domain or category that exists; "" for number 0.
std::string_view domain_name(std::uint32_t domain) noexcept;
std::string_view category_name(std::uint32_t category) noexcept;

/// Tells a new listener all names, and then calls `publish`, which makes it hear new ones, both under the registry's
/// lock, so that it misses none.
void introduce(VendorListener& listener, void (*publish)(VendorListener&));

}  // namespace anyplace::detail
