// SPDX-License-Identifier: Apache-2.0
// Kernels from a string on cpu_sim, and images for the devices that this machine lacks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "compile/support.h"

namespace compile_test {

using test::required_error;

TEST_CASE("A kernel of a string runs") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  CHECK(run(device, Module::compile(device, doubles_it), "twice") == doubled);
}

TEST_CASE("A kernel of a string may have any name") {
  const OwnCache cache;
  const std::vector<std::string> names = {"block", "arguments", "sizes", "count", "run", "kernel", "name"};
  std::string source;
  for (const std::string& name : names) {
    source += "extern \"C\" __global__ void " + name +
              "(float* x, unsigned n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n";
  }
  const Device device("cpu_sim:0");
  const Module module = Module::compile(device, source);
  for (const std::string& name : names) CHECK(run(device, module, name) == doubled);
}

TEST_CASE("A string that could be a file of anyplace_add_kernels is compiled as it is") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const std::string source =
      std::string("#include <anyplace/device_code.h>\n") + doubles_it + "ANYPLACE_EXPORT_KERNELS(twice);\n";
  CHECK(run(device, Module::compile(device, source), "twice") == doubled);
}

TEST_CASE("Kernels in a block of C linkage, of a macro and with launch bounds are found") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const char* const source =
      "extern \"C\" {\n"
      "__global__ void first(float* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] *= 2; }\n"
      "}\n"
      "extern \"C\" __global__ void __launch_bounds__(64) second(float* data, unsigned count) {\n"
      "  // __global__ void nothing(int) is a comment, and \"__global__ void text(int)\" is text\n"
      "  const char* text = R\"x(extern \"C\" __global__ void raw(int))x\";\n"
      "  if (threadIdx.x < count && text != nullptr) data[threadIdx.x] *= 2;\n"
      "}\n"
      "#define KERNEL(name) extern \"C\" \\\n"
      "  __global__ void name(float* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] "
      "*= 2; }\n"
      "KERNEL(third)\n"
      "ANYPLACE_EXPORT_KERNELS(third);\n";
  const Module module = Module::compile(device, source);
  for (const char* const name : {"first", "second", "third"}) {
    INFO(name);
    CHECK(run(device, module, name) == doubled);
  }
  for (const char* const name : {"nothing", "text", "raw"}) {
    INFO(name);
    CHECK(test::code_of([&] { static_cast<void>(module.kernel(name)); }) == ErrorCode::no_such_kernel);
  }
}

TEST_CASE("What stands between the words of a kernel's beginning, and a namespace around it, hide no kernel") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const std::string rest = "(float* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] *= 2; }\n";
  const std::string source = "extern \"C\" __launch_bounds__(64) __global__ void bounded" + rest +
                             "extern \"C\" void __global__ turned" + rest +
                             "extern \"C\" __attribute__((noinline)) __global__ void kept" + rest +
                             "extern \"C\" __device__ int counted = 5;\n"
                             "namespace outer::inner { inline namespace version { struct Any { int x; };\n"
                             "extern \"C\" __global__ void deep" +
                             rest +
                             "} }\n"
                             "namespace outer { ANYPLACE_EXPORT_KERNELS(deep); }\n"
                             "namespace {\nextern \"C\" __global__ void unnamed" +
                             rest + "}\n";
  const Module module = Module::compile(device, source);
  for (const char* const name : {"bounded", "turned", "kept", "deep", "unnamed"}) {
    INFO(name);
    CHECK(run(device, module, name) == doubled);
  }
  if (!takes_images(device, "spirv")) return;
  const std::string targets[] = {"spirv"};
  const Module translated(device, compile(source, targets).images());
  for (const char* const name : {"bounded", "turned", "kept", "deep", "unnamed"}) {
    INFO(name << " of SPIR-V");
    CHECK(run(device, translated, name) == doubled);
  }
}

