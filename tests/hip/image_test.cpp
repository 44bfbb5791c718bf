// SPDX-License-Identifier: Apache-2.0
//
// Module images: those that load, and those that must not, each with a reason.
#include <cstdint>
#include <string>

#include "support.h"

namespace {

using namespace hip_test;
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

TEST_CASE("A code object and a bundle of several both load and run") {
  const Double hip;
  const Device device("hip:0");
  for (const char* image : {"kernels.hsaco", "kernels.gfx90a.hsaco"}) {
    INFO(image);
    check_that_it_runs(device, load(device, read_image(image)));
  }
}

TEST_CASE("A code object for another architecture names that one and the one of the device") {
  const Double hip;
  const Device device("hip:0");
  const anyplace::Error error = error_of_loading(device, read_image("kernels.gfx1100.hsaco"));
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(error.vendor_code() == hipErrorNoBinaryForGpu);
  CHECK(error.vendor_name() == "hipErrorNoBinaryForGpu");
  CHECK_THAT(error.what(),
             contains("code for gfx1100") && contains("gfx90a:sramecc+:xnack-") && contains("--offload-arch=gfx90a"));
  CHECK(hip.live("module") == 0);
  check_that_it_runs(device, load(device, read_image("kernels.gfx90a.hsaco")));
}

TEST_CASE("A bundle without code for the device names what it has") {
  const Double hip({{"HIP_DOUBLE_ARCH", "gfx942"}});
  const Device device("hip:0");
  const anyplace::Error error = error_of_loading(device, read_image("kernels.hsaco"));
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK_THAT(error.what(), contains("gfx1100, gfx90a") && contains("gfx942"));
}

TEST_CASE("An image of another vendor is refused before HIP sees it") {
  const Double hip;
  const Device device("hip:0");
  std::string cubin = read_image("kernels.gfx90a.hsaco");
  cubin[18] = static_cast<char>(190);  // e_machine: NVIDIA's GPUs
  const std::string spirv("\x03\x02\x23\x07\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 20);
  const std::string ptx = ".version 7.0\n.target sm_52\n.address_size 64\n";
  for (const std::string& image : {cubin, spirv, ptx, std::string("no image at all"), std::string(1, '\0')}) {
    const anyplace::Error error = error_of_loading(device, image);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_image);
    CHECK_THAT(error.what(), contains("AMD code object"));
  }
  CHECK(hip.calls_of("hipModuleLoadData") == 0);
}

TEST_CASE("An image that was cut off is refused before HIP reads past its end") {
  const Double hip;
  const Device device("hip:0");
  for (const char* name : {"kernels.gfx90a.hsaco", "kernels.hsaco"}) {
    const std::string whole = read_image(name);
    for (const std::size_t bytes :
         {std::size_t{24}, std::size_t{31}, std::size_t{63}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
      INFO(name << " cut to " << bytes);
      CHECK(error_of_loading(device, whole.substr(0, bytes)).code() == ErrorCode::invalid_image);
    }
  }
  CHECK(hip.calls_of("hipModuleLoadData") == 0);
}

TEST_CASE("A compressed bundle that was cut off is refused and a whole one is left to HIP") {
  const Double hip;
  const Device device("hip:0");
  const auto with_size = [](char version, std::uint32_t bytes) {
    std::string image("CCOB\0\0\1\0", 8);
    image[4] = version;
    image.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    image.append(52, '\0');
    return image;
  };
  for (const char version : {char{2}, char{3}}) {
    CHECK_THAT(error_of_loading(device, with_size(version, 65)).what(), contains("cut off"));
    CHECK(hip.calls_of("hipModuleLoadData") == 0);
  }
  CHECK(error_of_loading(device, with_size(2, 64)).vendor_code() == hipErrorInvalidImage);
  CHECK(hip.calls_of("hipModuleLoadData") == 1);
}

TEST_CASE("A kernel that the module does not have is named") {
  const Double hip;
  const Device device("hip:0");
  const Module module = load(device, read_image("kernels.hsaco"));
  const auto error = test::error_of([&] { module.kernel("fyll"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_such_kernel);
  CHECK_THAT(error->what(), contains("fyll"));
}

TEST_CASE("There are no compiler options") {
  const Double hip;
  const Device device("hip:0");
  const std::string image = read_image("kernels.hsaco");
  for (const char* options : {"", "  "}) check_that_it_runs(device, load(device, image, {options, {}}));
  const anyplace::Error error = error_of_loading(device, image, {"-O3", {}});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK_THAT(error.what(), contains("-O3") && contains("compiled already"));
}

TEST_CASE("A module that is unloaded while its kernels are queued stays until they are done") {
  const Double hip;
  const Device device("hip:0");
  const anyplace::Stream stream(device);
  const anyplace::Buffer numbers(stream, 256 * 4);
  std::vector<std::uint32_t> back(256);
  stream.synchronize();
  hip.hold(0, true);
  {
    const Module module = load(device, read_image("kernels.hsaco"));
    stream.launch(module.kernel("fill"), {4}, {64}, 0, numbers, 256u, 9u);
  }
  CHECK(hip.calls_of("hipModuleUnload") == 0);
  hip.hold(0, false);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(256, 9));
  device.synchronize();
  CHECK(hip.calls_of("hipModuleUnload") == 1);
  CHECK(hip.live("module") == 0);
}

TEST_CASE("A module that nothing needs is unloaded at once") {
  const Double hip;
  const Device device("hip:0");
  { const Module module = load(device, read_image("kernels.hsaco")); }
  CHECK(hip.live("module") == 0);
}
