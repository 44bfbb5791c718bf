// SPDX-License-Identifier: Apache-2.0
//
// BufferOrigin: where a buffer's memory comes from, which decides how it goes back. Each origin has two functions,
// which are defined in the file of what gives such memory:
//
// - free() is called when the buffer's owner lets go of it. Streams may still have work that uses the memory.
// - give_back() is called once no work uses the memory any more: by free(), or by deferred_free.cpp for the memory that
//   free() left there.
//
// Both take the buffer, and are static, because the origin is a part of the buffer that they end. They don't throw,
// free() doesn't wait, and neither is called inside callbacks.
#pragma once

#include <memory>
#include <variant>

namespace anyplace {
class Allocator;
}

namespace anyplace::detail {

struct Block;
struct BufferImport;
struct BufferState;
struct GraphRegion;
struct HostBlock;

/// Memory that the user frees, or no memory yet.
struct WrappedMemory {
  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// A block of the device's caching allocator.
struct CachedMemory {
  Block* block = nullptr;

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// An allocation of the backend's own.
struct RawMemory {
  bool ordered = false;  ///< the backend can free it in a stream's order

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// Memory of the allocator that the application put in the default's place.
struct CustomMemory {
  std::shared_ptr<Allocator> allocator;

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// Memory of a graph pool, for a buffer that was made inside a capture (graph_pool.h).
struct RegionMemory {
  std::shared_ptr<GraphRegion> region;

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// Memory of another process (buffer_sharing.h).
struct ImportedMemory {
  std::shared_ptr<BufferImport> import;

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

/// Pinned memory of a HostBuffer that has gone, which waits to return to its device's HostPool.
struct PinnedMemory {
  HostBlock* block = nullptr;

  static void free(std::unique_ptr<BufferState> buffer) noexcept;
  static void give_back(std::unique_ptr<BufferState> buffer) noexcept;
};

using BufferOrigin =
    std::variant<WrappedMemory, CachedMemory, RawMemory, CustomMemory, RegionMemory, ImportedMemory, PinnedMemory>;

template <class Origin>
bool is_from(const BufferOrigin& origin) noexcept {
  return std::holds_alternative<Origin>(origin);
}

/// Whether the origin takes memory back in the order of the buffer's own stream, so that this stream's work needs no
/// event.
inline bool follows_stream(const BufferOrigin& origin) noexcept {
  return is_from<CachedMemory>(origin) || is_from<CustomMemory>(origin);
}

/// Whether the backend can free the memory in a stream's order.
inline bool is_freed_in_order(const BufferOrigin& origin) noexcept {
  const RawMemory* const raw = std::get_if<RawMemory>(&origin);
  return raw != nullptr && raw->ordered;
}

/// Whether give_back() may wait for the device, or runs the application's code.
inline bool may_wait_to_give_back(const BufferOrigin& origin) noexcept {
  return is_from<CustomMemory>(origin) || (is_from<RawMemory>(origin) && !is_freed_in_order(origin));
}

}  // namespace anyplace::detail
