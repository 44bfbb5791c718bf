// SPDX-License-Identifier: Apache-2.0
//
// The memory that the parent and one child share: what the child is doing and what it found, so that the parent knows
// it even if the child crashes. Texts are cut to fit and end with NUL; the parent reads them only after the child has
// ended, and trusts none of their lengths.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace anyplace::conformance {

template <std::size_t Room>
struct SharedText {
  char text[Room];

  void set(std::string_view from) noexcept {
    const std::size_t length = from.size() < Room ? from.size() : Room - 1;
    for (std::size_t i = 0; i < length; ++i) text[i] = from[i];
    text[length] = '\0';
  }
  std::string get() const {
    std::size_t length = 0;
    while (length < Room && text[length] != '\0') ++length;
    return std::string(text, length);
  }
};

enum class Outcome : int {
  unfinished,  ///< the child crashed, hung or ended itself
  passed,
  failed,
  skipped,
};

/// The present step of one thread of the child.
struct StepSlot {
  std::atomic<int> line;
  SharedText<120> file;
  SharedText<400> text;
};

/// What the first child finds out about the place.
struct Discovery {
  int device_count;
  std::uint64_t capabilities;
  SharedText<64> place;
  SharedText<128> device;
  SharedText<32> backend;
  SharedText<32> version;
  SharedText<1024> plugin;
  SharedText<256> image_formats;  ///< with a space after each
};

struct SharedPage {
  std::atomic<int> outcome;      ///< an Outcome
  std::atomic<int> told;         ///< set by the first thread that fails, which tells the reason
  std::atomic<int> time_factor;  ///< how many times as long the case may take; 0 means once
  std::atomic<unsigned> slots_taken;
  /// 1 + the slot of the thread that crashed; -1 if it isn't a thread of the case.
  std::atomic<int> crashed_slot;
  std::array<StepSlot, 16> slots;
  SharedText<4096> reason;
  SharedText<640> call;
  Discovery discovery;
};

/// A zeroed SharedPage, which is unmapped with the object. Throws std::system_error.
class SharedPageMapping {
 public:
  SharedPageMapping();
  SharedPageMapping(const SharedPageMapping&) = delete;  // it unmaps the page once
  SharedPageMapping& operator=(const SharedPageMapping&) = delete;
  ~SharedPageMapping();

  SharedPage& operator*() const noexcept { return *page_; }
  SharedPage* operator->() const noexcept { return page_; }

 private:
  SharedPage* page_;
};

/// Sets the page that step() and the checks of this process write to. Called once, in the child, before its threads
/// start.
void use_page(SharedPage* page) noexcept;
/// Called in a forked process, whose thread has its parent's slot: the next step takes a new one.
void forget_slot() noexcept;
SharedPage* page_in_use() noexcept;

/// The text of a slot's step, such as "conformance/cases/x.cpp:12: stream.query()"; "" if its thread never made one.
std::string step_text(const SharedPage& page, std::size_t slot);
/// The slot of the calling thread; -1 if it has none.
int own_slot() noexcept;

}  // namespace anyplace::conformance
