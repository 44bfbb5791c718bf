// SPDX-License-Identifier: Apache-2.0
// What numpy_check.py calls: arrays of cpu_sim out to NumPy and back in, with and without a version. Each returns null
// or -1 for an Error, which it prints.
#include <cstdio>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/dlpack.h"

namespace {

using namespace anyplace;

/// 0, 1, 2 ... as three rows of four, and those as columns.
Array made() {
  static const Stream stream(Device("cpu_sim:1"));
  Array array(stream, DType::f32, {3, 4});
  std::vector<float> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(static_cast<float>(i));
  stream.copy(array.buffer(), numbers);
  stream.synchronize();
  return array.permute({1, 0});
}

/// Of an array of f64: the sum, read where it is.
double sum_of(const Array& array) {
  if (!array.is_on_host() || array.dtype() != DType::f64 || array.ndim() != 1) return -1;
  const auto* const first = reinterpret_cast<const double*>(static_cast<std::uintptr_t>(array.address().value()));
  double sum = 0;
  for (std::int64_t i = 0; i < array.size(); ++i) sum += first[i * array.strides()[0]];
  return sum;
}

}  // namespace

#define NUMPY_SIDE extern "C" __attribute__((visibility("default")))

NUMPY_SIDE void* numpy_side_export(int has_version) try {
  if (has_version != 0) return dlpack::to_dlpack(made());
  return dlpack::to_dlpack_unversioned(made());
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return nullptr;
}

NUMPY_SIDE void* numpy_side_export_read_only() try {
  return dlpack::to_dlpack(made().as_read_only());
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return nullptr;
}

NUMPY_SIDE double numpy_side_sum(void* tensor, int has_version) try {
  if (has_version != 0) return sum_of(dlpack::from_dlpack(static_cast<DLManagedTensorVersioned*>(tensor)));
  return sum_of(dlpack::from_dlpack_unversioned(static_cast<DLManagedTensor*>(tensor)));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return -1;
}
