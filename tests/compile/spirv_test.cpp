// SPDX-License-Identifier: Apache-2.0
// SPIR-V out of a string: what is in the image, and what is said where it can't be made.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/support.h"
#include "support/process.h"

namespace compile_spirv {

using namespace compile_test;
using test::required_error;

/// Why there is no SPIR-V on this machine; "" if there is.
std::string missing() {
  for (const Compiler& one : compilers()) {
    if (one.name != "clang") continue;
    for (const MissingFormat& format : one.missing) {
      if (format.format == "spirv") return format.reason;
    }
  }
  return "";
}
bool is_skipped() {
  const std::string reason = missing();
  if (!reason.empty()) std::printf("ANYPLACE_TEST_SKIPPED: %s\n", reason.c_str());
  return !reason.empty();
}

/// What an image says of itself. Numbers are those of the SPIR-V specification.
struct Image {
  std::map<std::string, std::size_t> kernels;  ///< the number of parameters of each entry point
  std::set<std::string> with_shared;           ///< the entry points with a parameter that points to shared memory
  std::set<std::uint32_t> capabilities;
  std::uint32_t source_language = 0;

  explicit Image(std::string_view bytes) {
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    constexpr std::size_t header = 5;
    constexpr std::uint32_t magic = 0x07230203, version = 0x00010200;
    REQUIRE(words.size() > header);
    CHECK(words[0] == magic);
    CHECK(words[1] <= version);
    std::map<std::uint32_t, std::size_t> parameters;
    std::map<std::uint32_t, std::string> names;
    std::set<std::uint32_t> shared_pointers, functions_with_shared;
    std::uint32_t function = 0;
    for (std::size_t at = header; at < words.size(); at += words[at] >> 16) {
      REQUIRE(words[at] >> 16 != 0);
      constexpr std::uint32_t source = 3, entry_point = 15, capability = 17, pointer = 32, begin = 54, parameter = 55;
      constexpr std::uint32_t workgroup = 4;
      const std::uint32_t code = words[at] & 0xffff;
      if (code == source) source_language = words[at + 1];
      if (code == entry_point) names[words[at + 2]] = reinterpret_cast<const char*>(&words[at + 3]);
      if (code == capability) capabilities.insert(words[at + 1]);
      if (code == pointer && words[at + 2] == workgroup) shared_pointers.insert(words[at + 1]);
      if (code == parameter && shared_pointers.count(words[at + 1]) != 0) functions_with_shared.insert(function);
      if (code == begin) function = words[at + 2];
      if (code == parameter) ++parameters[function];
    }
    for (const auto& [id, name] : names) {
      kernels[name] = parameters[id];
      if (functions_with_shared.count(id) != 0) with_shared.insert(name);
    }
  }
  bool computes_doubles() const { return capabilities.count(10) != 0; }
  /// The rules of OpenCL leave out an extension that each driver has: atomic functions on 64 bits.
  const char* rules() const { return capabilities.count(12) != 0 ? "spv1.2" : "opencl2.2"; }
};

std::string bytes_of(const CompiledKernels& made) {
  REQUIRE(made.images().images().size() == 1);
  const KernelImage image = made.images().images()[0];
  CHECK(image.format == "spirv");
  CHECK(image.architecture.empty());
  return std::string(static_cast<const char*>(image.data), image.size);
}

/// Reads the image, and asks Khronos's validator where there is one.
Image read(const CompiledKernels& made) {
  const std::string bytes = bytes_of(made);
  Image image(bytes);
  const test::TempDir folder;
  std::ofstream(folder.file("image.spv"), std::ios::binary) << bytes;
  const test::Ended ended = test::Process({"spirv-val", "--target-env", image.rules(), folder.file("image.spv")}).end();
  INFO(ended.out);
  constexpr int not_started = 127;
  if (ended.status == not_started) WARN("not checked: there is no spirv-val (Debian: apt-get install spirv-tools)");
  if (ended.status != not_started) CHECK(ended.status == 0);
  return image;
}

CompiledKernels compile_for(const std::string& target, const std::string& source, CompileOptions options = {}) {
  options.compiler = "clang";
  const std::string targets[] = {target};
  return compile(source, targets, options);
}
Image image_of(const std::string& source, const CompileOptions& options = {}) {
  return read(compile_for("spirv", source, options));
}
Error error_of(const std::string& source, const CompileOptions& options = {}) {
  return required_error([&] { static_cast<void>(compile_for("spirv", source, options)); });
}

using Kernels = std::map<std::string, std::size_t>;

TEST_CASE("The kernels of a string are entry points of SPIR-V, with their parameters") {
  if (is_skipped()) return;
  const OwnCache cache;
  const char* const source =
      "__device__ float half_of(float x) { return x / 2; }\n"
      "extern \"C\" __global__ void run(float* data, unsigned args, float by) {\n"
      "  __shared__ float own[64];\n"
      "  own[threadIdx.x] = half_of(data[threadIdx.x]) * by + sqrtf(by);\n"
      "  __syncthreads();\n"
      "  data[threadIdx.x] = own[args - threadIdx.x];\n"
      "}\n"
      "extern \"C\" {\n"
      "__global__ void __launch_bounds__(64) args(unsigned long long* sum) noexcept { atomicAdd(sum, 1ull); }\n"
      "}\n"
      "#if 0\n"
      "extern \"C\" __global__ void nothing(float* data) { *data = 0; }\n"
      "#endif\n"
      "#define KERNEL(name) extern \"C\" __global__ void name(int* data) { *data = expf(1) > 2; }\n"
      "KERNEL(made)\n"
      "ANYPLACE_EXPORT_KERNELS(made);\n";
  const Image image = image_of(source);
  CHECK(image.kernels == Kernels{{"run", 3}, {"args", 1}, {"made", 1}});
  constexpr std::uint32_t opencl_cpp = 4;  // Intel's runtime for processors has all atomic functions for this one alone
  CHECK(image.source_language == opencl_cpp);
}

TEST_CASE("Dynamic shared memory is a parameter behind those of a string's kernels, with each Clang that is there") {
  if (is_skipped()) return;
  const OwnCache cache;
  const char* const source =
      "extern \"C\" __global__ void turn(float* data, unsigned count) {\n"
      "  ANYPLACE_DYNAMIC_SHARED(float, own);\n"
      "  own[threadIdx.x] = data[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  data[threadIdx.x] = own[count - 1 - threadIdx.x];\n"
      "}\n";
  const auto check = [&] {
    const Image image = image_of(source);
    CHECK(image.kernels == Kernels{{"turn", 3}});
    CHECK(image.with_shared == std::set<std::string>{"turn"});
  };
  check();
  for (int major = 14; major <= 19; ++major) {
    test::set_env("ANYPLACE_KERNEL_CLANG", "clang++-" + std::to_string(major));
    CAPTURE(major);
    if (missing().empty()) check();
  }
}

TEST_CASE("A template is an entry point of SPIR-V for each name expression") {
  if (is_skipped()) return;
  const OwnCache cache;
  const char* const source =
      "namespace own { template <class T, int factor>\n"
      "__global__ void scale(T* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] *= factor; } }\n"
      "template <> __global__ void own::scale<short, 1>(short* data, unsigned) { *data = 1; }\n"
      "__global__ void plain(float* data, float x) { *data = x; }\n";
  const CompiledKernels made =
      compile_for("spirv", source, {.name_expressions = {"own::scale<float, 1 + 1>", "own::scale<short, 1>", "plain"}});
  const Image image = read(made);
  CHECK(image.kernels.size() == 3);
  const KernelImage one = made.images().images()[0];
  REQUIRE(one.aliases.size() == 3);
  for (const KernelAlias& alias : one.aliases) {
    INFO(alias.name << " is " << alias.in_image);
    REQUIRE(image.kernels.count(std::string(alias.in_image)) == 1);
    CHECK(image.kernels.at(std::string(alias.in_image)) == 2);
  }
}

TEST_CASE("SPIR-V is valid with whatever options it is made") {
  if (is_skipped()) return;
  const OwnCache cache;
  const test::TempDir folder;
  std::ofstream(folder.file("factor.h")) << "constexpr float factor = FACTOR;\n";
  const char* const source =
      "#include \"factor.h\"\n"
      "extern \"C\" __global__ void scale(float* data, unsigned count) {\n"
      "  if (threadIdx.x < count) data[threadIdx.x] = data[threadIdx.x] * factor + sinf(factor) / data[0];\n"
      "}\n";
  const CompileOptions plain{.defines = {"FACTOR=2"}, .includes = {folder.path().string()}};
  std::set<std::string> images;
  for (const char* const what : {"plain", "fast_math", "debug", "standard", "-ffp-contract=off"}) {
    INFO(what);
    CompileOptions options = plain;
    options.fast_math = std::string_view(what) == "fast_math";
    options.debug = std::string_view(what) == "debug";
    if (std::string_view(what) == "standard") options.standard = 17;
    if (*what == '-') options.compiler_options = {what};
    const CompiledKernels made = compile_for("spirv", source, options);
    CHECK(read(made).kernels == Kernels{{"scale", 2}});
    if (options.standard == 20 && !options.debug) CHECK(images.insert(bytes_of(made)).second);
  }
  std::ofstream(folder.file("factor.h")) << "#error it has changed\n";
  CHECK(error_of(source, plain).code() == ErrorCode::compile_failed);
}

TEST_CASE("What is wrong in a source for SPIR-V is said with the caller's file and line") {
  if (is_skipped()) return;
  const OwnCache cache;
  const std::string good = "extern \"C\" __global__ void good(float* data) { *data = 1; }\n";
  const struct {
    std::string source, says;
  } bad[] = {{good + "extern \"C\" __global__ void bad(float* data) {\n  data = wrong;\n}\n", "mine.cu:3:10:"},
             {good + "#error it can't be\n", "mine.cu:2:"},
             {good + "__global__ void mangled(float* data) { float x = *dat; }\n", "mine.cu:2:"},
             {"int x; extern \"C\" __global__ void f(wrong* y) {}\n", "mine.cu:1:37:"}};
  for (const auto& one : bad) {
    const Error error = error_of(one.source, {.name = "mine.cu"});
    INFO(one.source << error.what());
    CHECK(error.code() == ErrorCode::compile_failed);
    CHECK(error.vendor_text().find(one.says) != std::string::npos);
    // The line is quoted with the caller's words, and the last line names the target.
    CHECK(error.vendor_text().find("__kernel__") == std::string::npos);
    CHECK(error.vendor_text().find("generated when compiling for SPIR-V.\n") != std::string::npos);
  }
  CHECK(error_of(bad[3].source, {}).vendor_text().find("__global__ void f(wrong* y) {}\n") != std::string::npos);
  const Error unknown = error_of(good, {.name_expressions = {"scale<float>"}});
  CHECK(unknown.code() == ErrorCode::compile_failed);
  CHECK(unknown.vendor_text().find("the name expression scale<float>") != std::string::npos);
  CHECK(cache.files().empty());
}

TEST_CASE("What llvm-spirv refuses is compile_failed with what it said; a crash of it, and no SPIR-V, aren't") {
  if (is_skipped()) return;
  const OwnCache cache;
  const test::TempDir folder;
  const std::string program = folder.file("llvm-spirv");
  test::set_env("ANYPLACE_LLVM_SPIRV", program);
  const auto script = [&](const char* text) {
    std::ofstream(program) << "#!/bin/sh\n" << text << "\n";
    ::chmod(program.c_str(), 0700);
  };
  script("echo InvalidModule: this is a test; exit 255");
  const Error refused = error_of(doubles_it);
  INFO(refused.what());
  CHECK(refused.code() == ErrorCode::compile_failed);
  CHECK(refused.vendor_text().find("InvalidModule: this is a test") != std::string::npos);
  CHECK(refused.vendor_text().find("something that SPIR-V can't have") != std::string::npos);
  script("kill -SEGV $$");
  const Error crashed = error_of(doubles_it);
  INFO(crashed.what());
  CHECK(crashed.code() == ErrorCode::backend_failed);
  CHECK(std::string(crashed.what()).find("signal 11") != std::string::npos);
  script("while [ \"$1\" != -o ]; do shift; done; echo something that is longer than a header >\"$2\"");
  const Error other = error_of(doubles_it);
  INFO(other.what());
  CHECK(other.code() == ErrorCode::backend_failed);
  CHECK(std::string(other.what()).find("is no SPIR-V") != std::string::npos);
}

TEST_CASE("Without a Clang for SPIR-V, or its llvm-spirv, the Error says what to install") {
  const OwnCache cache;
  test::unset_env("ANYPLACE_KERNEL_CLANG");
  test::unset_env("ANYPLACE_LLVM_SPIRV");
  const test::TempDir folder;
  const auto says = [&](const std::string& text) {
    const Error error = error_of(doubles_it);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(std::string(error.what()).find(text) != std::string::npos);
    CHECK(missing().find(text) != std::string::npos);
  };
  const auto add_clang = [&](const std::string& below) {
    std::filesystem::create_directories(folder.path() / below);
    const std::string path = folder.file(below + "/clang++");
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), 0700);
    test::set_env("PATH", (folder.path() / below).string());
  };
  test::set_env("PATH", "/nowhere");
  says("there is no clang++ in PATH: Debian: apt-get install clang-14 llvm-spirv-14");
  test::set_env("ANYPLACE_KERNEL_CLANG", "clang++-14");
  says("ANYPLACE_KERNEL_CLANG names no program: Debian");
  test::unset_env("ANYPLACE_KERNEL_CLANG");
  add_clang("llvm-20/bin");
  says("/llvm-20/bin/clang++ is none");
  for (const std::string major : {"15", "19"}) {
    add_clang("llvm-" + major + "/bin");
    says("/llvm-" + major + "/bin/clang++ and llvm-spirv-" + major +
         ", which isn't in PATH: Debian: apt-get install llvm-spirv-" + major);
  }
}

