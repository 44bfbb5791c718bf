// SPDX-License-Identifier: Apache-2.0
#include "runtime/layer_notes.h"

#include <mutex>

#include "runtime/backend.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {

std::atomic<bool> layers_listen_flag{false};
std::atomic<std::uint32_t> careful_memory{0};

namespace {

struct PutLayers {
  std::mutex mutex;  // guards the adding; a leaf
  std::atomic<const PutLayer*> first{nullptr};
};
constinit NoDestructor<PutLayers> put;

bool has_notes(const anyplace_layer_table& table) noexcept {
  return table.memory_taken != nullptr || table.memory_returned != nullptr || table.argument != nullptr ||
         table.launch_kept != nullptr || table.host_access != nullptr || table.core_calls != nullptr ||
         table.stream_waits != nullptr || table.host_function != nullptr || table.engine_work != nullptr;
}

template <class Tell>
void for_each_listener(Tell&& tell) noexcept {
  for (const PutLayer* layer = put_layers_list(); layer != nullptr; layer = layer->next) tell(*layer->table);
}

template <class Tell>
void for_each_layer(const DeviceState& device, Tell&& tell) noexcept {
  for (const auto& layer : device.backend->layers) {
    if (layer->table != nullptr) tell(*layer->table, layer->instance);
  }
}

}  // namespace

const PutLayer* put_layers_list() noexcept { return put.value.first.load(std::memory_order_acquire); }

void add_put_layer(const anyplace_layer_table& table) {
  const std::lock_guard lock(put.value.mutex);
  const PutLayer* const first = put.value.first.load(std::memory_order_relaxed);
  for (const PutLayer* one = first; one != nullptr; one = one->next) {
    if (one->table == &table) return;
  }
  put.value.first.store(new PutLayer{&table, first}, std::memory_order_release);
  if (has_notes(table) && !layers_listen_flag.exchange(true)) careful_memory.fetch_add(1);
}

void note_memory_taken(const DeviceState& device, const anyplace_layer_memory& memory) noexcept {
  if (!layers_listen()) return;
  for_each_layer(device, [&](const anyplace_layer_table& table, void* instance) {
    if (table.memory_taken != nullptr) table.memory_taken(instance, device.index, &memory);
  });
}

void note_memory_returned(const DeviceState& device, const anyplace_layer_memory& memory) noexcept {
  if (!layers_listen()) return;
  for_each_layer(device, [&](const anyplace_layer_table& table, void* instance) {
    if (table.memory_returned != nullptr) table.memory_returned(instance, device.index, &memory);
  });
}

void note_argument(std::uint32_t access, anyplace_address address, std::uint64_t bytes) noexcept {
  if (!layers_listen()) return;
  for_each_listener([&](const anyplace_layer_table& table) {
    if (table.argument != nullptr) table.argument(table.self, access, address, bytes);
  });
}

void note_launch_kept(const anyplace_launch& launch) noexcept {
  for_each_listener([&](const anyplace_layer_table& table) {
    if (table.launch_kept != nullptr) table.launch_kept(table.self, &launch);
  });
}

anyplace_status note_engine_work(const DeviceState& device, std::uint64_t stream, const char* name,
                                 std::span<const anyplace_layer_access> accesses,
                                 std::span<const anyplace_layer_meeting> meetings) noexcept {
  anyplace_status status = ANYPLACE_STATUS_OK;
  if (!layers_listen()) return status;
  for_each_layer(device, [&](const anyplace_layer_table& table, void* instance) {
    if (status != ANYPLACE_STATUS_OK || table.engine_work == nullptr) return;
    status = table.engine_work(instance, stream, name, accesses.data(), static_cast<std::uint32_t>(accesses.size()),
                               meetings.data(), static_cast<std::uint32_t>(meetings.size()));
  });
  return status;
}

void note_host_function(void* user, const anyplace_copy_2d* copy) noexcept {
  if (!layers_listen()) return;
  for_each_listener([&](const anyplace_layer_table& table) {
    if (table.host_function != nullptr) table.host_function(table.self, user, copy);
  });
}

void note_stream_waits(const DeviceState& device, anyplace_event event, std::uint64_t stream) noexcept {
  if (!layers_listen()) return;
  for_each_layer(device, [&](const anyplace_layer_table& table, void* instance) {
    if (table.stream_waits != nullptr) table.stream_waits(instance, event, stream);
  });
}

anyplace_status note_host_access(std::uint32_t access, anyplace_address address, std::uint64_t bytes) noexcept {
  anyplace_status status = ANYPLACE_STATUS_OK;
  if (!layers_listen()) return status;
  for_each_listener([&](const anyplace_layer_table& table) {
    if (status == ANYPLACE_STATUS_OK && table.host_access != nullptr) {
      status = table.host_access(table.self, access, address, bytes);
    }
  });
  return status;
}

void CoreCalls::tell(std::uint32_t begin) noexcept {
  for_each_listener([&](const anyplace_layer_table& table) {
    if (table.core_calls != nullptr) table.core_calls(table.self, begin);
  });
}

}  // namespace anyplace::detail
