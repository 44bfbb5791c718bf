// SPDX-License-Identifier: Apache-2.0
//
// A libOpenCL.so.1 that has nothing of what the backend needs.
extern "C" __attribute__((visibility("default"))) int clGetPlatformIDs(unsigned, void*, unsigned* count) {
  if (count != nullptr) *count = 0;
  return 0;
}
