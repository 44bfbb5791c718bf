// SPDX-License-Identifier: Apache-2.0
//
// The deterministic mode (docs/cpu_sim-deterministic.md). Each case runs programs, the hidden cases at the end of this
// file, in processes of their own, because the mode is chosen once in a process.
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "graphs.h"
#include "plugin.h"
#include "scheduled.h"
#include "support/temp_dir.h"

namespace test_deterministic_cases {

using namespace cpu_sim_test;

namespace {

constexpr int deadlock_status = 94;
constexpr int diverged_status = 95;
const char* const strategies[] = {"random", "pct:3", "urw", "surw", "round_robin", "lazy", "eager"};

/// Returns the value behind "name": in the last line that has it.
std::string value_of(const std::string& report, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const std::size_t at = report.rfind(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return report.substr(begin, report.find_first_of(",}", begin) - begin);
}

/// Returns the options that were taken, a line each.
std::string choices_of(const std::string& report) {
  std::istringstream lines(report);
  std::string choices;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{\"choice\":")) choices += value_of(line, "taken") + "\n";
  }
  return choices;
}

}  // namespace

TEST_CASE(
    "Given one seed, When a program of two streams and two threads runs three times, Then its reports are equal") {
  for (const char* strategy : {"random", "pct:3", "surw"}) {
    for (const char* program : {"two_streams", "two_threads"}) {
      const Scheduled first = run(program, strategy, "7");
      INFO(strategy << first.out);
      CHECK(first.status == 0);
      CHECK_THAT(first.report, Catch::Contains("\"end\":1"));
      CHECK(value_of(first.report, "uncontrolled") == "0");
      for (int i = 0; i < 2; ++i) CHECK(run(program, strategy, "7").report == first.report);
    }
  }
}

TEST_CASE("Given ten seeds, Then a program of two streams has several schedules, and each ends") {
  for (const char* strategy : {"random", "pct:3", "urw", "surw"}) {
    std::set<std::string> hashes;
    for (int seed = 0; seed < 10; ++seed) {
      const Scheduled ended = run("two_streams", strategy, std::to_string(seed));
      CHECK(ended.status == 0);
      hashes.insert(value_of(ended.report, "hash"));
    }
    INFO(strategy);
    CHECK(hashes.size() >= 3);
  }
}

TEST_CASE("Given any strategy, Then every program ends as it does in threads mode") {
  for (const char* strategy : strategies) {
    for (const char* program : {"query_loop", "two_threads", "endless", "lock_held", "blocked_host_function",
                                "time_runs_out", "waits", "virtual_times", "graph_of_host_functions"}) {
      const Scheduled ended = run(program, strategy, "3");
      INFO(strategy << ", " << program << ": " << ended.out);
      CHECK(ended.status == 0);
      CHECK_THAT(ended.report, Catch::Contains("\"end\":1"));
    }
  }
}

TEST_CASE(
    "Given a missing wait, Then some seed shows it, its seed and its choices show it each time, and with the wait none "
    "does") {
  int failing = -1;
  for (int seed = 0; seed < 50 && failing < 0; ++seed) {
    if (run("missing_wait", "random", std::to_string(seed)).status != 0) failing = seed;
  }
  REQUIRE(failing >= 0);
  const std::string seed = std::to_string(failing);
  const Scheduled failed = run("missing_wait", "random", seed);
  for (int i = 0; i < 20; ++i) CHECK(run("missing_wait", "random", seed).report == failed.report);

  const test::TempDir folder;
  const Scheduled replayed = run("missing_wait", "choices:" + folder.write("choices", choices_of(failed.report)));
  CHECK(replayed.status == failed.status);
  CHECK(value_of(replayed.report, "hash") == value_of(failed.report, "hash"));

  for (int i = 0; i < 50; ++i) CHECK(run("waits", "random", std::to_string(i)).status == 0);
}

