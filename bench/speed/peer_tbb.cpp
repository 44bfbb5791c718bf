// SPDX-License-Identifier: Apache-2.0
//
// oneTBB's flow graph. A stream is a function_node that takes one message after another; its queue holds those that
// wait. A graph of operations is one of continue_nodes, made before it runs: edges can't be added to what has run.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "peer.h"

namespace bench {
namespace {

namespace flow = oneapi::tbb::flow;

struct Message {
  enum class Kind { empty, hold, record, three };
  struct Arguments {
    float factor;
    int index;
  };
  Kind kind = Kind::empty;
  void* of = nullptr;  // Gate, std::atomic<std::uint64_t>, or the memory of an operation with three arguments
  union {
    std::uint64_t value = 0;
    Arguments arguments;
  };
};

void run(const Message& message) {
  switch (message.kind) {
    case Message::Kind::empty:
      return run_empty();
    case Message::Kind::hold:
      return static_cast<Gate*>(message.of)->hold();
    case Message::Kind::record:
      return static_cast<std::atomic<std::uint64_t>*>(message.of)->store(message.value, std::memory_order_release);
    case Message::Kind::three:
      run_three(static_cast<float*>(message.of), message.arguments.factor, message.arguments.index);
  }
}

class TbbStreams final : public Streams {
 public:
  explicit TbbStreams(std::size_t count) : memory_(count) {
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
  void submit_with(std::size_t stream, std::size_t operations, Arguments) override {
    for (std::size_t i = 0; i < operations; ++i) put_three(stream, static_cast<int>(i));
  }
  void submit_one_with_and_synchronize(std::size_t stream) override {
    put_three(stream, 1);
    graph_.wait_for_all();
  }
  void run_grid(std::uint32_t blocks, Body body) override {
    if (body == Body::empty) {
      oneapi::tbb::parallel_for(0U, blocks, [](std::uint32_t) { run_empty(); });
    } else {
      oneapi::tbb::parallel_for(0U, blocks, [](std::uint32_t) { run_microsecond(); });
    }
  }
  void submit_host_functions(std::size_t stream, std::size_t functions) override { submit(stream, functions); }
  void submit_host_function_and_synchronize(std::size_t stream) override { submit_one_and_synchronize(stream); }
  void block(std::size_t stream) override {
    gate_.reset();
    nodes_[stream].try_put({Message::Kind::hold, &gate_, {}});
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void record(std::size_t stream, std::size_t records) override {
    for (std::size_t i = 0; i < records; ++i) {
      nodes_[stream].try_put({Message::Kind::record, &recorded_, {++records_}});
    }
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
    make_graph(plan, body, check);
    start_graph();
  }

  void make_graph(const std::vector<Step>& plan, Body body, OrderCheck* check) override {
    forget();
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (body == Body::empty) {
        steps_.emplace_back(graph_, [](const flow::continue_msg&) { run_empty(); });
      } else if (body == Body::microsecond) {
        steps_.emplace_back(graph_, [](const flow::continue_msg&) { run_microsecond(); });
      } else if (body == Body::three_arguments) {
        steps_.emplace_back(graph_, [to = memory_[plan[i].stream].values, i](const flow::continue_msg&) {
          run_three(to, 1.5F, static_cast<int>(i));
        });
      } else {
        steps_.emplace_back(graph_, [check, i](const flow::continue_msg&) { check->run(i); });
      }
      if (plan[i].previous != Step::nothing) flow::make_edge(steps_[plan[i].previous], steps_[i]);
      if (plan[i].after != Step::nothing) flow::make_edge(steps_[plan[i].after], steps_[i]);
    }
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (plan[i].previous == Step::nothing && plan[i].after == Step::nothing) firsts_.push_back(i);
    }
  }
  void run_graph() override {
    start_graph();
    graph_.wait_for_all();
  }

  void forget() override {
    if (starts_steps_) flow::remove_edge(nodes_[0], steps_[0]);
    starts_steps_ = false;
    firsts_.clear();
    steps_.clear();
  }

 private:
  using Node = flow::function_node<Message, flow::continue_msg, flow::queueing>;
  struct alignas(128) Memory {
    float values[16] = {};
  };

  void start_graph() {
    for (const std::size_t first : firsts_) steps_[first].try_put(flow::continue_msg());
  }
  void put_three(std::size_t stream, int index) {
    Message message;
    message.kind = Message::Kind::three;
    message.of = memory_[stream].values;
    message.arguments = {1.5F, index};
    nodes_[stream].try_put(message);
  }

  Gate gate_;
  alignas(128) std::atomic<std::uint64_t> recorded_{0};  // by whoever runs the node
  alignas(128) std::uint64_t records_ = 0;
  flow::graph graph_;
  std::vector<Memory> memory_;  // one for each stream
  std::deque<Node> nodes_;
  std::deque<flow::continue_node<flow::continue_msg>> steps_;
  std::vector<std::size_t> firsts_;  // steps that come after no other
  bool starts_steps_ = false;        // whether the first node of steps_ follows nodes_[0]
};

class Tbb final : public Peer {
 public:
  std::string name() const override { return "tbb"; }
  std::string lacks(Feature feature) const override {
    if (feature == Feature::live_hops) return "the edges of a flow graph are made before it runs";
    if (feature == Feature::copies || feature == Feature::small_copies) return "has no copies";
    if (feature == Feature::image) return "knows functions of its own program";
    if (feature == Feature::buffers) return "has no memory";
    if (feature == Feature::event_objects) return "has no events";
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
