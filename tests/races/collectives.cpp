// SPDX-License-Identifier: Apache-2.0
//
// Collectives: those within the process run on the current streams of their devices, and those of a communicator on the
// stream that they get.
#include <optional>
#include <vector>

#include "program.h"

namespace races {
namespace collectives {
namespace {

using namespace anyplace;

Array array_of(const Bed& bed, const Buffer& buffer, std::uint64_t at, std::uint64_t size) {
  const auto elements = buffer.as<std::uint32_t>().subspan(at / sizeof(std::uint32_t), size / sizeof(std::uint32_t));
  return Array::share(ArrayView(elements), bed.a, nullptr);
}

std::optional<Communicator> by_nccl(const Bed& bed) {
  try {
    return Communicator(bed.device, Bootstrap::alone(), {.engine = "nccl"});
  } catch (const Error& error) {
    bed.leave_out(error.text().c_str());
    return std::nullopt;
  }
}

constexpr Program programs[] = {
    {"A broadcast isn't on the stream that writes its input",
     {"race", "fill@a", "copy@c"},
     [](Bed& bed, bool right) {
       const StreamGuard guard(bed.c);
       bed.fill(bed.a, bed.x);
       if (right) bed.c.wait_stream(bed.a);
       comm::broadcast(array_of(bed, bed.x, 0, bytes), {.out = {array_of(bed, bed.y, 0, bytes)}});
     }},
    {"What a broadcast writes is read on another stream than the current one",
     {"race", "copy@c", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const StreamGuard guard(bed.c);
       bed.c.wait_stream(bed.a);
       comm::broadcast(array_of(bed, bed.x, 0, bytes), {.out = {array_of(bed, bed.y, 0, bytes)}});
       if (right) bed.b.wait_stream(bed.c);
       bed.b.copy(bed.pinned, bed.y);
     }},
    {"A part of what is gathered is still being written",
     {"race", "fill@b", "copy@c"},
     [](Bed& bed, bool right) {
       const StreamGuard guard(bed.c);
       bed.fill(bed.b, bed.x.sub(half));
       if (right) bed.c.wait_stream(bed.b);
       comm::gather({array_of(bed, bed.x, 0, half), array_of(bed, bed.x, half, half)}, 0,
                    {.out = array_of(bed, bed.y, 0, bytes)});
     }},
    {"A sum only reads what it adds",
     {"race", "fill@b", "kernel add_32@c"},
     [](Bed& bed, bool right) {
       const StreamGuard guard(bed.c);
       bed.c.wait_stream(bed.a);
       if (right) bed.b.copy(HostSpan(bed.pinned.data(), half), bed.x.sub(0, half));
       if (!right) bed.fill(bed.b, bed.x.sub(0, half));
       comm::reduce_add({array_of(bed, bed.x, 0, half), array_of(bed, bed.x, half, half)});
       bed.c.synchronize();
     }},
    {"Random numbers are written to a part of a buffer",
     {"race", "kernel integers_32@a", "fill@b"},
     [](Bed& bed, bool right) {
       const auto low = bed.x.as<std::int32_t>().first(half / sizeof(std::int32_t));
       default_generator(bed.device.place()).integers(bed.a, low, 0, 100);
       bed.fill(bed.b, bed.x.sub(right ? half : half - 4, 4));
     }},
    {"A rank's sum is written over before it is read",
     {"race", "copy@a", "fill@b"},
     [](Bed& bed, bool right) {
       const Communicator alone(bed.device, Bootstrap::alone());
       alone.all_reduce(bed.a, bed.y.as<float>(), bed.x.as<float>());
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
     }},
    {"A rank sends what another stream is writing",
     {"race", "fill@b", "copy@a"},
     [](Bed& bed, bool right) {
       const Communicator alone(bed.device, Bootstrap::alone());
       bed.fill(bed.b, bed.x);
       if (right) bed.a.wait_event(bed.b.record_event());
       const GroupGuard group(alone);
       alone.send(bed.a, bed.x.as<float>(), 0);
       alone.recv(bed.a, bed.y.as<float>(), 0);
     }},
    {"An engine's sum is still being made of what is filled",
     {"race", "all_reduce@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::optional<Communicator> nccl = by_nccl(bed);
       if (!nccl) return;
       nccl->all_reduce(bed.a, bed.y.as<float>(), bed.x.as<float>());
       if (right) bed.b.wait_stream(bed.a);
       bed.fill(bed.b, bed.x);
     }},
    {"An engine still gives away what is written over",
     {"race", "broadcast@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::optional<Communicator> nccl = by_nccl(bed);
       if (!nccl) return;
       nccl->broadcast(bed.a, bed.x.as<float>(), 0);
       if (right) bed.b.wait_event(bed.a.record_event());
       bed.fill(bed.b, bed.x);
     }},
    {"Another communicator than the one with an engine's work is waited for",
     {"race", "all_reduce@a", "fill@b"},
     [](Bed& bed, bool right) {
       const std::optional<Communicator> first = by_nccl(bed), second = by_nccl(bed);
       if (!first || !second) return;
       first->all_reduce(bed.a, bed.y.as<float>(), bed.x.as<float>());
       (right ? first : second)->synchronize();
       bed.fill(bed.b, bed.x);
     }},
    {"A barrier of a stream isn't one of another",
     {"race", "fill@a", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       const Communicator alone(bed.device, Bootstrap::alone());
       bed.fill(bed.a, bed.x);
       if (right) bed.b.wait_stream(bed.a);
       alone.barrier(bed.b);
       bed.b.copy(bed.pinned, bed.x);
     }},
};

}  // namespace
}  // namespace collectives

std::span<const Program> collective_programs() { return collectives::programs; }

}  // namespace races