TEST_CASE("Given a copy from pageable memory, Then lazy reads it at the wait, and eager when it was submitted") {
  CHECK_THAT(run("late_copy", "lazy").out, Catch::Contains("copied 2"));
  CHECK_THAT(run("late_copy", "eager").out, Catch::Contains("copied 1"));
}

TEST_CASE("Given a graph, Then its nodes are operations with names, which come in any order that it allows") {
  std::set<std::string> orders;
  for (int seed = 0; seed < 60; ++seed) {
    const Scheduled ended = run("graph_of_two_branches", "random", std::to_string(seed));
    CHECK(ended.status == 0);
    orders.insert(ended.out.substr(ended.out.find("order "), 11));
  }
  CHECK(orders.size() > 5);  // There are 15.
  for (const std::string& each : orders) {
    INFO(each);
    CHECK(each.find('a', 6) < each.find('b', 6));
    CHECK(std::max(each.find('b', 6), each.find('c', 6)) < each.find('d', 6));
    CHECK(each.find('x', 6) != std::string::npos);
  }
  const Scheduled plain = run("graph_of_two_branches", "eager");
  CHECK_THAT(plain.out, Catch::Contains("order acbdx"));
  CHECK_THAT(plain.report, Catch::Contains("\"number\":0,\"what\":\"kernel ") && Catch::Contains("(node 0)\""));
  CHECK_THAT(plain.report, Catch::Contains("\"number\":3,\"what\":\"kernel ") && Catch::Contains("(node 3)\""));
  // The stream's next operation counts on behind the nodes.
  CHECK_THAT(plain.report, Catch::Contains("\"number\":4,\"what\":\"host function\""));
  const test::TempDir folder;
  const std::string second_first = folder.write("choices", "s1.0 s1.2\n");
  CHECK_THAT(run("graph_of_two_branches", "choices:" + second_first).out, Catch::Contains("order cabdx"));
}

TEST_CASE("Given two threads that wait for one event and one for its stream, Then which goes on first is a choice") {
  std::set<std::string> orders;
  for (int seed = 0; seed < 40; ++seed) {
    const Scheduled ended = run("three_waiters", "random", std::to_string(seed));
    CHECK(ended.status == 0);
    CHECK(value_of(ended.report, "uncontrolled") == "0");
    orders.insert(ended.out.substr(ended.out.find("order "), 9));
  }
  CHECK(orders.size() == 6);
  const Scheduled plain = run("three_waiters", "eager");
  CHECK(run("three_waiters", "eager").report == plain.report);
}

