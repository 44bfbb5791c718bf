// SPDX-License-Identifier: Apache-2.0
#include "pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "anyplace/event.h"
#include "anyplace/kernel.h"
#include "anyplace/memory.h"
#include "anyplace/stream.h"
#include "blur_kernels.h"
#include "tile.h"

namespace image_pipeline {
namespace {

constexpr anyplace::Dim3 block_threads{block_width, block_height, 1};

/// How many parts of that size cover the whole.
constexpr std::uint32_t parts(std::uint32_t whole, std::uint32_t part) { return (whole + part - 1) / part; }

/// A rectangle of the picture that is made at once, and the larger one that is needed for it.
struct Tile {
  std::uint32_t x, y;                ///< of what is made
  std::uint32_t source_x, source_y;  ///< of what is needed
  TileShape shape;

  std::uint64_t source_bytes() const {
    return std::uint64_t{shape.source_width} * shape.source_height * shape.channels;
  }
  std::uint64_t bytes() const { return std::uint64_t{shape.width} * shape.height * shape.channels; }
};

Tile make_tile(const Picture& picture, std::uint32_t column, std::uint32_t row) {
  Tile tile{};
  tile.x = column * tile_size;
  tile.y = row * tile_size;
  tile.source_x = std::max(tile.x, halo) - halo;
  tile.source_y = std::max(tile.y, halo) - halo;
  tile.shape.width = std::min(tile_size, picture.width - tile.x);
  tile.shape.height = std::min(tile_size, picture.height - tile.y);
  tile.shape.source_width = std::min(tile.x + tile.shape.width + halo, picture.width) - tile.source_x;
  tile.shape.source_height = std::min(tile.y + tile.shape.height + halo, picture.height) - tile.source_y;
  tile.shape.left = tile.x - tile.source_x;
  tile.shape.top = tile.y - tile.source_y;
  tile.shape.channels = picture.channels;
  return tile;
}

/// Host memory for copies: pinned where the device has it, so that copies don't block the host; else plain.
class Staging {
 public:
  Staging(const anyplace::Device& device, std::uint64_t bytes) {
    if (device.has(anyplace::Capability::pinned_memory)) {
      pinned_ = anyplace::HostBuffer(device, bytes);
    } else {
      plain_.resize(bytes);
    }
  }
  std::span<std::uint8_t> first(std::uint64_t bytes) {
    return (pinned_ ? pinned_.as<std::uint8_t>() : std::span<std::uint8_t>(plain_)).first(bytes);
  }

 private:
  anyplace::HostBuffer pinned_;
  std::vector<std::uint8_t> plain_;
};

/// A device with what all its slots share.
struct Station {
  explicit Station(const anyplace::Device& from)
      : device(from), upload(from), download(from), kernels(from, blur_kernels) {}

  anyplace::Device device;
  anyplace::Stream upload;
  anyplace::Stream download;
  anyplace::Module kernels;
  anyplace::KernelView blur = kernels.kernel("blur");
  std::vector<std::unique_ptr<anyplace::Stream>> compute;
};

/// The buffers and events of one tile under way.
struct Slot {
  Slot(Station& at, const anyplace::Stream& on, std::uint64_t source_bytes, std::uint64_t bytes)
      : station(at),
        compute(on),
        staging_in(at.device, source_bytes),
        staging_out(at.device, bytes),
        source(at.upload, source_bytes),
        target(at.download, bytes),
        uploaded(at.device),
        computed(at.device),
        downloaded(at.device) {
    // A buffer belongs to the stream it was made on; the others that use it are named.
    source.record_stream(compute);
    target.record_stream(compute);
    // It may be allocated in that stream's order, and each tile waits for the upload alone.
    compute.wait_stream(at.download);
  }

  /// Submits a tile whose source is in staging_in. Returns while it runs.
  void submit(const Tile& next) {
    tile = next;
    station.upload.copy(source.sub(0, next.source_bytes()), staging_in.first(next.source_bytes()));
    station.upload.record_event(uploaded);

    const anyplace::Dim3 grid{parts(next.shape.width, block_threads.x),
                              parts(next.shape.height, block_threads.y * rows_per_thread)};
    compute.wait_event(uploaded);
    compute.launch(station.blur, {grid, block_threads}, source, target, next.shape);
    compute.record_event(computed);

    station.download.wait_event(computed);
    station.download.copy(staging_out.first(next.bytes()), target.sub(0, next.bytes()));
    station.download.record_event(downloaded);
  }

