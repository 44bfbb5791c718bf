// SPDX-License-Identifier: Apache-2.0
// Modules: files, images and names that are refused and with which words, formats, owners that are moved or go
// elsewhere.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "anyplace/backend/abi.h"
#include "memory/memory_support.h"
#include "support/temp_dir.h"

namespace module_test {

using namespace anyplace;
using namespace memory_test;

namespace {

using Image = std::vector<std::byte>;

Image read_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Image image(text.size());
  std::memcpy(image.data(), text.data(), text.size());
  return image;
}

Image image_of(std::string_view text) {
  Image image(text.size());
  std::memcpy(image.data(), text.data(), text.size());
  return image;
}

/// The first bytes of a 64-bit little-endian ELF file.
Image elf_of(std::uint8_t type, std::uint8_t machine) {
  Image image(64);
  std::memcpy(image.data(),
              "\x7f"
              "ELF\x02\x01\x01",
              7);
  image[16] = std::byte{type};
  image[18] = std::byte{machine};
  return image;
}

}  // namespace

TEST_CASE("A module's function for rows of blocks runs each block once, as one with its neighbours or alone") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
  for (const char* name : {"joined", "alone"}) {
    for (const Dim3 grid : {Dim3{1}, Dim3{2}, Dim3{7, 3, 2}, Dim3{1, 50}, Dim3{3000, 2}}) {
      const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
      const Buffer counts = Buffer::of<std::uint32_t>(stream, blocks);
      stream.memset8(counts, 0);
      stream.launch(module.kernel(name), {grid, 1}, counts);
      std::vector<std::uint32_t> host(blocks);
      stream.copy(host, counts);
      stream.synchronize();
      INFO(name << ", " << grid.x << " x " << grid.y << " x " << grid.z);
      CHECK(host == std::vector<std::uint32_t>(blocks, 1));
    }
  }
}

TEST_CASE("The same name gives the same view and asks the backend once") {
  const Device device("sim_full:0");
  const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
  const KernelView first = module.kernel("scale");
  CHECK(module.kernel("scale") == first);
  CHECK(module.kernel(std::string("scale")) == first);
  CHECK_FALSE(module.kernel("nothing") == first);
  CHECK(controls_of(device).kernel_lookups == 2);
  CHECK_THAT(refused(ErrorCode::no_such_kernel, [&] { module.kernel("scael"); }), Catch::Contains("scael"));
}

TEST_CASE("Moving a module keeps its kernels and unloads once") {
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  {
    Module first = Module::from_file(device, KERNEL_TEST_MODULE);
    const KernelView kernel = first.kernel("scale");
    Module second(std::move(first));
    CHECK_FALSE(first);  // NOLINT: the moved-from state is promised
    CHECK(second.kernel("scale") == kernel);
    refused(ErrorCode::invalid_handle, [&] { first.kernel("scale"); });  // NOLINT
    refused(ErrorCode::invalid_handle, [&] { first.device(); });         // NOLINT
    Module third = Module::from_file(device, KERNEL_TEST_MODULE);
    third = std::move(second);
    CHECK(controls.modules_unloaded == 1);
    CHECK(kernel.name() == "scale");
    Module& same = third;
    third = std::move(same);
    CHECK(kernel.name() == "scale");
  }
  CHECK(controls.modules_unloaded == 2);
  refused(ErrorCode::invalid_handle, [&] { Module().kernel("scale"); });
}

TEST_CASE("A module destroyed inside a host function is unloaded") {
  const Device device("sim_full:0");
  const Stream stream(device);
  auto module = std::make_shared<Module>(Module::from_file(device, KERNEL_TEST_MODULE));
  static_cast<void>(module->kernel("scale"));
  stream.launch_host_func([owned = std::move(module)]() mutable { owned.reset(); });
  stream.synchronize();
  while (controls_of(device).modules_unloaded == 0) std::this_thread::yield();
  CHECK(controls_of(device).modules_unloaded == 1);
}

TEST_CASE("A kernel of a module that fails is the stream's fault") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
  stream.launch(module.kernel("failing"), {2, 1});
  CHECK(error_of([&] { stream.synchronize(); }).code() == ErrorCode::kernel_failed);
  stream.launch(module.kernel("nothing"), {2, 1});
  CHECK_NOTHROW(stream.synchronize());
}