TEST_CASE("Given freed memory, Then who gets it is a choice: nobody under eager, and the next one under its name") {
  const Scheduled plain = run("memory_again", "eager");
  CHECK_THAT(plain.out, Catch::Contains("got 0 of 2"));
  CHECK_THAT(plain.report,
             Catch::Contains("\"kind\":\"reuse\",\"thread\":0,\"options\":2,\"taken\":0,\"default\":0,\"call\":3,"
                             "\"what\":[\"fresh memory\",\"the block that was freed last\"]"));
  const test::TempDir folder;
  const std::string way = folder.write("way", "c0.3.0 c0.3.1\n");
  const Scheduled again = run("memory_again", "choices:" + way);
  CHECK_THAT(again.out, Catch::Contains("got 1 of 2"));
  CHECK(again.report.find("diverged") == std::string::npos);
  // The same sizes alone are exchanged, and each block has one owner.
  std::set<std::string> seen;
  for (int seed = 0; seed < 20; ++seed) {
    const Scheduled some = run("memory_again", "random", std::to_string(seed));
    CHECK(some.status == 0);
    seen.insert(some.out.substr(some.out.find("got ")));
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("Given memory that was freed at once, Then an access faults, and in a stream's order it doesn't") {
  CHECK(run("freed_at_once", "eager").status != 0);
  CHECK(run("freed_in_order", "eager").status == 0);
}

TEST_CASE("Given a wait that nothing can end, Then it is a deadlock, which says who waits for what") {
  const Scheduled ended = run("deadlock", "random");
  CHECK(ended.status == deadlock_status);
  CHECK_THAT(ended.out,
             Catch::Contains("deadlock: thread 0 waits in stream_synchronize for stream 2; stream 1 of device "
                             "0 is at \"wait for a gate\""));
  CHECK_THAT(ended.out, Catch::Contains("stream 2 of device 0 is at \"wait\" for stream 1"));
  CHECK_THAT(ended.report, Catch::Contains("{\"deadlock\":\"thread 0 waits"));
}

TEST_CASE("Given a graph's wait that nothing can end, Then the deadlock says what it is for") {
  const Scheduled ended = run("deadlock_in_graph", "random");
  CHECK(ended.status == deadlock_status);
  CHECK_THAT(ended.out, Catch::Contains("stream 2 of device 0 is at \"graph\", with a wait for stream 1"));
}

TEST_CASE("Given choices of another program, Then the process ends and says where they diverge") {
  const test::TempDir folder;
  const Scheduled ended = run("two_streams", "choices:" + folder.write("choices", "0\n0\n9\n"));
  CHECK(ended.status == diverged_status);
  CHECK_THAT(ended.out, Catch::Contains("diverge at choice 2: the file says 9, and there are"));
  CHECK_THAT(ended.report, Catch::Contains("{\"diverged\":\"choice 2"));
}

TEST_CASE("Given a kernel that spins until its host has done something, Then it ends, and the report says so") {
  const Scheduled ended = run("spinning_kernel", "eager");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.report, Catch::Contains("{\"uncontrolled\":\"an operation computes for long"));
}

TEST_CASE("Given a program that forks, Then the report says so") {
  const Scheduled ended = run("forks", "random");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.report, Catch::Contains("{\"uncontrolled\":\"the process has forked"));
}

TEST_CASE("Given a program whose child uses cpu_sim, too, Then the report is the parent's, and says so") {
  const Scheduled ended = run("child_uses_it", "random");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.report, Catch::StartsWith("{\"anyplace_cpu_sim_report\"") &&
                               Catch::Contains("{\"uncontrolled\":\"another process uses cpu_sim, too"));
  CHECK(ended.report.find("{\"end\"") == ended.report.rfind("{\"end\""));
}

TEST_CASE("Given ANYPLACE_CPU_SIM_HASH=1, Then the schedule's hash is on standard error") {
  const Scheduled ended = run("two_streams", "random", "1", {{"ANYPLACE_CPU_SIM_HASH", "1"}});
  std::string hash = value_of(ended.report, "hash");
  std::erase(hash, '"');
  CHECK_THAT(ended.out, Catch::Contains("anyplace: cpu_sim: schedule " + hash));
}

TEST_CASE("Given a wrong mode, seed, strategy or file, Then the plugin is refused with what is allowed") {
  const test::TempDir folder;
  const struct {
    const char* variable;
    std::string value;
    const char* says;
  } wrong[] = {
      {"ANYPLACE_CPU_SIM_MODE", "fast", "allowed is threads or deterministic"},
      {"ANYPLACE_CPU_SIM_SEED", "one", "a number from 0 to 18446744073709551615"},
      {"ANYPLACE_CPU_SIM_SEED", "-1", "a number from 0"},
      {"ANYPLACE_CPU_SIM_HASH", "2", "a number from 0 to 1"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "dfs", "allowed is random, pct:D"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "pct", "allowed is random, pct:D"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "pct:0", "allowed is random, pct:D"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "choices:" + folder.file("none"), "No such file"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "choices:" + folder.write("words", "0\nleft\n"), "line 2"},
      {"ANYPLACE_CPU_SIM_STRATEGY", "choices:" + folder.path().string(), "is a folder"},
      {"ANYPLACE_CPU_SIM_REPORT", folder.file("no/report"), "No such file"},
  };
  for (const auto& [variable, value, says] : wrong) {
    test::Variables variables{{"ANYPLACE_CPU_SIM_MODE", "deterministic"}};
    variables[variable] = value;
    const test::Ended ended = test::Process({"/proc/self/exe", "[.two_streams]"}, variables).end();
    INFO(variable << "=" << value << ": " << ended.out);
    CHECK(ended.status != 0);
    CHECK_THAT(ended.out, Catch::Contains(variable) && Catch::Contains(says));
  }
}

