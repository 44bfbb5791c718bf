// SPDX-License-Identifier: Apache-2.0
//
// What a tile goes through: a device's streams and kernels (Station), and the buffers and events of one tile (Slot).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "annotated.h"
#include "anyplace/access.h"
#include "anyplace/event.h"
#include "anyplace/kernel.h"
#include "anyplace/memory.h"
#include "anyplace/stream.h"
#include "blur_kernels.h"
#include "picture.h"
#include "pipeline.h"
#include "tile.h"

namespace image_pipeline {

inline constexpr anyplace::Dim3 block_threads{block_width, block_height, 1};

/// How many parts of that size cover the whole.
constexpr std::uint32_t parts(std::uint32_t whole, std::uint32_t part) { return (whole + part - 1) / part; }

/// A rectangle of the picture that is made at once, and the larger one that is needed for it.
struct Tile {
  std::uint32_t number;              ///< in the picture, row by row
  std::uint32_t x, y;                ///< of what is made
  std::uint32_t source_x, source_y;  ///< of what is needed
  TileShape shape;

  std::uint64_t source_bytes() const {
    return std::uint64_t{shape.source_width} * shape.source_height * shape.channels;
  }
  std::uint64_t bytes() const { return std::uint64_t{shape.width} * shape.height * shape.channels; }
};

inline Tile make_tile(const Picture& picture, std::uint32_t column, std::uint32_t row) {
  Tile tile{};
  tile.number = row * parts(picture.width, tile_size) + column;
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

/// Copies the pixels that a tile needs from the picture.
inline void pack(const Picture& picture, const Tile& tile, std::span<std::uint8_t> to) {
  const std::size_t bytes = std::size_t{tile.shape.source_width} * tile.shape.channels;
  anyplace::host_write(to.data(), bytes * tile.shape.source_height);
  for (std::uint32_t y = 0; y < tile.shape.source_height; ++y) {
    const std::uint8_t* from = picture.row(tile.source_y + y) + std::size_t{tile.source_x} * tile.shape.channels;
    std::memcpy(to.data() + y * bytes, from, bytes);
  }
}

/// Copies the pixels that were made of a tile to the picture.
inline void unpack(std::span<const std::uint8_t> from, const Tile& tile, Picture& picture) {
  const std::size_t bytes = std::size_t{tile.shape.width} * tile.shape.channels;
  anyplace::host_read(from.data(), bytes * tile.shape.height);
  for (std::uint32_t y = 0; y < tile.shape.height; ++y) {
    std::memcpy(picture.row(tile.y + y) + std::size_t{tile.x} * tile.shape.channels, from.data() + y * bytes, bytes);
  }
}

/// Host memory for copies: pinned where it is wanted and the device has it, so that copies don't block the host; else
/// plain.
class Staging {
 public:
  Staging(const anyplace::Device& device, std::uint64_t bytes, bool pinned = true) {
    if (pinned && device.has(anyplace::Capability::pinned_memory)) {
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
  Station(const anyplace::Device& from, const PipelineOptions& options)
      : device(from),
        annotate(options.annotate),
        bug(options.bug),
        upload(from),
        download(from),
        kernels(from, blur_kernels) {}

  anyplace::Device device;
  bool annotate;
  Bug bug;
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
        staging_in(at.device, source_bytes, at.bug != Bug::pageable),
        staging_out(at.device, bytes),
        source(at.upload, source_bytes),
        target(at.download, bytes),
        uploaded(at.device),
        computed(at.device),
        downloaded(at.device) {
    // A buffer belongs to the stream it was made on; the others that use it are named.
    if (at.bug != Bug::early_free) source.record_stream(compute);
    target.record_stream(compute);
    // It may be allocated in that stream's order, and each tile waits for the upload alone.
    compute.wait_stream(at.download);
  }

  /// Puts a tile's source into staging_in.
  void pack_tile(const Picture& picture, const Tile& next) {
    const std::span<std::uint8_t> to = staging_in.first(next.source_bytes());
    if (station.bug != Bug::pageable) return pack(picture, next, to);
    station.upload.launch_host_func([&picture, next, to] { pack(picture, next, to); });
  }

  /// Submits a tile whose source is in staging_in. Returns while it runs.
  void submit(const Tile& next) {
    tile = next;
    upload();
    launch();
    download();
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

 private:
  void upload() {
    const Annotated stage(station.annotate, "upload", stage_color, tile->source_bytes());
    if (!source) source = anyplace::Buffer(station.upload, tile->source_bytes());
    station.upload.copy(source.sub(0, tile->source_bytes()), staging_in.first(tile->source_bytes()));
    mark(station.annotate, station.upload, "uploaded", tile->number);
    station.upload.record_event(uploaded);
  }
  void launch() {
    const Annotated stage(station.annotate, "blur", stage_color);
    const anyplace::Dim3 grid{parts(tile->shape.width, block_threads.x),
                              parts(tile->shape.height, block_threads.y * rows_per_thread)};
    if (station.bug != Bug::missing_wait) compute.wait_event(uploaded);
    compute.launch(station.blur, {grid, block_threads}, anyplace::in(source), anyplace::out(target), tile->shape);
    if (station.bug == Bug::early_free) source = anyplace::Buffer();
    mark(station.annotate, compute, "blurred", tile->number);
    compute.record_event(computed);
  }
  void download() {
    const Annotated stage(station.annotate, "download", stage_color, tile->bytes());
    station.download.wait_event(station.bug == Bug::wrong_event ? uploaded : computed);
    station.download.copy(staging_out.first(tile->bytes()), target.sub(0, tile->bytes()));
    mark(station.annotate, station.download, "downloaded", tile->number);
    station.download.record_event(downloaded);
  }
};

}  // namespace image_pipeline
