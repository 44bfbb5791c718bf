// SPDX-License-Identifier: Apache-2.0
// Where plugins are looked for, in which order, and what is done with two of one name.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace search_cases {

using anyplace::Device;
using anyplace::PluginCandidate;
using anyplace_test::candidate_at;
using anyplace_test::Folder;
using anyplace_test::search_in;
using Catch::Contains;

namespace {

std::vector<anyplace::PluginDirectoryProblem> problems_with(const std::string& directory) {
  std::vector<anyplace::PluginDirectoryProblem> found = anyplace::plugin_directory_problems();
  std::erase_if(found, [&](const auto& problem) { return problem.directory != directory; });
  return found;
}

}  // namespace

TEST_CASE("cpu_sim is found beside the library without any variable") {
  ::unsetenv("ANYPLACE_BACKEND_PATH");
  const auto names = anyplace::backend_names();
  CHECK(std::count(names.begin(), names.end(), "cpu_sim") == 1);
  const anyplace::BackendInfo info = anyplace::backend_info("cpu_sim");
  const auto candidate = candidate_at(info.path);
  REQUIRE(candidate.has_value());
  CHECK(candidate->source == PluginCandidate::Source::beside_library);
}

TEST_CASE("The first of two plugins of one name wins and the other is shadowed") {
  const Folder first;
  const Folder second;
  anyplace_test::add_mimic(first, "twin", "good");
  anyplace_test::add_mimic(second, "twin", "good");
  search_in(first.path() + ":" + second.path());
  CHECK(candidate_at(first.plugin("twin"))->state == PluginCandidate::State::unopened);
  CHECK(candidate_at(second.plugin("twin"))->state == PluginCandidate::State::shadowed);
  CHECK(Device("twin").index() == 0);
  CHECK(anyplace::backend_info("twin").path == first.plugin("twin"));
  CHECK(candidate_at(first.plugin("twin"))->state == PluginCandidate::State::accepted);
  const auto shadowed = candidate_at(second.plugin("twin"));
  CHECK(shadowed->state == PluginCandidate::State::shadowed);
  CHECK_THAT(shadowed->reason, Contains(first.plugin("twin")));
  const auto names = anyplace::backend_names();
  CHECK(std::count(names.begin(), names.end(), "twin") == 1);
}

TEST_CASE("Where the first of two plugins is refused the second is used") {
  const Folder first;
  const Folder second;
  anyplace_test::write_file(first.plugin("twin"), "");
  anyplace_test::add_mimic(second, "twin", "good");
  search_in(first.path() + ":" + second.path());
  CHECK(Device("twin").index() == 0);
  CHECK(anyplace::backend_info("twin").path == second.plugin("twin"));
  CHECK(candidate_at(first.plugin("twin"))->state == PluginCandidate::State::refused);
  CHECK_THAT(candidate_at(first.plugin("twin"))->reason, Contains("empty"));
}

TEST_CASE("The path variable comes before the library's own directory") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "cpu_sim", "count=3");
  search_in(folder.path());
  CHECK(anyplace::device_count("cpu_sim") == 3);
}

TEST_CASE("A relative directory in the path variable is not searched and said") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "here", "good");
  std::filesystem::current_path(folder.path());
  search_in(".:plugins");
  const anyplace::Error error = anyplace_test::device_error("here:0");
  CHECK(error.code() == anyplace::ErrorCode::no_such_backend);
  CHECK_THAT(error.text(), Contains("not searched: .: ANYPLACE_BACKEND_PATH takes absolute directories only"));
  REQUIRE(problems_with(".").size() == 1);
  CHECK_THAT(problems_with(".")[0].reason, Contains("relative"));
  CHECK(problems_with("plugins").size() == 1);
  std::filesystem::current_path("/");
}

TEST_CASE("Empty items of the path variable are ignored") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "here", "good");
  search_in("::" + folder.path() + "::");
  CHECK(anyplace::plugin_directory_problems().empty());
  CHECK(Device("here").index() == 0);
}

TEST_CASE("A directory that isn't there or is none is said") {
  const Folder folder;
  anyplace_test::write_file(folder.file("file"), "");
  search_in(folder.file("nothing") + ":" + folder.file("file"));
  REQUIRE(problems_with(folder.file("nothing")).size() == 1);
  REQUIRE(problems_with(folder.file("file")).size() == 1);
  CHECK_THAT(problems_with(folder.file("file"))[0].reason, Contains("not a directory"));
  CHECK(Device("cpu_sim").index() == 0);
}

TEST_CASE("The directories of the search are told in its order") {
  const Folder first;
  const Folder second;
  search_in(first.path() + ":relative:" + second.path() + ":" + first.path());
  const std::vector<anyplace::PluginDirectory> directories = anyplace::plugin_directories();
  REQUIRE(directories.size() >= 4);
  CHECK(directories[0].path == first.path());
  CHECK(directories[0].source == PluginCandidate::Source::path_variable);
  CHECK(directories[0].is_there);
  CHECK(directories[1].path == second.path());
  CHECK(directories[2].source == PluginCandidate::Source::beside_library);
  CHECK(directories[2].is_there);
  CHECK(directories[3].path == directories[2].path + "/" + anyplace_test::plugin_folder());
  CHECK(directories[3].source == PluginCandidate::Source::installed);
  for (const anyplace::PluginDirectory& directory : directories) {
    CAPTURE(directory.path);
    CHECK(directory.path.front() == '/');
    CHECK(directory.is_there == std::filesystem::is_directory(directory.path));
  }
}