TEST_CASE(
    "Given what the deterministic mode takes without the mode, Then the plugin is refused, and with threads not") {
  for (const char* const name :
       {"ANYPLACE_CPU_SIM_SEED", "ANYPLACE_CPU_SIM_STRATEGY", "ANYPLACE_CPU_SIM_REPORT", "ANYPLACE_CPU_SIM_HASH"}) {
    const test::Ended refused = test::Process({"/proc/self/exe", "[.two_streams]"}, {{name, "1"}}).end();
    CHECK(refused.status != 0);
    CHECK_THAT(refused.out, Catch::Contains(std::string(name) + " needs the deterministic mode"));
    const test::Variables threads{{"ANYPLACE_CPU_SIM_MODE", "threads"}, {name, "1"}};
    CHECK(test::Process({"/proc/self/exe", "[.two_streams]"}, threads).end().status == 0);
  }
}

// ---- The programs --------------------------------------------------------------------------------------------------

TEST_CASE("Program: two streams of three kernels", "[.two_streams]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  std::string order;
  for (char step : {'1', '2', '3'}) {
    first.run([&order, step] { order += {'a', step, ' '}; });
    second.run([&order, step] { order += {'b', step, ' '}; });
  }
  CHECK(first.synchronize());
  CHECK(second.synchronize());
  CHECK(order.size() == 18);
}

TEST_CASE("Program: two threads with a stream each", "[.two_threads]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  std::mutex mutex;
  int ran = 0;
  const auto work = [&](Stream& stream) {
    for (int i = 0; i < 3; ++i) {
      stream.run([&] {
        const std::lock_guard lock(mutex);
        ++ran;
      });
    }
    stream.synchronize();
  };
  std::thread other([&] { work(second); });
  work(first);
  other.join();
  CHECK(ran == 6);
}

TEST_CASE("Program: a loop that asks whether a stream is done", "[.query_loop]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  first.run([] {});
  second.run([] {});
  while (!first.done() || !second.done()) continue;
}

TEST_CASE("Program: two threads submit, each until something else has gone on", "[.endless]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  std::atomic<bool> stream_has_run{false}, stop{false};
  std::thread other([&] {
    while (!stop) first.run([] {});
  });
  second.run([&] { stream_has_run = true; });
  while (!stream_has_run) first.run([] {});
  stop = true;
  other.join();
  CHECK(first.synchronize());
  CHECK(second.synchronize());
}

TEST_CASE("Program: a host function and a kernel need a lock that the submitting thread holds", "[.lock_held]") {
  Plugin plugin;
  Stream stream(plugin), second(plugin);
  std::mutex mutex;
  int ran = 0;
  const auto locked = [&] {
    const std::lock_guard lock(mutex);
    ++ran;
  };
  {
    const std::lock_guard lock(mutex);
    stream.host(locked);
    second.run(locked);
    stream.host(locked);
  }
  CHECK(stream.synchronize());
  CHECK(second.synchronize());
  CHECK(ran == 3);
}

TEST_CASE("Program: a host function waits for what the host does later", "[.blocked_host_function]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Flag flag;
  bool ran = false;
  first.host([&] { flag.wait(); });
  second.run([&] { ran = true; });
  CHECK(second.synchronize());
  CHECK(ran);
  CHECK_FALSE(first.synchronize(10 * millisecond));
  flag.set();
  CHECK(first.synchronize());
}

