// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "calls.h"

namespace anyplace::doubles {

void WordOut::write(uint64_t value) const noexcept { std::memcpy(out_, &value, sizeof(value)); }

int physical_of(int device) { return state().settings.visible[static_cast<std::size_t>(device)]; }

int get_device(int* device, int ordinal) {
  if (device == nullptr) return code::invalid_value;
  const int result = check_device(ordinal);
  if (result == 0) *device = ordinal;
  return result;
}

int total_memory(size_t* bytes, int device) {
  if (bytes == nullptr) return code::invalid_value;
  const int result = check_device(device);
  if (result == 0) *bytes = state().memory.device_bytes();
  return result;
}

int write_text(char* out, int bytes, int device, const std::string& text) {
  if (const int result = check_device(device); result != 0) return result;
  if (out == nullptr || bytes <= 0) return code::invalid_value;
  std::snprintf(out, static_cast<std::size_t>(bytes), "%s", text.c_str());
  return 0;
}

std::string pci_address(unsigned bus) {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", bus);
  return text;
}

int write_pci_address(char* out, int bytes, int device, unsigned (*bus_of)(int device)) {
  if (const int result = check_device(device); result != 0) return result;
  // "Large enough for 13 characters with the NUL", says the reference.
  return bytes < 13 ? code::invalid_value : write_text(out, bytes, device, pci_address(bus_of(device)));
}

int can_access_peer(int* can, int device, int peer) {
  if (can == nullptr) return code::invalid_value;
  int result = check_device(device);
  if (result == 0) result = check_device(peer);
  if (result == 0) *can = device != peer && state().settings.peers ? 1 : 0;
  return result;
}

int add_peer(Context& context, int device) {
  const Locked lock(state().mutex);
  return context.peers.insert(device).second ? 0 : code::peer_access_already_enabled;
}

int remove_peer(Context& context, int device) {
  const Locked lock(state().mutex);
  return context.peers.erase(device) != 0 ? 0 : code::peer_access_not_enabled;
}

int priority_range(int* least, int* greatest) {
  if (least != nullptr) *least = vendor.least_priority;
  if (greatest != nullptr) *greatest = vendor.greatest_priority;
  return 0;
}

int retain_primary(WordOut context, int device) {
  if (context.is_null()) return code::invalid_value;
  const int result = check_device(device);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const ContextRef primary = primary_of(device);
  if (!primary->alive) begin_context(lock, primary);
  ++primary->retained;
  context.write(primary->handle);
  return 0;
}

int release_primary(int device, ContextRef& ended) {
  const int result = check_device(device);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const ContextRef primary = primary_of(device);
  if (primary->retained == 0) {
    misuses().add("a primary context was released more often than it was retained");
    return code::invalid_context;
  }
  if (--primary->retained == 0 && primary->alive) ended = primary;
  return 0;
}

}  // namespace anyplace::doubles
