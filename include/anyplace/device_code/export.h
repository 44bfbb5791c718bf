// SPDX-License-Identifier: Apache-2.0
//
// How a kernel gets its name where a compiler doesn't export it by itself: on the host, and for SPIR-V. There a kernel
// is a static function, and ANYPLACE_EXPORT_KERNELS makes the function that is launched, of the kernel's name. The
// including header (host.h, spirv.h) defines `__global__` with ANYPLACE_KERNEL_LINKAGE, and
// ANYPLACE_EXPORT_KERNEL(name).
#pragma once

namespace anyplace::device_code {

/// The variable that `__global__` begins with. `extern "C"` in front makes it a declaration; without that it is a
/// definition, which instantiates the constructor and its static_assert.
template <int line>
struct KernelLinkage {
  constexpr KernelLinkage() {
    static_assert(line < 0,
                  "a kernel begins with extern \"C\" __global__, each one for itself: without C linkage its name on a "
                  "device isn't the one that it is launched by");
  }
};

}  // namespace anyplace::device_code

// The kernel itself must not have C linkage, or it would take the exported function's name. So that `extern "C"` still
// has something to stand before, `__global__` begins with this variable, which `extern "C"` makes a mere declaration.
// Without `extern "C"` the variable would be defined, which doesn't compile, since on a device that kernel would have
// another name.
#define ANYPLACE_KERNEL_LINKAGE \
  ::anyplace::device_code::KernelLinkage<__LINE__> ANYPLACE_JOIN(anyplace_kernel_linkage_of_, __LINE__)
#define ANYPLACE_JOIN(a, b) ANYPLACE_JOIN_EXPANDED(a, b)
#define ANYPLACE_JOIN_EXPANDED(a, b) a##b

#if defined(ANYPLACE_RUN_TIME_SOURCE)
#define ANYPLACE_EXPORT_KERNELS(...) static_assert(true, "they are exported behind the source")
#else
#define ANYPLACE_EXPORT_KERNELS(...) \
  ANYPLACE_EXPAND_4(ANYPLACE_EXPORT_NEXT(__VA_ARGS__)) static_assert(true, "the kernels are exported")
#endif
#define ANYPLACE_EXPORT_NEXT(name, ...) \
  ANYPLACE_EXPORT_KERNEL(name) __VA_OPT__(ANYPLACE_EXPORT_AGAIN ANYPLACE_PARENTHESES(__VA_ARGS__))
#define ANYPLACE_EXPORT_AGAIN() ANYPLACE_EXPORT_NEXT
#define ANYPLACE_PARENTHESES ()
#define ANYPLACE_EXPAND_4(...) ANYPLACE_EXPAND_3(ANYPLACE_EXPAND_3(ANYPLACE_EXPAND_3(__VA_ARGS__)))
#define ANYPLACE_EXPAND_3(...) ANYPLACE_EXPAND_2(ANYPLACE_EXPAND_2(ANYPLACE_EXPAND_2(__VA_ARGS__)))
#define ANYPLACE_EXPAND_2(...) ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(ANYPLACE_EXPAND_1(__VA_ARGS__))))
#define ANYPLACE_EXPAND_1(...) __VA_ARGS__
