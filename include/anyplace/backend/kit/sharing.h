// SPDX-License-Identifier: Apache-2.0
//
// Sharing: which other devices have access to a device's memory, for a vendor that keeps that in several places: plain
// allocations follow the contexts, while a pool and each mapping of virtual memory have lists of their own. This class
// keeps them equal.
//
// Invariant: access between contexts that another library had enabled before stays enabled when it is disabled here.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Device, Scope        DeviceBase and DeviceScope of device_base.h, or with the same members
//   Access               type: which device has what access, as pools and mappings take it
//   Access access_of(Native device, bool may) noexcept
//   Called<Result> can_access(Device&, Device& peer, bool&)
//   Called<Result> enable(Device& reader, Device& owner, Handle owner)    in the reader's Scope; may throw
//   Called<Result> disable(Handle owner) noexcept                         in the reader's Scope
//   Result already_enabled, not_enabled                                   results that both calls may have
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "results.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Vendor>
class Sharing {
 public:
  using Device = typename Vendor::Device;
  using Access = typename Vendor::Access;

  /// Keeps who reaches the memory of `owner`, which outlives it.
  explicit Sharing(Device& owner) noexcept : owner_(owner) {}
  Sharing(const Sharing&) = delete;  // one per device
  Sharing& operator=(const Sharing&) = delete;

  /// The access that another device has or, with `may` false, loses.
  static Access access_of(typename Device::Native device, bool may) noexcept { return Vendor::access_of(device, may); }
  /// Whether `device` can reach the memory of `peer`. Throws what the vendor reports.
  static bool can_access(Device& device, Device& peer) {
    bool can = false;
    const auto made = Vendor::can_access(device, peer, can);
    if (made.result != decltype(made.result){}) device.fail_with(made.result, made.call, peer);
    return can;
  }
  /// Gives `reader` access to all present and future memory of the owner. Enabling twice is fine. set(const Access&)
  /// changes the access of pool and mappings, and may throw.
  template <class Set>
  void enable(Device& reader, Set&& set);
  /// Takes the access back; without access it does nothing.
  template <class Set>
  void disable(Device& reader, Set&& set);

  /// Runs body(readers) while no access changes. The readers are the Access of each other device that has it.
  template <class Body>
  auto with_readers(Body&& body) {
    const std::lock_guard lock(mutex_);
    std::vector<Access> readers;
    for (const Reader& reader : readers_) readers.push_back(Vendor::access_of(reader.device, true));
    return body(readers);
  }

 private:
  struct Reader {
    typename Device::Native device;
    bool ours;  ///< whether access between the contexts was enabled here
  };

  auto find(const Device& reader) {
    return std::find_if(readers_.begin(), readers_.end(),
                        [&](const Reader& each) { return each.device == reader.id(); });
  }

  Device& owner_;
  std::mutex mutex_;  // guards readers_ and the access lists of pool and mappings; the vendor is called under it
  std::vector<Reader> readers_;
};

template <class Vendor>
template <class Set>
void Sharing<Vendor>::enable(Device& reader, Set&& set) {
  const auto owner = reader.context_of(owner_);
  const typename Vendor::Scope scope(reader);
  const std::lock_guard lock(mutex_);
  if (find(reader) != readers_.end()) return;
  readers_.reserve(readers_.size() + 1);
  const auto made = Vendor::enable(reader, owner_, owner);
  const bool ours = made.result != Vendor::already_enabled;
  if (ours && made.result != decltype(made.result){}) reader.fail_with(made.result, made.call, owner_);
  try {
    set(Vendor::access_of(reader.id(), true));
  } catch (...) {
    if (ours) static_cast<void>(Vendor::disable(owner));
    throw;
  }
  readers_.push_back({reader.id(), ours});
}

template <class Vendor>
template <class Set>
void Sharing<Vendor>::disable(Device& reader, Set&& set) {
  const auto owner = reader.context_of(owner_);
  const typename Vendor::Scope scope(reader);
  const std::lock_guard lock(mutex_);
  const auto known = find(reader);
  if (known == readers_.end()) return;
  const bool ours = known->ours;
  readers_.erase(known);
  set(Vendor::access_of(reader.id(), false));
  if (!ours) return;
  const auto made = Vendor::disable(owner);
  if (made.result == Vendor::not_enabled) return;
  if (made.result != decltype(made.result){}) reader.fail_with(made.result, made.call, owner_);
}

}  // namespace anyplace::backend