TEST_CASE("The log has each kernel of a string that isn't exported") {
  const OwnCache cache;
  const std::string source =
      "extern \"C\" __global__ void good(float* data) { *data = 1; }\n"
      "__global__ void plain(float* data) { *data = 2; }\n"
      "template <class T> __global__ void scale(T* data) { *data *= 2; }\n"
      "template <class T> __global__ void never(T* data) { *data *= 2; }\n"
      "#define K extern \"C\" __global__ void\n"
      "K made(float* data) { *data = 3; }\n";
  for (const Compiler& compiler : compilers()) {
    if (!compiler.usable || !compiler.missing.empty() || compiler.name == "spirv_host") continue;
    for (const std::string& format : compiler.formats) {
      INFO(compiler.name << " makes " << format);
      const std::string targets[] = {format == "ptx" ? "sm_75" : format == "hsaco" ? "gfx90a" : format};
      const std::string log =
          compile(source, targets, {.name_expressions = {"scale<float>"}, .compiler = compiler.name}).log();
      INFO(log);
      const auto has = [&](const char* text) { return log.find(text) != std::string::npos; };
      CHECK(has("kernels.cu:2: warning: plain isn't exported: a kernel begins with extern \"C\" __global__"));
      CHECK(has("kernels.cu:4: warning: never isn't exported"));
      CHECK_FALSE(has("warning: good"));
      CHECK_FALSE(has("warning: scale"));
      const bool finds_macros = format == "ptx" || format == "hsaco";
      CHECK(has("kernels.cu:5: warning: kernels of this macro aren't exported") != finds_macros);
    }
  }
}

TEST_CASE("An assert that fails in a kernel of a string is its stream's fault, and the device works on") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const char* const source =
      "#include <assert.h>\n"
      "extern \"C\" __global__ void below(float* data, unsigned limit) {\n"
      "  assert(threadIdx.x < limit);\n"
      "  if (threadIdx.x < 3) data[threadIdx.x] *= 2;\n"
      "}\n";
  const Module module = Module::compile(device, source);
  CHECK(test::code_of([&] { run(device, module, "below"); }) == ErrorCode::kernel_failed);
  CHECK(run(device, Module::compile(device, doubles_it), "twice") == doubled);
  const Module unchecked = Module::compile(device, source, {.defines = {"NDEBUG"}});
  CHECK(run(device, unchecked, "below") == doubled);
}

TEST_CASE("Every compiler that is there says that a source has no kernel to launch") {
  const OwnCache cache;
  for (const Compiler& compiler : compilers()) {
    if (!compiler.usable || !compiler.missing.empty() || compiler.name == "spirv_host") continue;
    for (const std::string& format : compiler.formats) {
      INFO(compiler.name << " makes " << format);
      const std::string targets[] = {format == "ptx" ? "sm_75" : format == "hsaco" ? "gfx90a" : format};
      const CompiledKernels made =
          compile("__global__ void scale(float* data) { data[0] *= 2; }\n", targets, {.compiler = compiler.name});
      CHECK(made.log().find("there is no kernel in it") != std::string::npos);
    }
  }
}

TEST_CASE("What the preprocessor leaves out is no kernel, and the caller's lines keep their numbers") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const std::string source =
      "#if 0  // isn't it\n"
      "extern \"C\" __global__ void nothing(float* data) { *data = 0; }\n"
      "#else\n"
      "constexpr int million = 1'000'000;\n"
      "extern \"C\" __global__ void gr\u00f6\u00dfer(float* data, unsigned count) {  // \u00fc\n"
      "  if (threadIdx.x < count) data[threadIdx.x] *= million / 500'000;\n"
      "}\n"
      "#endif\n";
  const Module module = Module::compile(device, source);
  CHECK(run(device, module, "gr\u00f6\u00dfer") == doubled);
  CHECK(test::code_of([&] { static_cast<void>(module.kernel("nothing")); }) == ErrorCode::no_such_kernel);
  const auto log_of = [&](const std::string& text) {
    return test::required_error([&] { static_cast<void>(Module::compile(device, text)); }).vendor_text();
  };
  CHECK(log_of(source + "wrong;\n").find("kernels.cu:9:1:") != std::string::npos);
  CHECK(log_of("int x; extern \"C\" __global__ void f(wrong* y) {}\n").find("kernels.cu:1:") != std::string::npos);
  const std::string renumbered = "#line 40 \"other.cu\"\nextern \"C\" __global__ void f(int* y) {\n  wrong;\n}\n";
  CHECK(log_of(renumbered).find("other.cu:41:3:") != std::string::npos);
  const std::string in_lines = "extern\n\"C\"  /* C\n */\n__global__ void f(int* y) {\n  wrong;\n}\n";
  CHECK(log_of(in_lines).find("kernels.cu:5:3:") != std::string::npos);
}

