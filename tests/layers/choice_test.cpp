// SPDX-License-Identifier: Apache-2.0
// Which layers are on: by the variable, by the program and by places; and bad lists of them.
#include "layers/support.h"

namespace layer_choice_test {

using namespace anyplace;
using Catch::Contains;
using test::device_error;
using test::find_layers;
using test::Names;
using test::set_env;

namespace {

Names on(const char* backend = "cpu_sim") { return layers_of(backend); }

/// The Error of a list, which use_layers() refuses and the variable makes every backend's.
void check_refused(const Names& items, const std::string& variable, const std::string& part) {
  const Error error = test::required_error(ErrorCode::invalid_argument, [&] { use_layers(items); });
  CHECK_THAT(error.text(), Contains(part));
  set_env("ANYPLACE_LAYERS", variable);
  const Error at_use = device_error(ErrorCode::invalid_argument, "cpu_sim:0");
  CHECK_THAT(at_use.text(), Contains(part) && Contains("ANYPLACE_LAYERS"));
  CHECK(test::code_of([] { layers_of("cpu_sim"); }) == ErrorCode::invalid_argument);
}

}  // namespace

TEST_CASE("Given nothing that asks for layers then none is on") {
  CHECK(on().empty());
  const Device device("cpu_sim:0");
  CHECK(on().empty());
  CHECK(backend_info("cpu_sim").layers.empty());
}

TEST_CASE("Given layers in the variable then they are on in its order") {
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "outer,inner");
  CHECK(on() == Names{"outer", "inner"});
  const Device device("cpu_sim:0");
  CHECK(on() == Names{"outer", "inner"});
  CHECK(backend_info("cpu_sim").layers == Names{"outer", "inner"});
}

TEST_CASE("Given a layer for one backend then the others don't have it") {
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "cuda+outer,inner");
  CHECK(on("cuda") == Names{"outer", "inner"});
  CHECK(on("gpu") == Names{"outer", "inner"});
  CHECK(on() == Names{"inner"});
}

TEST_CASE("Given layers of the program then they come after those of the variable, each once") {
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "inner");
  use_layers({"outer", "cpu_sim+inner"});
  const Device device("cpu_sim:0");
  CHECK(on() == Names{"inner", "outer"});
}

TEST_CASE("Given two lists of the program then the second replaces the first") {
  find_layers({"outer", "inner"});
  use_layers({"outer"});
  use_layers({"inner"});
  CHECK(on() == Names{"inner"});
}

TEST_CASE("Given a place with layers then they are the innermost ones") {
  find_layers({"outer", "inner"});
  set_env("ANYPLACE_LAYERS", "outer");
  const Device device("cpu_sim+inner:1");
  CHECK(on() == Names{"outer", "inner"});
  CHECK(device == Device("cpu_sim:1"));
  CHECK(device.to_string() == "cpu_sim:1");
  CHECK(device == Device("cpu_sim+outer+inner:1"));
}

TEST_CASE("Given auto with a layer then the backend that is chosen has it") {
  find_layers({"outer"});
  set_env("ANYPLACE_AUTO", "cpu_sim");
  const Device device("auto+outer");
  CHECK(on() == Names{"outer"});
}

TEST_CASE("Given a backend that is in use without a layer then a place with it is refused") {
  find_layers({"outer"});
  const Device device("cpu_sim:0");
  const Error error = device_error(ErrorCode::invalid_argument, "cpu_sim+outer:0");
  CHECK_THAT(error.text(), Contains("in use without the layer outer") && Contains("ANYPLACE_LAYERS"));
  CHECK(error.place() == "cpu_sim+outer:0");
}

TEST_CASE("Given a backend that is in use without a layer then the program's list with it is refused") {
  find_layers({"outer"});
  const Device device("cpu_sim:0");
  const Error error = test::required_error(ErrorCode::invalid_argument, [] { use_layers({"outer"}); });
  CHECK_THAT(error.text(), Contains("in use without the layer outer"));
  use_layers({"cuda+outer"});
  use_layers({});
  CHECK(on().empty());
}

TEST_CASE("A layer that there isn't is refused, and the nearest one suggested") {
  find_layers({"outer"});
  check_refused({"outr"}, "outr", "did you mean \"outer\"?");
}

TEST_CASE("A layer that is like none is refused, and those that there are are named") {
  find_layers({"outer", "inner"});
  check_refused({"elsewhere"}, "elsewhere", "known names are");
}

TEST_CASE("A layer that a list has twice is refused") {
  find_layers({"outer", "inner"});
  check_refused({"outer", "inner", "outer"}, "outer,inner,outer", "the layer outer is there already");
}

TEST_CASE("A layer that a list has for all backends and for one is refused") {
  find_layers({"outer"});
  check_refused({"outer", "cuda+outer"}, "outer,cuda+outer", "the layer outer is there already");
}

TEST_CASE("An item that is no name is refused") {
  find_layers({"outer"});
  check_refused({"outer", ""}, "outer,", "the name is empty");
}

TEST_CASE("An item for a backend that there isn't is refused") {
  find_layers({"outer"});
  check_refused({"nowhere+outer"}, "nowhere+outer", "libanyplace_backend_nowhere.so");
}

TEST_CASE("An item with two layers is refused") {
  find_layers({"outer", "inner"});
  check_refused({"cpu_sim+outer+inner"}, "cpu_sim+outer+inner", "character \"+\"");
}

TEST_CASE("A place with a layer that there isn't is refused at its use") {
  find_layers({"outer"});
  const Place place("cpu_sim+outr:0");
  const Error error = test::required_error(ErrorCode::invalid_argument, [&] { const Device device(place); });
  CHECK_THAT(error.text(), Contains("the place names the layer \"outr\"") && Contains("did you mean \"outer\"?"));
  const Device device("cpu_sim:0");
}

TEST_CASE("Places have layers") {
  CHECK(Place("acme").layers().empty());
  CHECK(Place("acme+one:3").layers() == Names{"one"});
  CHECK(Place("acme+one:3").name() == "acme");
  CHECK(Place("acme+one:3").index() == 3);
  CHECK(Place("gpu+one+two").layers() == Names{"one", "two"});
  CHECK(Place("gpu+one+two").backend() == "cuda");
  for (const char* const text : {"auto+one", "acme+one", "acme+one+two:0", "acme+x:pci=0000:17:00.0"}) {
    CHECK(Place(text).to_string() == text);
  }
  CHECK_FALSE(Place("acme+one:3") == Place("acme:3"));
}

TEST_CASE("A place with bad layers is refused") {
  for (const char* const text : {"acme+", "acme++one", "+one", "acme+One", "acme+one+one:0", "acme+one+:0"}) {
    INFO(text);
    CHECK(test::code_of([&] { const Place place(text); }) == ErrorCode::invalid_argument);
  }
}

}  // namespace layer_choice_test
