// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

namespace test {

std::string read_test_file(const std::string& name) {
  return read_bytes(std::string(CUDA_DOUBLE_TEST_FILES) + "/" + name);
}

Kernels::Kernels() { ok(cuModuleLoadData(&module_, read_test_file("test_kernels.ptx").c_str())); }

}  // namespace test
