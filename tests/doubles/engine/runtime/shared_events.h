// SPDX-License-Identifier: Apache-2.0
//
// Events of several processes: a page that all of them map, with the number of the most recent record and, in a ring,
// those of the records that are done. A process finds the page by the number of the process that made it and a
// descriptor there. Records of one event that are pending at the same time are done each for itself, in any order, as
// long as there are no more of them than the ring has places.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace anyplace::doubles {

class SharedRecords {
 public:
  static constexpr std::size_t handle_bytes = 64;  // of CUDA's and HIP's handles

  /// Null if the system has no memory for it.
  static std::shared_ptr<SharedRecords> make();
  /// From what write_handle() wrote in another process; null if there is no such event any more.
  static std::shared_ptr<SharedRecords> open(const void* handle);
  /// Whether the handle was written in this process.
  static bool is_own(const void* handle);
  SharedRecords(const SharedRecords&) = delete;
  SharedRecords& operator=(const SharedRecords&) = delete;
  ~SharedRecords();

  void write_handle(void* handle) const;

  uint64_t begin_record() noexcept { return page_->recorded.fetch_add(1) + 1; }
  void end_record(uint64_t number) noexcept {
    std::atomic<uint64_t>& place = page_->done[number % places];
    uint64_t done = place.load();
    while (done < number && !place.compare_exchange_weak(done, number)) continue;
  }
  uint64_t recorded() const noexcept { return page_->recorded.load(); }
  bool is_done(uint64_t number) const noexcept { return page_->done[number % places].load() >= number; }

 private:
  static constexpr std::size_t places = 256;
  struct Page {
    std::atomic<uint64_t> nonce;
    std::atomic<uint64_t> recorded;
    std::atomic<uint64_t> done[places];  // the highest of those that share a place
  };
  struct Handle;

  SharedRecords(Page* page, int file) noexcept : page_(page), file_(file) {}
  static Page* map(int file);

  Page* page_;
  int file_;  // -1 where another process has it
};

}  // namespace anyplace::doubles
