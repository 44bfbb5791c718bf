// SPDX-License-Identifier: Apache-2.0
// What the cases of compile() share: a cache of the case's own, and compilers that are shell scripts.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/compile.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/temp_dir.h"

namespace compile_test {

using namespace anyplace;

inline const char* const doubles_it =
    "extern \"C\" __global__ void twice(float* data, unsigned count) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < count) data[i] *= 2;\n"
    "}\n";

/// An empty cache, which the variables name; nobody else uses it.
struct OwnCache {
  test::TempDir folder;
  OwnCache() {
    test::set_env("ANYPLACE_CACHE", path());
    test::unset_env("ANYPLACE_CACHE_SHARED");
    test::unset_env("ANYPLACE_COMPILERS");
  }
  std::string path() const { return (folder.path() / "cache").string(); }
  /// All files in it but that of the locks, which stays.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    if (!std::filesystem::exists(path())) return all;
    for (const auto& one : std::filesystem::recursive_directory_iterator(path())) {
      if (one.is_regular_file() && one.path().filename() != "locks") all.push_back(one.path().string());
    }
    return all;
  }
};

/// A C++ compiler that is a shell script, whose words are those of the compiler; $CXX is the machine's own.
struct ScriptedCompiler {
  test::TempDir folder;
  explicit ScriptedCompiler(const std::string& script) {
    const std::string path = folder.file("c++");
    std::ofstream(path) << "#!/bin/sh\nCXX=c++\nLOG=" << folder.file("log") << "\necho started >>$LOG\n"
                        << script << "\n";
    ::chmod(path.c_str(), 0700);
    test::set_env("ANYPLACE_CXX", path);
  }
  /// How often it was started.
  std::size_t starts() const {
    std::ifstream log(folder.file("log"));
    std::size_t lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    return lines;
  }
};
/// Writes nothing but a copy of a file in place of what is to be made.
inline std::string copies(const std::string& file) {
  return "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && made=$2; shift; done; exec cp '" + file + "' \"$made\"";
}
inline const char* const as_it_is = "exec $CXX \"$@\"";

/// A plugin of tests/compile/plugins.
inline std::string plugin_file(const std::string& name) {
  return std::string(ANYPLACE_TEST_PLUGINS) + "/" + name + "/libanyplace_compiler_" + name + ".so";
}

/// Waits until it is so. The case's limit of time ends what never is.
template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

inline const std::vector<float> doubled{2, 4, 6};

/// What the kernel makes of 1, 2 and 3.
inline std::vector<float> run(const Device& device, const Module& module, const std::string& kernel) {
  const Stream stream(device);
  std::vector<float> numbers{1, 2, 3};
  const Buffer buffer = Buffer::of<float>(stream, numbers.size());
  stream.copy(buffer, numbers);
  stream.launch(module.kernel(kernel), {1, 4}, buffer, 3u);
  stream.copy(numbers, buffer);
  stream.synchronize();
  return numbers;
}

}  // namespace compile_test
