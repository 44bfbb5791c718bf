// SPDX-License-Identifier: Apache-2.0
#include "pipeline.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

#include "anyplace/stream.h"
#include "slot.h"

namespace image_pipeline {
namespace {

class Pipeline {
 public:
  Pipeline(const Picture& source, const PipelineOptions& options, const Progress& progress)
      : source_(source), progress_(progress), annotate_(options.annotate) {
    columns_ = (source.width + tile_size - 1) / tile_size;
    rows_ = (source.height + tile_size - 1) / tile_size;
    result_.width = source.width;
    result_.height = source.height;
    result_.channels = source.channels;
    result_.pixels.resize(source.pixels.size());
    for (const anyplace::Device& device : options.devices) {
      stations_.push_back(std::make_unique<Station>(device, options));
    }
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
    const Annotated frame(annotate_, "frame", frame_color, tiles());
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t number = 0; number < tiles(); ++number) {
      Slot& slot = *slots_[number % slots_.size()];
      collect(slot);
      const Annotated range(annotate_, "tile", tile_color, number);
      const Tile tile = make_tile(source_, static_cast<std::uint32_t>(number % columns_),
                                  static_cast<std::uint32_t>(number / columns_));
      {
        const Annotated stage(annotate_, "pack", stage_color);
        slot.pack_tile(source_, tile);
      }
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

  /// Waits for the slot's tile, if it has one, and puts it into the result.
  void collect(Slot& slot) {
    if (!slot.tile) return;
    const Annotated stage(annotate_, "collect", stage_color, slot.tile->number);
    slot.downloaded.synchronize();
    const Tile tile = *slot.tile;
    slot.tile.reset();
    unpack(slot.staging_out.first(tile.bytes()), tile, result_);
    ++done_;
    if (progress_) progress_(done_, tiles());
  }

  const Picture& source_;
  const Progress& progress_;
  const bool annotate_;
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
