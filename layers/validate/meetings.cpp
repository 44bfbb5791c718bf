// SPDX-License-Identifier: Apache-2.0
#include "meetings.h"

#include <algorithm>
#include <utility>

namespace anyplace::validate {
namespace {

/// Ranks that never come leave their meetings behind.
constexpr std::size_t most_meetings = 1024;

}  // namespace

Meetings::Meeting* Meetings::find(std::uint64_t id) noexcept {
  const auto found =
      std::find_if(meetings_.begin(), meetings_.end(), [&](const Meeting& meeting) { return meeting.id == id; });
  return found == meetings_.end() ? nullptr : &*found;
}

void Meetings::arrive(std::span<const anyplace_layer_meeting> meetings, const Stream& stream, const Clock& before) {
  for (const anyplace_layer_meeting& told : meetings) {
    Meeting* meeting = find(told.id);
    if (meeting == nullptr) {
      if (meetings_.size() == most_meetings) meetings_.pop_front();
      meeting = &meetings_.emplace_back();
      meeting->id = told.id;
      meeting->ranks = told.ranks;
    }
    meeting->parts.push_back({{stream.component, stream.number}, stream.submitted, told.takes != 0});
    if (told.gives != 0) meeting->given.join(before);
  }
  // What one meeting gives may be behind another one.
  for (Meeting& meeting : meetings_) settle(meeting.given);
}

void Meetings::settle(Clock& clock) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Meeting& meeting : meetings_) {
      const bool is_behind = std::any_of(meeting.parts.begin(), meeting.parts.end(), [&](const Part& part) {
        return part.takes && clock.covers(part.moment.component, part.moment.number);
      });
      if (is_behind && clock.join(meeting.given)) changed = true;
    }
  }
}

bool Meetings::put_off(const Report& report, const Moment& first, const IsBehind& first_is_behind, const Moment& second,
                       const Clock& before_second) {
  PutOff made;
  for (const Meeting& meeting : meetings_) {
    if (!meeting.is_open()) continue;
    for (const Part& part : meeting.parts) {
      if (!part.takes) continue;
      if (before_second.covers(part.moment.component, part.moment.number)) made.hopes.push_back({meeting.id, first});
      if (first_is_behind(part.moment, part.submitted)) made.hopes.push_back({meeting.id, second});
    }
  }
  if (made.hopes.empty()) return false;
  made.report = report;
  put_off_.push_back(std::move(made));
  return true;
}

std::vector<Report> Meetings::take_decided(bool all) {
  std::vector<Report> decided;
  std::erase_if(put_off_, [&](PutOff& one) {
    bool is_open = false;
    for (const Hope& hope : one.hopes) {
      const Meeting* const meeting = find(hope.meeting);
      if (meeting == nullptr) continue;
      if (meeting->given.covers(hope.moment.component, hope.moment.number)) return true;
      is_open = is_open || meeting->is_open();
    }
    if (is_open && !all) return false;
    decided.push_back(std::move(one.report));
    return true;
  });
  return decided;
}

void Meetings::forget(const Clock& host) {
  std::erase_if(meetings_, [&](const Meeting& meeting) {
    return !meeting.is_open() && std::all_of(meeting.parts.begin(), meeting.parts.end(), [&](const Part& part) {
      return host.covers(part.moment.component, part.moment.number);
    });
  });
}

}  // namespace anyplace::validate
