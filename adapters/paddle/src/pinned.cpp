// SPDX-License-Identifier: Apache-2.0
#include "pinned.h"

#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <anyplace/address.h>
#include <anyplace/memory.h>

namespace anyplace_paddle {
namespace {

struct Table {
  std::mutex mutex;  ///< guards all
  std::unordered_map<void*, anyplace::HostBuffer> all;
};

Table& table() {
  static Table& table = *new Table;  // outlives Paddle's calls at exit
  return table;
}

}  // namespace

void* allocate_pinned(const anyplace::Device& device, std::uint64_t bytes) {
  anyplace::HostBuffer memory(device, bytes);
  void* const address = memory.data();
  const std::lock_guard lock(table().mutex);
  table().all.insert_or_assign(address, std::move(memory));
  return address;
}

void free_pinned(void* address) {
  std::unique_lock lock(table().mutex);
  auto node = table().all.extract(address);
  lock.unlock();  // the memory itself goes outside
  if (node.empty())
    throw std::invalid_argument(
        "host memory is given back that isn't there; it was given back already, or isn't Paddle's");
}

bool is_pinned(const anyplace::Device& device, const void* address, std::uint64_t bytes) {
  const anyplace::PointerAttributes known = anyplace::pointer_attributes(address);
  return (known.kind == anyplace::AddressKind::pinned || known.kind == anyplace::AddressKind::registered) &&
         known.device->backend() == device.backend() && bytes <= known.size_bytes - known.offset;
}

}  // namespace anyplace_paddle
