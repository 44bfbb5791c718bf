// SPDX-License-Identifier: Apache-2.0
//
// Handles are numbers that are never given out twice and point at nothing, so that a destroyed, a foreign and a made-up
// handle are told apart from a good one, and none can crash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace anyplace::doubles {

/// The objects of one kind by their handles, which are pointers or numbers.
template <class Object, class Handle = uint64_t>
class HandleTable {
 public:
  /// `vendor` and `kind` are part of each handle, so that no other table has the same.
  HandleTable(uint16_t vendor, uint8_t kind) : base_(uint64_t{vendor} << 48U | kind) {}
  Handle add(std::shared_ptr<Object> object) {
    const uint64_t value = base_ | ++last_ << 8U;
    objects_[value] = std::move(object);
    return (Handle)value;  // NOLINT: a pointer or a number
  }
  /// Null if there is none.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find((uint64_t)handle);  // NOLINT
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { objects_.erase((uint64_t)handle); }  // NOLINT
  /// Removes all for which `belongs` says so. Gives their number.
  template <class Belongs>
  uint64_t remove_if(Belongs belongs) {
    return std::erase_if(objects_, [&belongs](const auto& entry) { return belongs(*entry.second); });
  }
  const std::map<uint64_t, std::shared_ptr<Object>>& all() const noexcept { return objects_; }

 private:
  const uint64_t base_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace anyplace::doubles