  Station& station;
  anyplace::StreamView compute;
  Staging staging_in;
  Staging staging_out;
  anyplace::Buffer source;
  anyplace::Buffer target;
  anyplace::Event uploaded;
  anyplace::Event computed;
  anyplace::Event downloaded;
  std::optional<Tile> tile;
};

class Pipeline {
 public:
  Pipeline(const Picture& source, const PipelineOptions& options, const Progress& progress)
      : source_(source), progress_(progress) {
    columns_ = (source.width + tile_size - 1) / tile_size;
    rows_ = (source.height + tile_size - 1) / tile_size;
    result_.width = source.width;
    result_.height = source.height;
    result_.channels = source.channels;
    result_.pixels.resize(source.pixels.size());
    for (const anyplace::Device& device : options.devices) stations_.push_back(std::make_unique<Station>(device));
    make_slots(options.streams);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Staging memory must outlive the copies that use it, also when an error ends the work early.
  ~Pipeline() {
    for (const auto& station : stations_) {
      quietly([&] { station->device.synchronize(); });
    }
  }

  PipelineResult run() {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t number = 0; number < tiles(); ++number) {
      Slot& slot = *slots_[number % slots_.size()];
      collect(slot);
      const Tile tile = make_tile(source_, static_cast<std::uint32_t>(number % columns_),
                                  static_cast<std::uint32_t>(number / columns_));
      pack(tile, slot.staging_in.first(tile.source_bytes()));
      slot.submit(tile);
    }
    for (std::uint64_t i = 0; i < slots_.size(); ++i) collect(*slots_[(tiles() + i) % slots_.size()]);
    // Events say when, not whether: what failed on the way is the streams' fault.
    for (const auto& station : stations_) {
      station->upload.synchronize();
      for (const auto& stream : station->compute) stream->synchronize();
      station->download.synchronize();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return {std::move(result_), tiles(), taken.count()};
  }

 private:
  std::uint64_t tiles() const { return std::uint64_t{columns_} * rows_; }

  template <class Body>
  static void quietly(Body&& body) noexcept {
    try {
      body();
    } catch (const std::exception&) {
      // The error that brought us here is the one to report.
    }
  }

  /// Two slots a stream, devices taking turns; no more streams and slots than tiles can use.
  void make_slots(int streams) {
    const std::uint32_t width = std::min(tile_size + 2 * halo, source_.width);
    const std::uint32_t height = std::min(tile_size + 2 * halo, source_.height);
    const std::uint64_t source_bytes = std::uint64_t{width} * height * source_.channels;
    const std::uint64_t bytes =
        std::uint64_t{std::min(tile_size, source_.width)} * std::min(tile_size, source_.height) * source_.channels;
    for (int turn = 0; turn < 2 * streams; ++turn) {
      for (const auto& station : stations_) {
        if (slots_.size() == tiles()) return;
        if (turn < streams) station->compute.push_back(std::make_unique<anyplace::Stream>(station->device));
        const anyplace::Stream& stream = *station->compute[static_cast<std::size_t>(turn % streams)];
        slots_.push_back(std::make_unique<Slot>(*station, stream, source_bytes, bytes));
      }
    }
  }

  void pack(const Tile& tile, std::span<std::uint8_t> to) const {
    const std::size_t bytes = std::size_t{tile.shape.source_width} * tile.shape.channels;
    for (std::uint32_t y = 0; y < tile.shape.source_height; ++y) {
      const std::uint8_t* from = source_.row(tile.source_y + y) + std::size_t{tile.source_x} * tile.shape.channels;
      std::memcpy(to.data() + y * bytes, from, bytes);
    }
  }

  /// Waits for the slot's tile, if it has one, and puts it into the result.
  void collect(Slot& slot) {
    if (!slot.tile) return;
    slot.downloaded.synchronize();
    const Tile tile = *slot.tile;
    slot.tile.reset();
    const std::span<const std::uint8_t> from = slot.staging_out.first(tile.bytes());
    const std::size_t bytes = std::size_t{tile.shape.width} * tile.shape.channels;
    for (std::uint32_t y = 0; y < tile.shape.height; ++y) {
      std::memcpy(result_.row(tile.y + y) + std::size_t{tile.x} * tile.shape.channels, from.data() + y * bytes, bytes);
    }
    ++done_;
    if (progress_) progress_(done_, tiles());
  }

  const Picture& source_;
  const Progress& progress_;
  Picture result_;
  std::uint32_t columns_ = 0;
  std::uint32_t rows_ = 0;
  std::uint64_t done_ = 0;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace

PipelineResult blur_on_devices(const Picture& source, const PipelineOptions& options, const Progress& progress) {
  Pipeline pipeline(source, options, progress);
  return pipeline.run();
}

}  // namespace image_pipeline
