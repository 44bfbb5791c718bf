// SPDX-License-Identifier: Apache-2.0
//
// Modules: names of kernels, what nothing needs, and images that were cut off.
#include "images.h"

namespace image_test {

using namespace vendor_test;

TEST_CASE(BINARY " that was cut off is refused before " LIBRARY " reads past its end") {
  const Loading on;
  for (const char* name : binary_images) {
    const std::string whole = read_image(name);
    for (const std::size_t bytes :
         {std::size_t{24}, std::size_t{31}, std::size_t{63}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
      INFO(name << " cut to " << bytes);
      on.error_of_invalid(whole.substr(0, bytes));
    }
  }
  CHECK(on.calls_that_load() == 0);
}

TEST_CASE("A kernel that the module does not have is named") {
  const Loading on;
  const Module module = on.load(read_image(any_image));
  const anyplace::Error error = test::required_error(ErrorCode::no_such_kernel, [&] { module.kernel("fyll"); });
  CHECK_THAT(error.what(), contains("fyll"));
}

TEST_CASE("A module that nothing needs is unloaded at once") {
  const Loading on;
  { const Module module = on.load(read_image(any_image)); }
  CHECK(on.driver.live("module") == 0);
}

}  // namespace image_test
