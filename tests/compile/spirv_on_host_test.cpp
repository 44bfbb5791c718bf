// SPDX-License-Identifier: Apache-2.0
// Images in SPIR-V on cpu_sim, which takes shared objects alone: compilers/spirv_host makes these of them. The cases
// with a tag run once more with another Clang (CMakeLists.txt).
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/support.h"
#include "support/process.h"

namespace compile_spirv_on_host {

using namespace compile_test;
using test::required_error;

/// "-14" or another version of which there are Clang and llvm-spirv; "" if there is none.
const std::string& spirv_version() {
  static const std::string found = [] {
    for (const std::string version : {"-14", "-15", "-19"}) {
      const std::string both = "command -v clang" + version + " && command -v llvm-spirv" + version;
      if (std::system(("(" + both + ") >/dev/null").c_str()) == 0) return version;
    }
    return std::string();
  }();
  return found;
}

bool is_skipped() {
  for (const Compiler& one : compilers()) {
    if (one.name != "spirv_host" || one.usable) continue;
    std::printf("ANYPLACE_TEST_SKIPPED: %s\n", one.reason.c_str());
    return true;
  }
  if (!spirv_version().empty()) return false;
  std::puts("ANYPLACE_TEST_SKIPPED: there are no Clang and llvm-spirv of one version");
  return true;
}

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::span<const std::byte> bytes_of(const std::string& image) { return std::as_bytes(std::span(image)); }

/// The SPIR-V of kernels in OpenCL C, by the programs that cpu_sim's compiler needs, too.
std::string spirv_of_opencl(const std::string& path) {
  const test::TempDir folder;
  const std::string bitcode = folder.file("made.bc"), made = folder.file("made.spv");
  const test::Ended compiled = test::Process({"clang" + spirv_version(), "-cl-std=CL1.2", "-Xclang",
                                              "-finclude-default-header", "--target=spir64", "-O1", "-Xclang",
                                              "-disable-llvm-passes", "-emit-llvm", "-c", "-o", bitcode, path})
                                   .end();
  INFO(compiled.out << compiled.err);
  REQUIRE(compiled.status == 0);
  REQUIRE(test::Process({"llvm-spirv" + spirv_version(), "-o", made, bitcode}).end().status == 0);
  return file(made);
}
std::string spirv_of_text(const std::string& text) {
  const test::TempDir folder;
  std::ofstream(folder.file("kernels.cl")) << text;
  return spirv_of_opencl(folder.file("kernels.cl"));
}

/// A module of kernels, and memory that is host vectors on the way in and out.
struct Run {
  Device device{"cpu_sim:0"};
  Stream stream{device};
  Module module;
  explicit Run(const std::string& image) : module(device, bytes_of(image)) {}

