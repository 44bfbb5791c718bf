// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reduce_add: up to eight arrays are added in one pass, so that each is read once and the sum written
// once. There is one kernel for each way of adding (sums.h); complex numbers are added as twice as many real ones.
//
// On a device a thread adds 16 bytes of each array at a time where all begin at a multiple of that, of which there are
// `packs`, and the rest one by one. On the host a block has one thread, and each thread adds a range of its own.
#include <anyplace/device_code.h>

#include "sums.h"

namespace anyplace::sums {
namespace {

template <class Sum>
struct Inputs {
  const typename Sum::Element* of[most_inputs];
};

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST)

template <class Sum>
void add_all(typename Sum::Element* out, const Inputs<Sum>& inputs, uint32_t count, uint64_t, uint64_t size) {
  // Ranges begin at multiples of a cache line if the arrays do.
  constexpr uint64_t line = 64 / sizeof(typename Sum::Element);
  const uint64_t lines = (size + line - 1) / line;
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint64_t begin = lines * thread / threads * line;
  const uint64_t end = lines * (thread + 1) / threads * line;
  add_range<Sum>(out, inputs.of, count, begin, end < size ? end : size);
}

#else

template <class Sum>
struct __align__(16) Pack {
  typename Sum::Element elements[16 / sizeof(typename Sum::Element)];
};

template <class Sum>
__device__ __forceinline__ void add_packs(typename Sum::Element* out, const Inputs<Sum>& inputs, uint32_t count,
                                          uint64_t packs, uint64_t thread, uint64_t threads) {
  constexpr int per = 16 / sizeof(typename Sum::Element);
  for (uint64_t i = thread; i < packs; i += threads) {
    Pack<Sum> pack = reinterpret_cast<const Pack<Sum>*>(inputs.of[0])[i];
    typename Sum::Value sums[per];
    for (int e = 0; e < per; ++e) sums[e] = Sum::load(pack.elements[e]);
    for (uint32_t k = 1; k < count; ++k) {
      pack = reinterpret_cast<const Pack<Sum>*>(inputs.of[k])[i];
      for (int e = 0; e < per; ++e) sums[e] = Sum::add(sums[e], Sum::load(pack.elements[e]));
    }
    for (int e = 0; e < per; ++e) pack.elements[e] = Sum::store(sums[e]);
    reinterpret_cast<Pack<Sum>*>(out)[i] = pack;
  }
}

template <class Sum>
__device__ __forceinline__ void add_all(typename Sum::Element* out, const Inputs<Sum>& inputs, uint32_t count,
                                        uint64_t packs, uint64_t size) {
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  add_packs<Sum>(out, inputs, count, packs, thread, threads);
  for (uint64_t i = packs * (16 / sizeof(typename Sum::Element)) + thread; i < size; i += threads) {
    typename Sum::Value sum = Sum::load(inputs.of[0][i]);
    for (uint32_t k = 1; k < count; ++k) sum = Sum::add(sum, Sum::load(inputs.of[k][i]));
    out[i] = Sum::store(sum);
  }
}

#endif

}  // namespace
}  // namespace anyplace::sums

// An input that there isn't is null. Each address is an argument of its own, because not every device follows addresses
// in a struct.
#define ANYPLACE_SUM_KERNEL(name, Sum)                                                                                \
  extern "C" __global__ void name(Sum::Element* out, const Sum::Element* a, const Sum::Element* b,                    \
                                  const Sum::Element* c, const Sum::Element* d, const Sum::Element* e,                \
                                  const Sum::Element* f, const Sum::Element* g, const Sum::Element* h, uint64_t size, \
                                  uint64_t packs, uint32_t count) {                                                   \
    const anyplace::sums::Inputs<Sum> inputs = {{a, b, c, d, e, f, g, h}};                                            \
    anyplace::sums::add_all<Sum>(out, inputs, count, packs, size);                                                    \
  }

using anyplace::backend::Bfloat16;
using anyplace::backend::Binary16;
using anyplace::sums::Boolean;
using anyplace::sums::Plain;
using anyplace::sums::Rounded;

ANYPLACE_SUM_KERNEL(add_f16, Rounded<Binary16>)
ANYPLACE_SUM_KERNEL(add_bf16, Rounded<Bfloat16>)
ANYPLACE_SUM_KERNEL(add_f32, Plain<float>)
ANYPLACE_SUM_KERNEL(add_8, Plain<uint8_t>)
ANYPLACE_SUM_KERNEL(add_16, Plain<uint16_t>)
ANYPLACE_SUM_KERNEL(add_32, Plain<uint32_t>)
ANYPLACE_SUM_KERNEL(add_64, Plain<uint64_t>)
ANYPLACE_SUM_KERNEL(add_bool, Boolean)

ANYPLACE_EXPORT_KERNELS(add_f16, add_bf16, add_f32, add_8, add_16, add_32, add_64, add_bool);

#if !defined(ANYPLACE_NO_DOUBLES)
ANYPLACE_SUM_KERNEL(add_f64, Plain<double>)
ANYPLACE_EXPORT_KERNELS(add_f64);
#endif
