// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of work over several streams, compared with a model.
//
// The graph's nodes are fills and copies of cells of memory. A command that touches a cell has to come after those that
// wrote it (and, if it writes, after those that read it); where these are in other streams, a wait is put between: by
// an event, by wait_stream, or by nothing when an earlier wait has done it already. The model runs the same commands
// one after the other. A wait that has no effect, or that takes another record, leaves a cell with other contents.
#include <algorithm>
#include <array>
#include <map>

#include "support.h"

namespace anyplace::conformance::random_graphs_cases {
namespace {

enum class Waits { events, rerecorded, streams, mixed };

struct Options {
  std::string label;
  Waits waits = Waits::mixed;
  bool blocking = false;        ///< blocking streams and the default stream, without any waits
  bool two_devices = false;     ///< the streams are on two devices
  bool remake_streams = false;  ///< streams are destroyed and made anew in between
  bool remake_cells = false;    ///< buffers are destroyed and made anew, too
};

constexpr std::uint64_t cell_bytes = 256 << 10;
constexpr std::size_t cell_count = 12;
constexpr std::size_t stream_count = 5;
constexpr int command_count = 250;

/// What a stream has submitted, and how far its next command is known to wait in each other stream's work.
struct Lane {
  Stream owned;
  StreamView stream;
  std::uint64_t submitted = 0;
  std::array<std::uint64_t, stream_count> seen{};
};

/// The commands that last used a cell.
struct Uses {
  std::optional<std::pair<std::size_t, std::uint64_t>> writer;
  std::map<std::size_t, std::uint64_t> readers;
};

/// An event's most recent record: its lane, its position, and what the position implies for the other lanes.
struct Mark {
  Event event;
  std::size_t lane = 0;
  std::uint64_t position = 0;
  std::array<std::uint64_t, stream_count> seen{};
};

class Graph {
 public:
  Graph(Run& run, const Options& options) : run_(run), options_(options), home_(run.device()) {
    const Device second = options.two_devices ? run.second() : home_;
    for (std::size_t i = 0; i < stream_count; ++i) {
      devices_.push_back(i % 2 == 1 ? second : home_);
      if (options.blocking && i == 0) {
        lanes_[i].stream = home_.default_stream();
      } else {
        make_stream(i);
      }
    }
    for (std::size_t i = 0; i < cell_count; ++i) {
      cells_.push_back(filled(lanes_[0].stream, cell_bytes, static_cast<std::uint8_t>(i)));
      for (const Lane& lane : lanes_) CALL(cells_.back().record_stream(lane.stream));
      model_.push_back(static_cast<std::uint8_t>(i));
    }
    uses_.resize(cell_count);
  }

  void run() {
    for (int i = 0; i < command_count; ++i) {
      command();
      if (options_.remake_streams && i % 40 == 39) remake_stream(pick(stream_count));
      if (options_.remake_cells && i % 20 == 19) remake_cell(pick(cell_count));
    }
    for (std::size_t i = 0; i < stream_count; ++i) CALL(lanes_[i].stream.synchronize());
    CALL(home_.synchronize());
    for (const Device& device : devices_) CALL(device.synchronize());
    for (std::size_t i = 0; i < cell_count; ++i) CHECK_BYTES(read(cells_[i]), Bytes(cell_bytes, model_[i]));
  }

 private:
  std::size_t pick(std::size_t count) { return run_.random()() % count; }

  void make_stream(std::size_t i) {
    lanes_[i].owned = CALL(Stream(devices_[i], {.blocking = options_.blocking}));
    lanes_[i].stream = lanes_[i].owned;
  }

  /// Submits a copy or a fill on a random lane.
  void command() {
    const std::size_t lane = pick(stream_count);
    const std::size_t to = pick(cell_count);
    const std::size_t from = (to + 1 + pick(cell_count - 1)) % cell_count;
    const bool home = devices_[lane] == home_;
    // The cells are on the home device: a lane of the other device can neither copy between two of them nor fill one.
    const bool fill = home && pick(3) == 0;
    order_write(lane, to);
    if (fill) {
      const auto value = static_cast<std::uint8_t>(run_.random()());
      CALL(lanes_[lane].stream.memset8(cells_[to], value));
      model_[to] = value;
    } else {
      order_read(lane, from);
      copy(lane, to, from);
      model_[to] = model_[from];
    }
    const std::uint64_t position = ++lanes_[lane].submitted;
    if (!fill) uses_[from].readers[lane] = position;
    uses_[to].writer = {lane, position};
    uses_[to].readers.clear();
  }

  void copy(std::size_t lane, std::size_t to, std::size_t from) {
    const StreamView stream = lanes_[lane].stream;
    if (devices_[lane] == home_) {
      CALL(stream.copy(cells_[to], cells_[from]));
      return;
    }
    const Buffer passing = CALL(Buffer(stream, cell_bytes));
    CALL(stream.copy(passing, cells_[from]));
    CALL(stream.copy(cells_[to], passing));
  }

  void order_read(std::size_t lane, std::size_t cell) {
    if (uses_[cell].writer) order_after(lane, uses_[cell].writer->first, uses_[cell].writer->second);
  }

  void order_write(std::size_t lane, std::size_t cell) {
    order_read(lane, cell);
    for (const auto& [reader, position] : uses_[cell].readers) order_after(lane, reader, position);
  }

