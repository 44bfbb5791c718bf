// SPDX-License-Identifier: Apache-2.0
// `anyplace compile` and `anyplace cache`.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_command.h"
#include "support/temp_dir.h"

namespace compile_command_test {

using namespace anyplace::test;
using nlohmann::json;
using ::test::TempDir;

namespace {

const char* const twice =
    "extern \"C\" __global__ void twice(float* data, unsigned count) {\n"
    "  if (threadIdx.x < count) data[threadIdx.x] *= FACTOR;\n"
    "}\n";

/// A folder with a source, and a cache of its own.
struct Work {
  TempDir folder;
  std::string source = folder.write("twice.cu", twice);
  std::string cache = folder.file("cache");

  Run command(const std::vector<std::string>& arguments, const Variables& more = {}) const {
    Variables variables = more;  // which come first
    variables.insert({"ANYPLACE_CACHE", cache});
    return run_command(arguments, variables);
  }
  Run compile(std::vector<std::string> more) const {
    more.insert(more.begin(), {"compile", source, "-DFACTOR=2", "--compiler", "host", "-o", folder.file("made")});
    return command(more);
  }
  /// The only entry of the cache.
  std::string entry() const {
    const Run run = command({"cache", "--json"});
    REQUIRE(run.status == 0);
    REQUIRE(run.json().at("entries").size() == 1);
    return run.json().at("entries").at(0).at("path");
  }
};

bool is_elf(const std::string& path) { return ::test::read_file(path).starts_with("\177ELF"); }

}  // namespace

TEST_CASE("compile writes an image for each target and says what it wrote") {
  const Work work;
  const Run run = work.compile({"--for", "cpu_sim,shared_object"});
  INFO(run.err);
  CHECK(run.status == 0);
  std::vector<std::string> images;
  for (const std::string& name : work.folder.names()) {
    if (!name.starts_with("made")) continue;
    images.push_back(name);
    CHECK(is_elf(work.folder.file(name)));
    CHECK(contains(run.out, work.folder.file(name) + ": shared_object"));
  }
  CHECK(images.size() == 2);  // one for the architecture of cpu_sim, one for none
  CHECK(contains(run.out, "by host"));
}

TEST_CASE("compile puts images into a folder by the name of the source") {
  const Work work;
  std::filesystem::create_directory(work.folder / "images");
  const Run run =
      work.command({"compile", work.source, "-DFACTOR=2", "--for", "shared_object", "-o", work.folder.file("images")});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(is_elf(work.folder.file("images/twice.so")));
}

TEST_CASE("compile makes the folder for images if its name ends in a slash") {
  const Work work;
  const std::string folder = work.folder.file("some/images");
  Run run = work.command({"compile", work.source, "-DFACTOR=2", "--for", "shared_object", "-o", folder + "/"});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(is_elf(folder + "/twice.so"));
  run = work.command({"compile", work.source, "-DFACTOR=2", "--for", "shared_object", "-o", folder + "/twice.so/"});
  CHECK(run.status == 1);
  CHECK(contains(run.err, "can't make " + folder + "/twice.so/: "));
}

TEST_CASE("compile reads standard input and takes headers, definitions, standards and name expressions") {
  const Work work;
  work.folder.write("factor.h", "template <class T> constexpr T factor = OTHER;\n");
  const Run run = run_with_input(
      "#include \"factor.h\"\n"
      "template <class T> __global__ void scale(T* data) { data[threadIdx.x] *= factor<T>; }\n",
      {"compile", "-", "--for", "shared_object", "-I", work.folder.path().string(), "-D", "OTHER=3", "--std", "17",
       "--name-expression", "scale<float>", "--name-expression", "scale<double>", "--fast-math", "-o",
       work.folder.file("made")},
      {{"ANYPLACE_CACHE", work.cache}});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(contains(run.out, "\n  scale<float> is "));
  CHECK(contains(run.out, "\n  scale<double> is "));
  CHECK(is_elf(work.folder.file("made.so")));
}

TEST_CASE("compile gives the compiler's errors as they are, with the file's name and line") {
  const Work work;
  const Run run = work.command({"compile", work.source, "--for", "shared_object", "-o", work.folder.file("made")});
  CHECK(run.status == 1);
  CHECK(run.out.empty());
  CHECK(contains(run.err, work.source + ":2:"));
  CHECK(contains(run.err, "FACTOR"));
  CHECK(contains(run.err, "can't compile the source"));
  CHECK_FALSE(std::filesystem::exists(work.folder / "made.so"));
}

TEST_CASE("compile goes on after a target that fails, and names it at the end") {
  const Work work;
  const Run run = work.compile({"--for", "no_such_thing,shared_object"});
  CHECK(run.status == 1);
  CHECK(is_elf(work.folder.file("made.so")));
  CHECK(contains(run.err, "no image for no_such_thing"));
}

TEST_CASE("compile gives a compiler as much time as it is told") {
  const Work work;
  const Run run = work.compile({"--for", "shared_object", "--timeout", "0.001"});
  CHECK(run.status == 1);
  CHECK(contains(run.err, "timeout"));
}

TEST_CASE("compile says that a source has no kernel to launch") {
  const Work work;
  const std::string plain = work.folder.write("plain.cu", "__global__ void scale(float* data) { data[0] *= 2; }\n");
  const Run run = work.command({"compile", plain, "--for", "shared_object", "-o", work.folder.file("made")});
  CHECK(run.status == 0);
  CHECK(contains(run.err, plain + ": warning: there is no kernel in it"));
}

TEST_CASE("compile refuses what it can't read, write or understand") {
  const Work work;
  const std::string missing = work.folder.file("missing.cu");
  Run run = work.command({"compile", missing, "--for", "cpu_sim"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, missing));

  run = work.command({"compile", work.folder.path().string(), "--for", "cpu_sim"});
  CHECK(run.status == 2);

  run = work.command({"compile", work.folder.write("empty.cu", ""), "--for", "cpu_sim"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, "empty"));

  run = work.compile({"--for", "no_such_thing"});
  CHECK(run.status == 1);
  CHECK(contains(run.err, "no_such_thing"));

  run = work.compile({"--for", "no such thing"});
  CHECK(run.status == 2);

  run = work.command({"compile", work.source, "-DFACTOR=2", "--for", "shared_object", "-o", "/no such folder/made"});
  CHECK(run.status == 1);
  CHECK(contains(run.err, "can't write /no such folder/made"));

  run = work.command({"compile", work.source, "--for", "shared_object", "--compiler", "nobody"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, "nobody"));

  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"compile"},
                                             {"compile", work.source},
                                             {"compile", work.source, "--for", "cpu_sim", "--fsat-math"},
                                             {"compile", work.source, "--for", "cpu_sim", "--std", "14"},
                                             {"compile", work.source, "another.cu", "--for", "cpu_sim"}}) {
    CAPTURE(wrong);
    run = work.command(wrong);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, "usage: anyplace compile FILE --for TARGET[,TARGET] [option...]"));
  }
  CHECK(work.folder.names() == std::vector<std::string>{"cache", "empty.cu", "twice.cu"});
}