TEST_CASE("Program: the time of a wait runs out", "[.time_runs_out]") {
  Plugin plugin;
  Stream stream(plugin);
  Gate gate(plugin);
  stream.wait(gate);
  CHECK_FALSE(stream.synchronize(3'600'000 * millisecond));
  CHECK_FALSE(stream.synchronize(0));
  gate.open();
  CHECK(stream.synchronize());
}

TEST_CASE("Program: events are stamped with virtual times", "[.virtual_times]") {
  Plugin plugin;
  Stream stream(plugin);
  Event begin(plugin, ANYPLACE_EVENT_TIMING), end(plugin, ANYPLACE_EVENT_TIMING);
  std::vector<char> bytes(1 << 20), copied(1 << 20);
  stream.record(begin);
  stream.copy(copied.data(), bytes.data(), bytes.size());
  stream.record(end);
  CHECK(stream.synchronize());
  double ms = 0;
  check(plugin->event_elapsed(plugin.self(), begin.handle, end.handle, &ms));
  CHECK(ms >= (5e3 + static_cast<double>(bytes.size()) / 16) / 1e6);
}

namespace {

/// A stream fills memory, and another one copies it to the host. Returns what arrived there.
int produce_and_consume(bool waits) {
  Plugin plugin;
  Stream producer(plugin), consumer(plugin);
  Event produced(plugin);
  const std::uint64_t memory = plugin.allocate(sizeof(int));
  int before = 1;
  int after = 0;
  producer.copy(reinterpret_cast<void*>(memory), &after, sizeof(after));
  CHECK(producer.synchronize());
  producer.copy(reinterpret_cast<void*>(memory), &before, sizeof(before));
  producer.record(produced);
  if (waits) consumer.wait(produced);
  consumer.copy(&after, reinterpret_cast<void*>(memory), sizeof(after));
  CHECK(consumer.synchronize());
  CHECK(producer.synchronize());
  plugin.free(memory);
  return after;
}

}  // namespace

TEST_CASE("Program: a consumer that doesn't wait", "[.missing_wait]") { CHECK(produce_and_consume(false) == 1); }

TEST_CASE("Program: a consumer that waits", "[.waits]") { CHECK(produce_and_consume(true) == 1); }

TEST_CASE("Program: a source is overwritten before its copy is waited for", "[.late_copy]") {
  Plugin plugin;
  Stream stream(plugin);
  int source = 1;
  int copied = 0;
  stream.copy(&copied, &source, sizeof(source));
  source = 2;
  CHECK(stream.synchronize());
  WARN("copied " << copied);
}

TEST_CASE("Program: a graph has host functions between its kernels", "[.graph_of_host_functions]") {
  Plugin plugin;
  Stream stream(plugin);
  std::string order;
  Kernel kernel(plugin, [&order] { order += 'k'; });
  GraphNodes nodes;
  std::uint32_t last = nodes.kernel(kernel, {});
  last = nodes.host([&order] { order += 'h'; }, {last});
  last = nodes.host([&order] { order += 'g'; }, {last});
  nodes.kernel(kernel, {last});
  Graph graph(plugin, nodes);
  graph.launch(stream);
  graph.launch(stream);
  CHECK(stream.synchronize());
  CHECK(order == "khgkkhgk");
}

TEST_CASE("Program: two threads wait for one event, and one for its stream", "[.three_waiters]") {
  Plugin plugin;
  Stream stream(plugin);
  Event event(plugin);
  Gate gate(plugin);
  stream.wait(gate);
  stream.record(event);
  std::mutex mutex;
  std::string order;
  const auto wait = [&](char name, auto synchronize) {
    return std::thread([&, name, synchronize] {
      if (!synchronize()) return;
      const std::lock_guard lock(mutex);
      order += name;
    });
  };
  std::thread first = wait('a', [&] { return event.synchronize(); });
  std::thread second = wait('b', [&] { return event.synchronize(); });
  std::thread third = wait('c', [&] { return stream.synchronize(); });
  gate.open();
  first.join();
  second.join();
  third.join();
  WARN("order " << order);
}

