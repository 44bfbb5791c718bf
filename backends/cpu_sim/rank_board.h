// SPDX-License-Identifier: Apache-2.0
//
// The RankBoard is where the ranks of a job on this machine find out together that all of them are stuck: a small file
// in /dev/shm, named by the user and the job, which only the user can open. Each rank has a slot in it. It is changed
// under flock() alone, so a rank that dies leaves nothing locked.
//
// A rank is stuck if it waits for a message of another rank, and everything else of it waits, too. A message may be
// under way between a rank that has sent it and one that is stuck. So all ranks are stuck if all say so in several
// looks, between which none has moved and each has received whatever it could, after the others had (Look). The first
// rank that sees this writes the verdict, and each rank reads it once, before it can be stuck again: all ranks act on
// the same verdicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job.h"

namespace anyplace::cpu_sim {

class RankBoard {
 public:
  static constexpr std::uint32_t most_ranks = 64;

  enum class Verdict : std::uint8_t {
    none,          // Some rank isn't stuck.
    choose_again,  // All are stuck, and some can do something else, or have moved since all were stuck before.
    deadlock       // All are stuck, none can do anything else, and none has moved since all were stuck before.
  };
  /// A Look is what a rank says of itself when it is stuck.
  struct Look {
    bool has_other = false;      ///< It could do something else than wait for the message that it has chosen.
    std::uint64_t moves = 0;     ///< So much has happened in it so far.
    std::uint64_t received = 0;  ///< So often it has received what was there; it rises while the rank is stuck.
  };

  /// Joins the board of the job. Returns false if there is none: the ranks aren't all on this machine, are too many, or
  /// the file can't be used. `text` then says why, unless it is for the first reason.
  bool join(const Job& job, std::string& text);
  /// Says that this rank is stuck. Returns the verdict on all. `has_moved` is set to whether any rank has moved since
  /// the verdict before.
  Verdict say_stuck(const Look& look, bool& has_moved);
  /// Says that this rank isn't stuck any more. Returns the verdict that was made while it was, as say_stuck().
  Verdict say_moving(bool& has_moved);
  /// Says that nothing of this rank will ever go on. The last rank removes the file; where some never
  /// came, a later job does.
  void leave();
  /// Waits until all ranks have left or ended, or a second has passed.
  void wait_for_leaving() const;

 private:
  struct Slot;
  struct Page;
  template <class Change>
  void change(Change body) const;
  bool open_file(const std::string& path);
  static void remove_old(const std::string& beginning);

  std::string path_;
  int file_ = -1;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 0;
  std::uint64_t verdicts_ = 0;  // This rank has read so many.
  bool is_stuck_ = false;       // This rank has said so.
};

}  // namespace anyplace::cpu_sim
