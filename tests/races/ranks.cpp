// SPDX-License-Identifier: Apache-2.0
//
// Two ranks of one process, each with a device of its own: what an operation of their communicator orders between them,
// whichever rank comes to it first.
#include <optional>
#include <thread>

#include "program.h"
#include "support/temp_dir.h"

namespace races {
namespace ranks {
namespace {

using namespace anyplace;

/// The bed's device with `a` is rank 0, and the next one with `d` is rank 1.
struct Ranks {
  explicit Ranks(const Bed& bed) : device(bed.next_device()), d(device), e(device), z(d, bytes), w(d, bytes) {
    bed.name("d", d);
    bed.name("e", e);
    z.record_stream(e);
    try {
      static_cast<void>(Communicator(bed.device, Bootstrap::alone(), {.engine = "nccl"}));
    } catch (const Error& error) {
      bed.leave_out(error.text().c_str());
      return;
    }
    const test::TempDir folder;
    const std::string meeting = folder.file("meeting");
    both([&] { zero = Communicator(bed.device, Bootstrap::file(0, 2, meeting), {.engine = "nccl"}); },
         [&] { one = Communicator(device, Bootstrap::file(1, 2, meeting), {.engine = "nccl"}); });
    is_there = true;
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() { device.synchronize(); }

  /// Ranks wait for each other.
  template <class First, class Second>
  static void both(const First& first, const Second& second) {
    std::thread other(second);
    first();
    other.join();
  }

  Device device;
  Stream d, e;
  Buffer z, w;
  Communicator zero, one;
  bool is_there = false;
};

/// Runs `run` with the ranks, where there are any.
template <class Run>
void with_ranks(Bed& bed, const Run& run) {
  Ranks ranks(bed);
  if (!ranks.is_there) return;
  run(ranks);
  bed.device.synchronize();
}

constexpr Program programs[] = {
    {"What a rank writes behind a barrier is read by another one behind its own",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         if (right) bed.a.copy(bed.pinned, bed.x);
         ranks.zero.barrier(bed.a);
         if (!right) bed.a.copy(bed.pinned, bed.x);
         ranks.one.barrier(ranks.d);
         ranks.d.copy(ranks.z, bed.pinned);
       });
     }},
    {"The rank that reads comes to the barrier first, and the other one writes behind it",
     {"race", "copy_to_device@d", "copy_to_host@a"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         ranks.one.barrier(ranks.d);
         ranks.d.copy(ranks.z, bed.pinned);
         if (right) bed.a.copy(bed.pinned, bed.x);
         ranks.zero.barrier(bed.a);
         if (!right) bed.a.copy(bed.pinned, bed.x);
       });
     }},
    {"The rank that comes last doesn't wait for the stream that writes",
     {"race", "copy_to_device@d", "copy_to_host@b"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         ranks.one.barrier(ranks.d);
         ranks.d.copy(ranks.z, bed.pinned);
         bed.b.copy(bed.pinned, bed.x);
         if (right) bed.a.wait_stream(bed.b);
         ranks.zero.barrier(bed.a);
       });
     }},
    {"The ranks wait for a broadcast's root, and it waits for none of them",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         const int root = right ? 0 : 1;
         bed.a.copy(bed.pinned, bed.x);
         ranks.zero.broadcast(bed.a, bed.x.as<float>(), root);
         ranks.one.broadcast(ranks.d, ranks.w.as<float>(), root);
         ranks.d.copy(ranks.z, bed.pinned);
       });
     }},
    {"A message has its receiver wait, and not its sender",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         bed.a.copy(bed.pinned, bed.x);
         if (right) ranks.zero.send(bed.a, bed.x.as<float>(), 1);
         if (right) ranks.one.recv(ranks.d, ranks.w.as<float>(), 0);
         if (!right) ranks.one.send(ranks.d, ranks.w.as<float>(), 0);
         if (!right) ranks.zero.recv(bed.a, bed.x.as<float>(), 1);
         ranks.d.copy(ranks.z, bed.pinned);
       });
     }},
    {"Ranks exchange messages, and each one's later work isn't what the other waited for",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         if (right) bed.a.copy(bed.pinned, bed.x);
         const auto exchange = [](const Communicator& rank, const StreamView& stream, const Buffer& from,
                                  const Buffer& to, int peer) {
           const GroupGuard group(rank);
           rank.send(stream, from.as<float>(), peer);
           rank.recv(stream, to.as<float>(), peer);
         };
         exchange(ranks.one, ranks.d, ranks.w, ranks.z, 0);
         exchange(ranks.zero, bed.a, bed.x, bed.y, 1);
         if (!right) bed.a.copy(bed.pinned, bed.x);
         ranks.d.copy(ranks.z, bed.pinned);
       });
     }},
    {"The root of a sum waits for what the other rank did before, and not for what it does behind",
     {"race", "copy_to_host@a", "host read"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         if (right) bed.a.copy(bed.pinned, bed.x);
         ranks.one.reduce(ranks.d, ranks.z.as<float>(), ranks.w.as<float>(), 1);
         ranks.zero.reduce(bed.a, bed.x.as<float>(), bed.y.as<float>(), 1);
         if (!right) bed.a.copy(bed.pinned, bed.x);
         ranks.d.synchronize();
         host_read(bed.pinned.data(), bytes);
       });
     }},
    {"An event from before the barrier doesn't pass on what its rank waits for there",
     {"race", "copy_to_host@a", "copy_to_device@e"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         const Event event(ranks.device);
         if (!right) event.record(ranks.d);
         ranks.one.barrier(ranks.d);
         if (right) event.record(ranks.d);
         bed.a.copy(bed.pinned, bed.x);
         ranks.zero.barrier(bed.a);
         ranks.e.wait_event(event);
         ranks.e.copy(ranks.z, bed.pinned);
       });
     }},
    {"The first of two barriers doesn't pass on what comes before the second",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         ranks.zero.barrier(bed.a);
         bed.a.copy(bed.pinned, bed.x);
         ranks.zero.barrier(bed.a);
         ranks.one.barrier(ranks.d);
         if (right) ranks.one.barrier(ranks.d);
         ranks.d.copy(ranks.z, bed.pinned);
         if (!right) ranks.one.barrier(ranks.d);
       });
     }},
    {"A sum over a part of the ranks orders that part",
     {"race", "copy_to_host@a", "copy_to_device@d"},
     [](Bed& bed, bool right) {
       with_ranks(bed, [&](const Ranks& ranks) {
         Communicator zero, one;
         Ranks::both([&] { zero = ranks.zero.split(0, 0); }, [&] { one = ranks.one.split(right ? 0 : 1, 0); });
         bed.a.copy(bed.pinned, bed.x);
         zero.all_reduce(bed.a, bed.x.as<float>(), bed.y.as<float>());
         one.all_reduce(ranks.d, ranks.w.as<float>(), ranks.w.as<float>());
         ranks.d.copy(ranks.z, bed.pinned);
         bed.device.synchronize();
         ranks.device.synchronize();
       });
     }},
};

}  // namespace
}  // namespace ranks

std::span<const Program> rank_programs() { return ranks::programs; }

}  // namespace races
