// SPDX-License-Identifier: Apache-2.0
// Engines' plugins: one that a third party brings is found and used, and what is wrong with one that isn't is said.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/plugins.h"
#include "support/environment.h"
#include "support/errors.h"

namespace engine_plugins_test {

using namespace anyplace;

const std::string folder = RANKS_ENGINES;

std::string file_of(const std::string& name) { return folder + "/" + name + "/libanyplace_engine_" + name + ".so"; }

CommunicatorEngine listed(const std::string& name) {
  for (const CommunicatorEngine& engine : communicator_engines()) {
    if (engine.name == name) return engine;
  }
  FAIL("no engine " << name << " is listed");
  return {};
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("Given a third party's engine in the search path then it is listed, chosen for its backend and used") {
  test::set_env("ANYPLACE_BACKEND_PATH", (folder + "/alone").c_str());
  const CommunicatorEngine engine = listed("alone");
  CHECK(engine.usable);
  CHECK(engine.serves == "cpu_sim");
  CHECK(engine.version == "1");
  CHECK(engine.plugin == file_of("alone"));
  const Device device("cpu_sim:0");
  const Communicator one(device, Bootstrap::alone(), {.engine = "alone"});
  CHECK(one.engine() == "alone");
  const Stream stream(device);
  const Buffer from = Buffer::of<float>(stream, 10), to = Buffer::of<float>(stream, 10);
  stream.fill(from.as<float>(), 3.0f);
  one.all_reduce(stream, to.as<float>(), from.as<float>(), Reduction::avg);
  one.barrier(stream);
  one.split(1, 0).broadcast(stream, to.as<float>(), 0);
  std::vector<float> host(10);
  stream.copy(host, to);
  stream.synchronize();
  CHECK(host == std::vector<float>(10, 3.0f));
  CHECK(one.query());
  CHECK(one.split(-1, 0).is_null());
  const Error error = test::required_error(ErrorCode::unsupported, [&] { one.send(stream, from.as<float>(), 0); });
  CHECK(error.problem() == "the engine alone has nobody to send to");
  CHECK(error.remedy() == "leave the engine's name empty");
}

TEST_CASE("Given ranks that compare their operations then a third party's engine carries what they compare") {
  test::set_env("ANYPLACE_BACKEND_PATH", (folder + "/alone").c_str());
  test::set_env("ANYPLACE_COMMUNICATOR_CHECK", "1");
  const Device device("cpu_sim:0");
  const Communicator one(device, Bootstrap::alone(), {.engine = "alone"});
  const Stream stream(device);
  const Buffer data = Buffer::of<std::int32_t>(stream, 4);
  stream.fill(data.as<std::int32_t>(), 7);
  one.all_reduce(stream, data.as<std::int32_t>(), data.as<std::int32_t>());
  std::vector<std::int32_t> host(4);
  stream.copy(host, data);
  stream.synchronize();
  CHECK(host == std::vector<std::int32_t>(4, 7));
}

TEST_CASE("Given an engine that is registered by its path then it comes before others of its name") {
  register_plugin(file_of("alone"));
  CHECK(listed("alone").plugin == file_of("alone"));
}

TEST_CASE("Given an engine's plugin with something wrong then the reason is said, and the others can be used") {
  const std::vector<std::pair<const char*, const char*>> bad{
      {"no_symbol", "it lacks the symbol anyplace_engine_entry"},
      {"version", "it was built for the engines' ABI 2.0, and this anyplace has 1.0"},
      {"size", "it says that it filled 64 bytes of the table; at least"},
      {"refuses", "it has no licence; buy one"},
      {"lacks", "its table lacks the entry group_enqueue, which every engine on a stream must have"},
      {"half_world", "its table has the entry begin without"},
      {"kind", "its table says that it is of kind 7; 1 and 2 are possible"},
      {"name", "its table says that its name is \"another\", and its file says \"name\""},
      {"overrun", "it wrote past the end of the table"},
      {"no_identify", "its table lacks the entry identify, which every engine without a world must have"},
  };
  std::string path = folder + "/alone";
  for (const auto& [name, reason] : bad) path += ":" + folder + "/" + name;
  test::set_env("ANYPLACE_BACKEND_PATH", path.c_str());
  for (const auto& [name, reason] : bad) {
    const CommunicatorEngine engine = listed(name);
    CHECK_FALSE(engine.usable);
    CHECK(engine.serves.empty());
    CHECK(says(engine.reason, reason));
    CHECK(engine.plugin == file_of(name));
  }
  CHECK(listed("alone").usable);
  const Error error = test::required_error(
      ErrorCode::plugin_refused, [] { Communicator(Device("cpu_sim:0"), Bootstrap::alone(), {.engine = "version"}); });
  CHECK(says(std::string(error.problem()), "the engine version was found and can't be used: " + file_of("version")));
}

}  // namespace engine_plugins_test
