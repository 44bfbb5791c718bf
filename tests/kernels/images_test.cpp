// SPDX-License-Identifier: Apache-2.0
// Which of several images a device gets, and what is said when it can use none.
#include <fstream>
#include <span>
#include <string_view>
#include <type_traits>

#include "anyplace/backend/abi.h"
#include "library_kernels.h"
#include "memory/memory_support.h"
#include "test_device_code.h"

namespace images_test {

using namespace anyplace;
using namespace memory_test;

namespace {

KernelImage text_image(std::string_view format, std::string_view architecture, std::string_view text) {
  return {format, architecture, text.data(), text.size()};
}
constexpr std::string_view ptx_text = ".version 8.0\n.target sm_90\n";
constexpr std::string_view cut_off(
    "\x7f"
    "ELF",
    4);

const std::string& good_module() {
  static const std::string bytes = [] {
    std::ifstream file(KERNEL_TEST_MODULE, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }();
  REQUIRE(!bytes.empty());
  return bytes;
}

const KernelImage& embedded(std::string_view format) {
  for (const KernelImage& image : test_device_code.images()) {
    if (image.format == format) return image;
  }
  FAIL("there is no " << format);
  throw 0;  // FAIL does
}

/// A message must name these, in this order.
void check_order(const std::string& text, std::initializer_list<std::string_view> parts) {
  std::size_t at = 0;
  for (const std::string_view part : parts) {
    const std::size_t found = text.find(part, at);
    INFO(text << "\nshould name '" << part << "' behind what is before it");
    REQUIRE(found != std::string::npos);
    at = found + part.size();
  }
}

}  // namespace

TEST_CASE("What the build embedded has the name it was given and an image for cpu_sim") {
  CHECK(test_device_code.name() == "test_device_code");
  const KernelImage& image = embedded("shared_object");
  CHECK(image.bytes().size() == image.size);
  CHECK(image.architecture.empty());
  CHECK(reinterpret_cast<std::uintptr_t>(image.data) % 64 == 0);
  CHECK(embedded("opencl_c").size == std::string_view("kernel void extra(global int* x) { *x = 1; }\n").size());
}

TEST_CASE("A device gets the image of its format whatever comes before") {
  const std::vector<KernelImage> images{text_image("cubin", "sm_90", "no cubin"), text_image("ptx", "", ptx_text),
                                        embedded("shared_object"), text_image("opencl_c", "", "kernel void f() {}")};
  const Module module(Device("cpu_sim:0"), KernelImages("several", images));
  CHECK(module.kernel("nothing"));
}

TEST_CASE("An image that is refused gives way to the next") {
  const std::vector<KernelImage> images{text_image("shared_object", "first", cut_off),
                                        text_image("shared_object", "second", ptx_text),
                                        text_image("shared_object", "third", good_module())};
  const Device device("cpu_sim:0");
  const Module module(device, KernelImages("several", images));
  CHECK(module.kernel("scale"));
  CHECK(module.device() == device);
}

TEST_CASE("The order is the images' own") {
  const Device device("cpu_sim:0");
  std::vector<KernelImage> images{embedded("shared_object"), text_image("shared_object", "", good_module())};
  CHECK(Module(device, KernelImages("several", images)).kernel("sum_static"));
  std::swap(images[0], images[1]);
  CHECK(Module(device, KernelImages("several", images)).kernel("scale"));
}

TEST_CASE("An image for the very architecture of the device comes first") {
  const Device device("cpu_sim:0");
  const std::string architecture = device.properties().architecture;
  REQUIRE(!architecture.empty());
  const std::string longer = architecture + "x", shorter = architecture.substr(0, architecture.size() - 1);
  for (const std::string& other : {longer, shorter, std::string()}) {
    KernelImage first = embedded("shared_object");
    first.architecture = other;
    const std::vector<KernelImage> images{first, text_image("shared_object", architecture, good_module())};
    INFO(other);
    CHECK(Module(device, KernelImages("several", images)).kernel("scale"));
  }
}

TEST_CASE("The format that was picked is the one that is loaded") {
  const Device device("sim_images:0");
  const std::vector<KernelImage> images{text_image("shared_object", "", good_module()),
                                        text_image("ptx", "", ptx_text)};
  const Module module(device, KernelImages("several", images));
  CHECK(controls_of(device).last_format == ANYPLACE_IMAGE_PTX);
  CHECK(controls_of(device).modules_loaded == 1);
}

TEST_CASE("When every image is refused the error says of each why") {
  const std::vector<KernelImage> images{text_image("shared_object", "old", cut_off),
                                        text_image("ptx", "sm_90", ptx_text), text_image("shared_object", "", ptx_text),
                                        text_image("hsaco", "gfx90a", "?")};
  const Error error = error_of([&] { const Module module(Device("cpu_sim:0"), KernelImages("blur_kernels", images)); });
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(error.place() == "cpu_sim:0");
  CHECK(error.operation() == "Module");
  check_order(error.text(), {"blur_kernels", "shared_object old: ", "cut off", "shared_object: ", "PTX",
                             "for other devices", "ptx sm_90", "hsaco gfx90a", "this device", "takes: shared_object"});
}

TEST_CASE("When there is no image for the device the error says what there is and what it takes") {
  const std::vector<KernelImage> images{text_image("ptx", "", ptx_text)};
  const auto load = [](const KernelImages& from) { const Module module(Device("cpu_sim:0"), from); };
  check_order(refused(ErrorCode::invalid_image, [&] { load(KernelImages("blur_kernels", images)); }),
              {"blur_kernels", "no image for this device", "ptx", "takes: shared_object"});
  check_order(refused(ErrorCode::invalid_image, [&] { load(KernelImages()); }), {"no image at all", "shared_object"});
}

TEST_CASE("What isn't the image's fault is thrown as it comes") {
  CHECK(error_of([] { const Module module(Device("sim_bare:0"), test_device_code); }).code() == ErrorCode::unsupported);
  const Device device("sim_full:0");
  ModuleOptions wrong;
  wrong.metadata.push_back({"", 0});
  CHECK(error_of([&] { const Module module(device, test_device_code, wrong); }).code() == ErrorCode::invalid_argument);
  CHECK(controls_of(device).modules_loaded == 0);
}

TEST_CASE("A launch of a kernel with other arguments than it takes is refused before it runs") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module module(device, test_device_code);
  const KernelView sum = module.kernel("sum_static");
  const Buffer buffer(stream, 1024);
  check_order(refused(ErrorCode::invalid_argument,
                      [&] {
                        stream.launch(sum, {1, 1}, buffer);
                      }),
              {"1 argument", "sum_static", "takes 2"});
  check_order(refused(ErrorCode::invalid_argument,
                      [&] {
                        stream.launch(sum, {1, 1}, buffer, buffer, 1);
                      }),
              {"3 argument", "takes 2"});
  check_order(refused(ErrorCode::invalid_argument,
                      [&] {
                        stream.launch(sum, {1, 1}, buffer, 1);
                      }),
              {"argument 1", "4 bytes", "has 8"});
  CHECK_NOTHROW(stream.synchronize());
}

TEST_CASE("A module whose kernels met barriers is unloaded with everything it had") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t modules = 0;
    for (std::string line; std::getline(maps, line);) modules += line.find("cpu_sim module") != std::string::npos;
    return modules;
  };
  for (int round = 0; round < 3; ++round) {
    const Module module(device, test_device_code);
    const Buffer sums(stream, 64), values(stream, 16 * 64 * sizeof(std::uint32_t));
    stream.memset8(values, 0);
    stream.launch(module.kernel("sum_static"), {16, 64}, sums, values);
    stream.synchronize();
    CHECK(mappings() > 0);
  }
  // Who ran the last block lets go of the module a moment later.
  while (mappings() > 0) std::this_thread::yield();
  SUCCEED();
}

