// SPDX-License-Identifier: Apache-2.0
//
// CallChains: the stacks that a thread's calls came from. Unwinding a stack takes microseconds. But each return address
// lies right below its frame's stack pointer, so a thread that comes here again finds out by reading those words
// whether its callers are those of a stack that was unwound before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace anyplace::validate {

/// A stack that was unwound.
struct CallChain {
  static constexpr int most_steps = 40;
  struct Step {
    std::uintptr_t stack = 0;
    std::uintptr_t address = 0;

    bool holds() const noexcept {
      return *reinterpret_cast<const std::uintptr_t*>(stack - sizeof(std::uintptr_t)) == address;
    }
  };
  Step steps[most_steps];
  int count = 0;
  int first_outside = 0;  ///< the innermost step outside the library and its plugins; `count` if there is none
  void* address[8];       ///< of the steps outside
  int address_count = 0;
  std::uint32_t known_site = 0;  ///< one more than the site's id; 0: it isn't known yet
};

/// A thread's own. Holds at most `most` chains; when they are full it forgets all.
class CallChains {
 public:
  static constexpr std::size_t most = 512;

  /// The chain of the calling thread's stack, if it is known: `from` is a frame, and `caller` where it returns to. Null
  /// otherwise.
  CallChain* find(std::uintptr_t from, std::uintptr_t caller) noexcept;
  /// A chain to fill. Ends those of before if they are too many. Null if there is no memory.
  CallChain* add(std::uintptr_t from, std::uintptr_t caller) noexcept;

 private:
  /// Chains whose innermost frames are the same. A loop comes to them in the order in which it made them.
  struct Group {
    std::uintptr_t from = 0;
    std::vector<std::unique_ptr<CallChain>> chains;
    std::size_t latest = 0;  ///< the one that was found last
  };
  static std::uintptr_t key(std::uintptr_t from, std::uintptr_t caller) noexcept { return caller ^ from << 20; }

  std::unordered_map<std::uintptr_t, Group> groups_;
  std::size_t count_ = 0;
};

}  // namespace anyplace::validate
