// SPDX-License-Identifier: Apache-2.0
//
// fmt's definitions, compiled once: header-only, every unit that formats a text spends five seconds on them, compiled
// it spends one. Debian has fmt's compiled form as a shared library alone, which would have to be there at run time.
//
// The header defines the functions. Its templates are instantiated here for the types that the header declares
// elsewhere.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
