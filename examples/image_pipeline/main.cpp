// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline: blurs a PNG on the devices that it is told to use, checks the result on the host, writes it.
//
//   image_pipeline --in photo.png --out out.png [--place cpu_sim:0 | --places cpu_sim:0,cpu_sim:1] [--streams 4]
//                  [--graph [--frames 1000] | --bug missing-wait] [--annotate] [--crop 300]
//
// With --graph the work of the picture is captured once and launched for each of many frames, beside submitting it.
// With --annotate profilers see frames, tiles and their stages by name (docs/annotations.md).
// With --bug a mistake is built in that may or may not change a pixel. The layer validate (docs/layers.md) finds each:
//   ANYPLACE_LAYERS=validate image_pipeline --in photo.png --out out.png --bug missing-wait
// Exit status: 0 the output is there and was checked; 1 something failed, and there is no output; 2 wrong options.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "blur.h"
#include "frames.h"
#include "pipeline.h"
#include "png_io.h"

namespace {

using image_pipeline::Picture;

struct Options {
  std::string input;
  std::string output;
  std::string place = "auto";
  std::vector<std::string> places;
  int streams = 4;
  bool graph = false;
  bool annotate = false;
  std::uint64_t frames = 1000;
  std::uint32_t crop = 0;  // 0: the whole picture
  image_pipeline::Bug bug = image_pipeline::Bug::none;
};

/// The mistakes by their names.
const std::map<std::string, image_pipeline::Bug>& bugs() {
  using image_pipeline::Bug;
  static const std::map<std::string, Bug> all{{"missing-wait", Bug::missing_wait},
                                              {"early-free", Bug::early_free},
                                              {"wrong-event", Bug::wrong_event},
                                              {"pageable", Bug::pageable}};
  return all;
}

constexpr const char* bug_help =
    "a mistake to build in, which the layer validate finds: missing-wait (kernels don't wait for their tile), "
    "early-free (a tile's memory goes while its kernel may read it), wrong-event (the download waits for the upload), "
    "pageable (the upload's source isn't pinned, and is written in the stream's order)";

/// A bar on standard error, where that is a terminal. Ends its line also when an error interrupts it.
class ProgressBar {
 public:
  explicit ProgressBar(const char* what) : what_(what) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() {
    if (drawn_) std::fputc('\n', stderr);
  }