TEST_CASE("cache lists what was compiled, with its size, age, target and compiler") {
  const Work work;
  Run run = work.command({"cache"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "no entry"));
  REQUIRE(work.compile({"--for", "shared_object"}).status == 0);
  run = work.command({"cache", "list"});
  CHECK(run.status == 0);
  for (const char* part : {"twice.cu", "shared_object", "host", " s ago", "1 entry, "}) {
    CAPTURE(part, run.out);
    CHECK(contains(run.out, part));
  }
  const json entry = work.command({"cache", "--json"}).json().at("entries").at(0);
  CHECK(entry.at("bytes") == std::filesystem::file_size(entry.at("path").get<std::string>()));
  CHECK(entry.at("compiler") == "host");
  CHECK(entry.at("format") == "shared_object");
  CHECK(entry.at("problem").is_null());
}

TEST_CASE("compile --no-cache keeps nothing") {
  const Work work;
  REQUIRE(work.compile({"--for", "shared_object", "--no-cache"}).status == 0);
  CHECK(work.command({"cache", "--json"}).json().at("entries").empty());
}

TEST_CASE("cache verify names what is damaged, what others can write and what is out of date") {
  const Work work;
  const std::string header = work.folder.write("factor.h", "#define FACTOR 2\n");
  const auto compile = [&] {
    return work.command({"compile", work.folder.write("with.cu", std::string("#include \"factor.h\"\n") + twice),
                         "--for", "shared_object", "-o", work.folder.file("made")});
  };
  REQUIRE(compile().status == 0);
  Run run = work.command({"cache", "verify"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "1 entry is good"));

  ::test::write_file(header, "#define FACTOR 3\n");
  run = work.command({"cache", "verify"});
  CHECK(run.status == 1);
  CHECK(contains(run.out, "a header that it was made of has changed: " + header));
  ::test::write_file(header, "#define FACTOR 2\n");

  const std::string entry = work.entry();
  const std::string bytes = ::test::read_file(entry);
  for (const std::string& bad : {std::string(), bytes.substr(0, bytes.size() / 2), bytes + "x"}) {
    ::test::write_file(entry, bad);
    run = work.command({"cache", "verify"});
    CHECK(run.status == 1);
    CHECK(contains(run.out, entry + ": it is damaged"));
    CHECK(contains(run.out, "0 entries are good"));
    CHECK(contains(work.command({"cache"}).out, "not used: it is damaged"));
  }
  ::test::write_file(entry, bytes);
  REQUIRE(::chmod(entry.c_str(), 0666) == 0);
  run = work.command({"cache", "verify"});
  CHECK(run.status == 1);
  CHECK(contains(run.out, "another user may have written it"));

  REQUIRE(compile().status == 0);  // made anew
  CHECK(work.command({"cache", "verify"}).status == 0);
}

