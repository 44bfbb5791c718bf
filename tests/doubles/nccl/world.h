// SPDX-License-Identifier: Apache-2.0
//
// World: what the ranks of a communicator share, in memory of all their processes that is named by its id. It is
// removed from the names once all have opened it, so that nothing is left whoever is killed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "call.h"

namespace anyplace::doubles::nccl {

constexpr int most_ranks = 16;
constexpr std::size_t area_bytes = 1 << 20;    ///< what a rank gives to a collective
constexpr std::size_t letter_bytes = 1 << 16;  ///< what a send may have

struct Seat {
  std::atomic<int> process{0};
  std::atomic<std::uint64_t> posted{0};  ///< the number of the call that is in the area
  std::atomic<std::uint64_t> read{0};    ///< the number of the call that this rank has read all others' areas for
  Call call;
  int color = 0, key = 0;  ///< of a split
  unsigned char area[area_bytes];
};
struct Letter {
  std::atomic<std::uint32_t> full{0};
  Call call;
  unsigned char data[letter_bytes];
};
struct Shared {
  std::atomic<std::uint32_t> opened{0};
  std::int32_t size = 0;
  Seat seats[most_ranks];
  Letter letters[most_ranks][most_ranks];  ///< from, to
};

class World {
 public:
  /// Maps it, making it where there is none. Null memory: it failed.
  World(const std::string& name, int rank, int size);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  explicit operator bool() const noexcept { return shared_ != nullptr; }
  Shared& operator*() const noexcept { return *shared_; }
  Shared* operator->() const noexcept { return shared_; }
  /// Somebody else has the rank already.
  bool taken() const noexcept { return taken_; }
  const std::string& name() const noexcept { return name_; }
  /// Called by each rank once all have opened it.
  void unlink() const noexcept;

 private:
  std::string name_;
  Shared* shared_ = nullptr;
  bool taken_ = false;
};

}  // namespace anyplace::doubles::nccl
