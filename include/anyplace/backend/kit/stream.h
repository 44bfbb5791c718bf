// SPDX-License-Identifier: Apache-2.0
//
// StreamBase: the part of a backend's stream class that doesn't depend on the vendor: its device, its owner, and its
// links in Work. The backend's class derives from it, with itself as `Stream`, and adds record, wait, query and
// synchronize.
#pragma once

#include <cstdint>
#include <memory>

#include "../abi.h"
#include "work.h"

namespace anyplace::backend {

/// Whose a vendor's stream is.
enum class StreamOwner : std::uint8_t {
  backend,  ///< made here, and destroyed here
  others,   ///< made by the vendor or the user, and never destroyed here
};

/// `Device` is a ClassDevice.
template <class Device, class Stream>
class StreamBase {
 public:
  using Native = typename Device::Base::Stream;  ///< the vendor's stream

  StreamBase(const StreamBase&) = delete;  // handles and Work point at it
  StreamBase& operator=(const StreamBase&) = delete;

  /// The device that it belongs to.
  Device& device() const noexcept { return device_; }
  /// The vendor's stream.
  Native native() const noexcept { return native_; }
  /// Whether it is the device's legacy default stream. The null stream means the current context's, so the device's
  /// context must be current for it; other streams know their context.
  bool is_null() const noexcept { return is_null_; }
  /// Whether the vendor's stream was made here and is destroyed here.
  bool is_ours() const noexcept { return owner_ == StreamOwner::backend; }
  /// Does what the entry stream_host_function does.
  void launch_host_function(anyplace_host_function function, void* user) const {
    device_.host_functions().launch(native_, function, user);
  }
  /// Does what Work::end does.
  void destroy() {
    const std::unique_ptr<Stream> ended(static_cast<Stream*>(this));
    device_.work().end(*ended);
  }

  StreamLinks<Stream> links;  ///< Work's, guarded by its mutex

 protected:
  /// Adds the stream to its device's work.
  StreamBase(Device& device, Native native, StreamOwner owner, bool is_null) noexcept
      : device_(device), native_(native), owner_(owner), is_null_(is_null) {
    device.work().add(static_cast<Stream&>(*this));
  }
  ~StreamBase() = default;

  /// Makes the object of a stream that was just made; on failure the stream is destroyed.
  static Stream* take_over(Device& device, Native native) {
    try {
      return new Stream(device, native, StreamOwner::backend);
    } catch (...) {
      static_cast<void>(Device::Work::destroy(device, native));
      throw;
    }
  }

  Device& device_;
  const Native native_;

 private:
  const StreamOwner owner_;
  const bool is_null_;
};

}  // namespace anyplace::backend
