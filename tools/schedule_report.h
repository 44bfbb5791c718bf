// SPDX-License-Identifier: Apache-2.0
// Reads the report that cpu_sim's deterministic mode writes of a run: the choices that there were, what ran, and how it
// ended. docs/cpu_sim-deterministic.md has the format. Lines that aren't known are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::tool {

/// A part of memory: an allocation by its number, 0 for all memory of the host that is none, and the bytes.
struct ScheduleRange {
  std::uint64_t allocation = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool overlaps(const ScheduleRange& other) const {
    return allocation == other.allocation && (allocation == 0 || (begin < other.end && other.begin < end));
  }
};

/// What an operation reads, or what it writes.
struct ScheduleAccess {
  bool is_all = false;  ///< it isn't known
  std::vector<ScheduleRange> ranges;

  bool is_any() const { return is_all || !ranges.empty(); }
};

struct ScheduleOption {
  std::string what;
  std::int64_t thread = -1;  ///< the host thread that goes on; -1: an operation of a stream
  std::int64_t device = -1, stream = -1;
  std::int64_t branch = 0;   ///< not 0: of a graph's node; those of different ones have no order
  std::uint64_t number = 0;  ///< of an operation: how many of its stream came before it
  std::string way;           ///< its name, if it is a way in which a call can be done
  ScheduleAccess reads, writes;

  /// A name in every schedule of the program, as files of choices have it: "t0.7", "s4.1", "c0.7.1"; "" if there is
  /// none.
  std::string name() const;
  bool is_operation() const { return thread < 0 && stream >= 0; }
  bool is_same_operation(const ScheduleOption& other) const {
    return is_operation() && stream == other.stream && number == other.number;
  }
};

/// Whether the two can be exchanged without a difference that anything could see: operations of different streams whose
/// accesses don't conflict. A thread that goes on may do anything, so it is independent of nothing.
bool is_independent(const ScheduleOption& one, const ScheduleOption& other);

struct ScheduleRan {
  std::int64_t device = -1, stream = -1;
  std::uint64_t number = 0;
  std::string what;
  std::uint64_t begin_ns = 0, end_ns = 0;  ///< virtual time
};

struct ScheduleChoice {
  std::string kind;
  std::int64_t at_thread = -1;  ///< the thread at whose call it came up
  std::uint32_t taken = 0;
  std::uint32_t plain = 0;  ///< what the plain schedule takes
  std::vector<ScheduleOption> options;
};

/// A choice or something that ran, in the order of the report: an index in `choices` or in `ran`.
struct ScheduleStep {
  bool is_choice = false;
  std::size_t index = 0;
};

struct ScheduleReport {
  bool is_there = false;  ///< the program used cpu_sim in its deterministic mode
  std::uint64_t seed = 0;
  std::string profile;      ///< the name of ANYPLACE_CPU_SIM_PROFILE's; "": without one
  std::uint32_t ranks = 1;  ///< how many processes the job has that this one is a rank of
  std::vector<ScheduleChoice> choices;
  std::vector<ScheduleRan> ran;
  std::vector<ScheduleStep> steps;
  std::string deadlock, diverged;         ///< "" if there is none
  std::vector<std::string> uncontrolled;  ///< what the mode couldn't decide
  bool is_ended = false;                  ///< the backend was shut down; else the following are 0
  std::uint64_t choice_count = 0, submissions = 0;
  std::string hash;
};

/// What is read of a report.
enum class ReportPart {
  ends,  ///< all but choices and what ran
  all,
};

/// Reads the file; one that isn't there is a report of a program that doesn't use the mode.
ScheduleReport read_schedule_report(const std::string& path, ReportPart part);

/// The report of another rank of the job whose rank 0 writes to `path`.
std::string report_of_rank(const std::string& path, std::uint32_t rank);

/// The first line, behind `skipped` ones, in which two reports of the same schedule differ, as a sentence; "" if they
/// are equal.
std::string first_difference(const std::string& path, const std::string& other, std::uint64_t skipped);

}  // namespace anyplace::tool