  /// Makes the next command of `lane` come after the command at `position` of `other`.
  void order_after(std::size_t lane, std::size_t other, std::uint64_t position) {
    if (lane == other || lanes_[lane].seen[other] >= position) return;
    if (options_.blocking) {
      // Blocking streams are ordered only through the default stream: if it is one of the two, they are ordered
      // already, otherwise a command of it goes between them.
      if (lane != 0 && other != 0) CALL(lanes_[0].stream.memset8(spare(), 0));
      return;
    }
    Waits how = options_.waits;
    if (how == Waits::mixed) how = static_cast<Waits>(pick(3));
    if (how == Waits::streams) {
      CALL(lanes_[lane].stream.wait_stream(lanes_[other].stream));
      learn(lane, other, lanes_[other].submitted, lanes_[other].seen);
      return;
    }
    // An event that was recorded before suffices if it covers the position.
    for (const Mark& mark : marks_) {
      if (mark.lane != other || mark.position < position) continue;
      CALL(lanes_[lane].stream.wait_event(mark.event));
      learn(lane, other, mark.position, mark.seen);
      return;
    }
    Mark mark = record(other);
    CALL(lanes_[lane].stream.wait_event(mark.event));
    learn(lane, other, mark.position, mark.seen);
    if (how == Waits::rerecorded) rerecord(mark, lane);
    if (pick(2) == 0) marks_.push_back(std::move(mark));
    if (marks_.size() > 20) marks_.erase(marks_.begin());
  }

  Mark record(std::size_t lane) {
    Mark mark;
    mark.event = CALL(lanes_[lane].stream.record_event());
    mark.lane = lane;
    mark.position = lanes_[lane].submitted;
    mark.seen = lanes_[lane].seen;
    return mark;
  }

  /// Records an event again, which must not change the wait that was just submitted.
  void rerecord(Mark& mark, std::size_t not_this) {
    std::size_t elsewhere = pick(stream_count);
    if (elsewhere == not_this || !(devices_[elsewhere] == devices_[mark.lane])) elsewhere = mark.lane;
    CALL(mark.event.record(lanes_[elsewhere].stream));
    mark.lane = elsewhere;
    mark.position = lanes_[elsewhere].submitted;
    mark.seen = lanes_[elsewhere].seen;
  }

  void learn(std::size_t lane, std::size_t other, std::uint64_t position,
             const std::array<std::uint64_t, stream_count>& seen) {
    Lane& mine = lanes_[lane];
    for (std::size_t i = 0; i < stream_count; ++i) mine.seen[i] = std::max(mine.seen[i], seen[i]);
    mine.seen[other] = std::max(mine.seen[other], position);
  }

  /// Makes a new stream, whose first command comes after all of the old stream's.
  void remake_stream(std::size_t lane) {
    Event last = CALL(lanes_[lane].stream.record_event());
    make_stream(lane);
    CALL(lanes_[lane].stream.wait_event(last));
    for (const Buffer& cell : cells_) CALL(cell.record_stream(lanes_[lane].stream));
  }

  /// Makes a new buffer with the old one's contents; the old one is freed with work pending in every lane.
  void remake_cell(std::size_t cell) {
    const std::size_t lane = 2 * pick(stream_count / 2);
    order_write(lane, cell);
    Buffer made = CALL(Buffer(lanes_[lane].stream, cell_bytes));
    for (const Lane& one : lanes_) CALL(made.record_stream(one.stream));
    CALL(lanes_[lane].stream.copy(made, cells_[cell]));
    cells_[cell] = std::move(made);
    const std::uint64_t position = ++lanes_[lane].submitted;
    uses_[cell] = Uses{std::pair(lane, position), {}};
  }

  BufferView spare() {
    if (!spare_) spare_ = filled(lanes_[0].stream, 64, 0);
    return spare_;
  }

  Run& run_;
  const Options& options_;
  const Device home_;
  std::vector<Device> devices_;
  std::array<Lane, stream_count> lanes_;
  std::vector<Buffer> cells_;
  Buffer spare_;
  std::vector<std::uint8_t> model_;
  std::vector<Uses> uses_;
  std::vector<Mark> marks_;
};

const std::vector<Options> graphs = {
    {.label = "events", .waits = Waits::events},
    {.label = "events that are recorded again at once", .waits = Waits::rerecorded},
    {.label = "wait_stream", .waits = Waits::streams},
    {.label = "waits of every kind", .waits = Waits::mixed},
    {.label = "waits while streams are destroyed and made", .waits = Waits::mixed, .remake_streams = true},
    {.label = "waits while buffers are freed and made", .waits = Waits::mixed, .remake_cells = true},
    {.label = "waits while everything is made anew",
     .waits = Waits::mixed,
     .remake_streams = true,
     .remake_cells = true},
};

ANYPLACE_CASES(graphs, "random graphs", "streams.wait_event", "ordered by {} give the model's contents") {
  Graph(run, parameter).run();
}

const std::vector<Options> default_graphs = {{.label = "blocking streams and the default stream", .blocking = true}};

ANYPLACE_CASES(default_graphs, "random graphs", "streams.default", "ordered by {} give the model's contents",
               Capability::blocking_streams) {
  Graph(run, parameter).run();
}

const std::vector<Options> two_device_graphs = {
    {.label = "events over two devices", .waits = Waits::events, .two_devices = true},
    {.label = "wait_stream over two devices", .waits = Waits::streams, .two_devices = true}};

ANYPLACE_CASES(two_device_graphs, "random graphs", "streams.wait_stream", "ordered by {} give the model's contents",
               second_device) {
  Graph(run, parameter).run();
}

}  // namespace
}  // namespace anyplace::conformance::random_graphs_cases
