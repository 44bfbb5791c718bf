// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <new>
#include <numeric>

namespace sweep {

void tell(const anyplace::Error& error) {
  std::fprintf(stderr, "handler: %s\n", error.what());
  std::printf("reported %s %lld\n", anyplace::to_string(error.code()), static_cast<long long>(error.vendor_code()));
  std::fflush(stdout);
}

Numbers& host_numbers(std::uint32_t value) {
  static std::deque<Numbers>& all = *new std::deque<Numbers>;
  return all.emplace_back(count, value);
}

void expect(bool condition, const char* what) {
  if (!condition) throw Wrong(what);
}

void expect_all(const Numbers& found, std::uint32_t expected, const char* what) {
  for (const std::uint32_t number : found) expect(number == expected, what);
}

namespace {

using anyplace::Buffer;
using anyplace::BufferView;
using anyplace::Capability;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;

void look_at(const Device& device) {
  expect(!device.properties().name.empty(), "a device without a name");
  expect(device.priority_range().greatest <= 0, "0 is not among the priorities");
  static_cast<void>(device.memory_info());
  if (device.has(Capability::native_handles)) {
    static_cast<void>(device.native_handle());
    expect(device.native_context() != 0, "a null context");
  }
}

/// Pinned and registered memory has to outlive the copies that use it, also when an Error ends the function: this,
/// declared behind it, waits for them. One call may be the one that is made to fail, so there is another.
class Settled {
 public:
  explicit Settled(const Device& device) : device_(device) {}
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;
  ~Settled() {
    try {
      device_.synchronize();
      return;
    } catch (const anyplace::Error& error) {
      tell(error);
    } catch (const std::bad_alloc&) {
    }
    try {
      static_cast<void>(device_.synchronize(std::chrono::hours(1)));
    } catch (const std::exception&) {  // lost, then: nothing runs there any more
    }
  }

