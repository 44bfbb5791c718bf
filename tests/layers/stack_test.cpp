// SPDX-License-Identifier: Apache-2.0
// What layers see, in which order, and when they end.
#include <algorithm>
#include <cstdlib>

#include "layers/plugins/watched.h"
#include "layers/support.h"
#include "support/process.h"

namespace layer_stack_test {

using namespace anyplace;
using Catch::Contains;
using test::find_layers;
using test::Names;
using test::set_env;
using test::Watched;

namespace {

/// Layers may write into it for as long as the process lives.
Watched& watched() {
  static auto& only = *new Watched;
  only.publish();
  return only;
}

}  // namespace

TEST_CASE("Given two layers then a call goes through the outer one to the inner one and back") {
  Watched& seen = watched();
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "outer,inner");
  const Device device("cpu_sim:0");
  CHECK(seen.taken() ==
        Names{"inner: over cpu_sim", "inner: the table is whole", "outer: over cpu_sim", "outer: the table is whole"});
  const Stream stream(device);
  const Event event(device);
  seen.taken();
  stream.record_event(event);
  CHECK(seen.taken() == Names{"outer: event_record begins", "inner: event_record begins", "inner: event_record ends",
                              "outer: event_record ends"});
  stream.synchronize();
  seen.taken();
  static_cast<void>(event.query());
  CHECK(seen.taken() == Names{"outer: asks", "inner: asks"});
}

TEST_CASE("Given a layer then work goes through it and comes out right") {
  watched();
  find_layers({"outer"});
  const Device device("cpu_sim+outer:0");
  const Stream stream(device);
  const Buffer data(stream, 4096);
  const auto numbers = data.as<std::uint32_t>();
  stream.fill(numbers, 42u);
  std::vector<std::uint32_t> host(numbers.size());
  stream.copy(host, data);
  stream.synchronize();
  CHECK(std::all_of(host.begin(), host.end(), [](std::uint32_t number) { return number == 42; }));
}

TEST_CASE("Given a layer that can't be put over a backend then its use says so, and the next use tries again") {
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "outer,inner");
  set_env("WATCHER_REFUSES", "outer");
  const Error error = test::device_error(ErrorCode::unsupported, "cpu_sim:0");
  CHECK_THAT(error.text(), Contains("the layer outer can't be put over the backend cpu_sim: it was told to refuse") &&
                               Contains("ANYPLACE_LAYERS"));
  test::unset_env("WATCHER_REFUSES");
  const Device device("cpu_sim:0");
  CHECK(layers_of("cpu_sim") == Names{"outer", "inner"});
}

TEST_CASE("Each layer hears annotations once, from its first backend on") {
  Watched& seen = watched();
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "outer,inner");
  const annotate::Domain library("library");
  CHECK(annotate::range_push("too early") == annotate::nobody_listens);
  const Device device("cpu_sim:0");
  seen.taken();
  CHECK(annotate::range_push("frame", {.domain = library}) == 0);
  CHECK(seen.taken() == Names{"outer: annotation 0 'frame', depth 0, domain library",
                              "inner: annotation 0 'frame', depth 0, domain library"});
  annotate::mark("throw");  // which is dropped
  CHECK(annotate::range_pop(library) == 0);
  CHECK(annotate::range_pop(library) == annotate::no_range);
  CHECK(seen.taken() ==
        Names{"outer: annotation 1 '', depth 0, domain library", "inner: annotation 1 '', depth 0, domain library"});
}

TEST_CASE("Layers end at exit, the outer one first") {
  const test::Ended ended = test::in_child([] {
    find_layers({"outer", "inner"});
    set_env("ANYPLACE_LAYERS", "outer,inner");
    set_env("WATCHER_SAYS_END", "1");
    const Stream stream(Device("cpu_sim:0"));
    stream.synchronize();
    return 0;
  });
  CHECK(ended.status == 0);
  CHECK(ended.out == "outer ends\ninner ends\n");
}

TEST_CASE("In the child of a fork layers don't end") {
  const test::Ended ended = test::in_child([] {
    find_layers({"outer"});
    const Device device("cpu_sim+outer:0");
    set_env("WATCHER_SAYS_END", "1");
    return test::in_child([] { return 0; }).status;
  });
  CHECK(ended.status == 0);
  CHECK(ended.out == "outer ends\n");
}

TEST_CASE("Layers are listed with what they say of themselves") {
  find_layers({"outer", "odd"});
  bool found = false;
  for (const LayerInfo& layer : layers()) {
    if (layer.name != "outer") continue;
    found = true;
    CHECK(layer.usable);
    CHECK(layer.version == "1.0");
    CHECK(layer.description == "Says what it sees");
    CHECK(layer.variables == Names{"WATCHED", "WATCHER_REFUSES"});
    CHECK_THAT(layer.plugin, Contains("/libanyplace_layer_outer.so"));
  }
  CHECK(found);
}

TEST_CASE("A layer takes commands, whether it is on or not") {
  find_layers({"outer"});
  CHECK(layer_command("outer", "repeat", "ab") == "abab");
  const Error unknown = test::required_error(ErrorCode::invalid_argument, [] { layer_command("outer", "sing"); });
  CHECK_THAT(unknown.text(), Contains("it knows repeat only") && Contains("ask it that"));
  CHECK(test::code_of([] { layer_command("nowhere", "repeat"); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([] { layer_command("outer", std::string("a\0b", 3)); }) == ErrorCode::invalid_argument);
}

TEST_CASE("A layer that is registered by its path comes before others of its name") {
  const std::string path = std::string(ANYPLACE_TEST_LAYERS) + "/outer/libanyplace_layer_outer.so";
  register_plugin(path);
  use_layers({"outer"});
  const Device device("cpu_sim:0");
  CHECK(layers_of("cpu_sim") == Names{"outer"});
}

}  // namespace layer_stack_test
