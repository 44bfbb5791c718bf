// SPDX-License-Identifier: Apache-2.0
#include "tools/network_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <stdexcept>
#include <utility>

#include "tools/network_data.h"
#include "tools/network_links.h"

namespace anyplace::tool {
namespace {

/// Events that are less apart are one, so that rounding doesn't take them apart. It is more than the rounding of a time
/// of hours.
constexpr double instant_ns = 1e-3;
/// A kernel of core/comm adds as many arrays to one in a pass.
constexpr double most_added = 7;

struct Event {
  enum class Kind : std::uint8_t { departure, arrival, end_of_stage };

  double ns = 0;
  std::uint64_t number = 0;  // Events of one time are handled in the order in which they were made.
  Kind kind = Kind::departure;
  std::uint32_t subject = 0;  // a message, or the rank whose stage ends
  std::uint32_t version = 0;  // of the message's flow

  bool operator>(const Event& other) const noexcept { return ns != other.ns ? ns > other.ns : number > other.number; }
};

/// Where a message is in the plan of a rank.
struct End {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint32_t stage = 0;
};

/// Its flow has the same number.
struct Message {
  End from, to;
  double begin_ns = 0;
  double departure_ns = 0;
  std::vector<BlockValue> values;
};

/// Steps that are done together, and what their end had waited for: the message that was over last.
struct Stage {
  double begin_ns = 0;
  double latency_ns = 0;
  double moving_ns = 0;
  double adding_ns = 0;
  std::int32_t waited_for = 0;  // the end of that message whose rank came to it later
  std::uint32_t waited_for_stage = 0;
  std::uint32_t slowest = 0;
  bool left_machine = false;
};

struct RankState {
  PlanSteps steps;
  std::uint32_t begin = 0, end = 0;  // the steps of the stage
  std::uint32_t open = 0;            // messages of the stage that aren't over
  double added_bytes = 0;
  std::uint32_t added_messages = 0;
  std::vector<std::uint8_t> is_matched;        // by the stage's steps: sends, then receives
  std::vector<std::vector<BlockValue>> inbox;  // by the stage's steps: what is added at its end
  std::vector<Stage> stages;
};

class Simulation {
 public:
  Simulation(const NetworkProfile& profile, const Ranks& ranks, const Algorithm& algorithm, std::uint64_t bytes)
      : profile_(profile),
        algorithm_(algorithm),
        links_(profile, ranks),
        shares_(links_.links()),
        data_(ranks, algorithm) {
    const bool has_two_buffers = algorithm.collective == CollectiveKind::all_to_all;
    const double blocks = algorithm.blocks(ranks) / (has_two_buffers ? 2.0 : 1.0);
    bytes_of_block_ = static_cast<double>(bytes) / blocks;
    states_.resize(static_cast<std::size_t>(ranks.count()));
    for (int rank = 0; rank < ranks.count(); ++rank) state(rank).steps = algorithm.steps(ranks, rank);
  }

  NetworkResult run() {
    for (int rank = 0; rank < count(); ++rank) begin_stage(rank);
    while (!events_.empty()) {
      now_ = std::max(now_, events_.top().ns);
      while (!events_.empty() && events_.top().ns <= now_ + instant_ns) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      for (const std::uint32_t flow : shares_.settle(flows_, now_)) {
        add_event(now_ + flows_[flow].left / flows_[flow].rate, Event::Kind::arrival, flow, flows_[flow].version);
      }
    }
    check_done();
    data_.check();
    return result();
  }

 private:
  int count() const noexcept { return static_cast<int>(states_.size()); }
  RankState& state(int rank) noexcept { return states_[static_cast<std::size_t>(rank)]; }
  const RankState& state(int rank) const noexcept { return states_[static_cast<std::size_t>(rank)]; }

  void add_event(double ns, Event::Kind kind, std::uint32_t subject, std::uint32_t version = 0) {
    events_.push({ns, ++last_event_, kind, subject, version});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::departure:
        return depart(event.subject);
      case Event::Kind::arrival:
        if (flows_[event.subject].version == event.version) arrive(event.subject);
        return;
      case Event::Kind::end_of_stage:
        return end_stage(static_cast<int>(event.subject));
    }
  }

  // ---- Stages ------------------------------------------------------------------------------------------------------

