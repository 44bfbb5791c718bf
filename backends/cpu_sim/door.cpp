// SPDX-License-Identifier: Apache-2.0
#include "door.h"

#include <anyplace/backend/entries.h>

#include <cstddef>

#include "director.h"
#include "wait.h"

namespace anyplace::cpu_sim {
namespace {

using Table = anyplace_backend_table;

/// Returns what a call that submitted, or was to, has changed.
template <class... Args>
Director::Outcome submitted(anyplace_status, Args...) noexcept {
  return Director::Outcome::changed;
}

/// Returns what a query has found.
Director::Outcome queried(anyplace_status status, std::uint64_t, std::int32_t* done) noexcept {
  const bool is_pending = status == ANYPLACE_STATUS_OK && *done == 0;
  return is_pending ? Director::Outcome::not_ready : Director::Outcome::nothing;
}

/// Returns how a wait has ended. While it lasted there were choices; so there is none when it returns.
template <class... Args>
Director::Outcome waited(anyplace_status status, Args...) noexcept {
  return status == ANYPLACE_STATUS_TIMEOUT ? Director::Outcome::not_ready : Director::Outcome::waited;
}

/// The entry that takes the place of another one, which it calls. `Index` is the entry's in names.
template <class Function, int Index>
struct Door;

constexpr const char* names[] = {
#define ANYPLACE_DOOR_NAME(entry, presence, capabilities) #entry,
    ANYPLACE_ENTRY_LIST(ANYPLACE_DOOR_NAME)
#undef ANYPLACE_DOOR_NAME
};

template <int Index, class... Args>
struct Door<anyplace_status (*)(void*, Args...), Index> {
  using Function = anyplace_status (*)(void*, Args...);
  static inline Function behind = nullptr;

  template <Director::Outcome (*Outcome)(anyplace_status, Args...)>
  static anyplace_status directed(void* self, Args... args) {
    Director& director = *Director::get();
    if (!director.begin_call(names[Index])) return behind(self, args...);
    const anyplace_status status = behind(self, args...);
    director.end_call(Outcome(status, args...));
    return status;
  }
};

/// Says that a call only made something.
template <class... Args>
Director::Outcome made(anyplace_status, Args...) noexcept {
  return Director::Outcome::nothing;
}

/// Takes the entry's place, if the table has one.
template <class Door>
void replace(typename Door::Function& entry, typename Door::Function by) noexcept {
  if (entry == nullptr) return;
  Door::behind = entry;
  entry = by;
}

#define ANYPLACE_DOOR(entry) Door<decltype(Table::entry), ANYPLACE_ENTRY_INDEX_##entry>
#define ANYPLACE_DIRECT(entry, outcome) \
  replace<ANYPLACE_DOOR(entry)>(table.entry, &ANYPLACE_DOOR(entry)::directed<&outcome>);

/// Calls `body` when it is the thread's turn, so that memory and streams are numbered in the order of the turns.
template <class Body>
anyplace_status in_turn(int index, Body body) {
  Director& director = *Director::get();
  const bool has_turn = director.begin_call(names[index]);
  const anyplace_status status = body(director);
  if (has_turn) director.end_call(Director::Outcome::nothing);
  return status;
}

/// Opens a gate. A message opens it in real time, on whatever thread has received it, so that is no call of the
/// program's.
anyplace_status open_gate(void* self, anyplace_gate gate) {
  using Opening = ANYPLACE_DOOR(gate_open);
  if (reinterpret_cast<const Gate*>(gate)->is_message) return Opening::behind(self, gate);
  return Opening::directed<&submitted<anyplace_gate>>(self, gate);
}

anyplace_status allocate(void* self, std::int32_t device, std::uint32_t kind, std::uint64_t bytes,
                         anyplace_address* out) {
  return in_turn(ANYPLACE_ENTRY_INDEX_memory_allocate, [=](Director& director) {
    const anyplace_status status = ANYPLACE_DOOR(memory_allocate)::behind(self, device, kind, bytes, out);
    if (status == ANYPLACE_STATUS_OK) director.add_memory(*out, bytes);
    return status;
  });
}

anyplace_status free_memory(void* self, std::int32_t device, std::uint32_t kind, anyplace_address address) {
  return in_turn(ANYPLACE_ENTRY_INDEX_memory_free, [=](Director& director) {
    director.remove_memory(address);
    return ANYPLACE_DOOR(memory_free)::behind(self, device, kind, address);
  });
}

anyplace_status allocate_async(void* self, anyplace_stream stream, std::uint64_t bytes, anyplace_address* out) {
  return in_turn(ANYPLACE_ENTRY_INDEX_memory_allocate_async, [=](Director& director) {
    const anyplace_status status = ANYPLACE_DOOR(memory_allocate_async)::behind(self, stream, bytes, out);
    if (status == ANYPLACE_STATUS_OK) director.add_memory(*out, bytes);
    return status;
  });
}

anyplace_status reserve(void* self, std::int32_t device, std::uint64_t bytes, anyplace_address* out) {
  return in_turn(ANYPLACE_ENTRY_INDEX_virtual_reserve, [=](Director& director) {
    const anyplace_status status = ANYPLACE_DOOR(virtual_reserve)::behind(self, device, bytes, out);
    if (status == ANYPLACE_STATUS_OK) director.add_memory(*out, bytes);
    return status;
  });
}

anyplace_status release(void* self, std::int32_t device, anyplace_address address, std::uint64_t bytes) {
  return in_turn(ANYPLACE_ENTRY_INDEX_virtual_release, [=](Director& director) {
    director.remove_memory(address);
    return ANYPLACE_DOOR(virtual_release)::behind(self, device, address, bytes);
  });
}

}  // namespace

void put_door(anyplace_backend_table& table) noexcept {
  ANYPLACE_DIRECT(memory_copy, submitted)
  ANYPLACE_DIRECT(memory_copy_2d, submitted)
  ANYPLACE_DIRECT(memory_copy_peer, submitted)
  ANYPLACE_DIRECT(memory_set, submitted)
  ANYPLACE_DIRECT(memory_free_async, submitted)
  ANYPLACE_DIRECT(kernel_launch, submitted)
  ANYPLACE_DIRECT(graph_launch, submitted)
  ANYPLACE_DIRECT(stream_host_function, submitted)
  ANYPLACE_DIRECT(stream_wait_event, submitted)
  ANYPLACE_DIRECT(stream_wait_gate, submitted)
  replace<ANYPLACE_DOOR(gate_open)>(table.gate_open, &open_gate);
  ANYPLACE_DIRECT(event_record, submitted)
  ANYPLACE_DIRECT(stream_query, queried)
  ANYPLACE_DIRECT(event_query, queried)
  ANYPLACE_DIRECT(stream_synchronize, waited)
  ANYPLACE_DIRECT(event_synchronize, waited)
  ANYPLACE_DIRECT(device_synchronize, waited)
  ANYPLACE_DIRECT(shutdown, waited)
  ANYPLACE_DIRECT(stream_create, made)
  ANYPLACE_DIRECT(stream_default, made)
  replace<ANYPLACE_DOOR(memory_allocate)>(table.memory_allocate, &allocate);
  replace<ANYPLACE_DOOR(memory_free)>(table.memory_free, &free_memory);
  replace<ANYPLACE_DOOR(memory_allocate_async)>(table.memory_allocate_async, &allocate_async);
  replace<ANYPLACE_DOOR(virtual_reserve)>(table.virtual_reserve, &reserve);
  replace<ANYPLACE_DOOR(virtual_release)>(table.virtual_release, &release);
}

}  // namespace anyplace::cpu_sim
