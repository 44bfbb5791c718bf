// SPDX-License-Identifier: Apache-2.0
//
// Loading of images, and running what they hold.
#pragma once

#include <string>
#include <vector>

#include "cuda_and_hip/support.h"

namespace vendor_test {

struct Loading {
  explicit Loading(Variables variables = {}) : driver(variables) {}

  Double driver;
  Device device{place(0)};

  Module load(const std::string& image, const anyplace::ModuleOptions& options = {}) const {
    return vendor_test::load(device, image, options);
  }
  std::uint64_t calls_that_load() const { return driver.calls_of(call::load_module); }

  /// Its kernel fills a buffer, which is read back.
  void check_that_it_runs(const std::string& image, const anyplace::ModuleOptions& options = {}) const {
    const Module module = load(image, options);
    const Stream stream(device);
    const Buffer numbers(stream, 256 * 4);
    std::vector<std::uint32_t> back(256);
    stream.launch(module.kernel("fill"), {4, 64}, numbers, 256u, 7u);
    stream.copy(back, numbers);
    stream.synchronize();
    CHECK(back == std::vector<std::uint32_t>(256, 7));
  }
  void check_that_all_run(std::initializer_list<const char*> images) const {
    for (const char* image : images) {
      INFO(image);
      check_that_it_runs(read_image(image));
    }
  }
  /// What is said of an image that the device does not take.
  anyplace::Error error_of_invalid(const std::string& image) const {
    return test::required_error(ErrorCode::invalid_image, [&] { load(image); });
  }
  /// Compiler options that the backend refuses, and what it says then.
  void check_refused_options(const char* options, const std::string& said) const {
    CHECK_THAT(test::required_error(ErrorCode::invalid_argument,
                                    [&] {
                                      load(read_image(any_image), {options, {}});
                                    })
                   .what(),
               contains(said));
  }
  /// They are no images for this backend, which says so by a name of those that it takes. The vendor isn't asked.
  void check_that_none_is_an_image(std::vector<std::string> images, const std::string& known) const {
    const std::string spirv("\x03\x02\x23\x07\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 20);
    images.insert(images.end(), {spirv, "no image at all", std::string(1, '\0')});
    for (const std::string& image : images) CHECK_THAT(error_of_invalid(image).what(), contains(known));
    CHECK(calls_that_load() == 0);
  }
};

}  // namespace vendor_test
