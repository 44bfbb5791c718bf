// SPDX-License-Identifier: Apache-2.0
// Marks in a stream's work, which a listener of the program hears.
#include <atomic>

#include "support.h"

namespace anyplace::conformance::annotations_cases {
namespace {

struct Counter final : annotate::Listener {
  void marked(const annotate::Event& event) override {
    stream = event.stream;
    ++marks;
  }
  std::atomic<int> marks{0};
  std::atomic<std::uint64_t> stream{0};
};

ANYPLACE_CASE("annotations", "annotations.marks", "a mark is heard after the work before it and before the work after",
              Capability::host_functions) {
  Counter heard;
  const annotate::ListenerGuard guard(heard);
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  std::atomic<int> by_then{-1};
  gate.hold(stream);
  CALL(stream.mark("point"));
  CALL(stream.launch_host_func([&] { by_then = heard.marks.load(); }));
  gate.wait_until_held();
  CHECK(heard.marks == 0);
  gate.open();
  CALL(stream.synchronize());
  CHECK(by_then == 1);
  CHECK(heard.marks == 1);
  CHECK(heard.stream == stream.id());
}

}  // namespace
}  // namespace anyplace::conformance::annotations_cases