TEST_CASE("cache says which variable it can't follow") {
  const Work work;
  for (const char* const off : {"off", "OFF", "0", "none", "./cache", "rel/x"}) {
    CAPTURE(off);
    const Run run = work.command({"cache"}, {{"ANYPLACE_CACHE", off}});
    CHECK(run.status == 1);
    CHECK(contains(run.err, "there is no cache: ANYPLACE_CACHE is "));
    CHECK(contains(run.err, off));
  }
  Run run = work.command({"cache"}, {{"ANYPLACE_CACHE", work.source}});
  CHECK(run.status == 1);
  CHECK(contains(run.err, work.source + " is no folder"));
  for (const char* const bytes : {"abc", "-5", "10MB", "99999999TiB"}) {
    CAPTURE(bytes);
    run = work.command({"cache"}, {{"ANYPLACE_CACHE_BYTES", bytes}});
    CHECK(run.status == 0);
    CHECK(contains(run.err, std::string("ANYPLACE_CACHE_BYTES is \"") + bytes + "\""));
  }
  CHECK(work.command({"cache"}, {{"ANYPLACE_CACHE_BYTES", "10MiB"}}).err.empty());
  for (const char* const shared : {"kernels", "/nowhere/kernels"}) {
    CAPTURE(shared);
    run = work.command({"cache"}, {{"ANYPLACE_CACHE_SHARED", shared}});
    CHECK(run.status == 0);
    CHECK(contains(run.err, "ANYPLACE_CACHE_SHARED is"));
    CHECK(contains(run.err, shared));
  }
}

TEST_CASE("cache clear deletes the cache's files and no other") {
  const Work work;
  REQUIRE(work.compile({"--for", "shared_object"}).status == 0);
  const std::filesystem::path entry = work.entry();
  const std::filesystem::path own = entry.parent_path() / "notes.lock", left = entry.string() + ".123.new";
  ::test::write_file(own, "mine");
  ::test::write_file(left, "half");
  const Run run = work.command({"cache", "clear"});
  CHECK(run.status == 0);
  CHECK(run.out == "1 entry deleted\n");
  CHECK_FALSE(std::filesystem::exists(entry));
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(own));
  CHECK(work.command({"cache", "clear"}).out == "0 entries deleted\n");
}

TEST_CASE("cache says that there is none, and refuses what it doesn't know") {
  const Work work;
  for (const char* const action : {"list", "verify", "clear"}) {
    const Run run = work.command({"cache", action}, {{"ANYPLACE_CACHE", "off"}});
    CHECK(run.status == 1);
    CHECK(contains(run.err, "there is no cache"));
  }
  const Run run = work.command({"cache", "celar"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, "usage: anyplace cache [list|verify|clear] [--json]"));
}

}  // namespace compile_command_test
