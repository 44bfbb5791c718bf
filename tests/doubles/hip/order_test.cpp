// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the double: what runs when, seen from a program.
#include <atomic>

#include "test_support.h"

namespace order_test {

using test::Control;
using test::Gate;
using test::ok;

TEST_CASE("work is not done when the call that submits it returns") {
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const word = test::words({1});
  Gate gate(stream);
  ok(test::fill(word, 2, 1, stream));
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  CHECK(*word == 1);
  gate.open();
  ok(hipStreamSynchronize(stream));
  CHECK(hipStreamQuery(stream) == hipSuccess);
  CHECK(*word == 2);
}

TEST_CASE("a held device begins nothing") {
  ok(hipInit(0));
  const Control control;
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const word = test::words({1});
  CHECK_FALSE(control.hold(2, true));
  REQUIRE(control.hold(0, true));
  ok(test::fill(word, 2, 1, stream));
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  CHECK(*word == 1);
  REQUIRE(control.hold(0, false));
  ok(hipDeviceSynchronize());
  CHECK(*word == 2);
}

TEST_CASE("a stream does its work in the order of submission") {
  const hipStream_t stream = test::create_stream();
  const hipFunction_t append = test::kernel("append");
  std::uint32_t* const list = test::words(std::vector<std::uint32_t>(101));
  for (std::uint32_t i = 0; i < 100; ++i) ok(test::launch(stream, append, list, i));
  ok(hipStreamSynchronize(stream));
  REQUIRE(list[0] == 100);
  for (std::uint32_t i = 0; i < 100; ++i) REQUIRE(list[1 + i] == i);
}

TEST_CASE("without a wait another stream reads what was there before and with one what was written") {
  const hipStream_t writer = test::create_stream();
  const hipStream_t reader = test::create_stream();
  const hipEvent_t written = test::create_event(hipEventDisableTiming);
  std::uint32_t* const all = test::words({1, 0, 0});
  Gate gate(writer);
  ok(test::fill(all, 2, 1, writer));
  ok(hipEventRecord(written, writer));
  CHECK(hipEventQuery(written) == hipErrorNotReady);
  ok(hipMemcpyAsync(all + 1, all, 4, hipMemcpyDeviceToDevice, reader));
  ok(hipStreamSynchronize(reader));
  ok(hipStreamWaitEvent(reader, written, 0));
  ok(hipMemcpyAsync(all + 2, all, 4, hipMemcpyDeviceToDevice, reader));
  CHECK(hipStreamQuery(reader) == hipErrorNotReady);
  gate.open();
  ok(hipStreamSynchronize(reader));
  CHECK((all[1] == 1 && all[2] == 2));
  ok(hipEventSynchronize(written));
}

TEST_CASE("the null stream waits for the streams that aren't made not to block and they for it") {
  const hipStream_t blocking = test::create_stream(hipStreamDefault);
  const hipStream_t apart = test::create_stream();
  std::uint32_t* const all = test::words({1, 1});
  Gate gate(blocking);
  ok(test::fill(all, 2, 1, nullptr));
  ok(test::fill(all + 1, 2, 1, apart));
  ok(hipStreamSynchronize(apart));
  CHECK(hipStreamQuery(nullptr) == hipErrorNotReady);
  CHECK((all[0] == 1 && all[1] == 2));
  gate.open();
  ok(hipStreamSynchronize(nullptr));
  CHECK(all[0] == 2);
}

TEST_CASE("an event is of its most recent record and done before its first") {
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  CHECK(hipEventQuery(event) == hipSuccess);
  ok(hipEventSynchronize(event));
  const hipEvent_t later = test::create_event();
  float milliseconds = -1;
  CHECK(hipEventElapsedTime(&milliseconds, event, later) == hipErrorInvalidHandle);  // never recorded
  ok(hipEventRecord(event, stream));
  ok(hipEventSynchronize(event));
  Gate gate(stream);
  ok(hipEventRecord(later, stream));
  CHECK(hipEventElapsedTime(&milliseconds, event, later) == hipErrorNotReady);
  gate.open();
  ok(hipEventSynchronize(later));
  ok(hipEventElapsedTime(&milliseconds, event, later));
  CHECK(milliseconds >= 0);
  const hipEvent_t untimed = test::create_event(hipEventDisableTiming);
  ok(hipEventRecord(untimed, stream));
  ok(hipEventSynchronize(untimed));
  CHECK(hipEventElapsedTime(&milliseconds, event, untimed) == hipErrorInvalidHandle);
}

TEST_CASE("a stream and memory are given back behind the work that uses them") {
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const word = test::words({1});
  std::uint32_t* const kept = test::words({1});
  const hipEvent_t begun = test::create_event();
  for (std::uint32_t i = 0; i < 50; ++i) ok(test::fill(word, i, 1, stream));
  ok(test::fill(kept, 2, 1, stream));
  ok(hipEventRecord(begun, stream));
  ok(hipFree(word));  // waits
  CHECK(*kept == 2);
  ok(test::fill(kept, 3, 1, stream));
  ok(hipStreamDestroy(stream));  // waits
  CHECK(*kept == 3);
  CHECK(Control().misuses() == 0);
}

TEST_CASE("a wait on a value holds its stream back alone until memory for signals has it") {
  const hipStream_t stream = test::create_stream();
  const hipStream_t other = test::create_stream();
  std::uint32_t* const word = test::words({1});
  void* made = nullptr;
  ok(hipExtMallocWithFlags(&made, 8, hipMallocSignalMemory));
  auto* const signal = static_cast<std::uint64_t*>(made);
  __atomic_store_n(signal, 0, __ATOMIC_RELEASE);
  CHECK(hipStreamWaitValue64(stream, word, 1, hipStreamWaitValueGte, ~0ULL) == hipErrorInvalidValue);  // no such memory
  ok(hipStreamWaitValue64(stream, signal, 3, hipStreamWaitValueGte, ~0ULL));
  ok(test::fill(word, 2, 1, stream));
  ok(test::fill(test::words({1}), 2, 1, other));
  ok(hipStreamSynchronize(other));
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  __atomic_store_n(signal, 3, __ATOMIC_RELEASE);
  ok(hipStreamSynchronize(stream));
  CHECK(*word == 2);
}

TEST_CASE("memory of a pool is there and gone in its stream's order") {
  const hipStream_t stream = test::create_stream();
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  hipMemPool_t pool = nullptr;
  ok(hipMemPoolCreate(&pool, &properties));
  void* made = nullptr;
  Gate gate(stream);
  ok(hipMallocFromPoolAsync(&made, 4, pool, stream));
  auto* const word = static_cast<std::uint32_t*>(made);
  ok(test::fill(word, 7, 1, stream));
  std::uint32_t* const copy = test::words({0});
  ok(hipMemcpyAsync(copy, word, 4, hipMemcpyDeviceToDevice, stream));
  ok(hipFreeAsync(word, stream));
  gate.open();
  ok(hipStreamSynchronize(stream));
  CHECK(*copy == 7);
  const Control control;
  CHECK(control.misuses() == 0);
  CHECK(test::fill(word, 8, 1, stream) == hipErrorInvalidValue);
  CHECK(control.misuses() == 1);
}

TEST_CASE("memory of a pool used ahead of its allocation loses the device") {
  const hipStream_t stream = test::create_stream();
  const hipStream_t other = test::create_stream();
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  hipMemPool_t pool = nullptr;
  ok(hipMemPoolCreate(&pool, &properties));
  const Gate gate(stream);
  void* made = nullptr;
  ok(hipMallocFromPoolAsync(&made, 4, pool, stream));
  ok(test::fill(static_cast<std::uint32_t*>(made), 7, 1, other));
  CHECK(hipStreamSynchronize(other) == hipErrorIllegalAddress);
  CHECK_THAT(Control().misuse_text(), Catch::Contains("not yet allocated in the order of streams"));
}

TEST_CASE("a call of HIP inside a host function is refused") {
  const hipStream_t stream = test::create_stream();
  hipError_t inside = hipSuccess;
  std::function<void()> body = [&] { inside = hipStreamQuery(stream); };
  ok(test::call_back(stream, body));
  ok(hipStreamSynchronize(stream));
  CHECK(inside == hipErrorNotSupported);
  CHECK(Control().misuses() == 1);
}

TEST_CASE("many threads may use the double at the same time") {
  ok(hipInit(0));
  std::atomic<int> wrong{0};
  test::on_threads(6, [&wrong](int t) {
    const auto succeeds = [&wrong](hipError_t result) { wrong += result == hipSuccess ? 0 : 1; };
    succeeds(hipSetDevice(t % 2));
    for (std::uint32_t i = 0; i < 40; ++i) {
      hipStream_t stream = nullptr;
      void* made = nullptr;
      std::uint32_t value = 0;
      succeeds(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      succeeds(hipMalloc(&made, 4));
      succeeds(test::fill(static_cast<std::uint32_t*>(made), i, 1, stream));
      succeeds(hipMemcpyAsync(&value, made, 4, hipMemcpyDeviceToHost, stream));
      succeeds(hipStreamSynchronize(stream));
      wrong += value == i ? 0 : 1;
      succeeds(hipFree(made));
      succeeds(hipStreamDestroy(stream));
    }
  });
  CHECK(wrong == 0);
  const Control control;
  CHECK(control.misuse_text().empty());
  CHECK(control.live() == 0);
}

TEST_CASE("a process may end with work that never ran") {
  const test::ChildResult child = test::in_child([] {
    const hipStream_t stream = test::create_stream();
    Control().hold(0, true);
    ok(test::fill(test::words({1}), 2, 1, stream));
    return 3;
  });
  CHECK_FALSE(child.timed_out);
  CHECK(child.status == 3);
}

}  // namespace order_test
