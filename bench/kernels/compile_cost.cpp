// SPDX-License-Identifier: Apache-2.0
//
// What kernels out of a string cost: a hit of the cache until the module is ready, and a miss beside the compiler's
// programs alone, started with the same words. The words are those of one compilation, which a script in front of each
// program writes down.
//
//   compile_cost [PLACE...] [--benchmark_...]     hits on these places: cpu_sim:0 unless named
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "two_kernels.h"

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// A folder that is gone at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = fs::temp_directory_path() / "compile_cost.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("can't make a folder for files of a moment");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

int run(const Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {1, 2}) posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  if (failed != 0 || ::waitpid(child, &status, 0) != child) return 127;
  return status;
}

std::string path_of(const std::string& program) {
  std::string found;
  if (FILE* const pipe = ::popen(("command -v " + program).c_str(), "r")) {
    char line[4096] = {};
    if (std::fgets(line, sizeof(line), pipe) != nullptr) found = line;
    ::pclose(pipe);
  }
  while (!found.empty() && found.back() == '\n') found.pop_back();
  return found;
}

/// The programs that a compilation starts, each with its words, over a copy of the files that it had.
class Recorded {
 public:
  Recorded(const std::string& target, const anyplace::CompileOptions& options, const Words& programs) {
    const fs::path bin = folder_.path / "bin";
    fs::create_directory(bin);
    for (const std::string& program : programs) put_in_front(program, bin);
    const std::string before = std::getenv("PATH");
    ::setenv("PATH", (bin.string() + ":" + before).c_str(), 1);
    const Words targets{target};
    anyplace::compile(two_kernels, targets, options);
    ::setenv("PATH", before.c_str(), 1);
    for (int i = 0; fs::exists(folder_.path / ("words" + std::to_string(i))); ++i) read(i);
    if (commands_.empty()) throw std::runtime_error("the compilation for " + target + " started none of its programs");
  }
  /// True if all succeed.
  bool start() const {
    for (const Words& words : commands_) {
      if (run(words) != 0) return false;
    }
    return true;
  }

 private:
  /// A script that keeps what is in the folder of the program's output, and its words, and then becomes the program.
  void put_in_front(const std::string& program, const fs::path& bin) const {
    const std::string own = path_of(program);
    if (own.empty()) return;
    std::ofstream(bin / program) << "#!/bin/bash\nkeep=" << folder_.path.string() << "\nn=0\n"
                                 << "while [[ -e $keep/words$n ]]; do n=$((n + 1)); done\nlast=\n"
                                 << "for word; do if [[ $last == -o ]]; then folder=${word%/*}; fi; last=$word; done\n"
                                 << "{ echo \"$folder\"; echo " << own << "; printf '%s\\n' \"$@\"; } >$keep/words$n\n"
                                 << "mkdir -p $keep/files; cp -r \"$folder\"/. $keep/files\nexec " << own
                                 << " \"$@\"\n";
    ::chmod((bin / program).c_str(), 0700);
  }
  void read(int number) {
    std::ifstream file(folder_.path / ("words" + std::to_string(number)));
    std::string folder, word;
    std::getline(file, folder);
    Words words;
    while (std::getline(file, word)) {
      for (std::size_t at; (at = word.find(folder)) != word.npos;) {
        word.replace(at, folder.size(), (folder_.path / "files").string());
      }
      words.push_back(word);
    }
    commands_.push_back(words);
  }

  Folder folder_;
  std::vector<Words> commands_;
};

/// Counts the processor's time of this process and of all that it started, which others on the machine change little.
class ProcessorTime {
 public:
  explicit ProcessorTime(benchmark::State& state) : state_(state) {}
  ~ProcessorTime() {
    state_.counters["processor_ms"] = benchmark::Counter((now() - began_) * 1e3, benchmark::Counter::kAvgIterations);
  }
  ProcessorTime(const ProcessorTime&) = delete;
  ProcessorTime& operator=(const ProcessorTime&) = delete;

 private:
  static double now() {
    double seconds = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage used{};
      ::getrusage(static_cast<__rusage_who>(who), &used);
      for (const timeval& part : {used.ru_utime, used.ru_stime}) {
        seconds += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
      }
    }
    return seconds;
  }
  benchmark::State& state_;
  const double began_ = now();
};

void hit(benchmark::State& state, const std::string& place) {
  const anyplace::Device device(place);
  anyplace::Module::compile(device, two_kernels);
  const ProcessorTime time(state);
  for (auto _ : state) benchmark::DoNotOptimize(anyplace::Module::compile(device, two_kernels).kernel("scale"));
}

void miss(benchmark::State& state, const std::string& target, const std::string& compiler) {
  const Words targets{target};
  const ProcessorTime time(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(anyplace::compile(two_kernels, targets, {.compiler = compiler, .cached = false}));
  }
}

void add_miss(const std::string& target, const std::string& compiler, const Words& programs) {
  const std::string name = target + " by " + compiler;
  try {
    const anyplace::CompileOptions options{.compiler = compiler, .cached = false};
    const Words targets{target};
    anyplace::compile(two_kernels, targets, options);
    benchmark::RegisterBenchmark(("miss: " + name).c_str(), miss, target, compiler)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
    if (programs.empty()) return;
    const auto recorded = std::make_shared<Recorded>(target, options, programs);
    const auto alone = [recorded](benchmark::State& state) {
      const ProcessorTime time(state);
      for (auto _ : state) {
        if (!recorded->start()) state.SkipWithError("a program that compiled before doesn't any more");
      }
    };
    benchmark::RegisterBenchmark(("alone: " + name).c_str(), alone)->Unit(benchmark::kMillisecond)->UseRealTime();
  } catch (const std::exception& error) {
    std::printf("%s: left out, %s\n", name.c_str(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const Folder cache;
  ::setenv("ANYPLACE_CACHE", (cache.path / "cache").c_str(), 1);
  benchmark::Initialize(&argc, argv);
  Words places(argv + 1, argv + argc);
  if (places.empty()) places.emplace_back("cpu_sim:0");
  for (const std::string& place : places) {
    benchmark::RegisterBenchmark(("hit: " + place).c_str(), hit, place)->Unit(benchmark::kMillisecond)->UseRealTime();
  }
  add_miss("spirv", "clang", {"clang++", "clang++-14", "clang++-15", "llvm-spirv-14", "llvm-spirv-15"});
  add_miss("cpu_sim", "host", {"c++", "clang++-14", "clang++-15", "clang++-16", "clang++-19"});
  add_miss("sm_70", "clang", {"clang++"});
  add_miss("sm_80", "nvrtc", {});  // a library, which has no program to be started alone
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "compile_cost: %s\n", error.what());
  return 1;
}
