// SPDX-License-Identifier: Apache-2.0
//
// The oracle. It takes the operations of a round one after the other, refuses what has no meaning (an object that isn't
// there) or no single outcome (two accesses to the same bytes without an order, memory freed while something that its
// Buffer doesn't know of uses it), and says of the others what must come out. Since every two accesses of which one
// writes have an order, and the list is in that order, running the list sequentially gives the bytes of every run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operation.h"
#include "order.h"

namespace stress {

/// What matters of a device to what may be done there and what it means.
struct Traits {
  std::string backend;
  bool blocking_streams = false;
  bool managed = false;
  bool pinned = false;
  bool host_register = false;
  bool host_functions = false;
  bool timed_events = false;
  bool modules = false;
  bool host_kernels = false;
  bool caching = true;
  int least_priority = 0;
  int greatest_priority = 0;
  std::uint64_t memory = 0;  ///< 0: unknown
};

/// What host arrays and managed memory are written with.
inline std::uint8_t pattern(Number value, Number i) {
  return static_cast<std::uint8_t>(
      ((static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(i)) * 2654435761u) >> 19u);
}

/// How an operation is run.
struct Step {
  std::size_t number = 0;                                       ///< of the operation in its round
  std::vector<std::pair<std::uint32_t, std::uint32_t>> behind;  ///< (thread, its operations) that come before
  bool must = false;                   ///< a query must be true; a time must not be negative; a fault must be thrown
  std::vector<std::uint8_t> expected;  ///< of a check
};

struct Refusal {
  enum class Why { none, senseless, race } why = Why::none;
  Place work;            ///< race: what has to come before, and has no order
  bool on_host = false;  ///< race: it has to be done before the call
  explicit operator bool() const { return why != Why::none; }
};

class Model {
 public:
  struct Thing {
    bool there = false;
    bool lives_on = false;  ///< a host function destroys it, at some time
    Number device = 0;
    Place exclusive;                                                 ///< the last that made, wrote or recorded it
    std::map<std::pair<std::int64_t, std::uint32_t>, Place> shared;  ///< the last uses since, by lane
  };
  struct Stream : Thing {
    bool blocking = false;
    int owner = -1;       ///< the only thread that may use it; -1: all
    int faulted_by = -1;  ///< the thread that has to collect a fault
  };
  struct Event : Thing {
    bool timed = false;
    bool recorded = false;
    Done known;
    Place record;
  };
  struct Data : Thing {
    bool whole = false;  ///< every byte has a value
    std::vector<std::uint8_t> bytes;
  };
  struct Buffer : Data {
    Number stream = 0;
    bool managed = false;
    std::set<Number> recorded;
  };
  struct Host : Data {
    Number kind = 0;
  };

  Model(const Round& round, const std::vector<Traits>& traits);

  /// Takes it, or refuses it and stays as it was. `step` gets what the run needs.
  Refusal apply(const Operation& operation, Step& step);

  const std::map<Number, Stream>& streams() const { return streams_; }
  const std::map<Number, Event>& events() const { return events_; }
  const std::map<Number, Buffer>& buffers() const { return buffers_; }
  const std::map<Number, Host>& hosts() const { return hosts_; }
  const std::map<Number, Thing>& pools() const { return pools_; }
  const std::map<Number, Thing>& modules() const { return modules_; }
  const Traits& traits(Number device) const { return traits_[static_cast<std::size_t>(device)]; }
  std::uint64_t live_bytes(Number device) const;

 private:
  enum class Access {
    use,         ///< of the handle
    exclusive,   ///< of the handle: made, recorded, destroyed
    read,        ///< of the bytes, by the work
    write,       //
    read_now,    ///< by the call or by the work
    host_read,   ///< by the call
    host_write,  //
  };
  struct Touch {
    Thing* thing;
    Access access;
  };
  struct Draft {
    Sight sight;
    std::vector<Touch> touches;
    Number stream = -1;        ///< work is submitted to it
    bool is_work = false;      ///< and takes part in the null stream's order
    std::optional<Done> also;  ///< done before the work, too
  };

  bool describe(const Operation& operation, Draft& draft);
  bool describe_stream(const Operation& operation, Draft& draft);
  bool describe_event(const Operation& operation, Draft& draft);
  bool describe_object(const Operation& operation, Draft& draft);
  bool describe_memory(const Operation& operation, Draft& draft);
  bool describe_copy(const Operation& operation, Draft& draft);
  bool describe_call(const Operation& operation, Draft& draft);
  bool describe_stale(const Operation& operation, Draft& draft);
  Refusal check(Draft& draft, const Done& before) const;
  Refusal check_end(const Operation& operation, const Draft& draft) const;
  void take_effect(const Operation& operation, Draft& draft, const Done& before, Step& step);
  void take_bytes(const Operation& operation, Step& step);
  void take_order(const Operation& operation, Draft& draft, const Done& before, Step& step);

  bool use_stream(Number stream, Draft& draft, bool submits, bool works = true);
  Buffer* buffer_on(Number buffer, Number device);
  std::vector<std::int64_t> related(Number stream, bool is_work) const;

  Number devices_;
  std::uint32_t threads_;
  std::vector<Traits> traits_;
  Order order_;
  std::map<Number, Stream> streams_;
  std::map<Number, Event> events_;
  std::map<Number, Buffer> buffers_;
  std::map<Number, Host> hosts_;
  std::map<Number, Thing> pools_;
  std::map<Number, Thing> modules_;
  Operation last_;  ///< that was admitted
};

/// A round of which every operation makes sense, with what its threads do.
struct Plan {
  Round round;
  std::vector<std::vector<Step>> threads;
  std::size_t checks = 0;
  bool fault_left = false;  ///< what a host function threw is collected by nobody
};

/// Leaves out of `round` what the model refuses.
Plan plan(const Round& round, const std::vector<Traits>& traits);

}  // namespace stress
