// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "anyplace/access.h"
#include "anyplace/graph.h"
#include "anyplace/stream.h"
#include "slot.h"

namespace image_pipeline {
namespace {

double median(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// A device's part of a frame: every so many-th tile.
struct Part {
  Part(const anyplace::Device& device, const PipelineOptions& options) : station(device, options) {}

  void submit() {
    for (const auto& slot : slots) {
      const Annotated range(station.annotate, "tile", tile_color, slot->tile->number);
      slot->submit(*slot->tile);
    }
  }
  void synchronize() {
    station.upload.synchronize();
    for (const auto& stream : station.compute) stream->synchronize();
    station.download.synchronize();
  }

  Station station;
  std::vector<std::unique_ptr<Slot>> slots;
  anyplace::GraphExec exec;
};

class Frames {
 public:
  Frames(const Picture& source, const PipelineOptions& options) : source_(source), annotate_(options.annotate) {
    for (const anyplace::Device& device : options.devices) {
      parts_.push_back(std::make_unique<Part>(device, options));
      for (int i = 0; i < options.streams; ++i) {
        parts_.back()->station.compute.push_back(std::make_unique<anyplace::Stream>(device));
      }
    }
    const std::uint32_t columns = parts(source.width, tile_size);
    const std::uint32_t tiles = columns * parts(source.height, tile_size);
    for (std::uint32_t number = 0; number < tiles; ++number) {
      add_tile(make_tile(source, number % columns, number / columns), number);
    }
    for (const auto& part : parts_) part->synchronize();
    result_.tiles = tiles;
  }
  Frames(const Frames&) = delete;  // streams use its memory
  Frames& operator=(const Frames&) = delete;
  ~Frames() {
    for (const auto& part : parts_) {
      try {
        part->station.device.synchronize();
      } catch (const std::exception&) {
        // The error that brought us here is the one to report.
      }
    }
  }

  FramesResult run(std::uint64_t frames, const Progress& progress) {
    capture();
    std::vector<double> captured;
    std::vector<double> submitted;
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      const Annotated range(annotate_, "frame", frame_color, frame);
      captured.push_back(time_frame("captured", [](Part& part) { part.exec.launch(part.station.upload); }));
      submitted.push_back(time_frame("submitted", [](Part& part) { part.submit(); }));
      if (progress) progress(frame + 1, frames);
    }
    result_.captured_seconds = median(captured);
    result_.submitted_seconds = median(submitted);
    result_.picture = std::move(first_);
    return std::move(result_);
  }

 private:
  void add_tile(const Tile& tile, std::uint32_t number) {
    Part& part = *parts_[number % parts_.size()];
    const anyplace::Stream& stream = *part.station.compute[part.slots.size() % part.station.compute.size()];
    part.slots.push_back(std::make_unique<Slot>(part.station, stream, tile.source_bytes(), tile.bytes()));
    part.slots.back()->tile = tile;
    part.slots.back()->pack_tile(source_, tile);
  }

  /// The streams of a station join the capture with the first event that they wait for.
  void capture() {
    const Annotated range(annotate_, "capture", frame_color);
    for (const auto& part : parts_) {
      const Station& station = part->station;
      station.upload.begin_capture();
      part->submit();
      if (!part->slots.empty()) station.upload.wait_stream(station.download);
      const anyplace::Graph graph = station.upload.end_capture();
      part->exec = graph.instantiate();
      result_.nodes += graph.size();
      result_.native = part->exec.is_native();
    }
  }

  /// `begin` submits a part's frame. What came out is compared after the clock has stopped.
  template <class Begin>
  double time_frame(const char* way, Begin&& begin) {
    for (const auto& part : parts_) {
      for (const auto& slot : part->slots) {
        const std::span<std::uint8_t> out = slot->staging_out.first(slot->tile->bytes());
        anyplace::host_write(out.data(), out.size());
        std::memset(out.data(), 0, out.size());
      }
    }
    const Annotated range(annotate_, way, frame_color);
    const auto start = std::chrono::steady_clock::now();
    for (const auto& part : parts_) begin(*part);
    for (const auto& part : parts_) part->synchronize();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    compare();
    return taken.count();
  }

  void compare() {
    Picture frame;
    frame.width = source_.width;
    frame.height = source_.height;
    frame.channels = source_.channels;
    frame.pixels.resize(source_.pixels.size());
    for (const auto& part : parts_) {
      for (const auto& slot : part->slots) {
        unpack(slot->staging_out.first(slot->tile->bytes()), *slot->tile, frame);
      }
    }
    if (first_.pixels.empty()) {
      first_ = std::move(frame);
    } else if (frame.pixels != first_.pixels) {
      ++result_.different;
    }
  }

  const Picture& source_;
  const bool annotate_;
  std::vector<std::unique_ptr<Part>> parts_;
  Picture first_;
  FramesResult result_;
};

}  // namespace

FramesResult blur_frames(const Picture& source, const PipelineOptions& options, std::uint64_t frames,
                         const Progress& progress) {
  return Frames(source, options).run(frames, progress);
}

}  // namespace image_pipeline
