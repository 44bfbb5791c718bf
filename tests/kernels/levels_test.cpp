// SPDX-License-Identifier: Apache-2.0
// Images of cpu_sim for levels of x86-64: the best one that the processor has is taken, and none that it lacks.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/anyplace.h"
#include "level_kernels.h"
#include "support/environment.h"

namespace levels_test {
namespace {

using namespace anyplace;
using Catch::Contains;

constexpr std::string_view names[] = {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// The level of this machine's processor: 1 to 4; 0, which is said, if there are no images for levels here.
int own_level() {
#if defined(__x86_64__)
  if (level_kernels.images().size() > 3) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return 4;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")) return 3;
    return __builtin_cpu_supports("sse4.2") ? 2 : 1;
  }
#endif
  std::cout
      << "ANYPLACE_TEST_SKIPPED: there are no images for levels of x86-64 (a linker with -z x86-64-v3 makes them)\n";
  return 0;
}

const KernelImage* image_for(std::string_view architecture) {
  for (const KernelImage& image : level_kernels.images()) {
    if (image.format == std::string_view("shared_object") && image.architecture == architecture) return &image;
  }
  return nullptr;
}

/// Which image a module of these runs.
int level_of(const KernelImages& images) {
  const Device device("cpu_sim:0");
  const Module module(device, images);
  const Stream stream(device);
  const Buffer out = Buffer::of<int>(stream, 1);
  int level = 0;
  stream.launch(module.kernel("level"), {1, 1}, out);
  stream.copy(std::span(&level, 1), out);
  stream.synchronize();
  return level;
}

std::string why_not(const KernelImages& images) {
  try {
    const Module module(Device("cpu_sim:0"), images);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_image);
    return error.what();
  }
  return "";
}

/// The bytes of an image, with another size or value of the property that has its level.
std::string with_property(const KernelImage& image, std::uint32_t size, std::uint32_t value) {
  std::string bytes(static_cast<const char*>(image.data), image.size);
  const std::string_view head("\x02\x80\x00\xc0\x04\x00\x00\x00", 8);
  const std::size_t at = bytes.find(head);
  REQUIRE(at != std::string::npos);
  std::memcpy(&bytes[at + 4], &size, sizeof(size));
  std::memcpy(&bytes[at + 8], &value, sizeof(value));
  return bytes;
}

}  // namespace

TEST_CASE("Of images for several levels a device gets the highest that its processor has") {
  const int own = own_level();
  if (own == 0) return;
  CHECK(level_of(level_kernels) == own);
  std::vector<KernelImage> other_order{*image_for("")};
  for (const KernelImage& image : level_kernels.images()) other_order.push_back(image);
  CHECK(level_of(KernelImages("plain first", other_order)) == own);
}

TEST_CASE("An image for a level that the processor lacks is never run") {
  if (own_level() < 3) return;
  test::set_env("ANYPLACE_CPU_SIM_PROCESSOR", "x86-64-v2");
  CHECK(level_of(level_kernels) == 2);
  const KernelImage alone[] = {*image_for("x86-64-v3")};
  CHECK_THAT(why_not(KernelImages("alone", alone)),
             Contains("shared_object x86-64-v3: the image is for x86-64-v3") &&
                 Contains("ANYPLACE_CPU_SIM_PROCESSOR limits this process to x86-64-v2"));
  // Whatever the image is called.
  const KernelImage unnamed[] = {{"shared_object", "", alone[0].data, alone[0].size}};
  CHECK_THAT(why_not(KernelImages("unnamed", unnamed)), Contains("the image is for x86-64-v3"));
}

TEST_CASE("A processor without any level gets the image for all of them") {
  if (own_level() == 0) return;
  test::set_env("ANYPLACE_CPU_SIM_PROCESSOR", "x86-64");
  CHECK(level_of(level_kernels) == 1);
}

TEST_CASE("An image for a level that there isn't yet is refused") {
  if (own_level() < 2) return;
  const std::string bytes = with_property(*image_for("x86-64-v2"), 4, 0x10);
  const KernelImage image[] = {{"shared_object", "", bytes.data(), bytes.size()}};
  CHECK_THAT(why_not(KernelImages("later", image)),
             Contains("a later level of x86-64 than x86-64-v4") && Contains("this processor is x86-64"));
}

TEST_CASE("An image whose properties are cut off has no level and is read no further") {
  if (own_level() < 2) return;
  for (const std::uint32_t size : {0u, 5u, 0x7fffffffu, 0xffffffffu}) {
    const std::string bytes = with_property(*image_for("x86-64-v2"), size, 0x10);
    const KernelImage image[] = {{"shared_object", "", bytes.data(), bytes.size()}};
    CHECK_THAT(why_not(KernelImages("cut off", image)), !Contains("later level"));
  }
}

TEST_CASE("A processor that there isn't is refused with those that there are") {
  test::set_env("ANYPLACE_CPU_SIM_PROCESSOR", "x86-64-v5");
  try {
    const Device device("cpu_sim:0");
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("ANYPLACE_CPU_SIM_PROCESSOR is \"x86-64-v5\"") &&
                                 Contains("allowed is x86-64, x86-64-v2, x86-64-v3 or x86-64-v4"));
  }
}

TEST_CASE("Images for all levels compute the same bits") {
  const int own = own_level();
  if (own == 0) return;
  constexpr unsigned count = 1000;
  std::vector<float> in(count), first;
  for (unsigned i = 0; i < count; ++i) in[i] = std::sin(static_cast<float>(i)) * 1e3f;
  for (int level = 1; level <= own; ++level) {
    const KernelImage image[] = {*image_for(names[level - 1])};
    const Device device("cpu_sim:0");
    const Module module(device, KernelImages("one", image));
    const Stream stream(device);
    const Buffer from = Buffer::of<float>(stream, count), to = Buffer::of<float>(stream, count);
    std::vector<float> out(count);
    stream.copy(from, in);
    stream.launch(module.kernel("multiply_and_add"), {4, 256}, to, from, count);
    stream.copy(out, to);
    stream.synchronize();
    if (level == 1) first = out;
    INFO(names[level - 1]);
    CHECK(std::memcmp(out.data(), first.data(), count * sizeof(float)) == 0);
  }
}

}  // namespace levels_test