TEST_CASE("A directory under two names is searched once") {
  const Folder folder;
  const Folder elsewhere;
  anyplace_test::add_mimic(folder, "once", "good");
  std::filesystem::create_directory_symlink(folder.path(), elsewhere.file("link"));
  search_in(folder.path() + ":" + elsewhere.file("link") + ":" + folder.path() + "/.");
  const auto all = anyplace::plugin_candidates();
  CHECK(std::count_if(all.begin(), all.end(), [](const auto& candidate) { return candidate.name == "once"; }) == 1);
}

TEST_CASE("A path variable of any length is taken within its limits") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "here", "good");
  std::string variable = folder.path();
  for (int i = 0; i < 100; ++i) variable += ":/nonexistent/" + std::to_string(i);
  search_in(variable + ":/" + std::string(5000, 'x'));
  CHECK(Device("here").index() == 0);
  const auto problems = anyplace::plugin_directory_problems();
  REQUIRE_FALSE(problems.empty());
  CHECK_THAT(problems.back().reason, Contains("only the first 64"));
  search_in("/" + std::string(5000, 'x'));
  REQUIRE(anyplace::plugin_directory_problems().size() == 1);
  CHECK_THAT(anyplace::plugin_directory_problems()[0].reason, Contains("longer"));
  search_in(std::string(100'000, ':') + folder.path());
  CHECK_THAT(anyplace::plugin_directory_problems()[0].reason, Contains("ignored"));
}

TEST_CASE("A file whose name is nearly a plugin's is left out and said") {
  const Folder folder;
  anyplace_test::write_file(folder.file("libanyplace_backend_Big.so"), "");
  anyplace_test::write_file(folder.file("libanyplace_backend_.so"), "");
  anyplace_test::write_file(folder.file("unrelated.so"), "");
  search_in(folder.path());
  CHECK(problems_with(folder.file("libanyplace_backend_Big.so")).size() == 1);
  CHECK(problems_with(folder.file("libanyplace_backend_.so")).size() == 1);
  CHECK(anyplace::plugin_directory_problems().size() == 2);
}

TEST_CASE("Listing candidates opens none of them") {
  const Folder folder;
  anyplace_test::copy_plugin("crasher", folder, "crasher");
  anyplace_test::copy_plugin("hanger", folder, "hanger");
  search_in(folder.path());
  CHECK(candidate_at(folder.plugin("crasher"))->state == PluginCandidate::State::unopened);
  const auto names = anyplace::backend_names();
  CHECK(std::count(names.begin(), names.end(), "hanger") == 1);
}

TEST_CASE("Names of backends come in the order of ANYPLACE_AUTO and then of the alphabet") {
  const Folder folder;
  for (const char* const name : {"zeta", "alpha", "cuda"}) anyplace_test::write_file(folder.plugin(name), "");
  search_in(folder.path());
  // Backends of other vendors may have been built beside the library.
  const auto names = [] {
    std::vector<std::string> all = anyplace::backend_names();
    std::erase_if(all, [](const std::string& name) { return name == "hip" || name == "levelzero"; });
    return all;
  };
  CHECK(names() == std::vector<std::string>{"cuda", "cpu_sim", "alpha", "zeta"});
  anyplace_test::set_variable("ANYPLACE_AUTO", "zeta,custom_cpu");
  CHECK(names() == std::vector<std::string>{"zeta", "cpu_sim", "alpha", "cuda"});
  anyplace_test::set_variable("ANYPLACE_AUTO", "no such thing");
  CHECK(names() == std::vector<std::string>{"cuda", "cpu_sim", "alpha", "zeta"});
}

TEST_CASE("Every source and state has a name") {
  CHECK(anyplace::to_string(PluginCandidate::Source::registered) == std::string("registered"));
  CHECK(anyplace::to_string(PluginCandidate::Source::path_variable) == std::string("ANYPLACE_BACKEND_PATH"));
  CHECK(anyplace::to_string(PluginCandidate::Source::beside_library) == std::string("beside the library"));
  CHECK(anyplace::to_string(PluginCandidate::Source::installed) == std::string("installed"));
  CHECK(anyplace::to_string(PluginCandidate::State::unopened) == std::string("unopened"));
  CHECK(anyplace::to_string(PluginCandidate::State::accepted) == std::string("accepted"));
  CHECK(anyplace::to_string(PluginCandidate::State::refused) == std::string("refused"));
  CHECK(anyplace::to_string(PluginCandidate::State::shadowed) == std::string("shadowed"));
}

}  // namespace search_cases
