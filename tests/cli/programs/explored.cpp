// SPDX-License-Identifier: Apache-2.0
//
// A program for `anyplace explore`: a model of streams in a hundred lines, which obeys the variables of cpu_sim's
// deterministic mode and writes its report (docs/cpu_sim-deterministic.md). So what explore does is tested by schedules
// that can be counted on paper. The first argument says what is wrong with the program.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Operation {
  std::string what;
  int allocation;  // It writes the first 64 bytes of this one.
  std::function<void()> effect;
  unsigned number = 0;
};

/// The streams, and who decides which of them runs.
class Model {
 public:
  Model() : strategy_(variable("ANYPLACE_CPU_SIM_STRATEGY")) {
    const std::string seed = variable("ANYPLACE_CPU_SIM_SEED"), rank = variable("RANK");
    std::string report = variable("ANYPLACE_CPU_SIM_REPORT"), job;
    if (!rank.empty()) job = ",\"rank\":" + rank + ",\"ranks\":" + variable("WORLD_SIZE");
    if (!report.empty() && !rank.empty() && rank != "0") report += "." + rank;
    seed_ = seed.empty() ? 0 : std::stoull(seed);
    random_.seed(seed_);
    if (!report.empty()) report_ = std::fopen(report.c_str(), "w");
    write("{\"anyplace_cpu_sim_report\":1,\"mode\":\"deterministic\",\"strategy\":\"" + strategy_ +
          "\",\"seed\":" + std::to_string(seed_) + job + "}");
    if (strategy_.starts_with("choices:")) {
      std::ifstream file(strategy_.substr(8));
      for (std::string line; std::getline(file, line);) {
        line.find(' ') != std::string::npos ? deviations_.push_back(line) : choices_.push_back(std::stoi(line));
      }
    }
  }

  void submit(int stream, const std::string& what, int allocation, std::function<void()> effect) {
    call("submit", [] { return true; });
    streams_[stream].push_back({what, allocation, std::move(effect), submitted_[stream]++});
  }
  void synchronize(int stream) {
    call("synchronize", [this, stream] { return streams_[stream].empty(); });
  }
  bool query(int stream) {
    call("query", [] { return true; });
    return streams_[stream].empty();
  }
  std::uint64_t seed() const { return seed_; }
  void write(const std::string& line) {
    if (report_ != nullptr) std::fprintf(report_, "%s\n", line.c_str());
    if (report_ != nullptr) std::fflush(report_);
  }
  [[noreturn]] void deadlock() {
    write("{\"deadlock\":\"thread 0 waits in synchronize for stream 1\"}");
    std::fprintf(stderr, "anyplace: cpu_sim: deadlock\n");
    _exit(94);
  }
  void end() {
    write("{\"end\":1,\"choices\":" + std::to_string(choice_) + ",\"submissions\":" + std::to_string(calls_) +
          ",\"hash\":\"" + hash_text() + "\"}");
    if (variable("ANYPLACE_CPU_SIM_HASH") == "1") std::fprintf(stderr, "anyplace: schedule %s\n", hash_text().c_str());
  }

 private:
  /// Comes to a call: operations run until the strategy lets it go on, which it may do when `may_return`.
  void call(const std::string& entry, const std::function<bool()>& may_return) {
    ++calls_;
    for (;;) {
      std::vector<int> options;  // 0: the call goes on; else a stream
      if (may_return()) options.push_back(0);
      for (const auto& [stream, queue] : streams_) {
        if (!queue.empty()) options.push_back(stream);
      }
      const int taken = options[options.size() == 1 ? 0 : choose(entry, options)];
      if (taken == 0) return;
      run(taken);
    }
  }

  std::size_t choose(const std::string& entry, const std::vector<int>& options) {
    const std::size_t plain = options[0] == 0 ? 1 : 0;
    std::size_t taken = plain;
    if (choice_ < choices_.size()) {
      taken = static_cast<std::size_t>(choices_[choice_]);
    } else if (!deviations_.empty()) {
      taken = deviating(options, plain);
    } else if (strategy_ == "lazy") {
      taken = 0;
    } else if (!strategy_.starts_with("choices:") && strategy_ != "eager") {
      taken = random_() % options.size();
    }
    if (taken >= options.size()) {
      write("{\"diverged\":\"choice " + std::to_string(choice_) + ": the file says " + std::to_string(taken) + "\"}");
      _exit(95);
    }
    std::string what, threads, streams, numbers, reads, writes;
    for (const int option : options) {
      const std::string comma = what.empty() ? "" : ",";
      const Operation* const next = option == 0 ? nullptr : &streams_[option].front();
      what += comma + "\"" + (next == nullptr ? "continue: " + entry : next->what) + "\"";
      threads += comma + (next == nullptr ? "0" : "-1");
      streams += comma + (next == nullptr ? "-1" : std::to_string(option));
      numbers += comma + std::to_string(next == nullptr ? calls_ : next->number);
      reads += comma + (next == nullptr ? "null" : "[]");
      writes += comma + (next == nullptr ? "null" : "[[" + std::to_string(next->allocation) + ",0,64]]");
    }
    write("{\"choice\":" + std::to_string(choice_) +
          ",\"kind\":\"step\",\"thread\":0,\"options\":" + std::to_string(options.size()) +
          ",\"taken\":" + std::to_string(taken) + ",\"default\":" + std::to_string(plain) + ",\"what\":[" + what +
          "],\"threads\":[" + threads + "],\"devices\":[" + streams + "],\"streams\":[" + streams + "],\"numbers\":[" +
          numbers + "],\"reads\":[" + reads + "],\"writes\":[" + writes + "]}");
    ++choice_;
    return taken;
  }

