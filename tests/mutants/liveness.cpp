// SPDX-License-Identifier: Apache-2.0
// Mutations that stop somebody for good, or let him go too early, where several things happen at once.
#include <atomic>
#include <condition_variable>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

bool idle(void* self, anyplace_stream stream) {
  int32_t done = 0;
  return real.stream_query(self, stream, &done) != ok || done != 0;
}

/// Who waits for one thing, where only one of those who came later is woken at the end.
class Queue {
 public:
  template <class Wait>
  Status wait(uint64_t handle, const Wait& wait_for_it) {
    {
      std::unique_lock lock(mutex_);
      if (waiting_[handle]++ > 0) {
        changed_.wait(lock, [&] { return wakes_ > 0; });
        --wakes_;
        --waiting_[handle];
        return ok;
      }
    }
    const Status status = wait_for_it();
    const std::lock_guard lock(mutex_);
    --waiting_[handle];
    if (waiting_[handle] > 0) ++wakes_;
    changed_.notify_one();
    return status;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, int> waiting_;  // guarded by mutex_
  int wakes_ = 0;                    // guarded by mutex_
};
Queue queue;

/// Some time for another thread.
void step_aside() {
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
}

// ---- Gates that are opened for the waits that there are

struct GateNote {
  std::mutex mutex;
  std::map<anyplace_gate, int> waits;    // guarded by mutex
  std::map<anyplace_gate, bool> opened;  // guarded by mutex
};
GateNote gates;

Status open_where_waited_for(void* self, anyplace_gate gate) {
  {
    const std::lock_guard lock(gates.mutex);
    gates.opened[gate] = true;
    if (gates.waits[gate] == 0) return ok;
  }
  return real.gate_open(self, gate);
}

Status forget_gate(void* self, anyplace_gate gate) {
  {
    const std::lock_guard lock(gates.mutex);
    gates.opened.erase(gate);
    gates.waits.erase(gate);
  }
  real.gate_open(self, gate);
  return real.gate_destroy(self, gate);
}

Status wait_without_a_look(void* self, anyplace_stream stream, anyplace_gate gate) {
  {
    const std::lock_guard lock(gates.mutex);
    ++gates.waits[gate];
  }
  return real.stream_wait_gate(self, stream, gate);
}

const Mutation mutations[] = {
    {"synchronize_until_idle", "synchronising a stream returns only when it has nothing to do",
     "liveness: synchronising a stream ends though new work keeps coming",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         Status status = ok;
         do {
           status = real.stream_synchronize(self, stream, timeout);
         } while (status == ok && timeout == ANYPLACE_FOREVER && !idle(self, stream));
         return status;
       };
     }},
    {"device_synchronize_until_idle", "synchronising a device returns only when none of its streams has anything to do",
     "liveness: synchronising a device ends though new work keeps coming",
     [](Table& table) {
       note_streams(table);
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         streams.take(stream);
         return real.stream_destroy(self, stream);
       };
       table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
         for (;;) {
           const Status status = real.device_synchronize(self, device, timeout);
           if (status != ok || timeout != ANYPLACE_FOREVER) return status;
           bool all = true;
           for (const auto& [stream, note] : streams.all()) all = all && (note.device != device || idle(self, stream));
           if (all) return ok;
         }
       };
     }},
    {"event_synchronize_until_complete", "synchronising an event takes each new record for the one to wait for",
     "liveness: synchronising an event ends though it is recorded again and again",
     [](Table& table) {
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         for (;;) {
           const Status status = real.event_synchronize(self, event, timeout);
           int32_t done = 1;
           if (status == ok && timeout == ANYPLACE_FOREVER) {
             step_aside();
             real.event_query(self, event, &done);
           }
           if (done != 0) return status;
         }
       };
     }},
    {"stream_wakes_one", "of several threads that wait for a stream two are woken",
     "liveness: all of many threads that wait for a stream get on",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         if (timeout != ANYPLACE_FOREVER) return real.stream_synchronize(self, stream, timeout);
         return queue.wait(stream, [&] { return real.stream_synchronize(self, stream, timeout); });
       };
     }},
    {"event_wakes_one", "of several threads that wait for an event two are woken",
     "liveness: all of many threads that wait for an event get on",
     [](Table& table) {
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         if (timeout != ANYPLACE_FOREVER) return real.event_synchronize(self, event, timeout);
         return queue.wait(event, [&] { return real.event_synchronize(self, event, timeout); });
       };
     }},
    {"device_wakes_one", "of several threads that wait for a device two are woken",
     "liveness: all of many threads that wait for a device get on",
     [](Table& table) {
       table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
         if (timeout != ANYPLACE_FOREVER) return real.device_synchronize(self, device, timeout);
         return queue.wait(static_cast<uint64_t>(device) + 1,
                           [&] { return real.device_synchronize(self, device, timeout); });
       };
     }},
    {"gate_opened_before_unseen", "a wait for a gate that was opened before lasts for good",
     "gates: a wait for a gate that is already open holds nothing back",
     [](Table& table) {
       table.gate_open = open_where_waited_for;
       table.gate_destroy = forget_gate;
       table.stream_wait_gate = wait_without_a_look;
     }},
    {"gate_opens_all", "opening one gate opens all", "gates: opening one gate opens no other",
     [](Table& table) {
       static Notes<anyplace_gate, bool> closed;
       table.gate_create = [](void* self, int32_t device, anyplace_gate* out) {
         const Status status = real.gate_create(self, device, out);
         if (status == ok) closed.set(*out, true);
         return status;
       };
       table.gate_open = [](void* self, anyplace_gate) {
         for (const auto& [gate, is_closed] : closed.all()) {
           if (closed.take(gate)) real.gate_open(self, gate);
         }
         return ok;
       };
     }},
    {"gate_drops_destroyed_streams", "what a stream that waits for a gate had to do is dropped with it",
     "gates: a stream that waits for a gate may be destroyed, and its work completes",
     [](Table& table) {
       static Notes<anyplace_stream, bool> waiting;
       table.stream_wait_gate = [](void* self, anyplace_stream stream, anyplace_gate gate) {
         waiting.set(stream, true);
         return real.stream_wait_gate(self, stream, gate);
       };
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return waiting.get(stream) ? ok : real.memory_set(self, stream, address, value, width, count);
       };
     }},
};

}  // namespace

std::span<const Mutation> liveness_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
