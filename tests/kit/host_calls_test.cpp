// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "anyplace/backend/kit/host_calls.h"

namespace host_calls_test {

namespace {

using anyplace::backend::HostCalls;

struct Called {
  int times = 0;
  anyplace_status status = -1;
};

void note(void* user, anyplace_status status) {
  auto* const called = static_cast<Called*>(user);
  ++called->times;
  called->status = status;
}

HostCalls::Call* queue(HostCalls& calls, Called& called) {
  auto call = std::make_unique<HostCalls::Call>(HostCalls::Call{&calls, &note, &called});
  calls.add(*call);
  return call.release();
}

}  // namespace

TEST_CASE("The vendor's call calls the function once with its status") {
  HostCalls calls;
  Called called;
  HostCalls::Call* const call = queue(calls, called);
  CHECK(calls.any_pending());
  HostCalls::finish(call, ANYPLACE_STATUS_OK);
  CHECK(called.times == 1);
  CHECK(called.status == ANYPLACE_STATUS_OK);
  CHECK_FALSE(calls.any_pending());
}

TEST_CASE("What is settled is called once and a vendor that comes with it later finds nothing to do") {
  // Kept for ever, as what is settled is: the vendor may come at any time.
  static HostCalls& calls = *new HostCalls;
  Called called[3];
  HostCalls::Call* queued[3];
  for (int i = 0; i < 3; ++i) queued[i] = queue(calls, called[i]);
  HostCalls::finish(queued[1], ANYPLACE_STATUS_OK);
  int messages = 0;
  calls.settle([&] { ++messages; });
  CHECK(messages == 2);
  CHECK_FALSE(calls.any_pending());
  CHECK(called[0].status == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(called[1].status == ANYPLACE_STATUS_OK);
  CHECK(called[2].status == ANYPLACE_STATUS_DEVICE_LOST);
  HostCalls::finish(queued[0], ANYPLACE_STATUS_OK);
  HostCalls::finish(queued[2], ANYPLACE_STATUS_OK);
  calls.settle([&] { ++messages; });
  CHECK(messages == 2);
  for (const Called& each : called) CHECK(each.times == 1);
}

TEST_CASE("Only the first of several queued host functions is said to be the only one") {
  HostCalls calls;
  Called called;
  HostCalls::Call first{&calls, &note, &called}, second{&calls, &note, &called};
  CHECK(calls.add(first));
  CHECK_FALSE(calls.add(second));
  CHECK(calls.take(first));
  CHECK(calls.take(second));
  CHECK(calls.add(first));
  CHECK(calls.take(first));
}

}  // namespace host_calls_test
