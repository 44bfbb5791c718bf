// SPDX-License-Identifier: Apache-2.0
//
// Storage: the bytes behind a buffer of UR, which is of a context and so of several devices. They are in memory of the
// devices that used them, and in the application's own memory if it gave some; each place has them as they are now, or
// is out of date. A command takes a place that is up to date, or has one brought up to date first, in its own stream's
// order: what it waits for is what wrote the bytes last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include <anyplace/memory.h>
#include <anyplace/stream.h>

#include "context.h"

namespace anyplace_ur {

enum class Access { read, write };

class Storage {
 public:
  /// What the application's memory is to the devices.
  enum class Host { ordinary, pinned /*read and written by kernels, too: the bytes are in no other place*/ };

  /// `host` is the application's memory, whose bytes hold at first; or null.
  Storage(ur_context_handle_t_& context, std::size_t size, void* host, Host kind);

  /// The beginning, for copies and fills in `stream`, which is of `device`.
  anyplace::Address for_copies(ur_device_handle_t device, anyplace::StreamView stream, Access access);
  /// The beginning in the device's own memory, for kernels.
  std::uint64_t for_kernels(ur_device_handle_t device, anyplace::StreamView stream, Access access);
  /// Writes all bytes, at once, into the memory of the context's first device.
  void initialise(const void* from);
  /// Makes the memory of a device somebody else's, which holds the bytes.
  void adopt(ur_device_handle_t device, std::uint64_t address);

  std::size_t size() const noexcept { return size_; }
  void* host() const noexcept { return host_; }

 private:
  struct Place {
    anyplace::Buffer buffer;
    bool current = false;
  };

  Place& place_on(ur_device_handle_t device);
  void bring_up_to_date(Place& place, anyplace::StreamView stream);
  void note_write(const Place* written);

  ur_context_handle_t_& context_;  ///< the buffer holds it
  const std::size_t size_;
  void* const host_;
  const Host kind_;
  std::mutex mutex_;
  bool host_current_;
  std::map<ur_device_handle_t, Place> places_;
};

}  // namespace anyplace_ur
