// SPDX-License-Identifier: Apache-2.0
//
// Kernels from an image beside the same work in a plain loop of the host, which is what they are held against.
#pragma once

#include <memory>
#include <string>

namespace bench {

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  virtual const char* name() const = 0;
  /// One launch, waited for.
  virtual void run_kernel() = 0;
  /// The same in a loop.
  virtual void run_plainly() = 0;
  /// Runs both and compares.
  virtual bool agrees() = 0;
};

/// A product of 512 x 512 matrices, tiled; one thread each.
std::unique_ptr<Loop> make_matrix(const std::string& place);
/// The sums of 4,096 blocks of 256 floats, by halves; one thread each.
std::unique_ptr<Loop> make_sums(const std::string& place);
/// SAXPY of 2^20 floats, without barriers; one thread each.
std::unique_ptr<Loop> make_saxpy(const std::string& place);
/// image_pipeline's blur of 2048 x 2048 pixels; all cores each.
std::unique_ptr<Loop> make_blur(const std::string& place);

}  // namespace bench