TEST_CASE("A kernel that is a template is found by its name expression") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const char* const source =
      "template <class T, int factor>\n"
      "__global__ void scale(T* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] *= factor; }\n";
  const Module module =
      Module::compile(device, source, {.name_expressions = {"scale<float, 2>", "scale<float, 1 + 1>"}});
  CHECK(run(device, module, "scale<float, 2>") == doubled);
  CHECK(run(device, module, "scale<float, 1 + 1>") == doubled);
  CHECK(test::code_of([&] { static_cast<void>(module.kernel("scale<int, 2>")); }) == ErrorCode::no_such_kernel);
}

TEST_CASE("A name expression may have an ampersand, and what an Error says there is are expressions") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const char* const source =
      "template <class T>\n"
      "__global__ void k(T* data, unsigned count) { if (threadIdx.x < count) data[threadIdx.x] *= 2; }\n";
  const Module module =
      Module::compile(device, source, {.name_expressions = {"&k<float>", "k<float>", "& k<short>", "k<int>"}});
  CHECK(run(device, module, "&k<float>") == doubled);
  CHECK(run(device, module, "k<float>") == doubled);
  CHECK_NOTHROW(module.kernel("& k<short>"));
  CHECK_NOTHROW(module.kernel("k<short>"));
  const Error error = required_error([&] { static_cast<void>(module.kernel("k< float >")); });
  CHECK(error.code() == ErrorCode::no_such_kernel);
  const std::string text = error.what();
  INFO(text);
  CHECK(text.find("k<int>") != text.npos);
  CHECK(text.find("k<float>") != text.npos);
  CHECK(text.find("anyplace_expression") == text.npos);
  CHECK(error.remedy().find("begins with extern \"C\" __global__, or is named by a name expression") != text.npos);
  CHECK(error.see().find("docs/kernels.md") != text.npos);
}

TEST_CASE("Variables of a string are found by name, and each module has its own") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const char* const source =
      "extern \"C\" __device__ int counted = 5;\n"
      "__constant__ float table[3] = {1, 2, 3};\n"
      "static __device__ int hidden = 1;\n"
      "extern \"C\" __global__ void add() { counted += hidden; }\n";
  const Module one = Module::compile(device, source);
  const Module other = Module::compile(device, std::string(source) + "// another image\n");
  stream.launch(one.kernel("add"), {1, 1});
  int values[2] = {0, 0};
  stream.copy(Address(&values[0]), Address(one.global("counted").address), sizeof(int));
  stream.copy(Address(&values[1]), Address(other.global("counted").address), sizeof(int));
  stream.synchronize();
  CHECK(values[0] == 6);
  CHECK(values[1] == 5);
  CHECK(one.global("counted").size_bytes == sizeof(int));
  CHECK(one.global("table").size_bytes == 3 * sizeof(float));
  for (const char* const name : {"hidden", "missing"}) {
    CHECK(test::code_of([&] { static_cast<void>(one.global(name)); }) == ErrorCode::no_such_global);
  }
}

TEST_CASE("Threads of a compiled kernel wait for each other, and share memory") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const char* const source =
      "extern \"C\" __global__ void turn(float* data, unsigned count) {\n"
      "  __shared__ float all[4];\n"
      "  all[threadIdx.x] = threadIdx.x < count ? data[threadIdx.x] : 0;\n"
      "  __syncthreads();\n"
      "  if (threadIdx.x < count) data[threadIdx.x] = all[count - 1 - threadIdx.x];\n"
      "}\n";
  CHECK(run(device, Module::compile(device, source), "turn") == std::vector<float>{3, 2, 1});
}

TEST_CASE("Definitions and folders of headers reach the compiler") {
  const OwnCache cache;
  const test::TempDir folder;
  std::ofstream(folder.file("factor.h")) << "constexpr float factor = FACTOR;\n";
  const Device device("cpu_sim:0");
  const char* const source =
      "#include \"factor.h\"\n"
      "extern \"C\" __global__ void scale(float* data, unsigned count) {\n"
      "  if (threadIdx.x < count) data[threadIdx.x] *= factor;\n"
      "}\n";
  const CompileOptions options{.defines = {"FACTOR=2"}, .includes = {folder.path().string()}};
  CHECK(run(device, Module::compile(device, source, options), "scale") == doubled);
}

