// SPDX-License-Identifier: Apache-2.0
//
// Meetings: the order that operations of a communicator make among those of its ranks which are in this process. What
// comes before a rank that gives comes before what is behind a rank that takes (anyplace_layer_meeting).
//
// The ranks submit their parts one after the other, so work behind the first one's is submitted before it is known what
// that part waited for. Two accesses that aren't ordered yet, of which one is behind such a part, are put off until all
// ranks have come. Guarded by the engine's mutex.
#pragma once

#include <anyplace/backend/layer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "clock.h"
#include "objects.h"
#include "report.h"

namespace anyplace::validate {

class Meetings {
 public:
  /// An operation of a stream or of the host.
  struct Moment {
    Component component = host_component;
    std::uint64_t number = 0;
  };

  /// The stream's operation, which was begun and checked, is a part of the meetings; `before` is what comes before it.
  void arrive(std::span<const anyplace_layer_meeting> meetings, const Stream& stream, const Clock& before);
  /// Adds to the clock what comes before the ends of the parts that it covers.
  void settle(Clock& clock) const;
  /// Keeps the report of two accesses if a rank that hasn't come yet may order them. Of each access `is_behind` says
  /// whether it comes after a part. Returns false if none may, and has taken nothing.
  using IsBehind = std::function<bool(const Moment& part, std::uint64_t submitted)>;
  bool put_off(const Report& report, const Moment& first, const IsBehind& first_is_behind, const Moment& second,
               const Clock& before_second);
  /// Takes out the reports that no rank orders any more; with `all` those, too, whose ranks haven't come.
  std::vector<Report> take_decided(bool all);
  /// Forgets the meetings that the host has seen the end of.
  void forget(const Clock& host);

 private:
  struct Part {
    Moment moment;
    std::uint64_t submitted = 0;
    bool takes = false;
  };
  struct Meeting {
    std::uint64_t id = 0;
    std::uint32_t ranks = 0;
    std::vector<Part> parts;
    Clock given;  ///< what comes before the parts that give

    bool is_open() const noexcept { return parts.size() < ranks; }
  };
  /// The two are ordered if the meeting's `given` covers the moment.
  struct Hope {
    std::uint64_t meeting;
    Moment moment;
  };
  struct PutOff {
    std::vector<Hope> hopes;
    Report report;
  };
  Meeting* find(std::uint64_t id) noexcept;

  std::deque<Meeting> meetings_;
  std::vector<PutOff> put_off_;
};

}  // namespace anyplace::validate
