// SPDX-License-Identifier: Apache-2.0
//
// Sharing: which other devices have access to a device's memory. CUDA keeps three accounts of that: plain allocations
// follow the contexts, a pool and each mapping of virtual memory have lists of their own; here the three are kept the
// same.
//
// Invariant: what another library enabled between the contexts before us is left enabled when we disable.
#pragma once

#include <mutex>
#include <vector>

#include "driver.h"

namespace anyplace::cuda {

class Device;

class Sharing {
 public:
  explicit Sharing(Device& owner) noexcept : owner_(owner) {}
  Sharing(const Sharing&) = delete;  // one per device
  Sharing& operator=(const Sharing&) = delete;

  static bool can_access(Device& device, Device& peer);
  /// Gives `reader` access to all memory of the owner, what is there and what comes. Twice is fine.
  void enable(Device& reader);
  /// Takes it back. Fine where it wasn't given.
  void disable(Device& reader);

  /// Runs body(readers) while the readers don't change; each is an access descriptor of another device.
  template <class Body>
  auto with_readers(Body&& body) {
    const std::lock_guard lock(mutex_);
    std::vector<CUmemAccessDesc> readers;
    for (const Reader& reader : readers_)
      readers.push_back(access_of(reader.device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return body(readers);
  }

  static CUmemAccessDesc access_of(CUdevice device, CUmemAccess_flags flags) noexcept;

 private:
  struct Reader {
    CUdevice device;
    bool ours;  ///< the contexts' access was enabled by us
  };

  /// In the pool and in every mapping. Called with mutex_ held.
  void set(Device& reader, CUmemAccess_flags flags);

  Device& owner_;
  std::mutex mutex_;  // guards readers_, and that pool and mappings follow it; CUDA is called under it
  std::vector<Reader> readers_;
};

}  // namespace anyplace::cuda
