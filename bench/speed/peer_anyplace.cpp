// SPDX-License-Identifier: Apache-2.0
//
// anyplace, through its public interface. Its kernels are callables, so the place is one of cpu_sim.
#include <anyplace/anyplace.h>

#include <cstring>
#include <utility>

#include "peer.h"
#include "speed_kernels.h"

namespace bench {
namespace {

class AnyplaceStreams final : public Streams {
 public:
  AnyplaceStreams(const anyplace::Device& device, std::size_t count)
      : device_(device),
        empty_(device, [](const anyplace::Block&) { run_empty(); }),
        microsecond_(device, [](const anyplace::Block&) { run_microsecond(); }),
        hold_(device, [this](const anyplace::Block&) { gate_.hold(); }) {
    streams_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) streams_.emplace_back(device);
  }
  ~AnyplaceStreams() override { AnyplaceStreams::synchronize_all(); }

  void submit(std::size_t stream, std::size_t operations) override {
    const anyplace::StreamView to = streams_[stream];
    for (std::size_t i = 0; i < operations; ++i) to.launch(empty_, {1, 1});
  }

  void submit_in_turn(std::size_t operations) override {
    auto to = streams_.begin();
    for (std::size_t i = 0; i < operations; ++i) {
      to->launch(empty_, {1, 1});
      if (++to == streams_.end()) to = streams_.begin();
    }
  }

  void synchronize_all() override {
    for (const anyplace::Stream& stream : streams_) stream.synchronize();
  }

  void submit_one_and_synchronize(std::size_t stream) override {
    streams_[stream].launch(empty_, {1, 1});
    streams_[stream].synchronize();
  }

  void block(std::size_t stream) override {
    gate_.reset();
    streams_[stream].launch(hold_, {1, 1});
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void record(std::size_t stream, std::size_t records) override {
    make_events();
    const anyplace::EventView event = events_[stream];
    for (std::size_t i = 0; i < records; ++i) event.record(streams_[stream]);
  }

  std::size_t query(std::size_t questions) override {
    const anyplace::EventView event = events_.at(0);
    std::size_t complete = 0;
    for (std::size_t i = 0; i < questions; ++i) complete += event.query();
    return complete;
  }

  void submit_hops(std::size_t hops) override {
    make_events();
    for (std::size_t i = 0; i < hops; ++i) {
      const std::size_t from = i % 2;
      streams_[from].launch(empty_, {1, 1});
      events_[from].record(streams_[from]);
      streams_[1 - from].wait_event(events_[from]);
    }
  }

  void submit_plan(const std::vector<Step>& plan, Body body, OrderCheck* check) override {
    make_events();
    if (body == Body::three_arguments) make_arguments();
    anyplace::Kernel checked;
    if (body == Body::checked) {
      checked = anyplace::Kernel(device_, [check](const anyplace::Block&, std::uint32_t step) { check->run(step); });
    }
    const anyplace::KernelView kernel = body == Body::empty ? empty_ : microsecond_;
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      const Step& step = plan[i];
      const anyplace::StreamView stream = streams_[step.stream];
      if (step.after != Step::nothing) {
        events_[step.other].record(streams_[step.other]);
        stream.wait_event(events_[step.other]);
      }
      if (check != nullptr) {
        stream.launch(checked, {1, 1}, i);
      } else if (body == Body::three_arguments) {
        stream.launch(three_, {1, 1}, memory_[step.stream], 1.5F, static_cast<int>(i));
      } else {
        stream.launch(kernel, {1, 1});
      }
    }
  }

  void make_graph(const std::vector<Step>& plan, Body body, OrderCheck* check) override {
    anyplace::Kernel checked;
    if (body == Body::checked) {
      checked = anyplace::Kernel(device_, [check](const anyplace::Block&, std::uint32_t step) { check->run(step); });
    }
    const anyplace::KernelView kernel = body == Body::empty ? empty_ : microsecond_;
    anyplace::Graph graph(device_);
    std::vector<anyplace::GraphNode> nodes;
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      std::vector<anyplace::GraphNode> after;
      for (const std::uint32_t step : {plan[i].previous, plan[i].after}) {
        if (step != Step::nothing) after.push_back(nodes[step]);
      }
      nodes.push_back(check != nullptr ? graph.add_kernel(after, checked, {1, 1}, i)
                                       : graph.add_kernel(after, kernel, {1, 1}));
    }
    exec_ = graph.instantiate();
  }
  void run_graph() override {
    exec_.launch(streams_[0]);
    streams_[0].synchronize();
  }

