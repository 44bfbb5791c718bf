// SPDX-License-Identifier: Apache-2.0
//
// Modules and kernels: images that are wrong, launches that don't fit, and shared memory without metadata.
#include "support.h"

namespace module_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

}  // namespace

TEST_CASE("The compiler's log is in the error of an image that doesn't build") {
  const Double ze;
  const Device device("levelzero:0");
  anyplace::ModuleOptions options;
  options.compiler_options = "-not-an-option";
  const anyplace::Error error =
      test::required_error(ErrorCode::invalid_image, [&] { load(device, read_image(), options); });
  CHECK(error.vendor_name() == "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE");
  CHECK_THAT(error.what(), Contains("unrecognized build option: -not-an-option"));
  CHECK(ze.live("build_log") == 0);
}

TEST_CASE("Images that can be seen to be damaged are refused before the driver is asked") {
  const Double ze;
  const Device device("levelzero:0");
  const std::string image = read_image();
  CHECK(test::code_of([&] { load(device, image.substr(0, 16)); }) == ErrorCode::invalid_image);
  CHECK(test::code_of([&] { load(device, image.substr(0, 1001)); }) == ErrorCode::invalid_image);
  CHECK(ze.calls_of("zeModuleCreate") == 0);
  CHECK(test::code_of([&] { load(device, image.substr(0, 1000)); }) == ErrorCode::invalid_image);
  CHECK(ze.calls_of("zeModuleCreate") == 1);
}

TEST_CASE("A kernel of an unknown name is refused with the driver's own name for it") {
  const Double ze;
  const Device device("levelzero:0");
  const anyplace::Module module = load(device, read_image());
  const anyplace::Error error = test::required_error(ErrorCode::no_such_kernel, [&] { module.kernel("nowhere"); });
  CHECK(error.vendor_name() == "ZE_RESULT_ERROR_INVALID_KERNEL_NAME");
}

TEST_CASE("Without metadata a launch with shared memory says what is missing") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream stream(device);
  const Buffer numbers(stream, 256 * 4), sums(stream, 4 * 4);
  const anyplace::Module module = load(device, read_image());
  const auto error = test::error_of([&] { stream.launch(module.kernel("block_sum"), {1, 64, 64 * 4}, sums, numbers); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), Contains("metadata"));
}

TEST_CASE("Metadata with an argument that the kernel hasn't is refused") {
  const Double ze;
  const Device device("levelzero:0");
  const anyplace::Module module = load(device, read_image(), with_shared(7));
  const anyplace::Error error = test::required_error(ErrorCode::invalid_argument, [&] { module.kernel("block_sum"); });
  CHECK_THAT(error.what(), Contains("argument 7") && Contains("3 arguments"));
}

TEST_CASE("Arguments that don't fit are refused by number and by size") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream stream(device);
  const Buffer numbers(stream, 256 * 4);
  const anyplace::Module module = load(device, read_image());
  const anyplace::KernelView fill = module.kernel("fill");
  auto error = test::error_of([&] { stream.launch(fill, {1, 64}, numbers, 64u); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), Contains("3 parameters") && Contains("2 arguments"));
  error = test::error_of([&] { stream.launch(fill, {1, 64}, numbers, 64u, std::uint64_t{1}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), Contains("argument 2") && Contains("8 bytes"));
  stream.launch(fill, {1, 64}, numbers, 64u, 1u);
  stream.synchronize();
}

}  // namespace module_test