TEST_CASE("Program: memory is allocated, freed and allocated again twice", "[.memory_again]") {
  Plugin plugin;
  constexpr std::uint64_t bytes = 100'000;
  const std::uint64_t first = plugin.allocate(bytes);
  plugin.free(first);
  const std::uint64_t second = plugin.allocate(bytes);
  plugin.free(plugin.allocate(2 * bytes));
  const std::uint64_t third = plugin.allocate(bytes);
  *reinterpret_cast<char*>(second) = *reinterpret_cast<char*>(third) = 1;
  CHECK(second != third);
  WARN("got " << (second == first) + (third == first) << " of 2" << (third == first ? " late" : ""));
  plugin.free(second);
  plugin.free(third);
}

TEST_CASE("Program: memory is used that was freed at once", "[.freed_at_once]") {
  Plugin plugin;
  const std::uint64_t memory = plugin.allocate(100'000);
  plugin.free(memory);
  *reinterpret_cast<volatile char*>(memory) = 1;
}

TEST_CASE("Program: memory is used that was freed in a stream's order", "[.freed_in_order]") {
  Plugin plugin;
  Stream stream(plugin);
  const std::uint64_t memory = plugin.allocate(100'000);
  check(plugin->memory_free_async(plugin.self(), stream.handle, memory));
  CHECK(stream.synchronize());
  *reinterpret_cast<volatile char*>(memory) = 1;
}

TEST_CASE("Program: a graph has two branches that join, and another stream works", "[.graph_of_two_branches]") {
  Plugin plugin;
  Stream stream(plugin), other(plugin);
  std::mutex mutex;
  std::string order;
  const auto adds = [&](char name) {
    return [&order, &mutex, name] {
      const std::lock_guard lock(mutex);
      order += name;
    };
  };
  Kernel a(plugin, adds('a')), b(plugin, adds('b')), c(plugin, adds('c')), d(plugin, adds('d'));
  GraphNodes nodes;
  const std::uint32_t first = nodes.kernel(a, {}), second = nodes.kernel(b, {first}), third = nodes.kernel(c, {});
  nodes.kernel(d, {second, third});
  Graph graph(plugin, nodes);
  graph.launch(stream);
  other.run(adds('x'));
  stream.host([] {});
  CHECK(stream.synchronize());
  CHECK(other.synchronize());
  WARN("order " << order);
}

TEST_CASE("Program: a stream waits for a stream whose gate nobody opens", "[.deadlock]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Event event(plugin);
  Gate gate(plugin);
  first.wait(gate);
  first.record(event);
  second.wait(event);
  second.synchronize();
}

TEST_CASE("Program: a graph waits for a stream whose gate nobody opens", "[.deadlock_in_graph]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Event event(plugin);
  Gate gate(plugin);
  first.wait(gate);
  first.record(event);
  GraphNodes nodes;
  nodes.wait(event, {});
  Graph graph(plugin, nodes);
  graph.launch(second);
  second.synchronize();
}

TEST_CASE("Program: a kernel spins until the host goes on", "[.spinning_kernel]") {
  Plugin plugin;
  Stream stream(plugin);
  std::atomic<bool> go_on{false};
  stream.run([&] {
    while (!go_on) continue;
  });
  go_on = true;
  CHECK(stream.synchronize());
}

TEST_CASE("Program: its child uses the device while it does", "[.child_uses_it]") {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child != 0) {
    Plugin plugin;
    CHECK(write(ready[1], "", 1) == 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return;
  }
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) _exit(1);
  {
    Plugin plugin;
    Stream stream(plugin);
    stream.run([] {});
    if (!stream.synchronize()) _exit(2);
  }
  _exit(0);
}

TEST_CASE("Program: it forks", "[.forks]") {
  Plugin plugin;
  Stream stream(plugin);
  stream.run([] {});
  if (const pid_t child = fork(); child == 0) _exit(0);
  CHECK(stream.synchronize());
}

}  // namespace test_deterministic_cases