  void begin_stage(int rank) {
    RankState& own = state(rank);
    own.begin = own.end;
    if (own.begin == own.steps.size()) return;
    while (own.steps[own.end++].with_next) {
    }
    const std::uint32_t steps = own.end - own.begin;
    own.is_matched.assign(std::size_t{2} * steps, 0);
    if (own.inbox.size() < steps) own.inbox.resize(steps);
    own.added_bytes = 0;
    own.added_messages = 0;
    own.stages.emplace_back().begin_ns = now_;
    for (std::uint32_t step = own.begin; step < own.end; ++step) {
      own.open += (own.steps[step].send_to >= 0 ? 1u : 0u) + (own.steps[step].receive_from >= 0 ? 1u : 0u);
    }
    for (std::uint32_t step = own.begin; step < own.end; ++step) {
      if (own.steps[step].send_to >= 0) match_send(rank, step);
      if (own.steps[step].receive_from >= 0) match_receive(rank, step);
    }
  }

  std::uint8_t& matched(int rank, std::uint32_t step, bool receives) {
    RankState& own = state(rank);
    return own.is_matched[step - own.begin + (receives ? own.end - own.begin : 0)];
  }

  void match_send(int rank, std::uint32_t step) {
    const int peer = state(rank).steps[step].send_to;
    for (std::uint32_t other = state(peer).begin; other < state(peer).end; ++other) {
      if (state(peer).steps[other].receive_from != rank || matched(peer, other, true) != 0) continue;
      return begin_message(rank, step, peer, other);
    }
  }
  void match_receive(int rank, std::uint32_t step) {
    if (matched(rank, step, true) != 0) return;
    const int peer = state(rank).steps[step].receive_from;
    for (std::uint32_t other = state(peer).begin; other < state(peer).end; ++other) {
      if (state(peer).steps[other].send_to != rank || matched(peer, other, false) != 0) continue;
      return begin_message(peer, other, rank, step);
    }
  }

  void close(const End& end, std::uint32_t id) {
    RankState& own = state(end.rank);
    if (--own.open > 0) return;
    const Message& message = messages_[id];
    const bool sender_was_later = stage(message.from).begin_ns > stage(message.to).begin_ns;
    const End& later = sender_was_later ? message.from : message.to;
    Stage& over = own.stages.back();
    over.waited_for = later.rank;
    over.waited_for_stage = later.stage;
    over.latency_ns = message.departure_ns - message.begin_ns;
    over.moving_ns = now_ - message.departure_ns;
    over.slowest = flows_[id].slowest;
    over.left_machine = flows_[id].way.leaves_machine;
    if (profile_.memory_bytes_per_second > 0 && own.added_messages > 0) {
      const double each = own.added_bytes / own.added_messages;
      const double passes = std::ceil(own.added_messages / most_added);
      over.adding_ns = each * (own.added_messages + 2 * passes) / profile_.memory_bytes_per_second * 1e9;
    }
    add_event(now_ + over.adding_ns, Event::Kind::end_of_stage, static_cast<std::uint32_t>(end.rank));
  }

  void end_stage(int rank) {
    RankState& own = state(rank);
    std::vector<BlockValue>& values = data_.of(rank);
    for (std::uint32_t step = own.begin; step < own.end; ++step) {
      const PlanStep& done = own.steps[step];
      if (done.receive_from < 0 || !done.reduces) continue;
      const std::vector<BlockValue>& received = own.inbox[step - own.begin];
      for (std::uint32_t i = 0; i < done.received.count; ++i) {
        BlockValue& value = values[done.received.first + i];
        value = done.comes_first ? added(received[i], value) : added(value, received[i]);
      }
    }
    begin_stage(rank);
  }

  Stage& stage(const End& end) { return state(end.rank).stages[end.stage]; }

  // ---- Messages ----------------------------------------------------------------------------------------------------

