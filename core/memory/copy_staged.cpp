// SPDX-License-Identifier: Apache-2.0
//
// Copies between devices that can't reach each other, in pieces, from the one device to host memory to the other; two
// pieces are under way at a time. The stream copies on its own device, a helper stream on the other. Events between
// them, which may be of two backends, keep the order. The host only submits.
//
// Such a copy needs a lane: host memory, a helper stream and events. Lanes are reused. Invariant: a copy that takes a
// lane first waits, on the device, for the lane's last job, so a lane can be taken while that job still runs. A job
// waits only for jobs submitted before it, so jobs never wait in a circle.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "memory/copy.h"
#include "plugins/device_properties.h"
#include "runtime/no_destructor.h"
#include "streams/event_state.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {

namespace {

/// Large pieces hide the cost of events; small copies don't need that much memory.
constexpr std::uint64_t large_piece = std::uint64_t{4} << 20;
constexpr std::uint64_t small_piece = std::uint64_t{256} << 10;
constexpr std::size_t pieces_under_way = 2;

/// How many lanes of a kind are made before an unfinished one is reused. There are more only if as many threads submit
/// at the same moment.
constexpr std::size_t lanes_of_large_pieces = 4;
constexpr std::size_t lanes_of_small_pieces = 16;

constexpr std::size_t plain_alignment = 4096;

struct LaneKind {
  DeviceState* source = nullptr;
  DeviceState* destination = nullptr;
  bool helper_reads = false;  ///< true: the helper stream is on the source; false: on the destination
  std::uint64_t piece = 0;    ///< bytes

  friend bool operator==(const LaneKind&, const LaneKind&) = default;
};

/// The host memory of a lane. It is pinned for one of the devices and, if they are of two backends, registered with the
/// other one where that is possible. Otherwise a copy may block its caller, as copies of pageable memory do.
class StagingMemory {
 public:
  StagingMemory(const LaneKind& kind, const char* operation) : bytes_(kind.piece * pieces_under_way) {
    pinned_for_ = allocate_pinned(*kind.source, operation)        ? kind.source
                  : allocate_pinned(*kind.destination, operation) ? kind.destination
                                                                  : nullptr;
    if (pinned_for_ == nullptr) {
      address_ = reinterpret_cast<std::uintptr_t>(::operator new(bytes_, std::align_val_t(plain_alignment)));
    }
    for (DeviceState* device : {kind.source, kind.destination}) {
      if (pinned_for_ == nullptr || pinned_for_->backend != device->backend) register_with(*device, operation);
    }
  }
  StagingMemory(const StagingMemory&) = delete;  // it owns the memory
  StagingMemory& operator=(const StagingMemory&) = delete;
  ~StagingMemory() {
    for (DeviceState* device : registered_with_) {
      if (device == nullptr) continue;
      check_quietly(device->table->host_unregister(device->self, device->index, pointer()), *device, operation_);
    }
    if (pinned_for_ == nullptr) {
      ::operator delete(pointer(), std::align_val_t(plain_alignment));
    } else {
      check_quietly(
          pinned_for_->table->memory_free(pinned_for_->self, pinned_for_->index, ANYPLACE_MEMORY_PINNED, address_),
          *pinned_for_, operation_);
    }
  }

  anyplace_address address() const noexcept { return address_; }
  /// Whether the device reads the memory in its streams' order. A device with pinned memory may read other memory as
  /// early as at the submission; a device without reads all host memory in order.
  bool is_read_in_order_by(DeviceState& device, const char* operation) const {
    if (pinned_for_ != nullptr && pinned_for_->backend == device.backend) return true;
    if (registered_with_[0] == &device || registered_with_[1] == &device) return true;
    return !has_capability(device, Capability::pinned_memory, operation) &&
           !has_capability(device, Capability::host_register, operation);
  }

 private:
  static constexpr const char* operation_ = "Stream::copy: freeing staging memory";

  void* pointer() const noexcept { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_)); }

  bool allocate_pinned(DeviceState& device, const char* operation) {
    if (!has_capability(device, Capability::pinned_memory, operation)) return false;
    const anyplace_status status =
        device.table->memory_allocate(device.self, device.index, ANYPLACE_MEMORY_PINNED, bytes_, &address_);
    if (status != ANYPLACE_STATUS_OK) static_cast<void>(take_message());  // plain memory is used instead
    return status == ANYPLACE_STATUS_OK && address_ != 0;
  }
  void register_with(DeviceState& device, const char* operation) {
    if (!has_capability(device, Capability::host_register, operation)) return;
    if (device.table->host_register(device.self, device.index, pointer(), bytes_) == ANYPLACE_STATUS_OK) {
      (registered_with_[0] == nullptr ? registered_with_[0] : registered_with_[1]) = &device;
    } else {
      static_cast<void>(take_message());
    }
  }

  std::uint64_t bytes_;
  anyplace_address address_ = 0;
  DeviceState* pinned_for_ = nullptr;
  std::array<DeviceState*, 2> registered_with_{};
};

