// SPDX-License-Identifier: Apache-2.0
// The cache whose system calls fail, one after another: it is never an error, never another image, and nothing is left.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include "compile/failing_calls.h"
#include "compile/support.h"

namespace compile_faults {

using namespace compile_test;

std::string image_of(const CompiledKernels& kernels) {
  const auto bytes = kernels.images().images()[0].bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Faults {
  OwnCache cache;
  std::string targets[1] = {"cpu_sim"};
  std::string made;  ///< what every compilation has to give

  Faults() : made(image_of(compile(doubles_it, targets, {.cached = false}))) {}

  /// Compiles while calls fail, and looks at what came of it. Returns false if there were fewer calls.
  bool compile_with(long first, bool all_later, int error, bool is_warm) {
    std::filesystem::remove_all(cache.path());
    if (is_warm) static_cast<void>(compile(doubles_it, targets));
    INFO((is_warm ? "warm" : "cold") << ", call " << first << (all_later ? " and later: " : ": ")
                                     << std::strerror(error));
    failing_calls::arm(cache.path(), first, all_later, error);
    const auto failure = test::error_of([&] { CHECK(image_of(compile(doubles_it, targets)) == made); });
    const long calls = failing_calls::disarm();
    INFO("it was " << failing_calls::failed());
    INFO((failure ? failure->what() : ""));
    CHECK(!failure);
    const bool could_not_delete = std::string(failing_calls::failed()) == "unlink" || all_later;
    for (const std::string& file : cache.files()) {
      INFO(file);
      CHECK((file.ends_with(".kernels") || could_not_delete));
    }
    CHECK(image_of(compile(doubles_it, targets)) == made);
    for (const std::string& file : cache.files()) CHECK(file.ends_with(".kernels"));
    return calls >= first;
  }
};

TEST_CASE("Whatever call of the cache's fails, the image is right and nothing is left") {
  const ScriptedCompiler real(as_it_is);
  Faults faults;
  const test::TempDir folder;
  std::ofstream(folder.file("made"), std::ios::binary) << faults.made;
  const ScriptedCompiler compiler(copies(folder.file("made")));
  long count = 0;
  for (const bool is_warm : {false, true}) {
    for (const bool all_later : {false, true}) {
      for (const int error : {EIO, ENOSPC, EINTR}) {
        if (error == EINTR && all_later) continue;  // nobody interrupts for good
        long call = 1;
        while (faults.compile_with(call, all_later, error, is_warm)) ++call;
        CHECK(call > 5);
        count += call;
      }
    }
  }
  CHECK(count > 50);
}

}  // namespace compile_faults