TEST_CASE("The dialect's headers of another version of anyplace aren't taken") {
  const OwnCache cache;
  const test::TempDir folder;
  std::filesystem::create_directories(folder.file("anyplace_dialect/anyplace"));
  std::ofstream(folder.file("anyplace_dialect/anyplace/device_code.h")) << "#error another version\n";
  std::ofstream(folder.file("anyplace_dialect/sum")) << std::string(64, '0');
  test::set_env("ANYPLACE_BACKEND_PATH", folder.path().string());
  const Device device("cpu_sim:0");
  CHECK(run(device, Module::compile(device, doubles_it), "twice") == doubled);
}

TEST_CASE("What is preloaded into an application isn't preloaded into a compiler") {
  const OwnCache cache;
  const ScriptedCompiler compiler(
      "test -z \"$LD_PRELOAD\" && test \"$OF_THE_APPLICATION\" = 1 || exit 1\nexec $CXX \"$@\"");
  test::set_env("LD_PRELOAD", "");
  test::set_env("OF_THE_APPLICATION", "1");
  static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it));
  // No library: the dynamic linker would say so of each program, and go on.
  test::set_env("LD_PRELOAD", cache.folder.file("no_library.so"));
  static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it, {.cached = false}));
  CHECK(compiler.starts() == 2);
}

TEST_CASE("Headers may declare dynamic shared memory as CUDA has it") {
  const OwnCache cache;
  const test::TempDir folder;
  std::filesystem::create_directory(folder.file("below"));
  std::ofstream(folder.file("below/memory.h")) << "#pragma once\n"
                                                  "template <class T> __device__ T* memory() {\n"
                                                  "  extern __shared__ T all[];\n"
                                                  "  return all;\n"
                                                  "}\n"
                                                  "// the last line\n";
  std::ofstream(folder.file("all.h")) << "#pragma once\n#include \"below/memory.h\"\n"
                                         "extern __shared__ unsigned char bytes_of_a_header[];\n";
  const char* const source =
      "#include \"all.h\"\n"
      "#include <below/memory.h>  // the same once more\n"
      "extern \"C\" __global__ void turn(float* data, unsigned count) {\n"
      "  float* const all = memory<float>();\n"
      "  if (reinterpret_cast<float*>(bytes_of_a_header) != all) return;\n"
      "  all[threadIdx.x] = threadIdx.x < count ? data[threadIdx.x] : 0;\n"
      "  __syncthreads();\n"
      "  if (threadIdx.x < count) data[threadIdx.x] = all[count - 1 - threadIdx.x];\n"
      "}\n";
  CompileOptions options{.includes = {folder.path().string()}};
  const Device device("cpu_sim:0");
  const auto turned = [&](const Module& module) {
    const Stream stream(device);
    const std::vector<float> numbers{1, 2, 3};
    std::vector<float> out(3);
    const Buffer buffer = Buffer::of<float>(stream, 3);
    stream.copy(buffer, numbers);
    stream.launch(module.kernel("turn"), {1, 4, 4 * sizeof(float)}, buffer, 3u);
    stream.copy(out, buffer);
    stream.synchronize();
    return out;
  };
  const std::vector<float> wanted{3, 2, 1};
  CHECK(turned(Module::compile(device, source, options)) == wanted);
  if (takes_images(device, "spirv")) {
    const std::string targets[] = {"spirv"};
    CHECK(turned(Module(device, compile(source, targets, options).images())) == wanted);
  }
  // A header that was copied counts for the cache, and its messages name the file itself.
  std::ofstream(folder.file("below/memory.h"), std::ios::app) << "#error this is line 7\n";
  const auto failure = test::error_of([&] { Module::compile(device, source, options); });
  REQUIRE(failure);
  CHECK(failure->vendor_text().find(folder.file("below/memory.h") + ":7") != std::string::npos);
}

