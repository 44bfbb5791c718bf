// SPDX-License-Identifier: Apache-2.0
// Marks in a stream's work.
#include <catch2/catch.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "anyplace/anyplace.h"
#include "heard.h"
#include "support/errors.h"

namespace stream_test {

using namespace annotate_test;
using anyplace::ErrorCode;

TEST_CASE("A mark is heard in the stream's order") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  std::vector<std::size_t> heard_by_then;
  {
    std::string name = "first";
    stream.mark(name, {.color = 0xff00ff00, .payload = 7});
    name = "the name was copied";
  }
  stream.launch_host_func([&] { heard_by_then.push_back(heard.lines().size()); });
  stream.mark("second");
  stream.launch_host_func([&] { heard_by_then.push_back(heard.lines().size()); });
  stream.synchronize();
  CHECK(heard_by_then == std::vector<std::size_t>{1, 2});
  CHECK(heard.lines() == Lines{"mark 0 first", "mark 0 second"});
  const annotate::Event first = heard.events().front();
  CHECK(first.stream == stream.id());
  CHECK(first.color == 0xff00ff00u);
  CHECK(text_of(first.payload) == "i64:7");
}

TEST_CASE("Without a listener a mark does nothing to a stream") {
  annotate::mark("this one looks for tools");
  const anyplace::StreamView nothing;
  CHECK_NOTHROW(nothing.mark("unheard"));
}

TEST_CASE("With a listener a mark on a stream that isn't there is told") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const anyplace::StreamView nothing;
  CHECK(test::code_of([&] { nothing.mark("unheard"); }) == ErrorCode::invalid_handle);
}

TEST_CASE("A captured mark is heard at each launch") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.begin_capture();
  stream.mark("node");
  const anyplace::Graph graph = stream.end_capture();
  CHECK(graph.size() == 1);
  CHECK(heard.lines().empty());
  const anyplace::GraphExec exec = graph.instantiate();
  exec.launch(stream);
  exec.launch(stream);
  stream.synchronize();
  CHECK(heard.lines() == Lines{"mark 0 node", "mark 0 node"});
}

TEST_CASE("A capture without a listener has no mark in it") {
  annotate::mark("this one looks for tools");
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.begin_capture();
  stream.mark("no node");
  CHECK(stream.end_capture().size() == 0);
}

TEST_CASE("In a host function ranges are heard, and marks of streams are refused") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  ErrorCode code = ErrorCode::ok;
  stream.launch_host_func([&] {
    const annotate::Range range("in it");
    code = test::code_of([&] { stream.mark("not here"); });
  });
  stream.synchronize();
  CHECK(code == ErrorCode::not_permitted);
  CHECK(heard.lines() == Lines{"push 0 in it", "pop 0"});
}

TEST_CASE("A listener that throws at a mark is no fault of the stream's") {
  struct Throwing : annotate::Listener {
    void marked(const annotate::Event& /*event*/) override { throw 42; }
  } throwing;
  const annotate::ListenerGuard guard(throwing);
  const test::Reports reports;
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.mark("here");
  CHECK_NOTHROW(stream.synchronize());
  CHECK(reports.all().size() == 1);
}

}  // namespace stream_test
