// SPDX-License-Identifier: Apache-2.0
//
// Module images: those that load, and those that must not, each with a reason.
#include <string>

#include "support.h"

namespace {

using namespace cuda_test;
using anyplace::Device;
using anyplace::Module;

/// Fills a buffer with the module's kernel and reads it back.
void check_that_it_runs(const Device& device, const Module& module) {
  const anyplace::Stream stream(device);
  const anyplace::Buffer numbers(stream, 256 * 4);
  std::vector<std::uint32_t> back(256);
  stream.launch(module.kernel("fill"), {4}, {64}, 0, numbers, 256u, 7u);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(256, 7));
}

anyplace::Error error_of_loading(const Device& device, const std::string& image,
                                 const anyplace::ModuleOptions& options = {}) {
  const auto error = test::error_of([&] { load(device, image, options); });
  REQUIRE(error.has_value());
  return *error;
}

}  // namespace

TEST_CASE("PTX and cubin and fatbin all load and run") {
  const Double cuda;
  const Device device("cuda:0");
  for (const char* image : {"kernels.ptx", "kernels.sm_90.cubin", "kernels.fatbin"}) {
    INFO(image);
    check_that_it_runs(device, load(device, read_image(image)));
  }
}

TEST_CASE("PTX that does not compile is refused with the log of the compiler") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Error error =
      error_of_loading(device, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry broken( { }\n");
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(error.vendor_code() == CUDA_ERROR_INVALID_PTX);
  CHECK(error.vendor_name() == "CUDA_ERROR_INVALID_PTX");
  CHECK_THAT(error.what(), contains("the compiler's log:"));
  CHECK(cuda.live("module") == 0);
  check_that_it_runs(device, load(device, read_image("kernels.ptx")));
}

TEST_CASE("PTX that is too new for the driver names both versions and the driver that takes it") {
  const Double cuda({{"CUDA_DOUBLE_DRIVER_VERSION", "12020"}});
  const Device device("cuda:0");
  std::string image = read_image("kernels.ptx");
  image.replace(image.find(".version 4.1"), 12, ".version 9.0");
  const anyplace::Error error = error_of_loading(device, image);
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(error.vendor_code() == 222);
  CHECK_THAT(error.what(), contains("PTX 9.0") && contains("CUDA 13.0") && contains("580") && contains("CUDA 12.2"));
  check_that_it_runs(device, load(device, read_image("kernels.ptx")));
}

TEST_CASE("A cubin for another architecture names the one of the device") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Error error = error_of_loading(device, read_image("kernels.sm_80.cubin"));
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(error.vendor_code() == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK_THAT(error.what(), contains("sm_90"));
}

TEST_CASE("An image of another vendor is refused before the driver sees it") {
  const Double cuda;
  const Device device("cuda:0");
  std::string hsaco = read_image("kernels.sm_90.cubin");
  hsaco[18] = static_cast<char>(224);  // e_machine: AMD GPUs
  hsaco[19] = 0;
  const std::string spirv("\x03\x02\x23\x07\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 20);
  const std::string open_cl = "__kernel void fill(__global uint* data) { data[get_global_id(0)] = 1; }\n";
  for (const std::string& image : {hsaco, spirv, open_cl, std::string("no image at all"), std::string(1, '\0')}) {
    const anyplace::Error error = error_of_loading(device, image);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_image);
    CHECK_THAT(error.what(), contains("PTX"));
  }
  CHECK(cuda.calls_of("cuModuleLoadDataEx") == 0);
}

TEST_CASE("A binary that was cut off is refused before the driver reads past its end") {
  const Double cuda;
  const Device device("cuda:0");
  for (const char* name : {"kernels.sm_90.cubin", "kernels.fatbin"}) {
    const std::string whole = read_image(name);
    for (const std::size_t bytes :
         {std::size_t{24}, std::size_t{63}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
      INFO(name << " cut to " << bytes);
      CHECK(error_of_loading(device, whole.substr(0, bytes)).code() == ErrorCode::invalid_image);
    }
  }
  CHECK(cuda.calls_of("cuModuleLoadDataEx") == 0);
}

TEST_CASE("A kernel that the module does not have is named") {
  const Double cuda;
  const Device device("cuda:0");
  const Module module = load(device, read_image("kernels.ptx"));
  const auto error = test::error_of([&] { module.kernel("fyll"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_such_kernel);
  CHECK_THAT(error->what(), contains("fyll"));
}

TEST_CASE("Compiler options are the ones of the driver and others are refused by name") {
  const Double cuda;
  const Device device("cuda:0");
  const std::string image = read_image("kernels.ptx");
  for (const char* options : {"", "-O3 -lineinfo", "-maxrregcount=64", "--opt-level=0 -g"}) {
    INFO(options);
    check_that_it_runs(device, load(device, image, {options, {}}));
  }
  for (const char* options : {"-O9", "-maxrregcount=", "-fast", "-O3 --unknown"}) {
    const anyplace::Error error = error_of_loading(device, image, {options, {}});
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.what(), contains("-maxrregcount=N"));
  }
}

TEST_CASE("A module that is unloaded while its kernels are queued stays until they are done") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Stream stream(device);
  const anyplace::Buffer numbers(stream, 256 * 4);
  std::vector<std::uint32_t> back(256);
  stream.synchronize();
  cuda.hold(0, true);
  {
    const Module module = load(device, read_image("kernels.ptx"));
    stream.launch(module.kernel("fill"), {4}, {64}, 0, numbers, 256u, 9u);
  }
  CHECK(cuda.calls_of("cuModuleUnload") == 0);
  cuda.hold(0, false);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(256, 9));
  device.synchronize();
  CHECK(cuda.calls_of("cuModuleUnload") == 1);
  CHECK(cuda.live("module") == 0);
}

TEST_CASE("A module that nothing needs is unloaded at once") {
  const Double cuda;
  const Device device("cuda:0");
  { const Module module = load(device, read_image("kernels.ptx")); }
  CHECK(cuda.live("module") == 0);
}