  void draw(std::uint64_t done, std::uint64_t total) {
    if (!terminal_) return;
    constexpr std::uint64_t width = 40;
    const std::uint64_t filled = done * width / total;
    fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {} of {} {}", "", filled, "", width - filled, done, total, what_);
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  const char* what_;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string joined(const std::vector<anyplace::Device>& devices) {
  std::string text;
  for (const anyplace::Device& device : devices) text += (text.empty() ? "" : ", ") + device.to_string();
  return text;
}

Picture blur_once(const Picture& source, const image_pipeline::PipelineOptions& pipeline) {
  ProgressBar bar("tiles");
  image_pipeline::PipelineResult result = image_pipeline::blur_on_devices(
      source, pipeline, [&bar](std::uint64_t done, std::uint64_t total) { bar.draw(done, total); });
  const double pixels = static_cast<double>(source.width) * source.height;
  fmt::print("blurred {} tile{} on {}, {} stream{} each, in {:.1f} ms: {:.1f} megapixels a second\n", result.tiles,
             result.tiles == 1 ? "" : "s", joined(pipeline.devices), pipeline.streams, pipeline.streams == 1 ? "" : "s",
             result.seconds * 1e3, pixels / result.seconds / 1e6);
  return std::move(result.picture);
}

/// Throws if a frame's bytes aren't the first one's.
Picture blur_frames(const Picture& source, const image_pipeline::PipelineOptions& pipeline, std::uint64_t frames) {
  ProgressBar bar("frames");
  image_pipeline::FramesResult result = image_pipeline::blur_frames(
      source, pipeline, frames, [&bar](std::uint64_t done, std::uint64_t total) { bar.draw(done, total); });
  if (result.different != 0) {
    throw std::runtime_error(
        fmt::format("{} of {} frames aren't the bytes of the first one", result.different, 2 * frames));
  }
  fmt::print("captured {} tile{} on {}, {} stream{} each: a graph of {} nodes, {}\n", result.tiles,
             result.tiles == 1 ? "" : "s", joined(pipeline.devices), pipeline.streams, pipeline.streams == 1 ? "" : "s",
             result.nodes, result.native ? "launched by the device as one" : "submitted node by node by the library");
  fmt::print("{} frames each way, the same bytes each time; a frame takes {:.3f} ms captured, {:.3f} ms submitted\n",
             frames, result.captured_seconds * 1e3, result.submitted_seconds * 1e3);
  return std::move(result.picture);
}

void say_who_listens() {
  std::string who, why;
  for (const anyplace::annotate::ListenerLibrary& library : anyplace::annotate::listener_libraries()) {
    if (library.active) who += (who.empty() ? "" : ", ") + library.name;
    if (!library.active) why += (why.empty() ? "" : "; ") + library.reason;
  }
  fmt::print("annotations go to {}\n", who.empty() ? fmt::format("no tool: {}", why) : who);
}

int run(const Options& options) {
  image_pipeline::PipelineOptions pipeline;
  pipeline.streams = options.streams;
  pipeline.annotate = options.annotate;
  pipeline.bug = options.bug;
  if (options.annotate) say_who_listens();
  if (options.places.empty()) {
    pipeline.devices.emplace_back(options.place);
  } else {
    for (const std::string& place : options.places) pipeline.devices.emplace_back(place);
  }
  image_pipeline::OutputFile output(options.output);
  Picture source = image_pipeline::read_png(options.input);
  if (options.crop != 0) source = image_pipeline::corner_of(source, options.crop);
  fmt::print("{}: {} x {}, {} channel{}\n", options.input, source.width, source.height, source.channels,
             source.channels == 1 ? "" : "s");

  const Picture blurred = options.graph ? blur_frames(source, pipeline, options.frames) : blur_once(source, pipeline);

  const auto start = std::chrono::steady_clock::now();
  if (const auto wrong = image_pipeline::check_on_host(source, blurred)) {
    fmt::print(
        stderr,
        "image_pipeline: the check failed: channel {} of pixel ({}, {}) is {}, a plain loop on the host makes it {}\n",
        wrong->channel, wrong->x, wrong->y, wrong->found, wrong->expected);
    return 1;
  }
  fmt::print("checked: all {} bytes equal those of a plain loop on the host ({:.1f} ms)\n", source.pixels.size(),
             seconds_since(start) * 1e3);
  image_pipeline::write_png(output, blurred);
  output.commit();
  fmt::print("wrote {}\n", options.output);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Blurs a picture on one or more devices, checks the result on the host, and writes it.",
               "image_pipeline");
  app.add_option("--in", options.input, "the PNG to read")->required();
  app.add_option("--out", options.output, "the PNG to write; replaced if it is there")->required();
  CLI::Option* place = app.add_option("--place", options.place, "the device to use: cpu_sim:0, cuda:0, auto ...");
  place->capture_default_str();
  app.add_option("--places", options.places, "several devices, with commas between; tiles go round")
      ->delimiter(',')
      ->excludes(place);
  app.add_option("--streams", options.streams, "compute streams of each device")
      ->check(CLI::Range(1, image_pipeline::max_streams))
      ->capture_default_str();
  app.add_option("--crop", options.crop, "only the upper left corner, so many pixels wide and high at most")
      ->check(CLI::PositiveNumber);
  CLI::Option* graph = app.add_flag("--graph", options.graph, "capture the work once, and launch it for each frame");
  app.add_option("--frames", options.frames, "how many, with --graph")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}))
      ->needs(graph)
      ->capture_default_str();
  std::string bug;
  app.add_option("--bug", bug, bug_help)->excludes(graph)->check([](const std::string& name) {
    return bugs().count(name) != 0 ? "" : name + " is none of missing-wait, early-free, wrong-event, pageable";
  });
  app.add_flag("--annotate", options.annotate, "name frames, tiles and stages for profilers");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!bug.empty()) options.bug = bugs().at(bug);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "image_pipeline: {}\n", error.what());
    return 1;
  }
}
