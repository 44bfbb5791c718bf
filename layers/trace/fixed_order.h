// SPDX-License-Identifier: Apache-2.0
//
// FixedOrder: makes records of virtual time the same in each run of a program. Threads come to the writer in an order
// that the system decides, and handles and addresses are the allocator's: so records are put into the order of their
// virtual times, and threads, handles and addresses get numbers in the order in which they appear there.
//
// Handles and addresses are used again, so the numbers can't be looked up in that order: at equal times it isn't the
// order in which things happened. Record::sequence is; by it each use is first given the identity of its object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record.h"

namespace anyplace::trace {

/// A record on its way from its thread to the timeline.
struct Taken {
  std::uint64_t order;   ///< Timeline::order_of()
  std::uint64_t thread;  ///< the number of its buffer, and then the thread's in the trace
  Record record;
};

/// For the writer's thread.
class FixedOrder {
 public:
  /// Records of before virtual time get this one.
  void set_start(std::uint64_t ns) noexcept { start_ns_ = ns; }
  /// Tells of the thread with that buffer, and perhaps again later.
  void add_thread(std::uint64_t buffer, std::int32_t system, const std::string& name);
  /// The number of the thread with that buffer; 0 if it has none.
  std::uint64_t number_of_thread(std::uint64_t buffer) { return threads_[buffer].number; }
  const std::string& name_of_thread(std::uint64_t number) const { return names_[number - 1]; }

  /// Puts the records into their order and replaces all in them that depends on the run. Those of the library's own
  /// threads go: they act in real time. So they delete their texts here.
  void arrange(std::vector<Taken>& taken);

 private:
  struct Thread {
    std::uint64_t number = 0;  ///< in the trace; 0: it has none yet
    std::int32_t system = 0;   ///< as the system numbers it
    std::string name;
  };
  /// Objects with numbers of their own: those of a kind that a backend has.
  using Group = std::pair<const TracedBackend*, backend::Kind>;
  struct Identity {
    Group group;
    std::uint64_t number = 0;  ///< 0: it hasn't appeared yet
  };
  struct Range {
    std::uint64_t bytes;
    std::uint64_t identity;
  };
  using Ranges = std::map<std::uint64_t, Range>;  ///< by their first addresses

  std::uint64_t add_identity(const Group& group);
  void identify(Record& record);
  std::uint64_t identify_handle(const Record& record, const ValueName& name, std::uint64_t handle);
  std::uint64_t identify_address(Ranges& ranges, const Record& record, const ValueName& name, std::uint64_t address);
  void number_threads(const std::vector<Taken>& taken);
  std::uint64_t number_of(std::uint64_t identity);
  std::uint64_t stream_number(std::uint64_t id);
  void number(Record& record);
  void place(Taken& one);

  std::uint64_t start_ns_ = 0;
  std::map<std::uint64_t, Thread> threads_;  ///< by the numbers of their buffers
  std::vector<std::string> names_;           ///< of the threads, by their numbers from 1 on
  std::vector<Identity> identities_;         ///< by their numbers, from 1 on
  std::map<Group, std::uint64_t> counts_;
  std::map<std::tuple<const TracedBackend*, backend::Kind, std::uint64_t>, std::uint64_t> handles_;
  std::map<const TracedBackend*, Ranges> ranges_;
  std::map<std::uint64_t, std::uint64_t> stream_numbers_;  ///< by StreamView::id()
};

}  // namespace anyplace::trace
