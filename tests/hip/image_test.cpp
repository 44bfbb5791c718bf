// SPDX-License-Identifier: Apache-2.0
//
// HIP's kinds of images: those that load, and those that must not, each with a reason.
#include "cuda_and_hip/images.h"

namespace image_test {

using namespace vendor_test;

TEST_CASE("A code object and a bundle of several both load and run") {
  const Loading on;
  on.check_that_all_run({"kernels.hsaco", "kernels.gfx90a.hsaco"});
}

TEST_CASE("A code object for another architecture names that one and the one of the device") {
  const Loading on;
  const anyplace::Error error = on.error_of_invalid(read_image("kernels.gfx1100.hsaco"));
  CHECK(error.vendor_code() == hipErrorNoBinaryForGpu);
  CHECK(error.vendor_name() == "hipErrorNoBinaryForGpu");
  CHECK_THAT(error.what(),
             contains("code for gfx1100") && contains("gfx90a:sramecc+:xnack-") && contains("--offload-arch=gfx90a"));
  CHECK(on.driver.live("module") == 0);
  on.check_that_it_runs(read_image("kernels.gfx90a.hsaco"));
}

TEST_CASE("A bundle without code for the device names what it has") {
  const Loading on({{"HIP_DOUBLE_ARCH", "gfx942"}});
  const anyplace::Error error = on.error_of_invalid(read_image("kernels.hsaco"));
  CHECK_THAT(error.what(), contains("gfx1100, gfx90a") && contains("gfx942"));
}

TEST_CASE("An image of another vendor is refused before HIP sees it") {
  const Loading on;
  std::string cubin = read_image("kernels.gfx90a.hsaco");
  cubin[18] = static_cast<char>(190);  // e_machine: NVIDIA's GPUs
  const std::string ptx = ".version 7.0\n.target sm_52\n.address_size 64\n";
  on.check_that_none_is_an_image({cubin, ptx}, "AMD code object");
}

TEST_CASE("A compressed bundle that was cut off is refused and a whole one is left to HIP") {
  const Loading on;
  const auto with_size = [](char version, std::uint32_t bytes) {
    std::string image("CCOB\0\0\1\0", 8);
    image[4] = version;
    image.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    image.append(52, '\0');
    return image;
  };
  for (const char version : {char{2}, char{3}}) {
    CHECK_THAT(on.error_of_invalid(with_size(version, 65)).what(), contains("cut off"));
    CHECK(on.calls_that_load() == 0);
  }
  CHECK(on.error_of_invalid(with_size(2, 64)).vendor_code() == hipErrorInvalidImage);
  CHECK(on.calls_that_load() == 1);
}

TEST_CASE("There are no compiler options") {
  const Loading on;
  const std::string image = read_image("kernels.hsaco");
  for (const char* options : {"", "  "}) on.check_that_it_runs(image, {options, {}});
  on.check_refused_options("-O3", "-O3");
  on.check_refused_options("-O3", "compiled already");
}

}  // namespace image_test
