// SPDX-License-Identifier: Apache-2.0
// VendorScope: a device is the calling thread's own, as the vendor's runtime has it, for a scope. Engines of vendors
// ask that, not anyplace, which device they work on.
#pragma once

#include "anyplace/backend/engine.h"

namespace anyplace::engines {

class VendorScope {
 public:
  /// Does nothing for a backend that isn't cuda or hip.
  explicit VendorScope(const anyplace_engine_device& device) noexcept;
  VendorScope(const VendorScope&) = delete;  // restores once
  VendorScope& operator=(const VendorScope&) = delete;
  ~VendorScope();

 private:
  enum class Kind { none, cuda, hip } kind_ = Kind::none;
  int before_ = 0;  ///< hip's device
};

}  // namespace anyplace::engines