TEST_CASE("Images are named by what outlives the statement") {
  using Images = std::vector<KernelImage>;
  CHECK_FALSE(std::is_constructible_v<KernelImages, const char*, Images>);
  CHECK_FALSE(std::is_constructible_v<KernelImages, std::string, Images&>);
  CHECK_FALSE(std::is_constructible_v<KernelImages, std::string, std::span<const KernelImage>>);
  CHECK(std::is_constructible_v<KernelImages, const char*, Images&>);
  CHECK(std::is_constructible_v<KernelImages, const std::string&, const Images&>);
  CHECK(std::is_constructible_v<KernelImages, std::string_view, std::span<const KernelImage>>);
}

TEST_CASE("The kernels of a library are there for who links it, by its header") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module module(device, library_kernels);
  std::vector<float> data{4, 8};
  const Buffer buffer(stream, 2 * sizeof(float));
  stream.copy(buffer, data);
  stream.launch(module.kernel("halve"), {2, 1}, buffer);
  stream.copy(data, buffer);
  stream.synchronize();
  CHECK(data == std::vector<float>{2, 4});
}

TEST_CASE("SPIR-V that computes doubles is refused where the device doesn't, and the next image is taken") {
  const Device device("sim_singles:0");
  constexpr std::uint32_t words[] = {0x07230203, 0x00010200, 0, 1, 0, 2u << 16 | 17, 10};  // OpCapability Float64
  const KernelImage doubles{"spirv", "", words, sizeof(words)};
  const Error error =
      test::required_error(ErrorCode::invalid_image, [&] { (void)Module(device, std::as_bytes(std::span(words))); });
  CHECK(error.text().find("Float64") != std::string::npos);
  CHECK(std::string_view(error.what()).find("computes no doubles") != std::string_view::npos);

  const KernelImage images[] = {doubles, {"shared_object", "", good_module().data(), good_module().size()}};
  CHECK_NOTHROW(Module(device, KernelImages("mixed", images)));
}

}  // namespace images_test
