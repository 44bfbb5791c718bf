// SPDX-License-Identifier: Apache-2.0
// What the program annotates, in the files of the layer `trace`.
#include <signal.h>

#include <string>
#include <thread>

#include "anyplace/anyplace.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "trace_file.h"

namespace trace_annotations_test {

using namespace anyplace;
using namespace trace_file;

namespace {

/// Runs the function in a child, with a stream and memory of cpu_sim:0, and returns what is in the trace.
template <class Function>
TrackReader traced(const test::TempDir& folder, const Function& function, int signal = 0) {
  const std::string file = folder.file("run.pftrace");
  const test::Ended ended = test::in_child([&] {
    use_trace(file);
    const Stream stream(Device("cpu_sim:0"));
    const Buffer data(stream, 4096);
    function(stream, data.as<std::uint32_t>());
    stream.synchronize();
    return 0;
  });
  INFO(ended.out);
  CHECK(ended.out.empty());
  CHECK(ended.signal == signal);
  return read_tracks(file);
}

Slice only(const std::vector<Slice>& slices, const std::string& name) {
  const std::vector<Slice> found = named(slices, name);
  INFO(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

bool encloses(const Slice& outer, const Slice& inner) { return outer.begin <= inner.begin && inner.end <= outer.end; }

}  // namespace

TEST_CASE("Ranges are around the calls that were made in them, and marks are points between") {
  const test::TempDir folder;
  const TrackReader trace = traced(folder, [](const Stream& stream, BufferSpan<std::uint32_t> numbers) {
    const annotate::Range frame("frame");
    {
      const annotate::Range stage("stage");
      stream.fill(numbers, 1u);
    }
    annotate::mark("submitted");
  });
  const std::vector<Slice>& thread = trace.slices().at("thread");
  const Slice frame = only(thread, "frame"), stage = only(thread, "stage"), mark = only(thread, "submitted");
  CHECK(encloses(frame, stage));
  CHECK(encloses(stage, only(thread, "memory_set")));
  CHECK(encloses(frame, mark));
  CHECK(mark.begin >= stage.end);
  CHECK(mark.begin == mark.end);
}

TEST_CASE("A stream's mark is a point on the stream's track, behind the work before it") {
  const test::TempDir folder;
  const TrackReader trace = traced(folder, [](const Stream& stream, BufferSpan<std::uint32_t> numbers) {
    stream.fill(numbers, 1u);
    stream.mark("filled");
  });
  int marks = 0;
  for (const auto& [track, slices] : trace.slices()) {
    for (const Slice& mark : named(slices, "filled")) {
      ++marks;
      CHECK(track.find("stream") == 0);
      CHECK(mark.begin >= only(executions_of(trace.slices()), "fill").end);
    }
  }
  CHECK(marks == 1);
}

TEST_CASE("Ranges of a further domain have a track of their own, and those that overlap have lanes") {
  const test::TempDir folder;
  const TrackReader trace = traced(folder, [](const Stream&, BufferSpan<std::uint32_t>) {
    const annotate::Domain library("library");
    annotate::range_push("mine");
    annotate::range_push("its", {.domain = library});
    annotate::range_pop();
    annotate::range_pop(library);
    const annotate::RangeId first = annotate::range_start("first"), second = annotate::range_start("second");
    annotate::range_end(first);
    std::thread([second] { annotate::range_end(second); }).join();
    annotate::range_end(annotate::range_start("third"));
  });
  const Slice mine = only(trace.slices().at("thread"), "mine"), its = only(trace.slices().at("library"), "its");
  CHECK(its.annotations.at("domain") == "library");
  CHECK((mine.begin <= its.begin && its.begin <= mine.end && mine.end <= its.end));
  const Slice first = only(trace.slices().at("ranges, lane 1"), "first");
  const Slice second = only(trace.slices().at("ranges, lane 2"), "second");
  CHECK((first.begin <= second.begin && second.begin <= first.end && first.end <= second.end));
  CHECK(only(trace.slices().at("ranges, lane 1"), "third").begin >= second.end);
}

TEST_CASE("Attributes go with a range, and a thread has the name that it was given") {
  const test::TempDir folder;
  const TrackReader trace = traced(folder, [](const Stream& stream, BufferSpan<std::uint32_t> numbers) {
    stream.fill(numbers, 1u);
    annotate::name_thread("the submitter");
    const annotate::Category copies("copies");
    const annotate::Range range("range", {.category = copies, .color = 0xff4477aa, .payload = -7});
  });
  const Slice range = only(trace.slices().at("thread"), "range");
  CHECK(range.annotations ==
        std::map<std::string, std::string>{{"category", "copies"}, {"color", "#4477aa"}, {"payload", "-7"}});
  CHECK(trace.threads().count("the submitter") == 1);
}

TEST_CASE("A process that is killed leaves the ranges that were open") {
  const test::TempDir folder;
  const TrackReader trace = traced(
      folder,
      [](const Stream& stream, BufferSpan<std::uint32_t> numbers) {
        annotate::range_push("open");
        stream.fill(numbers, 1u);
        layer_command("trace", "flush");
        ::raise(SIGKILL);
      },
      SIGKILL);
  CHECK(only(trace.slices().at("thread"), "open").end == 0);
}

TEST_CASE("A range that began before the trace ends nothing in it") {
  const test::TempDir folder;
  const std::string file = folder.file("later.pftrace");
  traced(folder, [&](const Stream&, BufferSpan<std::uint32_t>) {
    annotate::range_push("before");
    const annotate::RangeId started = annotate::range_start("started before");
    layer_command("trace", "end");
    layer_command("trace", "begin", file);
    annotate::range_push("inside");
    annotate::range_pop();
    annotate::range_end(started);
    annotate::range_push("around");
    annotate::range_pop();
    annotate::range_pop();
  });
  const TrackReader trace = read_tracks(file);
  const std::vector<Slice>& thread = trace.slices().at("thread");
  CHECK(named(thread, "before").empty());
  CHECK(only(thread, "inside").end <= only(thread, "around").begin);
  CHECK(only(thread, "around").end != 0);
}

TEST_CASE("A name of any bytes is written down") {
  const test::TempDir folder;
  const std::string long_name(100'000, 'x');
  const TrackReader trace = traced(folder, [&](const Stream&, BufferSpan<std::uint32_t>) {
    annotate::mark("");
    annotate::mark(long_name);
    annotate::mark("caf\xc3\xa9");
  });
  CHECK(named(trace.slices().at("thread"), "").size() == 1);
  CHECK(named(trace.slices().at("thread"), long_name).size() == 1);
}

}  // namespace trace_annotations_test
