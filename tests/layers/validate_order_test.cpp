// SPDX-License-Identifier: Apache-2.0
// The layer `validate`: what is a race and what isn't. Each case has what orders the accesses, and the same without it.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "anyplace/annotate.h"
#include "validate_support.h"

namespace validate_order_test {

using namespace anyplace;
using test::Kinds;
using test::kinds;
using test::Validated;

namespace {

const Kinds none;
const Kinds race{"race"};

Kernel adder(const Device& device) {
  return Kernel(device, [](const Block& block, std::uint32_t* numbers) {
    block.for_each_thread([&](const Thread& thread) { numbers[thread.global[0]] += 1; });
  });
}
Kernel copier(const Device& device) {
  return Kernel(device, [](const Block& block, std::uint32_t* to, const std::uint32_t* from) {
    block.for_each_thread([&](const Thread& thread) { to[thread.global[0]] = from[thread.global[0]]; });
  });
}

}  // namespace

TEST_CASE("two streams that write the same bytes are a race, and bytes apart are none") {
  Validated v;
  const Buffer x = v.shared();
  v.a.memset8(x.sub(0, 2048), 1);
  v.b.memset8(x.sub(2048), 2);
  CHECK(kinds() == none);
  v.b.memset8(x.sub(2047, 1), 2);
  CHECK(kinds() == race);
  CHECK(test::reports()[0].at("bytes") == 1);
}

TEST_CASE("an event that is waited for orders what came before its record and nothing else") {
  Validated v;
  const Buffer x = v.shared();
  v.a.memset8(x, 1);
  const Event behind = v.a.record_event();
  v.b.wait_event(behind);
  v.b.memset8(x, 2);
  CHECK(kinds() == none);
  v.a.wait_stream(v.b);
  const Event before = v.a.record_event();
  v.a.memset8(x, 3);
  v.b.wait_event(before);
  v.b.memset8(x, 4);
  CHECK(kinds() == race);
}

TEST_CASE("a wait is for the record at the call, and a later record doesn't move it") {
  Validated v;
  const Buffer x = v.shared();
  Event event(v.device);
  v.b.wait_event(event);  // never recorded: no wait
  event.record(v.a);
  v.b.wait_event(event);
  v.a.memset8(x, 1);
  event.record(v.a);
  v.b.memset8(x, 2);
  CHECK(kinds() == race);
}

TEST_CASE("what the host waited for is before all that it submits later") {
  Validated v;
  const Buffer x = v.shared();
  SECTION("a stream") {
    v.a.memset8(x, 1);
    v.a.synchronize();
  }
  SECTION("an event") {
    v.a.memset8(x, 1);
    v.a.record_event().synchronize();
  }
  SECTION("the device") {
    v.a.memset8(x, 1);
    v.device.synchronize();
  }
  SECTION("a query that says yes") {
    v.a.memset8(x, 1);
    while (!v.a.query()) std::this_thread::yield();
  }
  SECTION("a stream, on a thread that was joined") {
    v.a.memset8(x, 1);
    std::thread([&] { v.a.synchronize(); }).join();
  }
  SECTION("a host function that fulfils a promise") {
    std::promise<void> done;
    v.a.memset8(x, 1);
    v.a.launch_host_func([&] { done.set_value(); });
    done.get_future().get();
  }
  v.b.memset8(x, 2);
  CHECK(kinds() == none);
}

TEST_CASE("blocking streams and the null stream wait for each other, and other streams don't") {
  Validated v;
  const Buffer x = v.shared();
  const StreamView null = current_stream(v.device);
  {
    const Stream blocking(v.device, {.blocking = true});
    blocking.memset8(x, 1);
    null.memset8(x, 2);
    blocking.memset8(x, 3);
  }
  null.memset8(x, 4);  // the stream is gone, and its work is waited for all the same
  CHECK(kinds() == none);
  v.a.memset8(x, 5);
  CHECK(kinds() == race);
}

TEST_CASE("a kernel's arguments count as they are declared, within the view's range") {
  Validated v;
  const Buffer x = v.shared(), y = v.shared(), z = v.shared();
  const Kernel add = adder(v.device), copy = copier(v.device);
  SECTION("halves of a buffer are apart") {
    v.a.launch(add, {1, 256}, x.sub(0, 1024));
    v.b.launch(add, {1, 256}, x.sub(1024, 1024));
    CHECK(kinds() == none);
  }
  SECTION("two that only read") {
    v.a.launch(copy, {1, 256}, out(x), in(y));
    v.b.launch(copy, {1, 256}, out(z), in(y));
    CHECK(kinds() == none);
  }
  SECTION("one that only reads beside one that says nothing") {
    v.a.launch(copy, {1, 256}, out(x), in(y));
    v.b.launch(add, {1, 256}, y);
    CHECK(kinds() == race);
  }
  SECTION("a declaration is used once") {
    v.a.launch(copy, {1, 256}, out(x), in(y));
    v.b.launch(copy, {1, 256}, z, y);
    CHECK(kinds() == race);
  }
}

TEST_CASE("the host's declared accesses are compared with the copies that use the memory") {
  std::vector<std::byte> pageable(Validated::bytes);
  Validated v;
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  SECTION("reading what a copy writes") {
    v.a.copy(pinned, x);
    host_read(pinned);
    CHECK(kinds() == race);
  }
  SECTION("writing what a copy reads") {
    v.a.copy(x, pinned);
    host_write(pinned);
    CHECK(kinds() == race);
  }
  SECTION("reading beside a copy that reads") {
    v.a.copy(x, pinned);
    host_read(pinned);
    CHECK(kinds() == none);
  }
  SECTION("after a wait") {
    v.a.copy(pinned, x);
    v.a.synchronize();
    host_write(pinned);
    v.a.copy(x, pinned);
    CHECK(kinds() == none);
  }
  SECTION("a copy of pageable memory is no wait") {
    v.a.copy(pageable, x);
    host_read(pageable);
    CHECK(kinds() == race);
  }
}

TEST_CASE("pageable memory may be read at the call, before the stream's earlier work") {
  std::vector<std::byte> pageable(Validated::bytes);
  Validated v;
  const Buffer x = v.shared(), y = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  v.a.copy(pinned, x);
  v.a.copy(y, pinned);
  CHECK(kinds() == none);
  v.a.copy(pageable, x);
  v.a.copy(y, pageable);
  CHECK(kinds() == race);
}

TEST_CASE("host functions access memory in their stream's place") {
  Validated v;
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  SECTION("in order") {
    v.a.copy(pinned, x);
    v.a.launch_host_func([&] { host_write(pinned); });
    v.a.copy(x, pinned);
    v.b.wait_stream(v.a);
    v.b.copy(pinned, x);
    v.device.synchronize();
    CHECK(kinds() == none);
  }
  SECTION("beside a copy of another stream") {
    v.b.copy(x, pinned);
    v.a.launch_host_func([&] { host_write(pinned); });
    v.device.synchronize();
    CHECK(kinds() == race);
  }
}

TEST_CASE("a host function isn't behind earlier work of a stream that waits for it later") {
  Validated v;
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  std::promise<void> go;
  v.b.launch_host_func([went = go.get_future().share()] { went.wait(); });
  v.a.copy(pinned, x);
  v.b.launch_host_func([&] { host_read(pinned); });
  v.a.wait_stream(v.b);
  go.set_value();
  v.device.synchronize();
  CHECK(kinds() == race);
}

TEST_CASE("copies of columns between each other are apart") {
  Validated v;
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  const ConstHostSpan source(pinned.data(), 1024);
  v.a.copy_2d(x.sub(0, 2048), 64, source, 32, 32, 32);
  v.b.copy_2d(x.sub(32, 2016), 64, ConstHostSpan(pinned.data(), 1024), 32, 32, 32);
  CHECK(kinds() == none);
}

TEST_CASE("copies between devices are accesses to the memory of both") {
  Validated v;
  const Device other("cpu_sim:1");
  const Stream there(other);
  const Buffer x = v.shared(), far(there, Validated::bytes);
  far.record_stream(v.a);
  there.memset8(far, 1);
  const bool waits = GENERATE(true, false);
  if (waits) v.a.wait_stream(there);
  v.a.copy(x, far);
  CHECK(kinds() == (waits ? none : race));
}

TEST_CASE("a memory of orders is short where everything is ordered") {
  Validated v;
  const Buffer x = v.shared();
  const Kernel add = adder(v.device);
  for (int i = 0; i < 200; ++i) {
    v.a.memset8(x, 1);
    v.b.wait_stream(v.a);
    v.b.launch(add, {4, 256}, x);
    v.a.wait_stream(v.b);
  }
  CHECK(kinds() == none);
}

TEST_CASE("nodes of a graph without an order are a race when it is made") {
  Validated v;
  const Buffer x = v.shared();
  const bool waits = GENERATE(true, false);
  v.a.begin_capture();
  const Event begun = v.a.record_event();
  v.b.wait_event(begun);
  v.a.memset8(x, 1);
  if (waits) v.b.wait_stream(v.a);
  v.b.memset8(x, 2);
  v.a.wait_stream(v.b);
  const GraphExec exec = v.a.end_capture().instantiate();
  CHECK(kinds() == (waits ? none : race));
}

TEST_CASE("a launch of a graph is in its stream's order with all that its nodes access") {
  Validated v;
  const Buffer x = v.shared(), y = v.shared(), z = v.shared();
  const Kernel copy = copier(v.device);
  v.a.begin_capture();
  v.a.launch(copy, {1, 256}, out(x), in(y));
  const GraphExec exec = v.a.end_capture().instantiate();
  exec.launch(v.a);
  v.b.launch(copy, {1, 256}, out(z), in(y));
  CHECK(kinds() == none);
  v.b.memset8(x, 1);
  CHECK(kinds() == race);
}

TEST_CASE("what a graph's host function declares is compared with other work by the launch that it runs for") {
  Validated v;
  const Buffer x = v.shared();
  const HostBuffer pinned(v.device, Validated::bytes);
  int runs = 0;
  v.b.begin_capture();
  v.b.launch_host_func([&] {
    host_read(pinned);
    ++runs;
  });
  const GraphExec exec = v.b.end_capture().instantiate();
  v.a.copy(pinned, x);
  v.b.wait_stream(v.a);
  exec.launch(v.b);
  v.b.synchronize();
  CHECK(kinds() == none);
  v.a.copy(pinned, x);
  exec.launch(v.b);
  v.b.synchronize();
  CHECK(runs == 2);
  CHECK(kinds() == race);
}

TEST_CASE("an update lets go of the host functions before, once their launches are over") {
  Validated v;
  const HostBuffer pinned(v.device, Validated::bytes);
  int runs = 0;
  const auto graph = [&] {
    v.a.begin_capture();
    v.a.launch_host_func([&] {
      host_write(pinned);
      ++runs;
    });
    return v.a.end_capture();
  };
  const GraphExec exec = graph().instantiate();
  for (int i = 0; i < 3; ++i) {
    exec.launch(v.a);
    exec.update(graph());
  }
  exec.launch(v.a);
  v.a.synchronize();
  CHECK(runs == 4);
  CHECK(kinds() == none);
}

TEST_CASE("a mark that a stream has reached is no wait of the host") {
  struct Reached : annotate::Listener {
    std::atomic<bool> is_there{false};
    void marked(const annotate::Event& /*event*/) override { is_there = true; }
  } reached;
  const annotate::ListenerGuard listening(reached);
  Validated v;
  const Buffer x = v.shared();
  v.a.memset8(x, 1);
  v.a.mark("filled");
  while (!reached.is_there) std::this_thread::yield();
  v.b.memset8(x, 2);
  CHECK(kinds() == race);
}

}  // namespace validate_order_test