  template <class T>
  Buffer upload(const std::vector<T>& values) const {
    Buffer buffer = Buffer::of<T>(stream, values.size());
    stream.copy(buffer, values);
    stream.synchronize();
    return buffer;
  }
  template <class T>
  std::vector<T> download(const Buffer& buffer) const {
    std::vector<T> values(buffer.size_bytes() / sizeof(T));
    stream.copy(values, buffer);
    stream.synchronize();
    return values;
  }
  template <class... Args>
  void operator()(const char* kernel, const LaunchConfig& config, const Args&... args) const {
    stream.launch(module.kernel(kernel), config, args...);
  }
};

const Run& opencl() {
  static const std::string image = spirv_of_opencl(ANYPLACE_TEST_OPENCL);
  static const Run run(image);
  return run;
}

TEST_CASE("An image in SPIR-V runs where shared objects are taken, also as one of several") {
  if (is_skipped()) return;
  const OwnCache cache;
  const std::string image = file(ANYPLACE_TEST_SUITE_SPIRV);
  const KernelImage images[] = {{"ptx", "sm_80", "none", 4}, {"spirv", "", image.data(), image.size()}};
  const Device device("cpu_sim:0");
  CHECK(takes_images(device, "spirv"));
  CHECK(takes_images(device, "shared_object"));
  CHECK(!takes_images(device, "ptx"));
  const Module module(device, KernelImages("two", images));
  const Run run(image);
  for (const KernelView kernel : {module.kernel("fill"), run.module.kernel("fill")}) {
    const Buffer data = run.upload(std::vector<std::uint32_t>(100, 1));
    run.stream.launch(kernel, {2, 32}, data, std::uint32_t{50}, std::uint32_t{7});
    const auto out = run.download<std::uint32_t>(data);
    CHECK(std::vector<std::uint32_t>(out.begin(), out.begin() + 50) == std::vector<std::uint32_t>(50, 7));
    CHECK(out[50] == 1);
  }
  const KernelView axpy = run.module.kernel("axpy");
  CHECK(test::code_of([&] { run.stream.launch(axpy, {1, 1}, 1.0f); }) == ErrorCode::invalid_argument);
}

TEST_CASE("A module of SPIR-V is translated once") {
  if (is_skipped()) return;
  const OwnCache cache;
  const test::TempDir folder;
  const std::string log = folder.file("log"), program = folder.file("llvm-spirv");
  std::ofstream(program) << "#!/bin/sh\necho started >>" << log << "\nexec llvm-spirv" << spirv_version()
                         << " \"$@\"\n";
  ::chmod(program.c_str(), 0700);
  test::set_env("ANYPLACE_LLVM_SPIRV", program);
  test::set_env("ANYPLACE_KERNEL_CLANG", "clang++" + spirv_version());
  const std::string image = file(ANYPLACE_TEST_SUITE_SPIRV);
  for (int i = 0; i < 3; ++i) CHECK(Module(Device("cpu_sim:0"), bytes_of(image)).kernel("fill"));
  CHECK(file(log) == "started\n");
  CHECK(cache.files().size() == 1);
}

TEST_CASE("A work item of SPIR-V knows its place", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  const Buffer out = run.upload(std::vector<std::uint32_t>(16 * 24));
  run("places", {Dim3{3, 2}, Dim3{2, 2}}, out);
  const auto words = run.download<std::uint32_t>(out);
  for (std::uint32_t y = 0; y < 4; ++y) {
    for (std::uint32_t x = 0; x < 6; ++x) {
      const auto mine = words.begin() + 16 * (x + 6 * y);
      CHECK(std::vector<std::uint32_t>(mine, mine + 15) ==
            std::vector<std::uint32_t>{2, x, y, x % 2, y % 2, x / 2, y / 2, 2, 2, 3, 2, 6, 4, 0, 0});
    }
  }
}

TEST_CASE("Local memory of SPIR-V is a block's own, and barriers hold its threads", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  std::vector<std::int32_t> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Buffer data = run.upload(numbers);
  run("reversed", {8, 32, 32 * sizeof(std::int32_t)}, data);
  const auto out = run.download<std::int32_t>(data);
  for (std::int32_t i = 0; i < 256; ++i) CHECK(out[i] == 3 * (i / 32 * 32 + 31 - i % 32));
}

TEST_CASE("Arguments of every kind arrive at a kernel of SPIR-V", "[spirv_on_host]") {
  if (is_skipped()) return;
  struct Three {
    float a;
    std::int32_t b;
    std::int64_t c;
  };
  struct alignas(16) Four {
    float values[4];
  };
  const Run& run = opencl();
  const Buffer out = run.upload(std::vector<std::int64_t>(9));
  const Buffer constants = run.upload(std::vector<std::int32_t>{1, -77});
  run("arguments", {1, 1}, out, std::uint8_t{200}, std::int16_t{-5}, 4000000000u, std::uint64_t{1} << 40, 2.5f, -1.25,
      Three{0.5f, 6, -1000}, Four{{1, 2, 3, 4}}, constants);
  CHECK(run.download<std::int64_t>(out) ==
        std::vector<std::int64_t>{200, -5, 4000000000, std::int64_t{1} << 40, 10, -5, 2 + 6 - 1000, 4321, -77});
}

TEST_CASE("Atomic functions of SPIR-V lose nothing", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  const Buffer all = run.upload(std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0, -1, 0});
  const Buffer sums = run.upload(std::vector<std::int64_t>{0});
  run("atomics", {100, 16}, all, sums);
  CHECK(run.download<std::int32_t>(all) ==
        std::vector<std::int32_t>{3200, -1600, 1600, -1600, 1599, -1599, 0xffff, 0, -65536, 4800});
  CHECK(run.download<std::int64_t>(sums) == std::vector<std::int64_t>{std::int64_t{1600} << 33});
}

TEST_CASE("Functions of OpenCL compute what OpenCL says", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  const Buffer f = run.upload(std::vector<float>{5, 2, 4, 3, 8, 2.5f, 1, 2});
  const Buffer n = run.upload(std::vector<std::int32_t>(5));
  run("functions", {1, 1}, f, n);
  CHECK(run.download<float>(f) == std::vector<float>{1, 5, 2.5f, 29, 4.5f, 20.5f, 3.5f, -1 + 9 + 0 + 1 - 3});
  CHECK(run.download<std::int32_t>(n) == std::vector<std::int32_t>{3 + 5 + 2 + 8 + 31, 0 + 17 + 10 + 65538,
                                                                   2 + 30 - 300 + 2000, 255 - 128 + 0x3fffffff, 1111});
}

