// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "program.h"
#include "races_kernels.h"

namespace races {

using namespace anyplace;

Bed::Bed(const std::string& place)
    : device(place),
      module(device, races_kernels),
      add(module.kernel("add")),
      a(device),
      b(device),
      c(device),
      x(a, bytes),
      y(a, bytes),
      pinned(device, bytes),
      pageable(bytes / sizeof(std::uint32_t)),
      event(device),
      other_event(device) {
  name("a", a);
  name("b", b);
  name("c", c);
  name("null", device.default_stream());
  fill(a, x);
  fill(a, y);
  a.copy(pinned, x);
  device.synchronize();
}

void Bed::name(const char* name, const StreamView& stream) const {
  std::printf("stream %s %llu\n", name, static_cast<unsigned long long>(stream.id()));
}

void Bed::leave_out(const char* why) const { std::printf("left out: %s\n", why); }

Device Bed::next_device() const { return Device(device.backend() + ":" + std::to_string(device.index() + 1)); }

void Bed::fill(const StreamView& stream, const BufferView& buffer) { stream.memset32(buffer, 1); }

std::vector<Topic> topics() {
  return {{"events", event_programs()},
          {"chains", chain_programs()},
          {"streams", stream_programs()},
          {"copies", copy_programs()},
          {"kernels", kernel_programs()},
          {"host", host_programs()},
          {"memory", memory_programs()},
          {"devices", device_programs()},
          {"graphs", graph_programs()},
          {"pipelines", pipeline_programs()},
          {"reuse", reuse_programs()},
          {"graph_functions", graph_function_programs()},
          {"collectives", collective_programs()},
          {"ranks", rank_programs()},
          {"handles", handle_programs()}};
}

}  // namespace races
