// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include "stand_in.h"

namespace test {

std::string kernels_image() { return read_bytes(ANYPLACE_DOUBLE_TEST_KERNELS); }

std::string code_object(const char* arch) {
  const auto made = anyplace::doubles::hip::make_code_object(kernels_image(), arch);
  REQUIRE(made);
  return *made;
}

hipFunction_t kernel(const char* name) {
  hipModule_t module = nullptr;
  ok(hipModuleLoadData(&module, code_object().data()));
  hipFunction_t function = nullptr;
  ok(hipModuleGetFunction(&function, module, name));
  return function;
}

}  // namespace test
