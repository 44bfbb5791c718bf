// SPDX-License-Identifier: Apache-2.0
//
// oneTBB's flow graph. A stream is a function_node that takes one message after another; its queue holds those that
// wait. A graph of operations is one of continue_nodes, made before it runs: edges can't be added to what has run.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "peer.h"

namespace bench {
namespace {

namespace flow = oneapi::tbb::flow;

struct Message {
  enum class Kind { empty, hold, record };
  Kind kind = Kind::empty;
  void* of = nullptr;  // Gate, or std::atomic<std::uint64_t>
  std::uint64_t value = 0;
};

void run(const Message& message) {
  switch (message.kind) {
    case Message::Kind::empty:
      return run_empty();
    case Message::Kind::hold:
      return static_cast<Gate*>(message.of)->hold();
    case Message::Kind::record:
      static_cast<std::atomic<std::uint64_t>*>(message.of)->store(message.value, std::memory_order_release);
  }
}

class TbbStreams final : public Streams {
 public:
  explicit TbbStreams(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      nodes_.emplace_back(graph_, flow::serial, [](const Message& message) {
        run(message);
        return flow::continue_msg();
      });
    }
  }
  ~TbbStreams() override { graph_.wait_for_all(); }

  void submit(std::size_t stream, std::size_t operations) override {
    Node& to = nodes_[stream];
    for (std::size_t i = 0; i < operations; ++i) to.try_put(Message());
  }
  void submit_in_turn(std::size_t operations) override {
    auto to = nodes_.begin();
    for (std::size_t i = 0; i < operations; ++i) {
      to->try_put(Message());
      if (++to == nodes_.end()) to = nodes_.begin();
    }
  }
  void synchronize_all() override { graph_.wait_for_all(); }
  void submit_one_and_synchronize(std::size_t stream) override {
    nodes_[stream].try_put(Message());
    graph_.wait_for_all();
  }
  void block(std::size_t stream) override {
    gate_.reset();
    nodes_[stream].try_put({Message::Kind::hold, &gate_, 0});
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void record(std::size_t stream, std::size_t records) override {
    for (std::size_t i = 0; i < records; ++i) nodes_[stream].try_put({Message::Kind::record, &recorded_, ++records_});
  }
  std::size_t query(std::size_t questions) override {
    std::size_t complete = 0;
    for (std::size_t i = 0; i < questions; ++i) complete += recorded_.load(std::memory_order_acquire) >= records_;
    return complete;
  }

  void submit_hops_ahead(std::size_t hops) override {
    forget();
    for (std::size_t i = 0; i < hops; ++i) {
      steps_.emplace_back(graph_, [](const flow::continue_msg&) { run_empty(); });
      if (i > 0) flow::make_edge(steps_[i - 1], steps_[i]);
    }
    // Behind what stream 0 is running: block()'s.
    flow::make_edge(nodes_[0], steps_[0]);
    starts_steps_ = true;
  }

  void submit_plan(const std::vector<Step>& plan, Body body, OrderCheck* check) override {
    forget();
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (body == Body::empty) {
        steps_.emplace_back(graph_, [](const flow::continue_msg&) { run_empty(); });
      } else if (body == Body::microsecond) {
        steps_.emplace_back(graph_, [](const flow::continue_msg&) { run_microsecond(); });
      } else {
        steps_.emplace_back(graph_, [check, i](const flow::continue_msg&) { check->run(i); });
      }
      if (plan[i].previous != Step::nothing) flow::make_edge(steps_[plan[i].previous], steps_[i]);
      if (plan[i].after != Step::nothing) flow::make_edge(steps_[plan[i].after], steps_[i]);
    }
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (plan[i].previous == Step::nothing && plan[i].after == Step::nothing) steps_[i].try_put(flow::continue_msg());
    }
  }

  void forget() override {
    if (starts_steps_) flow::remove_edge(nodes_[0], steps_[0]);
    starts_steps_ = false;
    steps_.clear();
  }

 private:
  using Node = flow::function_node<Message, flow::continue_msg, flow::queueing>;

  Gate gate_;
  alignas(128) std::atomic<std::uint64_t> recorded_{0};  // by whoever runs the node
  alignas(128) std::uint64_t records_ = 0;
  flow::graph graph_;
  std::deque<Node> nodes_;
  std::deque<flow::continue_node<flow::continue_msg>> steps_;
  bool starts_steps_ = false;  // whether the first node of steps_ follows nodes_[0]
};

class Tbb final : public Peer {
 public:
  std::string name() const override { return "tbb"; }
  std::string lacks(Feature feature) const override {
    if (feature == Feature::live_hops) return "the edges of a flow graph are made before it runs";
    if (feature == Feature::copies) return "has no copies";
    return {};
  }
  std::unique_ptr<Streams> make_streams(std::size_t count) override { return std::make_unique<TbbStreams>(count); }

 private:
  // A thread is held by block() while another submits.
  oneapi::tbb::global_control threads_{oneapi::tbb::global_control::max_allowed_parallelism,
                                       std::max(2U, std::thread::hardware_concurrency())};
};

}  // namespace

std::unique_ptr<Peer> make_tbb() { return std::make_unique<Tbb>(); }

}  // namespace bench