TEST_CASE("A module file that can't be read is an invalid argument that names it and why") {
  const Device device("cpu_sim:0");
  const test::TempDir folder;
  const auto refuse = [&](const std::string& path, const std::string& why) {
    CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { Module::from_file(device, path); }),
               Catch::Contains(path) && Catch::Contains(why));
  };
  refuse(folder / "missing.so", "No such file");
  refuse(folder / "", "directory");
  std::ofstream(folder / "empty.so").close();
  refuse(folder / "empty.so", "empty");
  REQUIRE(mkfifo((folder / "pipe.so").c_str(), 0600) == 0);
  refuse(folder / "pipe.so", "regular");  // without waiting for a writer
  refuse("/dev/zero", "regular");
  std::filesystem::create_symlink(folder / "loop.so", folder / "loop.so");
  refuse(folder / "loop.so", "");
  refuse(folder / std::string(5000, 'x'), "long");
  {
    std::ofstream file(folder / "huge.so");
    file << 'x';
    file.close();
    REQUIRE(truncate((folder / "huge.so").c_str(), (std::int64_t{2} << 30) + 1) == 0);
  }
  refuse(folder / "huge.so", "limit");
  refused(ErrorCode::invalid_argument, [&] { Module::from_file(device, ""); });
  refused(ErrorCode::invalid_argument, [&] { Module::from_file(device, std::string("a\0b", 3)); });
  if (geteuid() != 0) {  // the superuser reads everything
    std::ofstream(folder / "secret.so") << "secret";
    REQUIRE(chmod((folder / "secret.so").c_str(), 0) == 0);
    refuse(folder / "secret.so", "ermission");
  }
}

TEST_CASE("A wrong image is refused by what it is and what the device takes before the backend sees it") {
  using namespace std::string_view_literals;
  const Device device("sim_full:0");
  const auto refuse = [&](const Image& image, const std::string& what) {
    CHECK_THAT(refused(ErrorCode::invalid_image, [&] { const Module module(device, image); }),
               Catch::Contains(what) && Catch::Contains("shared object"));
  };
  refuse(image_of("// made by hand\n.version 7.0\n.target sm_70\n.address_size 64\n"), "PTX");
  refuse(elf_of(2, 190), "cubin");
  refuse(image_of("\x50\xed\x55\xba\x01\x00\x10\x00"sv), "fatbin");
  refuse(elf_of(3, 224), "AMD code object");
  refuse(image_of("__CLANG_OFFLOAD_BUNDLE__\0\0"sv), "AMD code object");
  refuse(image_of("\x03\x02\x23\x07\0\0\1\0"sv), "SPIR-V");
  refuse(image_of("\x07\x23\x02\x03\0\1\0\0"sv), "SPIR-V");
  refuse(image_of("__kernel void f(__global float* x) { x[0] = 1; }"), "OpenCL C");
  refuse(image_of("hello, world\n"), "text");
  refuse(image_of("\x01\x02\x03garbage"), "01 02 03");
  refuse(elf_of(3, 243), "riscv");
  refuse(read_image(KERNEL_TEST_OBJECT), "object file");
  refuse(Image(), "empty");
  refuse(Image(1), "begins with 00");
  CHECK(controls_of(device).modules_loaded == 0);
}

TEST_CASE("An image reaches the backend as the format that it is") {
  using namespace std::string_view_literals;
  const Device device("sim_images:0");
  const auto format_of = [&](const Image& image) {
    const Module module(device, image);
    return controls_of(device).last_format.load();
  };
  CHECK(format_of(image_of(".version 7.0\n.target sm_70\n\0"sv)) == ANYPLACE_IMAGE_PTX);
  CHECK(format_of(elf_of(2, 190)) == ANYPLACE_IMAGE_CUBIN);
  CHECK(format_of(image_of("\x01\x02\x03 the vendor's own"sv)) == ANYPLACE_IMAGE_NATIVE);
  CHECK_THAT(refused(ErrorCode::invalid_image, [&] { format_of(read_image(KERNEL_TEST_MODULE)); }),
             Catch::Contains("shared object") && Catch::Contains("PTX") && Catch::Contains("cubin"));
  refused(ErrorCode::invalid_image, [&] { format_of(Image()); });
}

TEST_CASE("Module options that make no sense are refused") {
  const Device device("cpu_sim:0");
  const Image image = read_image(KERNEL_TEST_MODULE);
  const auto refuse = [&](const ModuleOptions& options) {
    refused(ErrorCode::invalid_argument, [&] { const Module module(device, image, options); });
  };
  refuse({std::string("a\0b", 3), {}});
  refuse({"", {{"", 0}}});
  refuse({"", {{std::string("a\0b", 3), 0}}});
  refuse({"", {{"scale", -2}}});
  refused(ErrorCode::invalid_argument,
          [&] { const Module module(device, std::span(static_cast<const std::byte*>(nullptr), 8)); });
  CHECK_NOTHROW(Module(device, image, {"-O3", {{"scale", 2}, {"nothing", -1}}}));
}

TEST_CASE("A device without modules says so") {
  const Device device("sim_bare:0");
  CHECK_THAT(refused(ErrorCode::unsupported, [&] { Module::from_file(device, KERNEL_TEST_MODULE); }),
             Catch::Contains("modules"));
}

TEST_CASE("Threads that look for kernels and launch them meet a module that goes") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (int round = 0; round < 20; ++round) {
    auto module = std::make_unique<Module>(Module::from_file(device, KERNEL_TEST_MODULE));
    const KernelView kernel = module->kernel("nothing");
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        try {
          for (int i = 0; i < 1000; ++i) stream.launch(kernel, {1, 1});
        } catch (const Error& error) {
          if (error.code() != ErrorCode::invalid_handle) ++wrong;
        }
      });
    }
    module.reset();
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  CHECK_NOTHROW(stream.synchronize());
}

}  // namespace module_test