/// The events of one piece of a lane's memory.
struct Place {
  std::unique_ptr<EventState> full;   ///< recorded on the source when the piece has been read
  std::unique_ptr<EventState> empty;  ///< recorded on the destination when it has been written
};

struct Lane {
  Lane(const LaneKind& made_as, const char* operation)
      : kind(made_as),
        start(make_event(made_as.helper_reads ? *made_as.destination : *made_as.source, 0, operation)),
        helper(take_helper_stream(made_as.helper_reads ? *made_as.source : *made_as.destination, operation)),
        memory(made_as, operation) {
    for (Place& place : places) {
      place.full = make_event(*kind.source, 0, operation);
      place.empty = make_event(*kind.destination, 0, operation);
    }
  }

  bool finished(const char* operation) {
    for (Place& place : places) {
      if (!query(*place.empty, operation)) return false;
    }
    return true;
  }

  const LaneKind kind;
  std::unique_ptr<EventState> start;  ///< recorded on the stream's device behind the stream's earlier work
  std::array<Place, pieces_under_way> places;
  HelperStream helper;
  StagingMemory memory;
};

/// A lane that is passed on is in a list of its own, so that giving it back can't fail.
using LaneList = std::list<Lane>;

struct Lanes {
  std::mutex mutex;  // guards what follows; a leaf
  /// The lanes without a present job; the one that was given back first is in front.
  LaneList resting;
  /// The lanes of jobs that failed half-way. Something may still use their memory, and only idle devices show that
  /// nothing does.
  LaneList abandoned;
};

NoDestructor<Lanes> all_lanes;
Lanes& lanes() noexcept { return all_lanes.value; }

LaneList make_lane(const LaneKind& kind, const char* operation) {
  LaneList made;
  made.emplace_back(kind, operation);
  return made;
}

LaneList take_lane(const LaneKind& kind, const char* operation) {
  Lanes& all = lanes();
  LaneList lane;
  std::size_t count = 0;
  {
    const std::lock_guard lock(all.mutex);
    for (auto i = all.resting.begin(); i != all.resting.end();) {
      const auto at = i++;
      if (at->kind == kind && ++count == 1) lane.splice(lane.end(), all.resting, at);
    }
  }
  if (lane.empty()) return make_lane(kind, operation);
  const auto rest = [&] {
    const std::lock_guard lock(all.mutex);
    all.resting.splice(all.resting.begin(), lane);
  };
  try {
    const std::size_t enough = kind.piece == large_piece ? lanes_of_large_pieces : lanes_of_small_pieces;
    if (count >= enough || lane.front().finished(operation)) return lane;
    LaneList fresh = make_lane(kind, operation);
    rest();
    return fresh;
  } catch (...) {
    rest();  // the lane's job may still run
    throw;
  }
}

/// Takes the lane for one job, and gives it back however the job ends.
class LaneUse {
 public:
  LaneUse(const LaneKind& kind, const char* operation) : lane_(take_lane(kind, operation)) {}
  LaneUse(const LaneUse&) = delete;  // it is for one job
  LaneUse& operator=(const LaneUse&) = delete;
  ~LaneUse() {
    Lanes& all = lanes();
    const std::lock_guard lock(all.mutex);
    LaneList& to = failed_half_way_ ? all.abandoned : all.resting;
    to.splice(to.end(), lane_);
  }

  Lane& operator*() noexcept { return lane_.front(); }
  void begin() noexcept { failed_half_way_ = true; }
  void end() noexcept { failed_half_way_ = false; }

 private:
  LaneList lane_;
  bool failed_half_way_ = false;
};

class StagedCopy {
 public:
  StagedCopy(StreamState& stream, Lane& lane, const char* operation)
      : stream_(stream),
        lane_(lane),
        reader_(lane.kind.helper_reads ? *lane.helper : stream),
        writer_(lane.kind.helper_reads ? stream : *lane.helper),
        operation_(operation) {}