 private:
  const Device& device_;
};

/// Copies of all kinds, fills of all widths, and the events between them.
void copies(const Device& device) {
  const Stream first(device, {.priority = -1}), second(device);
  const Buffer a(first, count * 4), b(second, count * 4);
  Numbers &host = host_numbers(), &back = host_numbers();
  std::iota(host.begin(), host.end(), 1u);
  anyplace::HostBuffer pinned;
  if (device.has(Capability::pinned_memory)) pinned = anyplace::HostBuffer(device, count * 4);
  const Settled settled(device);

  first.copy(a, host);
  const Event copied = first.record_event();
  second.wait_event(copied);
  second.copy(b, a);
  a.record_stream(second);
  second.copy(back, b);
  second.synchronize();
  expect(back == host, "a copy to the device and back");

  if (pinned) {
    second.copy(anyplace::HostSpan(pinned.data(), pinned.size()), b);
    second.synchronize();
    expect(pinned.as<std::uint32_t>()[count - 1] == count, "a copy to pinned memory");
  }
  second.memset8(b, 0x11);
  second.memset16(b.sub(0, 64), 0x1111);
  second.memset32(b.sub(64, 64), 0x11111111);
  first.wait_stream(second);
  b.record_stream(first);
  first.copy_2d(a, 256, b, 128, 64, 32);
  first.memset32(a.sub(0, 256), 0x11111111);
  first.copy(back, a);
  first.synchronize();
  expect(back[0] == 0x11111111 && back[64] == 0x11111111 && back[80] == 81, "fills and a pitched copy");
  expect(first.query() && copied.query(), "work that is done counts as done");
}

void time_it(const Device& device) {
  const Stream stream(device, {.blocking = device.has(Capability::blocking_streams)});
  const Event start(device, {.timing = device.has(Capability::timed_events)}), end(device, {.timing = true});
  const Buffer buffer(stream, 1 << 16);
  start.record(stream);
  stream.memset32(buffer, 1);
  end.record(stream);
  device.default_stream().wait_event(end);
  expect(end.synchronize(std::chrono::minutes(10)), "an event within ten minutes");
  expect(anyplace::elapsed_time(start, end) >= 0, "time that runs backwards");
  device.default_stream().synchronize();
  expect(device.synchronize(std::chrono::minutes(10)), "a device within ten minutes");
}

void kernels(const Device& device, const std::string& image, KernelStep more) {
  const Stream stream(device);
  anyplace::ModuleOptions options;
  if (image.ends_with(".spv")) options.metadata.push_back({"block_sum", 2});  // its shared memory is an argument there
  const anyplace::Module module = anyplace::Module::from_file(device, image, options);
  const anyplace::KernelView fill = module.kernel("fill"), sum = module.kernel("block_sum");
  const Buffer numbers(stream, count * 4), sums(stream, count / 64 * 4);
  stream.launch(fill, {count / 64, 64}, numbers, count, 3u);
  stream.launch(sum, {count / 64, 64, 64 * 4}, sums, numbers);
  Numbers& back = host_numbers();
  back.resize(count / 64);
  stream.copy(back, sums);
  if (device.has(Capability::host_functions)) {
    const auto called = std::make_shared<std::atomic<int>>(0);
    stream.launch_host_func([called] { ++*called; });
    stream.synchronize();
    expect(*called == 1, "a host function runs once");
  } else {
    stream.synchronize();
  }
  expect_all(back, 3 * 64, "sums of blocks");
  if (more != nullptr) more(stream, fill, numbers);
}

void two_devices(const Device& device, const Device& other) {
  if (device.has(Capability::peer_access) && device.can_access_peer(other)) {
    device.enable_peer_access(other);
    device.enable_peer_access(other);
  }
  const Stream here(device), there(other);
  const Buffer a(here, count * 4), b(there, count * 4);
  here.memset32(a, 7);
  there.wait_stream(here);
  a.record_stream(there);
  there.copy(b, a);
  Numbers& back = host_numbers();
  there.copy(back, b);
  there.synchronize();
  expect_all(back, 7, "a copy between devices");
}

void two_backends(const Device& device) {
  const Device simulated("cpu_sim:0");
  const Stream here(device), there(simulated);
  const Buffer a(here, count * 4), b(there, count * 4);
  there.memset32(b, 9);
  here.wait_stream(there);
  b.record_stream(here);
  here.copy(a, b);
  there.wait_stream(here);
  there.memset32(b, 10);
  Numbers& back = host_numbers();
  here.copy(back, a);
  here.synchronize();
  there.synchronize();
  expect_all(back, 9, "a copy between backends");
}

/// Memory that goes back to the device in between: what comes then may come from the same addresses.
void memory_in_rounds(const Device& device) {
  constexpr std::uint64_t large_bytes = 5 << 20, bytes = count * 4;
  const Stream stream(device), beside(device);
  for (std::uint32_t round = 1; round <= 2; ++round) {
    Numbers& back = host_numbers();
    {
      const Buffer large(stream, large_bytes), small(stream, bytes), of_other(beside, large_bytes);
      const BufferView end = large.sub(large_bytes - bytes, bytes),
                       end_of_other = of_other.sub(large_bytes - bytes, bytes);
      stream.memset32(end, round);
      beside.memset32(end_of_other, round + 1);
      stream.copy(small, end);
      stream.copy(back, small);
      stream.synchronize();
      expect_all(back, round, "memory of this round");
      beside.copy(back, end_of_other);
      beside.synchronize();
      expect_all(back, round + 1, "memory of this round on another stream");
    }
    anyplace::empty_cache(device);
  }
}

void other_memory(const Device& device) {
  const Stream stream(device);
  Numbers &host = host_numbers(5), &back = host_numbers();
  if (device.has(Capability::host_register)) {
    const anyplace::HostRegistration registered(device, host);
    const Settled settled(device);
    const Buffer buffer(stream, count * 4);
    stream.copy(buffer, host);
    stream.copy(back, buffer);
    stream.synchronize();
    expect(back == host, "a copy from registered memory");
  }
  if (device.has(Capability::managed_memory)) {
    const Buffer managed(stream, count * 4, {anyplace::MemoryKind::managed});
    stream.memset32(managed, 6);
    stream.synchronize();
    expect(static_cast<const std::uint32_t*>(managed.host_data())[count - 1] == 6, "managed memory");
  }
  if (device.has(Capability::stream_from_native)) {
    const Stream wrapped = Stream::from_native(device, stream.native_handle());
    const Buffer buffer(wrapped, count * 4);
    wrapped.memset32(buffer, 8);
    wrapped.copy(back, buffer);
    wrapped.synchronize();
    expect_all(back, 8, "work on a stream of the vendor's");
  }
}

}  // namespace

void run_submissions(const std::string& place, const std::string& image, KernelStep more) {
  const Device device(place);
  look_at(device);
  copies(device);
  time_it(device);
  kernels(device, image, more);
}

void run_two_places(const std::string& place, const std::string& other_place) {
  const Device device(place), other(other_place);
  two_devices(device, other);
  two_backends(device);
}

void run_memory(const std::string& place) {
  const Device device(place);
  memory_in_rounds(device);
  other_memory(device);
}

void run_pipeline(const std::string& place, const std::string& other_place, const std::string& image, KernelStep more) {
  const Device device(place), other(other_place);
  run_submissions(place, image, more);
  run_two_places(place, other_place);
  run_memory(place);
}

}  // namespace sweep
