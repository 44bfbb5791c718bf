// SPDX-License-Identifier: Apache-2.0
//
// ANYPLACE_DEVICE_INLINE: marks a function that the library's own kernels and the host have in common. It is plain
// C++ that every device compiler and the host's compiler take, and it is inlined wherever it is called, so that loops
// over it become vector instructions on the host.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__) || defined(__HIPCC__) || defined(ANYPLACE_BARE_DEVICE)
#define ANYPLACE_DEVICE_INLINE __forceinline__ __device__
#else
/// Marks a function that host and device call, and that is always inlined.
#define ANYPLACE_DEVICE_INLINE inline __attribute__((always_inline))
#endif
