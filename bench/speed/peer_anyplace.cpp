// SPDX-License-Identifier: Apache-2.0
//
// anyplace, through its public interface. Its kernels are callables, so the place is one of cpu_sim.
#include <anyplace/anyplace.h>

#include <cstring>
#include <utility>

#include "peer.h"

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
      } else {
        stream.launch(kernel, {1, 1});
      }
    }
  }

 private:
  void make_events() {
    while (events_.size() < streams_.size()) events_.emplace_back(device_);
  }

  const anyplace::Device& device_;
  Gate gate_;
  anyplace::Kernel empty_;
  anyplace::Kernel microsecond_;
  anyplace::Kernel hold_;
  std::vector<anyplace::Event> events_;  // one for each stream, made when first needed
  std::vector<anyplace::Stream> streams_;
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