  /// The option of the first deviation in the file that fits.
  std::size_t deviating(const std::vector<int>& options, std::size_t plain) {
    for (const std::string& deviation : deviations_) {
      for (std::size_t i = 0; i < options.size(); ++i) {
        if (deviation == name_of(options[plain]) + " " + name_of(options[i])) return i;
      }
    }
    return plain;
  }

  std::string name_of(int option) {
    if (option == 0) return "t0." + std::to_string(calls_);
    return "s" + std::to_string(option) + "." + std::to_string(streams_[option].front().number);
  }

  void run(int stream) {
    const Operation operation = std::move(streams_[stream].front());
    streams_[stream].pop_front();
    operation.effect();
    write("{\"ran\":" + std::to_string(ran_) + ",\"device\":0,\"stream\":" + std::to_string(stream) +
          ",\"number\":" + std::to_string(operation.number) + ",\"what\":\"" + operation.what +
          "\",\"begin_ns\":" + std::to_string(1000 * ran_) + ",\"end_ns\":" + std::to_string(1000 * ran_ + 900) + "}");
    ++ran_;
    hash_ = (hash_ ^ static_cast<std::uint64_t>(stream * 1000) ^ calls_) * 0x100000001b3;
  }

  std::string hash_text() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

  std::string strategy_;
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::vector<int> choices_;
  std::vector<std::string> deviations_;
  std::FILE* report_ = nullptr;
  std::map<int, std::deque<Operation>> streams_;
  std::map<int, unsigned> submitted_;
  std::size_t choice_ = 0, calls_ = 0, ran_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

[[noreturn]] void spin() {
  for (volatile bool forever = true; forever;) {
  }
  std::abort();
}

int fails(const std::string& mode, int got) {
  if (mode == "crashes") std::abort();
  if (mode == "spins") spin();
  if (mode == "prints") return 0;
  std::fprintf(stderr, "got %d, which is wrong\n", got);
  return mode == "fails twice" ? got : 1;
}

/// Stream 1 writes x, stream 2 reads it: after the host has waited for stream 1 if the program is right.
int writes_and_reads(Model& model, const std::string& mode) {
  int x = 1, got = 0;
  if (mode == "fails behind another fill") {
    model.submit(1, "fill y", 2, [] {});
    for (int i = 0; i < 2; ++i) model.submit(3, "fill z", 3, [] {});
  }
  model.submit(1, "fill x", 1, [&] { x += 1; });
  if (mode == "fails twice") model.submit(1, "fill x again", 1, [&] { x += 1; });
  if (mode == "is right") {
    model.submit(3, "fill y", 2, [] {});
    model.synchronize(1);
  }
  if (mode == "fails late") {
    for (int i = 0; i < 6; ++i) model.submit(3, "fill y", 2, [] {});
  }
  model.submit(2, "copy x", 1, [&] { got = x; });
  model.synchronize(2);
  if (mode == "deadlocks" && got == 1) model.deadlock();
  model.synchronize(1);
  std::printf("%d\n", got);
  std::fflush(stdout);
  const int right = mode == "fails twice" ? 3 : 2;
  return got == right ? 0 : fails(mode, got);
}

/// `first` operations of stream 1 and `second` of stream 2, of one allocation or of two.
int counts(Model& model, int first, int second, bool shares) {
  for (int i = 0; i < first; ++i) model.submit(1, "fill", 1, [] {});
  for (int i = 0; i < second; ++i) model.submit(2, "fill", shares ? 1 : 2, [] {});
  model.synchronize(1);
  model.synchronize(2);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "never ends") spin();
  if (mode == "uses nothing") return 0;
  std::vector<std::string> words(argv + 1, argv + argc);
  for (const std::string& word : words) std::printf("%s\n", word.c_str());
  Model model;
  int status = 0;
  if (mode == "counts") {
    status = counts(model, std::stoi(words.at(1)), std::stoi(words.at(2)), words.at(3) == "one");
  } else if (mode == "always fails") {
    std::fprintf(stderr, "it always does\n");
    status = 3;
  } else if (mode == "fails with seed 5, and interrupts with seed 7") {
    if (model.seed() == 7) kill(getppid(), SIGTERM);
    status = writes_and_reads(model, "is right") + (model.seed() == 5 ? 4 : 0);
  } else if (mode == "reads its profile") {
    status = std::ifstream(variable("ANYPLACE_CPU_SIM_PROFILE")).good() ? writes_and_reads(model, "is right") : 5;
  } else if (mode == "fails with seed 5") {
    status = writes_and_reads(model, "is right") + (model.seed() == 5 ? 4 : 0);
  } else {
    if (mode == "reads the clock") model.submit(1, "fill " + std::to_string(getpid()) + " bytes", 1, [] {});
    if (mode == "forks") model.write("{\"uncontrolled\":\"fork: the child isn't scheduled\"}");
    if (mode == "prints its process") std::printf("%d\n", static_cast<int>(getpid()));
    status = writes_and_reads(model, mode == "forks" || mode == "prints its process" ? "is right" : mode);
  }
  model.end();
  return status;
}
