// SPDX-License-Identifier: Apache-2.0
//
// CUDA's kinds of images: those that load, and those that must not, each with a reason.
#include "cuda_and_hip/images.h"

namespace image_test {

using namespace vendor_test;

TEST_CASE("PTX and cubin and fatbin all load and run") {
  const Loading on;
  on.check_that_all_run({"kernels.ptx", "kernels.sm_90.cubin", "kernels.fatbin"});
}

TEST_CASE("PTX that does not compile is refused with the log of the compiler") {
  const Loading on;
  const anyplace::Error error =
      on.error_of_invalid(".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry broken( { }\n");
  CHECK(error.vendor_code() == CUDA_ERROR_INVALID_PTX);
  CHECK(error.vendor_name() == "CUDA_ERROR_INVALID_PTX");
  CHECK_THAT(error.what(), contains("the compiler's log:"));
  CHECK(on.driver.live("module") == 0);
  on.check_that_it_runs(read_image("kernels.ptx"));
}

TEST_CASE("PTX that is too new for the driver names both versions and the driver that takes it") {
  const Loading on({{"CUDA_DOUBLE_DRIVER_VERSION", "12020"}});
  std::string image = read_image("kernels.ptx");
  image.replace(image.find(".version 4.1"), 12, ".version 9.0");
  const anyplace::Error error = on.error_of_invalid(image);
  CHECK(error.vendor_code() == 222);
  CHECK_THAT(error.what(), contains("PTX 9.0") && contains("CUDA 13.0") && contains("580") && contains("CUDA 12.2"));
  on.check_that_it_runs(read_image("kernels.ptx"));
}

TEST_CASE("A cubin for another architecture names the one of the device") {
  const Loading on;
  const anyplace::Error error = on.error_of_invalid(read_image("kernels.sm_80.cubin"));
  CHECK(error.vendor_code() == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK_THAT(error.what(), contains("sm_90"));
}

TEST_CASE("An image of another vendor is refused before the driver sees it") {
  const Loading on;
  std::string hsaco = read_image("kernels.sm_90.cubin");
  hsaco[18] = static_cast<char>(224);  // e_machine: AMD GPUs
  hsaco[19] = 0;
  const std::string open_cl = "__kernel void fill(__global uint* data) { data[get_global_id(0)] = 1; }\n";
  on.check_that_none_is_an_image({hsaco, open_cl}, "PTX");
}

TEST_CASE("Compiler options are the ones of the driver and others are refused by name") {
  const Loading on;
  const std::string image = read_image("kernels.ptx");
  for (const char* options : {"", "-O3 -lineinfo", "-maxrregcount=64", "--opt-level=0 -g"}) {
    INFO(options);
    on.check_that_it_runs(image, {options, {}});
  }
  for (const char* options : {"-O9", "-maxrregcount=", "-fast", "-O3 --unknown"}) {
    on.check_refused_options(options, "-maxrregcount=N");
  }
}

}  // namespace image_test
