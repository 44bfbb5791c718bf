// SPDX-License-Identifier: Apache-2.0
#include "program.h"

namespace schedules {

namespace {
constexpr std::uint64_t bytes = 64;
}

Bed::Bed()
    : device("cpu_sim:0"),
      other_device("cpu_sim:1"),
      a(device),
      b(device),
      c(device),
      x(a, bytes),
      y(a, bytes),
      z(a, bytes),
      pinned(device, bytes),
      other_pinned(device, bytes),
      result(device, bytes),
      event(device),
      other_event(device),
      one_more(device, [](const anyplace::Block&, std::uint32_t* number) { ++*number; }) {
  for (const anyplace::Buffer* const buffer : {&x, &y, &z}) set(a, *buffer, 1);
  in(pinned) = in(other_pinned) = 1;
  a.synchronize();
}

std::uint32_t Bed::get(const anyplace::StreamView& stream, const anyplace::BufferView& buffer) const {
  stream.copy(anyplace::HostSpan(result.data(), 4), buffer.sub(0, 4));
  stream.synchronize();
  return in(result);
}

std::vector<Program> programs() {
  std::vector<Program> all;
  for (const auto some :
       {event_programs(), stream_programs(), copy_programs(), host_programs(), memory_programs(), deep_programs()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
#ifdef ANYPLACE_SCHEDULES_FAULTS
  const auto failing = failure_programs();
  all.insert(all.end(), failing.begin(), failing.end());
#endif
  return all;
}

}  // namespace schedules
