// SPDX-License-Identifier: Apache-2.0
//
// A buffer, or a part of one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <anyplace/memory.h>

#include "context.h"
#include "handle.h"
#include "storage.h"

namespace anyplace_ur {

/// A range of a buffer that the application has in its own address space.
struct Mapping {
  std::size_t offset = 0;  ///< from the beginning of the storage
  std::size_t size = 0;
  bool writes = false;
  anyplace::HostBuffer memory;  ///< null where the application's own memory serves
};

}  // namespace anyplace_ur

struct ur_mem_handle_t_ : anyplace_ur::HandleBase {
  ur_mem_handle_t_(ur_context_handle_t owner, ur_mem_flags_t wanted, std::size_t bytes, void* host,
                   anyplace_ur::Storage::Host kind = anyplace_ur::Storage::Host::ordinary)
      : context(owner),
        flags(wanted),
        offset(0),
        size(bytes),
        storage(std::make_shared<anyplace_ur::Storage>(*owner, bytes, host, kind)) {}
  /// A part.
  ur_mem_handle_t_(ur_mem_handle_t whole, ur_mem_flags_t wanted, std::size_t begin, std::size_t bytes)
      : context(whole->context),
        parent(whole),
        flags(wanted),
        offset(whole->offset + begin),
        size(bytes),
        storage(whole->storage) {}

  const anyplace_ur::Hold<ur_context_handle_t_> context;
  const anyplace_ur::Hold<ur_mem_handle_t_> parent;  ///< null for a whole one
  const ur_mem_flags_t flags;
  const std::size_t offset;  ///< in the storage
  const std::size_t size;
  const std::shared_ptr<anyplace_ur::Storage> storage;

  std::mutex mutex;
  std::multimap<void*, anyplace_ur::Mapping> mappings;
};
