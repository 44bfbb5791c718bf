// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include <fstream>
#include <iterator>

namespace test {

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(CUDA_DOUBLE_TEST_FILES) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Kernels::Kernels() { ok(cuModuleLoadData(&module_, read_file("test_kernels.ptx").c_str())); }

}  // namespace test