TEST_CASE("For a device that computes no doubles ANYPLACE_NO_DOUBLES is defined, and what needs them is refused") {
  if (is_skipped()) return;
  const OwnCache cache;
  register_plugin(ANYPLACE_TEST_SINGLES);
  const std::string source =
      "extern \"C\" __global__ void single(float* data) { *data *= 2; }\n"
      "#if !defined(ANYPLACE_NO_DOUBLES)\n"
      "extern \"C\" __global__ void both(double* data) { *data *= 2; }\n"
      "#endif\n";
  const Image all = image_of(source);
  CHECK(all.kernels == Kernels{{"single", 1}, {"both", 1}});
  CHECK(all.computes_doubles());
  const Image singles = read(compile_for("sim_singles:0", source));
  CHECK(singles.kernels == Kernels{{"single", 1}});
  CHECK(!singles.computes_doubles());

  const char* const doubles = "extern \"C\" __global__ void k(float* data) { *data = *data * 0.1; }\n";
  const Error error = required_error(
      [&] { static_cast<void>(Module::compile(Device("sim_singles:0"), doubles, {.compiler = "clang"})); });
  INFO(error.what());
  CHECK(error.code() == ErrorCode::invalid_image);
  CHECK(std::string(error.what()).find("this device computes no doubles") != std::string::npos);
}

}  // namespace compile_spirv
