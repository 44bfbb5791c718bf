// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's functions that mix the elements of vectors. How a vector is passed depends on the compiler, so the functions
// that vectors.cpp of the plugin makes pass addresses and numbers of elements here, the result's first.

namespace {

template <class T>
T dot_of(const T* a, const T* b, unsigned count) {
  T sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}
template <class T>
T length_of(const T* a, unsigned count) {
  return T(__builtin_sqrt(dot_of(a, a, count)));
}
template <class T>
T distance_of(const T* a, const T* b, unsigned count) {
  T difference[16];
  for (unsigned i = 0; i < count; ++i) difference[i] = a[i] - b[i];
  return length_of(difference, count);
}
template <class T>
void normalize_to(T* out, const T* a, unsigned count) {
  const T length = length_of(a, count);
  for (unsigned i = 0; i < count; ++i) out[i] = length == 0 ? a[i] : a[i] / length;
}

}  // namespace

#define OPENCL_GEOMETRIC(T, f, prefix)                                                                             \
  void anyplace_##prefix##length_##f(T* out, unsigned, const T* a, unsigned count) { *out = length_of(a, count); } \
  void anyplace_##prefix##distance_##f##f(T* out, unsigned, const T* a, unsigned count, const T* b, unsigned) {    \
    *out = distance_of(a, b, count);                                                                               \
  }                                                                                                                \
  void anyplace_##prefix##normalize_##f(T* out, unsigned, const T* a, unsigned count) { normalize_to(out, a, count); }
#define OPENCL_PRODUCTS(T, f)                                                                                    \
  void anyplace_dot_##f##f(T* out, unsigned, const T* a, unsigned count, const T* b, unsigned) {                 \
    *out = dot_of(a, b, count);                                                                                  \
  }                                                                                                              \
  void anyplace_cross_##f##f(T* out, unsigned count, const T* a, unsigned, const T* b, unsigned) {               \
    for (unsigned i = 0; i < 3; ++i) out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]; \
    if (count == 4) out[3] = 0;                                                                                  \
  }
#define OPENCL_LOGIC(T, t)                                                \
  void anyplace_any_##t(int* out, unsigned, const T* a, unsigned count) { \
    *out = 0;                                                             \
    for (unsigned i = 0; i < count; ++i) *out |= a[i] < 0;                \
  }                                                                       \
  void anyplace_all_##t(int* out, unsigned, const T* a, unsigned count) { \
    *out = 1;                                                             \
    for (unsigned i = 0; i < count; ++i) *out &= a[i] < 0;                \
  }
#define OPENCL_SHUFFLE(T, t, Index, i)                                                                          \
  void anyplace_shuffle_##t##i(T* out, unsigned count, const T* a, unsigned of, const Index* index, unsigned) { \
    for (unsigned k = 0; k < count; ++k) out[k] = a[index[k] % of];                                             \
  }                                                                                                             \
  void anyplace_shuffle2_##t##t##i(T* out, unsigned count, const T* a, unsigned of, const T* b, unsigned,       \
                                   const Index* index, unsigned) {                                              \
    for (unsigned k = 0; k < count; ++k) {                                                                      \
      const auto from = unsigned(index[k] % (2 * of));                                                          \
      out[k] = from < of ? a[from] : b[from - of];                                                              \
    }                                                                                                           \
  }

extern "C" {
OPENCL_GEOMETRIC(float, f, )
OPENCL_GEOMETRIC(double, d, )
OPENCL_GEOMETRIC(float, f, fast_)
OPENCL_PRODUCTS(float, f)
OPENCL_PRODUCTS(double, d)
OPENCL_LOGIC(signed char, c)
OPENCL_LOGIC(short, s)
OPENCL_LOGIC(int, i)
OPENCL_LOGIC(long, l)
OPENCL_SHUFFLE(signed char, c, unsigned char, h)
OPENCL_SHUFFLE(unsigned char, h, unsigned char, h)
OPENCL_SHUFFLE(short, s, unsigned short, t)
OPENCL_SHUFFLE(unsigned short, t, unsigned short, t)
OPENCL_SHUFFLE(int, i, unsigned, j)
OPENCL_SHUFFLE(unsigned, j, unsigned, j)
OPENCL_SHUFFLE(float, f, unsigned, j)
OPENCL_SHUFFLE(long, l, unsigned long, m)
OPENCL_SHUFFLE(unsigned long, m, unsigned long, m)
OPENCL_SHUFFLE(double, d, unsigned long, m)
}
