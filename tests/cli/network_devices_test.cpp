// SPDX-License-Identifier: Apache-2.0
//
// The plans of `anyplace network` on devices of cpu_sim, with copies, events and kernels: they move real bytes to right
// results, and take in the virtual time of a device's profile what the simulated network says of the same figures. Each
// runs in a process of its own, because the profile is chosen once in a process.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "tools/network_run.h"

namespace network_devices_test {

using namespace anyplace;
using namespace anyplace::tool;

namespace {

constexpr std::uint64_t size = 2'000'000;

/// One machine. To add a float, two are read and one is written.
NetworkProfile machine_of(int devices) {
  NetworkProfile profile;
  profile.name = "one machine";
  profile.devices_per_machine = static_cast<std::uint32_t>(devices);
  profile.device_bytes_per_second = 100e9;
  profile.device_latency_ns = 500;
  profile.nic_bytes_per_second = 1;
  profile.memory_bytes_per_second = 1e12;
  return profile;
}
constexpr const char* device_profile = R"({
  "anyplace_device_profile": 1, "name": "mine", "description": "a device of the same figures",
  "sources": {"me": "my own"},
  "memory_bytes": {"value": 1e9, "source": "me"}, "memory_bytes_per_second": {"value": 1e12, "source": "me"},
  "flops_per_second": {"value": 1e15, "source": "me"},
  "to_device_bytes_per_second": {"value": 10e9, "source": "me"}, "to_host_bytes_per_second": {"value": 10e9, "source": "me"},
  "peer_bytes_per_second": {"value": 100e9, "source": "me"}, "peer_latency_ns": {"value": 500, "source": "me"},
  "devices": {"value": 8, "source": "me"}, "copy_engines": {"value": 16, "source": "me"},
  "kernels": {"*": {"bytes_per_thread": 12, "source": "me"}}
})";

/// What is done for one rank: the steps of its stage wait for the event `begin`, and its next stage for `messages`.
struct Worker {
  Worker(int rank, PlanSteps plan, std::uint32_t blocks)
      : device("cpu_sim:" + std::to_string(rank)),
        stream(device),
        data(stream, size),
        inbox(stream, size),
        begin(stream.record_event()),
        add(device,
            [](const Block& block, float* to, const float* from) {
              block.for_each_thread([&](const Thread& t) { to[t.global[0]] += from[t.global[0]]; });
            }),
        steps(std::move(plan)),
        part(size / sizeof(float) / blocks) {
    std::vector<float> host(size / sizeof(float));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(rank + 1) + static_cast<float>(i / part);
    stream.copy(data.as<float>(), host);
    stream.synchronize();
    begin_stage();
  }

  void begin_stage() {
    first = last;
    while (last < steps.size() && steps[last++].with_next) {
    }
    is_sent.assign(last - first, false);
    is_received.assign(last - first, false);
    messages.clear();
    begin = stream.record_event();
  }
  BufferSpan<float> span(const Buffer& buffer, const Blocks& blocks) const {
    return buffer.as<float>().subspan(blocks.first * part, blocks.count * part);
  }
  bool is_over() const {
    for (std::size_t step = first; step < last; ++step) {
      if (steps[step].send_to >= 0 && !is_sent[step - first]) return false;
      if (steps[step].receive_from >= 0 && !is_received[step - first]) return false;
    }
    return true;
  }
  void end_stage() {
    for (const auto& message : messages) stream.wait_event(*message);
    for (std::size_t step = first; step < last; ++step) {
      if (steps[step].receive_from < 0 || !steps[step].reduces) continue;
      const auto threads = static_cast<std::uint32_t>(steps[step].received.count * part / 500);
      stream.launch(add, {threads, 500}, span(data, steps[step].received), span(inbox, steps[step].received));
    }
    begin_stage();
  }

  Device device;
  Stream stream;
  Buffer data, inbox;
  Event begin;
  Kernel add;
  PlanSteps steps;
  std::uint64_t part;  // elements of a block
  std::size_t first = 0, last = 0;
  std::vector<bool> is_sent, is_received;
  std::vector<std::shared_ptr<Event>> messages;
};

/// Submits the messages whose two ends are both in their stages. Returns whether there was one.
bool submit_messages(std::vector<Worker>& workers, std::vector<Stream>& lanes, std::size_t rank) {
  Worker& sender = workers[rank];
  bool any = false;
  for (std::size_t step = sender.first; step < sender.last; ++step) {
    if (sender.steps[step].send_to < 0 || sender.is_sent[step - sender.first]) continue;
    Worker& receiver = workers[static_cast<std::size_t>(sender.steps[step].send_to)];
    for (std::size_t other = receiver.first; other < receiver.last; ++other) {
      const PlanStep& receives = receiver.steps[other];
      if (receives.receive_from != static_cast<int>(rank) || receiver.is_received[other - receiver.first]) continue;
      const Stream& lane = lanes.emplace_back(sender.device);
      lane.wait_event(sender.begin);
      lane.wait_event(receiver.begin);
      lane.copy(receiver.span(receives.reduces ? receiver.inbox : receiver.data, receives.received),
                sender.span(sender.data, sender.steps[step].sent));
      const auto over = std::make_shared<Event>(lane.record_event());
      sender.messages.push_back(over);
      receiver.messages.push_back(over);
      sender.is_sent[step - sender.first] = receiver.is_received[other - receiver.first] = true;
      any = true;
      break;
    }
  }
  return any;
}

