// SPDX-License-Identifier: Apache-2.0
//
// How many streams and events Python's objects own. Checks for leaks compare the figures; closing an object counts as
// much as its end.
#pragma once

#include <anyplace/anyplace.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace anyplace::python {

/// How many owners of handles of that kind there are.
template <class Owner>
inline std::atomic<std::int64_t> live_count = 0;

/// An owner that is counted while it isn't null. Moving it moves what is counted.
template <class Owner>
class Counted : public Owner {
 public:
  Counted(Owner owner) : Owner(std::move(owner)) { add(1); }
  Counted(Counted&& other) noexcept : Owner(std::move(static_cast<Owner&>(other))) {}
  Counted& operator=(Counted&& other) noexcept {
    if (this == &other) return *this;
    add(-1);
    Owner::operator=(std::move(static_cast<Owner&>(other)));
    return *this;
  }
  ~Counted() { add(-1); }

 private:
  void add(std::int64_t change) noexcept {
    if (*this) live_count<Owner>.fetch_add(change, std::memory_order_relaxed);
  }
};

}  // namespace anyplace::python
