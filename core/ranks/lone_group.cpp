// SPDX-License-Identifier: Apache-2.0
#include "ranks/lone_group.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "anyplace/stream.h"
#include "runtime/call.h"
#include "streams/event_state.h"

namespace anyplace::detail {
namespace {

class LoneGroup final : public EngineGroup {
 public:
  LoneGroup(DeviceState& device, std::chrono::nanoseconds timeout) : EngineGroup(device, 0, 1, timeout) {}

  bool uses_stream_calls() const noexcept override { return true; }
  void require(const Part& /*part*/, const char* /*operation*/) const override {}

  void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) override {
    const StreamView view(stream->id);
    std::vector<const Part*> sends;
    for (const Part& part : parts) {
      if (part.what == Collective::send) sends.push_back(&part);
    }
    auto send = sends.begin();
    for (const Part& part : parts) {
      if (part.what == Collective::send || part.what == Collective::barrier || part.what == Collective::broadcast) {
        continue;
      }
      Part from = part;
      if (part.what == Collective::recv) {
        if (send == sends.end()) refuse_partner(operation);
        if ((*send)->count != part.count || (*send)->type != part.type) refuse_partner(operation);
        from.source = (*send++)->source;
      }
      if (from.source == part.destination) continue;
      view.copy(Address(part.destination), Address(from.source), part.count * size_of(part.type));
    }
    if (send != sends.end()) refuse_partner(operation);
    note(*stream, operation);
  }

  std::shared_ptr<EngineGroup> split(int color, int /*key*/, const char* /*operation*/) override {
    return color < 0 ? nullptr : make_lone_group(device(), timeout());
  }

  bool idle() override { return wait(Deadline(0)); }

  bool wait(const Deadline& deadline) override {
    while (true) {
      std::shared_ptr<EventState> first;
      {
        const std::lock_guard lock(mutex_);
        if (pending_.empty()) return true;
        first = pending_.front();
      }
      if (!synchronize(*first, deadline.left(), "Communicator::synchronize")) return false;
      const std::lock_guard lock(mutex_);
      std::erase(pending_, first);
    }
  }

  void end(const Error& error) noexcept override { fail_with(error); }

 private:
  [[noreturn]] void refuse_partner(const char* operation) const {
    fail(ErrorCode::invalid_argument, device().place, operation,
         "a rank that is alone sends to itself: each send needs a recv of the same count and type in the same group");
  }
  /// Records an event behind the work, for which wait() waits.
  void note(StreamState& stream, const char* operation) {
    const std::shared_ptr<EventState> event = make_event(device(), 0, operation);
    record(*event, stream, operation);
    const std::lock_guard lock(mutex_);
    pending_.push_back(event);
    if (pending_.size() > most_pending) {  // events that are complete aren't needed any more
      std::erase_if(pending_,
                    [&](const std::shared_ptr<EventState>& old) { return old != event && query(*old, operation); });
    }
  }

  static constexpr std::size_t most_pending = 64;
  std::mutex mutex_;  // guards pending_; the backend's event_query is called under it
  std::vector<std::shared_ptr<EventState>> pending_;
};

}  // namespace

std::shared_ptr<EngineGroup> make_lone_group(DeviceState& device, std::chrono::nanoseconds timeout) {
  return std::make_shared<LoneGroup>(device, timeout);
}

}  // namespace anyplace::detail