void execute(std::vector<Worker>& workers) {
  std::vector<Stream> lanes;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t rank = 0; rank < workers.size(); ++rank) {
      goes_on = submit_messages(workers, lanes, rank) || goes_on;
    }
    for (Worker& worker : workers) {
      if (worker.first == worker.last || !worker.is_over()) continue;
      worker.end_stage();
      goes_on = true;
    }
  }
  for (const Worker& worker : workers) worker.stream.synchronize();
}

/// Executes the plan and checks its result. Returns what it took.
double measured(const Algorithm& algorithm, int ranks) {
  const std::uint32_t blocks = algorithm.blocks({1, ranks});
  std::vector<Worker> workers;
  for (int rank = 0; rank < ranks; ++rank) workers.emplace_back(rank, algorithm.steps({1, ranks}, rank), blocks);
  const std::uint64_t begin = workers[0].device.clock().device_ns;
  execute(workers);
  const double ns = static_cast<double>(workers[0].device.clock().device_ns - begin);
  for (const Worker& worker : workers) {
    if (worker.first != worker.steps.size()) throw std::runtime_error("a rank has steps left");
    std::vector<float> host(size / sizeof(float));
    worker.stream.copy(host, worker.data.as<float>());
    worker.stream.synchronize();
    for (std::uint64_t i = 0; i < blocks * worker.part; ++i) {
      const auto block = static_cast<float>(i / worker.part);
      const auto n = static_cast<float>(ranks);
      const float sum = n * (n + 1) / 2 + n * block;
      if (host[i] != (algorithm.collective == CollectiveKind::broadcast ? 1 + block : sum)) {
        throw std::runtime_error("wrong: element " + std::to_string(i));
      }
    }
  }
  return ns;
}

template <class Program>
double in_virtual_time(const Program& program) {
  const ::test::TempDir folder;
  const std::string file = folder.write("mine.json", device_profile);
  const ::test::Ended ended = ::test::in_child([&] {
    ::test::set_env("ANYPLACE_CPU_SIM_PROFILE", file);
    std::printf("result %.17g\n", program());
    return 0;
  });
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  const std::size_t at = ended.out.find("result ");
  REQUIRE(at != std::string::npos);
  return std::stod(ended.out.substr(at + 7));
}

}  // namespace

TEST_CASE("Plans that devices of cpu_sim execute give right results in the time that the simulated network says") {
  for (const Algorithm& each : algorithms()) {
    const bool is_reduced = each.collective == CollectiveKind::all_reduce && std::strcmp(each.name, "star") != 0;
    if (!is_reduced && each.collective != CollectiveKind::broadcast) continue;
    for (const int ranks : {5, 8}) {
      CAPTURE(each.name, collective_names()[static_cast<std::size_t>(each.collective)], ranks);
      const double expected = run_network(machine_of(ranks), {1, ranks}, each, size).ns;
      CHECK_THAT(in_virtual_time([&] { return measured(each, ranks); }), Catch::WithinRel(expected, 0.01));
    }
  }
}

TEST_CASE("star is what comm::broadcast does") {
  // So large that the host's own calls, of which the simulated network has none, take less than 1 %.
  static constexpr std::uint64_t large = 16 * size;
  const double measured_ns = in_virtual_time([] {
    std::vector<Device> devices;
    for (int rank = 0; rank < 8; ++rank) devices.emplace_back("cpu_sim:" + std::to_string(rank));
    const Stream stream(devices[0]);
    const StreamGuard guard(stream);
    const Array array(stream, DType::f32, {large / sizeof(float)});
    stream.synchronize();
    const std::uint64_t begin = devices[0].clock().device_ns;
    const std::vector<Array> copies = comm::broadcast(array, {.devices = devices});
    for (const Device& device : devices) device.synchronize();
    return static_cast<double>(devices[0].clock().device_ns - begin);
  });
  const auto broadcasts = algorithms_of(CollectiveKind::broadcast);
  REQUIRE(std::string(broadcasts.back()->name) == "star");
  CHECK_THAT(measured_ns, Catch::WithinRel(run_network(machine_of(8), {1, 8}, *broadcasts.back(), large).ns, 0.01));
}

}  // namespace network_devices_test
