// SPDX-License-Identifier: Apache-2.0
//
// Boost.Asio: a stream is a strand over a pool with a thread for each core. Order between strands is made by posting
// the next operation from the end of the one before it.
#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <latch>
#include <semaphore>
#include <thread>

#include "peer.h"

namespace bench {
namespace {

namespace asio = boost::asio;
using Strand = asio::strand<asio::thread_pool::executor_type>;

class AsioStreams final : public Streams {
 public:
  AsioStreams(asio::thread_pool& pool, std::size_t count) : memory_(count) {
    strands_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) strands_.emplace_back(pool.get_executor());
  }
  ~AsioStreams() override { AsioStreams::synchronize_all(); }

  void submit(std::size_t stream, std::size_t operations) override {
    for (std::size_t i = 0; i < operations; ++i) asio::post(strands_[stream], [] { run_empty(); });
  }
  void submit_in_turn(std::size_t operations) override {
    auto to = strands_.begin();
    for (std::size_t i = 0; i < operations; ++i) {
      asio::post(*to, [] { run_empty(); });
      if (++to == strands_.end()) to = strands_.begin();
    }
  }
  void synchronize_all() override {
    // Hops post each other: what a strand has at one time is not all that it will have.
    while (hopping_.load(std::memory_order_acquire)) hopping_.wait(true, std::memory_order_acquire);
    const auto left = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(strands_.size()));
    for (Strand& strand : strands_) asio::post(strand, [left] { left->count_down(); });
    left->wait();
  }
  void submit_one_and_synchronize(std::size_t stream) override {
    asio::post(strands_[stream], [this] {
      run_empty();
      one_done_.release();
    });
    one_done_.acquire();
  }
  void submit_with(std::size_t stream, std::size_t operations, Arguments) override {
    float* const to = memory_[stream].values;
    for (std::size_t i = 0; i < operations; ++i) {
      asio::post(strands_[stream], [to, factor = 1.5F, index = static_cast<int>(i)] { run_three(to, factor, index); });
    }
  }
  void submit_one_with_and_synchronize(std::size_t stream) override {
    asio::post(strands_[stream], [this, to = memory_[stream].values, factor = 1.5F, index = 1] {
      run_three(to, factor, index);
      one_done_.release();
    });
    one_done_.acquire();
  }
  void submit_host_functions(std::size_t stream, std::size_t functions) override { submit(stream, functions); }
  void submit_host_function_and_synchronize(std::size_t stream) override { submit_one_and_synchronize(stream); }
  void block(std::size_t stream) override {
    gate_.reset();
    asio::post(strands_[stream], [this] { gate_.hold(); });
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void record(std::size_t stream, std::size_t records) override {
    for (std::size_t i = 0; i < records; ++i) {
      asio::post(strands_[stream], [this, value = ++records_] { recorded_.store(value, std::memory_order_release); });
    }
  }
  std::size_t query(std::size_t questions) override {
    std::size_t complete = 0;
    for (std::size_t i = 0; i < questions; ++i) complete += recorded_.load(std::memory_order_acquire) >= records_;
    return complete;
  }
  void submit_hops(std::size_t hops) override {
    hopping_.store(true, std::memory_order_release);
    post_hop(hops);
  }

 private:
  void post_hop(std::size_t left) {
    asio::post(strands_[left % 2], [this, left] {
      run_empty();
      if (left > 1) return post_hop(left - 1);
      hopping_.store(false, std::memory_order_release);
      hopping_.notify_one();
    });
  }

  Gate gate_;
  std::binary_semaphore one_done_{0};
  alignas(128) std::atomic<std::uint64_t> recorded_{0};  // by whoever runs the strand
  alignas(128) std::uint64_t records_ = 0;
  std::atomic<bool> hopping_{false};
  struct alignas(128) Memory {
    float values[16] = {};
  };
  std::vector<Memory> memory_;  // one for each stream
  std::vector<Strand> strands_;
};

class Asio final : public Peer {
 public:
  // One thread is held by block() while others run.
  Asio() : pool_(std::max(2U, std::thread::hardware_concurrency())) {}
  ~Asio() override { pool_.join(); }
  std::string name() const override { return "asio"; }
  std::string lacks(Feature feature) const override {
    if (feature == Feature::live_hops) return "nothing is submitted for a later time: each hop posts the next";
    if (feature == Feature::graphs) return "a strand is held back by nothing but a thread that waits";
    if (feature == Feature::launches) return "has no graphs";
    if (feature == Feature::copies || feature == Feature::small_copies) return "has no copies";
    if (feature == Feature::image) return "knows functions of its own program";
    if (feature == Feature::grids) return "has no loop over parts";
    if (feature == Feature::buffers) return "has no memory";
    if (feature == Feature::event_objects) return "has no events";
    return {};
  }
  std::unique_ptr<Streams> make_streams(std::size_t count) override {
    return std::make_unique<AsioStreams>(pool_, count);
  }

 private:
  asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<Peer> make_asio() { return std::make_unique<Asio>(); }

}  // namespace bench
