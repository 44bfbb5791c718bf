// SPDX-License-Identifier: Apache-2.0
// VendorScope makes a device the calling thread's current one in the vendor's runtime, for a scope. Vendors' libraries
// ask that runtime, and not anyplace, which device they work on.
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
  int before_ = 0;  ///< HIP's current device before the scope
};

}  // namespace anyplace::engines