TEST_CASE("An image is made for each target, by the compilers that are there") {
  const OwnCache cache;
  const char* const source =
      "template <class T> __global__ void scale(T* data, T by) { data[threadIdx.x] *= by; }\n"
      "extern \"C\" __global__ void add(float* sum, float x) { atomicAdd(sum, sqrtf(x)); }\n";
  const struct {
    const char *target, *format, *compiler;
  } wanted[] = {{"cpu_sim", "shared_object", "host"}, {"sm_80", "ptx", "nvrtc"},    {"sm_80", "ptx", "clang"},
                {"gfx90a", "hsaco", "hiprtc"},        {"gfx90a", "hsaco", "clang"}, {"spirv", "spirv", "clang"}};
  const std::vector<Compiler> there = compilers();
  for (const auto& one : wanted) {
    const auto found =
        std::find_if(there.begin(), there.end(), [&](const Compiler& c) { return c.name == one.compiler; });
    REQUIRE(found != there.end());
    INFO(one.compiler << " for " << one.target << ": " << found->reason);
    const std::string targets[] = {one.target};
    const auto make = [&] {
      return compile(source, targets, {.name_expressions = {"scale<float>"}, .compiler = one.compiler});
    };
    const auto is_its = [&](const MissingFormat& missing) { return missing.format == one.format; };
    if (std::any_of(found->missing.begin(), found->missing.end(), is_its)) {
      const Error error = required_error([&] { static_cast<void>(make()); });
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK(std::string(error.what()).find("install") != std::string::npos);  // by apt-get or pip
      continue;
    }
    const CompiledKernels made = make();
    REQUIRE(made.images().images().size() == 1);
    const KernelImage image = made.images().images()[0];
    CHECK(image.format == one.format);
    CHECK(image.size > 0);
    const std::string_view bytes(static_cast<const char*>(image.data), image.size);
    if (image.format == "ptx") CHECK(bytes.find('\0') == bytes.npos);  // ptxas takes it as a file
    REQUIRE(image.aliases.size() == 1);
    CHECK(image.aliases[0].name == "scale<float>");
    CHECK(made.compilers() == std::vector<std::string>{one.compiler});
  }
}

#if defined(__x86_64__)
TEST_CASE("A level of x86-64 is compiled for if it is named, and is what a device gets whose processor has it") {
  const OwnCache cache;
  const char* const source = R"(
extern "C" __global__ void level(float* numbers, unsigned count) {
#if defined(__AVX2__)
  if (threadIdx.x < count) numbers[threadIdx.x] = 3;
#else
  if (threadIdx.x < count) numbers[threadIdx.x] = 1;
#endif
})";
  const Device device("cpu_sim:0");
  CHECK(run(device, Module::compile(device, source), "level") == std::vector<float>{1, 1, 1});
  const std::string targets[] = {"cpu_sim", "x86-64-v3"};
  const CompiledKernels both = compile(source, targets);
  REQUIRE(both.images().images().size() == 2);
  CHECK(both.images().images()[0].architecture == "x86-64");
  CHECK(both.images().images()[1].architecture == "x86-64-v3");
  const bool has_it = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const float expected = has_it ? 3 : 1;
  CHECK(run(device, Module(device, both.images()), "level") == std::vector<float>(3, expected));
}

TEST_CASE("A level of x86-64 that there isn't is an Error that names it") {
  const std::string targets[] = {"x86-64-v9"};
  const Error error = required_error([&] { static_cast<void>(compile(doubles_it, targets)); });
  CHECK(std::string(error.what()).find("x86-64-v9") != std::string::npos);
}
#endif

TEST_CASE("Every compiler's plugin is listed, with what it works with or why it can't be used") {
  std::vector<std::string> names;
  for (const Compiler& one : compilers()) {
    INFO(one.name);
    names.push_back(one.name);
    CHECK(!one.plugin.empty());
    CHECK(one.formats.size() + one.from_spirv.size() != 0);
    CHECK(one.usable == one.reason.empty());
    CHECK(one.usable == !one.library.empty());
    CHECK(one.usable == (one.missing.size() < one.formats.size() + one.from_spirv.size()));
  }
  for (const char* const name : {"clang", "hiprtc", "host", "nvrtc", "spirv_host"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

}  // namespace compile_test
