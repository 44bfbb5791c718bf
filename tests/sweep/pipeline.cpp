// SPDX-License-Identifier: Apache-2.0
//
// What sweep.cpp runs again and again: all of steps.h, once.
//
//   sweep_pipeline PLACE OTHER_PLACE MODULE
//
// MODULE is an image of the conformance suite's test kernels. The last line on standard output says how it went:
//
//   outcome success
//   outcome error CODE VENDOR_CODE       the first anyplace::Error; after it nothing more is submitted
//   outcome wrong TEXT                   a result that is not what was computed, or an exception of another type
//
// and before it, for each error that went to the error handler: "reported CODE VENDOR_CODE".
#include <cstdio>
#include <exception>

#include "steps.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: sweep_pipeline PLACE OTHER_PLACE MODULE\n");
    return 2;
  }
  anyplace::set_error_handler(sweep::tell);
  try {
    sweep::run_pipeline(argv[1], argv[2], argv[3], sweep::run_graph);
    sweep::run_sharing(argv[1]);
    std::printf("outcome success\n");
  } catch (const anyplace::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::printf("outcome error %s %lld\n", anyplace::to_string(error.code()),
                static_cast<long long>(error.vendor_code()));
  } catch (const std::exception& exception) {
    std::printf("outcome wrong %s\n", exception.what());
  }
  std::fflush(stdout);
  return 0;
}