  void run(const anyplace_copy_2d& copy) {
    record(*lane_.start, stream_, operation_);
    wait(*lane_.helper, *lane_.start, operation_);
    const std::uint64_t piece = lane_.kind.piece;
    if (copy.width > piece) {
      for (std::uint64_t row = 0; row < copy.rows; ++row) {
        for (std::uint64_t offset = 0; offset < copy.width; offset += piece) {
          submit_piece(copy, row, 1, offset, std::min(piece, copy.width - offset));
        }
      }
    } else {
      const std::uint64_t rows_of_piece = piece / copy.width;
      for (std::uint64_t row = 0; row < copy.rows; row += rows_of_piece) {
        submit_piece(copy, row, std::min(rows_of_piece, copy.rows - row), 0, copy.width);
      }
    }
    // If the stream itself writes, its later work is already behind the copy.
    if (&writer_ != &stream_) wait(stream_, *last_->empty, operation_);
  }

  /// Called after run() threw: the helper's work uses the caller's memory, so the stream has to wait for it
  /// nevertheless.
  void order_after_failure() noexcept {
    if (last_ == nullptr) return;
    try {
      EventState& reached = lane_.kind.helper_reads ? *last_->full : *last_->empty;
      record(reached, *lane_.helper, operation_);
      wait(stream_, reached, operation_);
    } catch (...) {
      static_cast<void>(lane_.helper->device->table->stream_synchronize(lane_.helper->device->self,
                                                                        lane_.helper->handle, ANYPLACE_FOREVER));
      static_cast<void>(take_message());
    }
  }

 private:
  void submit_piece(const anyplace_copy_2d& copy, std::uint64_t row, std::uint64_t rows, std::uint64_t offset,
                    std::uint64_t width) {
    const std::size_t index = next_++ % pieces_under_way;
    Place& place = lane_.places[index];
    last_ = &place;
    const anyplace_address staging = lane_.memory.address() + index * lane_.kind.piece;
    anyplace_copy_2d part = copy;
    part.width = width;
    part.rows = rows;

    wait(reader_, *place.empty, operation_);
    part.kind = ANYPLACE_COPY_DEVICE_TO_HOST;
    part.destination = staging;
    part.destination_pitch = width;
    part.source = copy.source + row * copy.source_pitch + offset;
    part.source_pitch = copy.source_pitch;
    submit_copy_2d(reader_, part, operation_);
    record(*place.full, reader_, operation_);

    if (!lane_.memory.is_read_in_order_by(*writer_.device, operation_)) {
      static_cast<void>(synchronize(*place.full, ANYPLACE_FOREVER, operation_));
    }
    wait(writer_, *place.full, operation_);
    part.kind = ANYPLACE_COPY_HOST_TO_DEVICE;
    part.destination = copy.destination + row * copy.destination_pitch + offset;
    part.destination_pitch = copy.destination_pitch;
    part.source = staging;
    part.source_pitch = width;
    submit_copy_2d(writer_, part, operation_);
    record(*place.empty, writer_, operation_);
  }

  StreamState& stream_;
  Lane& lane_;
  StreamState& reader_;
  StreamState& writer_;
  const char* operation_;
  std::size_t next_ = 0;
  Place* last_ = nullptr;
};

/// Returns false also if it isn't known.
bool is_idle(const DeviceState& device) noexcept {
  if (device.lost.load(std::memory_order_relaxed)) return false;
  const bool idle = device.table->device_synchronize(device.self, device.index, 0) == ANYPLACE_STATUS_OK;
  if (!idle) static_cast<void>(take_message());
  return idle;
}

}  // namespace

void drop_staging() noexcept {
  Lanes& all = lanes();
  LaneList resting;
  LaneList abandoned;
  {
    const std::lock_guard lock(all.mutex);
    resting.swap(all.resting);
    abandoned.swap(all.abandoned);
  }
  for (auto i = resting.begin(); i != resting.end();) {
    const auto lane = i++;
    bool finished = false;
    const DropsErrors drops;
    try {
      finished = lane->finished("exit");
    } catch (const std::exception&) {  // the device may still use the memory
    }
    if (!finished) abandoned.splice(abandoned.end(), resting, lane);
  }
  for (auto i = abandoned.begin(); i != abandoned.end();) {
    const auto lane = i++;
    if (is_idle(*lane->kind.source) && is_idle(*lane->kind.destination)) continue;
    const std::lock_guard lock(all.mutex);
    all.abandoned.splice(all.abandoned.end(), abandoned, lane);
  }
}

void copy_staged(StreamState& stream, DeviceState& destination, DeviceState& source, const anyplace_copy_2d& copy,
                 const char* operation) {
  LaneKind kind;
  kind.source = &source;
  kind.destination = &destination;
  kind.helper_reads = stream.device == &destination;
  kind.piece = copy.width <= small_piece / copy.rows ? small_piece : large_piece;
  LaneUse lane(kind, operation);
  lane.begin();
  StagedCopy staged(stream, *lane, operation);
  try {
    staged.run(copy);
  } catch (...) {
    staged.order_after_failure();
    throw;
  }
  lane.end();
}

}  // namespace anyplace::detail