  void submit_with(std::size_t stream, std::size_t operations, Arguments arguments) override {
    make_arguments();
    const anyplace::StreamView to = streams_[stream];
    const anyplace::Buffer& memory = memory_[stream];
    if (arguments == Arguments::three) {
      for (std::size_t i = 0; i < operations; ++i) to.launch(three_, {1, 1}, memory, 1.5F, static_cast<int>(i));
    } else {
      const anyplace::Buffer& counts = counts_[stream];
      for (std::size_t i = 0; i < operations; ++i) {
        to.launch(eight_, {1, 1}, counts, memory, memory, memory, 1.5F, 0.5F, 16, static_cast<int>(i));
      }
    }
  }
  void submit_one_with_and_synchronize(std::size_t stream) override {
    make_arguments();
    streams_[stream].launch(three_, {1, 1}, memory_[stream], 1.5F, 1);
    streams_[stream].synchronize();
  }
  void run_grid(std::uint32_t blocks, Body body) override {
    streams_[0].launch(body == Body::empty ? empty_ : microsecond_, {blocks, 1});
    streams_[0].synchronize();
  }
  void submit_host_functions(std::size_t stream, std::size_t functions) override {
    const anyplace::StreamView to = streams_[stream];
    for (std::size_t i = 0; i < functions; ++i) to.launch_host_func([] { run_empty(); });
  }
  void submit_host_function_and_synchronize(std::size_t stream) override {
    streams_[stream].launch_host_func([] { run_empty(); });
    streams_[stream].synchronize();
  }
  void submit_fills(std::size_t fills) override {
    make_arguments();
    for (std::size_t i = 0; i < fills; ++i) streams_[0].memset8(memory_[0], 1);
  }
  void submit_copies(std::size_t copies) override {
    make_arguments();
    for (std::size_t i = 0; i < copies; ++i) streams_[0].copy(memory_[0], anyplace::ConstHostSpan(host_));
  }
  void use_buffers(std::size_t count) override {
    std::vector<anyplace::Buffer> buffers;
    buffers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      buffers.emplace_back(streams_[0], 4096);
      streams_[0].copy(buffers.back().sub(0, sizeof(host_)), anyplace::ConstHostSpan(host_));
    }
  }
  void use_events(std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      const anyplace::Event event(device_);
      event.record(streams_[0]);
      streams_[1].wait_event(event);
    }
  }
  std::uint64_t ran() override {
    std::uint64_t sum = operations_run();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      std::uint64_t count = 0;
      streams_[i].copy(anyplace::HostSpan(&count, sizeof(count)), counts_[i]);
      streams_[i].synchronize();
      sum += count;
    }
    return sum;
  }

 private:
  void make_events() {
    while (events_.size() < streams_.size()) events_.emplace_back(device_);
  }
  /// What operations are given: made when first needed, by one thread.
  void make_arguments() {
    if (!memory_.empty()) return;
    three_ = anyplace::Kernel(device_, [](const anyplace::Block&, float* memory, float factor, int index) {
      run_three(memory, factor, index);
    });
    module_ = anyplace::Module(device_, speed_kernels);
    eight_ = module_.kernel("eight");
    for (const anyplace::Stream& stream : streams_) {
      memory_.emplace_back(stream, 64);
      counts_.emplace_back(stream, sizeof(std::uint64_t));
      stream.memset8(counts_.back(), 0);
    }
    synchronize_all();
  }

  const anyplace::Device& device_;
  Gate gate_;
  anyplace::Kernel empty_;
  anyplace::Kernel microsecond_;
  anyplace::Kernel hold_;
  anyplace::Kernel three_;
  anyplace::Module module_;
  anyplace::KernelView eight_;
  float host_[16] = {};
  std::vector<anyplace::Event> events_;  // one for each stream, made when first needed
  std::vector<anyplace::Stream> streams_;
  std::vector<anyplace::Buffer> memory_;  // one for each stream; freed before their streams
  std::vector<anyplace::Buffer> counts_;  // how often `eight` ran, for each stream
  anyplace::GraphExec exec_;
};

class AnyplaceCopy final : public Peer::Copy {
 public:
  AnyplaceCopy(const anyplace::Device& device, std::size_t bytes)
      : stream_(device), host_(device, bytes), there_(stream_, bytes) {
    std::memset(host_.data(), 1, bytes);
    AnyplaceCopy::run();
  }
  void run() override {
    stream_.copy(there_, anyplace::ConstHostSpan(host_.data(), host_.size()));
    stream_.synchronize();
  }
  bool arrived() override {
    const auto patterns = host_.as<std::uint32_t>();
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint32_t>(i * 2654435761U);
    run();
    std::vector<std::uint32_t> back(patterns.size());
    stream_.copy(anyplace::HostSpan(back), there_);
    stream_.synchronize();
    return std::memcmp(back.data(), host_.data(), host_.size()) == 0;
  }

 private:
  anyplace::Stream stream_;
  anyplace::HostBuffer host_;
  anyplace::Buffer there_;
};

class Anyplace final : public Peer {
 public:
  explicit Anyplace(const std::string& place) : device_(place) {}
  std::string name() const override { return "anyplace"; }
  std::unique_ptr<Streams> make_streams(std::size_t count) override {
    return std::make_unique<AnyplaceStreams>(device_, count);
  }
  std::unique_ptr<Copy> make_copy(std::size_t bytes) override { return std::make_unique<AnyplaceCopy>(device_, bytes); }

 private:
  anyplace::Device device_;
};

}  // namespace

std::unique_ptr<Peer> make_anyplace(const std::string& place) { return std::make_unique<Anyplace>(place); }

}  // namespace bench
