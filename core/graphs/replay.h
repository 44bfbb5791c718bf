// SPDX-License-Identifier: Apache-2.0
//
// Replay: launches a graph node by node, over as many streams as there are branches. It serves backends without graphs,
// and graphs that a backend can't have.
//
// The plan is made once. Lanes are streams. The first is the stream that the graph is launched on. The others are
// helper streams: they wait for the earlier work of that stream, and it waits for them at the end. A node takes the
// lane of a dependency that is the lane's last node, so a chain stays in one lane; dependencies across lanes are
// events.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/content.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {

class Replay {
 public:
  /// Plans the launch of `content`, which is flat. Takes helper streams and makes events. Throws.
  explicit Replay(const GraphContent& content, const char* operation);

  /// Submits every node. The same plan fits all contents with these dependencies and devices. There is one launch at a
  /// time, and the caller has ordered it behind the one before. Throws; work that was submitted by then stays in the
  /// stream's order.
  void launch(const GraphContent& content, StreamState& stream, const char* operation);

  /// The helper streams, or null if there are none. Their faults are directed to the launch's stream
  /// (StreamState::fault_target).
  std::shared_ptr<const std::vector<Pin<StreamState>>> helpers() const noexcept { return helpers_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t most_lanes = 16;  ///< the most lanes of one device; further branches share them

  struct Lane {
    DeviceState* device = nullptr;
    HelperStream helper;        ///< empty for the first lane
    std::uint32_t last = none;  ///< the lane's last node
    std::uint32_t length = 0;   ///< how many nodes it has
    /// The lane's first node has no dependency in another lane, so it waits for the launch's beginning.
    bool waits_for_start = false;
  };
  struct Step {
    std::uint32_t lane = 0;
    std::uint32_t position = 0;  ///< its number in the lane, from 1
    std::uint32_t event = none;  ///< the event that is recorded behind it
    std::uint32_t first_wait = 0;
    std::uint32_t wait_count = 0;
  };

  std::uint32_t choose_lane(const GraphContent& content, const Node& node, const char* operation);
  std::uint32_t new_lane(DeviceState& device, const char* operation);
  /// Makes `step` wait for `node`, which is at `position` of `lane`, unless its lane has waited for that position
  /// before.
  void wait_for(Step& step, std::uint32_t lane, std::uint32_t position, std::uint32_t node, const char* operation);
  std::uint32_t event_behind(std::uint32_t node, const char* operation);
  void plan(const GraphContent& content, const char* operation);
  void submit_all(const GraphContent& content, StreamState& stream, const char* operation);
  void join_after_failure(StreamState& stream, const char* operation) noexcept;
  StreamState& stream_of(std::uint32_t lane, StreamState& stream) { return lane == 0 ? stream : *lanes_[lane].helper; }

  std::vector<Lane> lanes_;
  std::vector<Step> steps_;                        ///< one for each node
  std::vector<std::uint32_t> waits_;               ///< for each step, the numbers of the events that it waits for
  std::vector<std::uint32_t> joins_;               ///< events that the first lane waits for at the end
  std::vector<std::vector<std::uint32_t>> known_;  ///< [lane][other]: the position up to which `lane` has waited for it
  std::vector<std::unique_ptr<EventState>> events_;
  std::unique_ptr<EventState> start_;
  std::shared_ptr<const std::vector<Pin<StreamState>>> helpers_;
};

}  // namespace anyplace::detail
