// SPDX-License-Identifier: Apache-2.0
// A layer in C, and everything that may be wrong with one: the backend's use says it.
#include "layers/support.h"
#include "support/temp_dir.h"

namespace odd_layers_test {

using namespace anyplace;
using Catch::Contains;
using test::device_error;
using test::find_layers;
using test::set_env;

namespace {

void check_odd(const std::string& how, ErrorCode code, const std::string& part) {
  find_layers({"odd"});
  set_env("ODD_LAYER", how);
  const Error error = device_error(code, "cpu_sim+odd:0");
  INFO(error.text());
  CHECK_THAT(error.text(), Contains(part) && Contains("the layer odd"));
  // Without the layer the backend is as good as ever.
  if (code == ErrorCode::plugin_refused) CHECK(Device("cpu_sim:0").to_string() == "cpu_sim:0");
}

}  // namespace

TEST_CASE("A layer in C is put over a backend") {
  find_layers({"odd"});
  const Stream stream(Device("cpu_sim+odd:0"));
  stream.synchronize();
  CHECK(layers_of("cpu_sim") == test::Names{"odd"});
  CHECK(test::code_of([] { layer_command("odd", "anything"); }) == ErrorCode::unsupported);
}

TEST_CASE("A layer whose table ends before the optional functions hears no annotations") {
  find_layers({"odd"});
  set_env("ODD_LAYER", "ends before annotations");
  const Stream stream(Device("cpu_sim+odd:0"));
  stream.synchronize();
  CHECK(annotate::range_push("unheard") == annotate::nobody_listens);
  CHECK_FALSE(annotate::listening());
}

TEST_CASE("A layer of another major version is refused") {
  check_odd("another major", ErrorCode::plugin_refused, "the layers' ABI 2.0");
}
TEST_CASE("A layer for backends of another major version is refused") {
  check_odd("another backend major", ErrorCode::plugin_refused, "backends of ABI 2");
}
TEST_CASE("A layer that doesn't know all entries is refused") {
  check_odd("an older backend table", ErrorCode::plugin_refused, "build it again with this anyplace's headers");
}
TEST_CASE("A layer that fills too little is refused") {
  check_odd("shorter", ErrorCode::plugin_refused, "it says that it filled 16 bytes");
}
TEST_CASE("A layer without begin is refused") {
  check_odd("no begin", ErrorCode::plugin_refused, "lacks the entry begin");
}
TEST_CASE("A layer with a name without end is refused") {
  check_odd("an endless name", ErrorCode::plugin_refused, "doesn't end with a NUL");
}
TEST_CASE("A layer whose entry fails is refused with what it says") {
  check_odd("entry fails", ErrorCode::unsupported, "it refuses to be loaded");
}
TEST_CASE("A layer that doesn't like the backend says why") {
  check_odd("begin fails", ErrorCode::backend_failed, "it doesn't like the backend");
}
TEST_CASE("A layer whose table lacks a required entry isn't put over the backend") {
  check_odd("lacks an entry", ErrorCode::plugin_refused, "lacks the entry event_record");
}
TEST_CASE("A layer that renames the backend isn't put over it") {
  check_odd("renames the backend", ErrorCode::plugin_refused, "its table says that its name is \"other\"");
}
TEST_CASE("A layer that claims more bytes than it was given isn't put over the backend") {
  check_odd("claims more", ErrorCode::plugin_refused, "it says that it filled");
}
TEST_CASE("A layer that writes past the table isn't put over the backend") {
  check_odd("writes past the table", ErrorCode::plugin_refused, "it wrote past the end of the table");
}

TEST_CASE("A layer that calls itself otherwise than its file is refused") {
  set_env("ODD_LAYER_NAME", "even");
  check_odd("", ErrorCode::plugin_refused, "its table says that its name is \"even\"");
}

TEST_CASE("A file that is no plugin is refused, and listed with the reason") {
  const test::TempDir folder;
  folder.write("libanyplace_layer_text.so", "this is no plugin");
  set_env("ANYPLACE_BACKEND_PATH", folder.path().string());
  const Error error = device_error(ErrorCode::plugin_refused, "cpu_sim+text:0");
  CHECK_THAT(error.text(), Contains("which can't be used"));
  bool found = false;
  for (const LayerInfo& layer : layers()) {
    if (layer.name != "text") continue;
    found = true;
    CHECK_FALSE(layer.usable);
    CHECK_FALSE(layer.reason.empty());
  }
  CHECK(found);
}

}  // namespace odd_layers_test
