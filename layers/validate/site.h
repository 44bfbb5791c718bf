// SPDX-License-Identifier: Apache-2.0
//
// Sites: where in the application a call was made. A site is the innermost frames of the application's own, without
// those of the library and its plugins; it is kept as return addresses, and symbolised when a report needs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "call_chains.h"

namespace anyplace::validate {

using SiteId = std::uint32_t;

/// Not thread-safe but for capture(), which any thread may call.
class Sites {
 public:
  static constexpr int most_frames = 8;
  struct Frames {
    void* address[most_frames];
    int count = 0;
    CallChain* chain = nullptr;  ///< of the calling thread, until its next capture(); null if none is kept
  };

  /// Finds out where the library and its plugins lie, whose frames are left out.
  void learn_modules();
  /// The frames of the calling thread.
  Frames capture() const noexcept;
  SiteId id_of(const Frames& frames);
  /// "function (module)" for each frame, the innermost first.
  const std::vector<std::string>& frames_of(SiteId site);
  /// The functions' names alone.
  const std::vector<std::string>& functions_of(SiteId site);

 private:
  struct Module {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  struct Site {
    Frames frames;
    bool symbolised = false;
    std::vector<std::string> texts;
    std::vector<std::string> functions;
  };
  bool is_own(std::uintptr_t address) const noexcept;
  void walk(CallChain& chain, std::uintptr_t from) const noexcept;
  void symbolise(Site& site);

  std::atomic<const std::vector<Module>*> own_{nullptr};  ///< the newest of `all_own_`
  /// Those of before are kept, because a thread may be reading one.
  std::vector<std::unique_ptr<const std::vector<Module>>> all_own_;
  std::vector<Site> sites_;
  std::unordered_multimap<std::uint64_t, SiteId> by_hash_;
};

}  // namespace anyplace::validate
