// SPDX-License-Identifier: Apache-2.0
#include "rank_board.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace anyplace::cpu_sim {

struct RankBoard::Slot {
  std::int32_t process;  // It is 0 until the rank has joined.
  std::uint8_t has_left;
  std::uint8_t is_stuck;
  std::uint8_t has_other;
  std::uint8_t unused;
  std::uint64_t moves;
  std::uint64_t received;
  // At the last look at all ranks.
  std::uint64_t looked_moves;
  std::uint64_t looked_received;
  std::uint64_t judged_moves;  // It had these at the last verdict.

  bool is_over() const noexcept { return has_left != 0 || (process != 0 && kill(process, 0) != 0 && errno == ESRCH); }
};

struct RankBoard::Page {
  std::uint64_t verdicts;
  Verdict verdict;
  std::uint8_t has_moved;
  std::uint8_t rounds;  // So many looks at all ranks have found them stuck, one after the other.
  std::uint8_t unused[5];
  Slot slots[most_ranks];
};

namespace {

/// Returns after how many looks all ranks are stuck. In between each rank has received, after all others had. An
/// operation takes several messages one after the other: more where there are more ranks.
constexpr std::uint32_t rounds_for(std::uint32_t ranks) { return 4 + 2 * ranks; }

constexpr const char* board_folder = "/dev/shm";
/// A file that nobody has changed for so many seconds may be of a job that died.
constexpr time_t old_s = 600;

/// FNV-1a of 64 bits.
std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

/// Calls body(page) and writes what it leaves, under the lock.
template <class Change>
void RankBoard::change(Change body) const {
  while (flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
  Page page{};
  if (pread(file_, &page, sizeof(page), 0) < 0) page = {};
  body(page);
  // A page that can't be written leaves the ranks without a verdict, as if some rank weren't stuck.
  static_cast<void>(!pwrite(file_, &page, sizeof(page), 0));
  flock(file_, LOCK_UN);
}

/// Opens the file, which is locked then. Another job's last rank may remove it in between.
bool RankBoard::open_file(const std::string& path) {
  while (true) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0) return false;
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
    struct stat status {};
    if (fstat(file_, &status) == 0 && status.st_nlink != 0) {
      if (S_ISREG(status.st_mode) && status.st_uid == geteuid()) return true;
      errno = EPERM;
      return false;
    }
    close(file_);
  }
}

/// Removes the files whose names begin so and of which no rank is there any more: the rest of jobs that died, or of
/// which some rank never came.
void RankBoard::remove_old(const std::string& beginning) {
  DIR* const folder = opendir(board_folder);
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    const std::string path = std::string(board_folder) + "/" + entry->d_name;
    struct stat status {};
    if (!path.starts_with(beginning) || stat(path.c_str(), &status) != 0) continue;
    RankBoard other;
    if (time(nullptr) - status.st_mtime < old_s || !other.open_file(path)) continue;
    other.change([&](const Page& page) {
      const auto is_gone = [](const Slot& each) { return each.process == 0 || each.is_over(); };
      if (std::all_of(std::begin(page.slots), std::end(page.slots), is_gone)) unlink(path.c_str());
    });
    close(other.file_);
  }
  closedir(folder);
}

bool RankBoard::join(const Job& job, std::string& text) {
  if (!job.has_ranks() || !job.is_on_machine) return false;
  if (job.size > most_ranks) {
    text = "there are more than " + std::to_string(most_ranks) + " ranks, so it isn't found out when all are stuck";
    return false;
  }
  const std::string beginning = board_folder + ("/anyplace-cpu_sim-" + std::to_string(geteuid())) + "-";
  remove_old(beginning);
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash_of(job.name)));
  path_ = beginning + name;
  if (!open_file(path_)) {
    text = std::string("a file in /dev/shm can't be used, so it isn't found out when all ranks are stuck: ") +
           std::strerror(errno);
    if (file_ >= 0) close(file_);
    file_ = -1;
    return false;
  }
  rank_ = job.rank;
  size_ = job.size;
  change([&](Page& page) {
    // A rank joins once, so one that is there already is of a job that died.
    if (page.slots[rank_].process != 0) page = {};
    page.slots[rank_].process = getpid();
    verdicts_ = page.verdicts;
  });
  return true;
}

RankBoard::Verdict RankBoard::say_stuck(const Look& look, bool& has_moved) {
  Verdict verdict = Verdict::none;
  change([&](Page& page) {
    if (page.verdicts != verdicts_) {
      verdicts_ = page.verdicts;
      verdict = page.verdict;
      has_moved = page.has_moved != 0;
      is_stuck_ = false;
      return;
    }
    Slot& own = page.slots[rank_];
    own.process = getpid();
    own.is_stuck = 1;
    own.has_other = look.has_other;
    own.moves = look.moves;
    own.received = look.received;
    is_stuck_ = true;
    Slot* const end = page.slots + size_;
    if (!std::all_of(page.slots, end, [](const Slot& each) { return each.is_stuck != 0 || each.is_over(); })) {
      page.rounds = 0;
      return;
    }
    const auto is_as_before = [](const Slot& each) { return each.moves == each.looked_moves; };
    if (!std::all_of(page.slots, end, is_as_before)) page.rounds = 0;
    const auto has_received = [](const Slot& each) { return each.is_over() || each.received > each.looked_received; };
    if (page.rounds != 0 && !std::all_of(page.slots, end, has_received)) return;
    ++page.rounds;
    for (Slot* each = page.slots; each != end; ++each) {
      each->looked_moves = each->moves;
      each->looked_received = each->received;
    }
    if (page.rounds < rounds_for(size_)) return;
    has_moved = page.verdicts == 0 ||
                std::any_of(page.slots, end, [](const Slot& each) { return each.moves != each.judged_moves; });
    const bool has_other =
        std::any_of(page.slots, end, [](const Slot& each) { return each.has_other != 0 && !each.is_over(); });
    verdict = has_moved || has_other ? Verdict::choose_again : Verdict::deadlock;
    page.verdict = verdict;
    page.has_moved = has_moved;
    page.rounds = 0;
    verdicts_ = ++page.verdicts;
    for (Slot* each = page.slots; each != end; ++each) {
      each->judged_moves = each->moves;
      each->is_stuck = 0;
    }
    is_stuck_ = false;
  });
  return verdict;
}

RankBoard::Verdict RankBoard::say_moving(bool& has_moved) {
  Verdict verdict = Verdict::none;
  if (!is_stuck_) return verdict;
  is_stuck_ = false;
  change([&](Page& page) {
    page.slots[rank_].is_stuck = 0;
    page.rounds = 0;
    // A verdict counted on this rank as one that is stuck, so it acts on it as the others do, whatever came meanwhile:
    // which of both is seen first is the system's doing.
    if (page.verdicts == verdicts_) return;
    verdicts_ = page.verdicts;
    verdict = page.verdict;
    has_moved = page.has_moved != 0;
  });
  return verdict;
}

void RankBoard::leave() {
  if (file_ < 0) return;
  change([&](Page& page) {
    page.slots[rank_].has_left = 1;
    if (std::all_of(page.slots, page.slots + size_, [](const Slot& each) { return each.is_over(); })) {
      unlink(path_.c_str());
    }
  });
}

void RankBoard::wait_for_leaving() const {
  for (int round = 0; round < 1000; ++round) {
    bool have_left = false;
    change([&](Page& page) {
      have_left = std::all_of(page.slots, page.slots + size_, [](const Slot& each) { return each.is_over(); });
    });
    if (have_left) return;
    usleep(1000);
  }
}

}  // namespace anyplace::cpu_sim