TEST_CASE("Vectors of OpenCL are computed by element, or as one", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  std::vector<float> in(17);
  std::iota(in.begin(), in.begin() + 8, 1.0f);
  const Buffer f = run.upload(in);
  const Buffer n = run.upload(std::vector<std::int32_t>(9));
  run("vectors", {1, 1}, f, n);
  const auto out = run.download<float>(f);
  CHECK(std::vector<float>(out.begin() + 8, out.end()) ==
        std::vector<float>{6, 14, 23, 34, 70, 5 + 0 + (2 * 7 - 3 * 6) + 0.8f, 654, 4 + 8, 6});
  CHECK(run.download<std::int32_t>(n) == std::vector<std::int32_t>{2, 3, 4, 6, 200, 255, 255, 255, 1011});
}

TEST_CASE("Copies between OpenCL's memories are those of a work group, in both directions", "[spirv_on_host]") {
  if (is_skipped()) return;
  const Run& run = opencl();
  std::vector<std::int32_t> numbers(16);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Buffer from = run.upload(numbers), to = run.upload(std::vector<std::int32_t>(16));
  run("copies", {2, 8, 8 * sizeof(std::int32_t)}, to, from);
  const auto out = run.download<std::int32_t>(to);
  for (std::int32_t i = 0; i < 8; ++i) {
    CHECK(out[2 * i] == 2 * (i + 1));
    CHECK(out[2 * i + 1] == 2 * (i + 9));
  }
}

TEST_CASE("A launch of a kernel of SPIR-V with two arguments in local memory is unsupported", "[spirv_on_host]") {
  if (is_skipped()) return;
  const OwnCache cache;
  const Run run(
      spirv_of_text("kernel void two(local int* a, local int* b, global int* c) { *a = *b = *c; *c = *a; }\n"
                    "kernel void one(local int* a, global int* c) { *a = 7; *c = *a; }\n"));
  const Buffer data = run.upload(std::vector<std::int32_t>(1));
  run("one", {1, 1, 64}, data);
  CHECK(run.download<std::int32_t>(data) == std::vector<std::int32_t>{7});
  CHECK(test::code_of([&] {
          run("two", {1, 1, 64}, data);
          run.stream.synchronize();
        }) == ErrorCode::unsupported);
}

TEST_CASE("SPIR-V that can't be translated is invalid_image, with what was said") {
  if (is_skipped()) return;
  const OwnCache cache;
  const std::string good = file(ANYPLACE_TEST_SUITE_SPIRV);
  std::string of_2_0 = good, of_nothing = good.substr(0, 20);
  of_2_0[6] = 2;
  const std::string lacks_half =
      spirv_of_text("kernel void k(global float* out, global half* in) { *out = vload_half(0, in); }\n");
  const struct {
    std::string image, says;
  } bad[] = {{good.substr(0, good.size() / 2), "llvm-spirv can't read the image"},
             {of_2_0, "llvm-spirv can't read the image"},
             {lacks_half, "vload_half"}};
  for (const auto& one : bad) {
    const Error error = required_error([&] { Module(Device("cpu_sim:0"), bytes_of(one.image)); });
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_image);
    CHECK(error.vendor_text().find(one.says) != std::string::npos);
  }
  CHECK(cache.files().empty());
}

TEST_CASE("Without the programs that translate SPIR-V the Error says what to install") {
  const OwnCache cache;
  test::unset_env("ANYPLACE_KERNEL_CLANG");
  test::set_env("PATH", "/nowhere");
  const std::string image = file(ANYPLACE_TEST_SUITE_SPIRV);
  const Device device("cpu_sim:0");
  CHECK(!takes_images(device, "spirv"));
  const KernelImage images[] = {{"spirv", "", image.data(), image.size()}};
  for (const Error& error : {required_error([&] { static_cast<void>(Module(device, bytes_of(image))); }),
                             required_error([&] { static_cast<void>(Module(device, KernelImages("one", images))); })}) {
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_image);
    CHECK(std::string(error.what()).find("Debian: apt-get install clang-14 llvm-spirv-14") != std::string::npos);
  }
}

}  // namespace compile_spirv_on_host