  void begin_message(int sender, std::uint32_t sends, int receiver, std::uint32_t receives) {
    const Blocks sent = state(sender).steps[sends].sent;
    if (sent.count != state(receiver).steps[receives].received.count) {
      throw std::logic_error(std::string("the plan of ") + algorithm_.name + " is wrong: rank " +
                             std::to_string(sender) + " sends " + std::to_string(sent.count) + " blocks, and rank " +
                             std::to_string(receiver) + " receives another number");
    }
    matched(sender, sends, false) = matched(receiver, receives, true) = 1;
    std::uint32_t id = 0;
    if (free_.empty()) {
      id = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
      flows_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    Message& message = messages_[id];
    message.from = {sender, sends, static_cast<std::uint32_t>(state(sender).stages.size() - 1)};
    message.to = {receiver, receives, static_cast<std::uint32_t>(state(receiver).stages.size() - 1)};
    message.begin_ns = now_;
    const std::vector<BlockValue>& values = data_.of(sender);
    message.values.assign(values.begin() + sent.first, values.begin() + sent.first + sent.count);
    Flow& flow = flows_[id];
    flow.way = links_.way(sender, receiver);
    flow.left = bytes_of_block_ * sent.count;
    flow.rate = 0;
    for (std::uint32_t i = 0; i < flow.way.count; ++i) links_.links()[flow.way.links[i]].carried += flow.left;
    ++sent_messages_;
    add_event(now_ + flow.way.latency_ns, Event::Kind::departure, id);
  }

  void depart(std::uint32_t id) {
    messages_[id].departure_ns = flows_[id].since_ns = now_;
    shares_.enter(flows_, id);
  }

  void arrive(std::uint32_t id) {
    shares_.leave(flows_, id);
    ++flows_[id].version;
    Message& message = messages_[id];
    RankState& receiver = state(message.to.rank);
    const PlanStep& step = receiver.steps[message.to.step];
    if (step.reduces) {
      receiver.inbox[message.to.step - receiver.begin].swap(message.values);
      receiver.added_bytes += bytes_of_block_ * step.received.count;
      ++receiver.added_messages;
    } else {
      std::copy(message.values.begin(), message.values.end(), data_.of(message.to.rank).begin() + step.received.first);
    }
    close(message.from, id);
    close(message.to, id);
    free_.push_back(id);
  }

  // ---- The result --------------------------------------------------------------------------------------------------

  double end_ns(int rank) const {
    if (state(rank).stages.empty()) return 0;
    const Stage& last = state(rank).stages.back();
    return end_of(last);
  }
  double end_of(const Stage& stage) const {
    const Stage& later = state(stage.waited_for).stages[stage.waited_for_stage];
    return later.begin_ns + stage.latency_ns + stage.moving_ns + stage.adding_ns;
  }

  void check_done() const {
    for (int rank = 0; rank < count(); ++rank) {
      const RankState& own = state(rank);
      if (own.begin == own.steps.size()) continue;
      throw std::logic_error(std::string("the plan of ") + algorithm_.name + " is wrong: rank " + std::to_string(rank) +
                             " waits for ever in step " + std::to_string(own.begin));
    }
  }

  /// Goes back from the end of the slowest rank, from each stage to the one that it had waited for.
  std::vector<TimeShare> shares_of(int rank) const {
    std::map<std::string, double> times;
    std::size_t next = state(rank).stages.size();
    while (next > 0) {
      const Stage& stage = state(rank).stages[next - 1];
      times[links_.kinds()[stage.slowest]] += stage.moving_ns;
      times[stage.left_machine ? "latency between machines" : "latency in machines"] += stage.latency_ns;
      times["adding"] += stage.adding_ns;
      rank = stage.waited_for;
      next = stage.waited_for_stage;
    }
    std::vector<TimeShare> shares;
    for (const auto& [what, ns] : times) {
      if (ns > 0) shares.push_back({what, ns});
    }
    std::stable_sort(shares.begin(), shares.end(), [](const TimeShare& a, const TimeShare& b) { return a.ns > b.ns; });
    return shares;
  }

  NetworkResult result() const {
    NetworkResult result;
    int slowest = 0;
    for (int rank = 1; rank < count(); ++rank) {
      if (end_ns(rank) > end_ns(slowest)) slowest = rank;
    }
    result.ns = end_ns(slowest);
    result.messages = sent_messages_;
    result.shares = shares_of(slowest);
    result.same_bits = data_.same_order();
    for (std::uint32_t kind = 0; kind < links_.kinds().size(); ++kind) {
      LinkUse use{links_.kinds()[kind]};
      for (const Link& link : links_.links()) {
        if (link.kind != kind || link.carried == 0) continue;
        use.bytes += link.carried;
        use.busiest = std::max(use.busiest, link.carried / link.bytes_per_ns / result.ns);
      }
      if (use.bytes > 0) result.links.push_back(use);
    }
    return result;
  }

  const NetworkProfile& profile_;
  const Algorithm& algorithm_;
  NetworkLinks links_;
  LinkShares shares_;
  NetworkData data_;
  double bytes_of_block_ = 0;
  std::vector<RankState> states_;
  std::vector<Message> messages_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;  // messages that are over
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t last_event_ = 0;
  std::uint64_t sent_messages_ = 0;
  double now_ = 0;
};

}  // namespace

NetworkResult run_network(const NetworkProfile& profile, const Ranks& ranks, const Algorithm& algorithm,
                          std::uint64_t bytes) {
  return Simulation(profile, ranks, algorithm, bytes).run();
}

}  // namespace anyplace::tool
