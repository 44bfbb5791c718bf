// SPDX-License-Identifier: Apache-2.0
// Mutations of allocating and freeing, and of the figures about it.
#include <algorithm>
#include <atomic>

#include <vector>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

constexpr uint64_t off_by = 64;

/// Freed blocks by their size, handed out again at once.
class Pool {
 public:
  void made(anyplace_address address, uint64_t bytes) { sizes_.set(address, bytes); }
  void put(anyplace_address address) {
    const std::lock_guard lock(mutex_);
    free_.emplace(sizes_.get(address), address);
  }
  anyplace_address take(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(bytes);
    if (found == free_.end()) return 0;
    const anyplace_address address = found->second;
    free_.erase(found);
    return address;
  }

 private:
  Notes<anyplace_address, uint64_t> sizes_;
  std::mutex mutex_;
  std::multimap<uint64_t, anyplace_address> free_;  // guarded by mutex_
};
Pool pool;

/// Device memory that begins at an odd multiple of a power of two: what the alignment is said to be, and no more.
template <uint64_t Alignment>
struct Aligned {
  static inline Notes<anyplace_address, anyplace_address> bases;

  static Status place(Status status, anyplace_address* out) {
    if (status != ok) return status;
    const anyplace_address base = *out;
    *out = (base + 2 * Alignment - 1) / (2 * Alignment) * (2 * Alignment) + Alignment;
    bases.set(*out, base);
    return ok;
  }
  static void apply(Table& table) {
    table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
      if (kind != ANYPLACE_MEMORY_DEVICE) return real.memory_allocate(self, device, kind, bytes, out);
      if (bytes > UINT64_MAX - 3 * Alignment) return Status{ANYPLACE_STATUS_OUT_OF_MEMORY};
      return place(real.memory_allocate(self, device, kind, bytes + 3 * Alignment, out), out);
    };
    table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
      if (bytes > UINT64_MAX - 3 * Alignment) return Status{ANYPLACE_STATUS_OUT_OF_MEMORY};
      return place(real.memory_allocate_async(self, stream, bytes + 3 * Alignment, out), out);
    };
    table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
      return real.memory_free(self, device, kind, bases.take(address, address));
    };
    table.memory_free_async = [](void* self, anyplace_stream stream, anyplace_address address) {
      return real.memory_free_async(self, stream, bases.take(address, address));
    };
  }
};

const Mutation mutations[] = {
    {"memory_aligned_to_256", "device memory is aligned to 256 bytes and to no more, as it may be",
     "innocent: memory: ", Aligned<256>::apply},
    {"memory_aligned_to_128", "device memory is aligned to 128 bytes",
     "memory: 257 bytes of device memory can be had, aligned", Aligned<128>::apply},
    {"segments_aligned_to_128", "device memory is aligned to 128 bytes",
     "memory: what the caching allocator divides is freed by its address, and not by one inside", Aligned<128>::apply},
    {"memory_unaligned", "device memory is aligned to 64 bytes",
     "memory: 257 bytes of device memory can be had, aligned",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         const bool shifted = kind == ANYPLACE_MEMORY_DEVICE;
         const Status status = real.memory_allocate(self, device, kind, bytes + (shifted ? off_by : 0), out);
         if (status == ok && shifted) *out += off_by;
         return status;
       };
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         const Status status = real.memory_allocate_async(self, stream, bytes + off_by, out);
         if (status == ok) *out += off_by;
         return status;
       };
       table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
         return real.memory_free(self, device, kind, kind == ANYPLACE_MEMORY_DEVICE ? address - off_by : address);
       };
       table.memory_free_async = [](void* self, anyplace_stream stream, anyplace_address address) {
         return real.memory_free_async(self, stream, address - off_by);
       };
     }},
    {"memory_handed_out_twice", "every allocation of up to 4 KiB is the same memory",
     "memory: many small buffers are all aligned, and don't overlap",
     [](Table& table) {
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         static std::atomic<anyplace_address> small{0};
         if (bytes > 4096) return real.memory_allocate_async(self, stream, bytes, out);
         *out = small;
         if (*out != 0) return ok;
         const Status status = real.memory_allocate_async(self, stream, 4096, out);
         small = *out;
         return status;
       };
       table.memory_free_async = [](void*, anyplace_stream, anyplace_address) { return ok; };
     }},
    {"memory_reused_under_pending_use", "freed memory is handed out before the work that uses it ran",
     "memory: 64 KiB freed with a fill pending are handed to nobody before it ran",
     [](Table& table) {
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         *out = pool.take(bytes);
         if (*out != 0) return ok;
         const Status status = real.memory_allocate_async(self, stream, bytes, out);
         if (status == ok) pool.made(*out, bytes);
         return status;
       };
       table.memory_free_async = [](void*, anyplace_stream, anyplace_address address) {
         pool.put(address);
         return ok;
       };
     }},
    {"free_waits", "freeing in a stream's order waits for the stream",
     "memory: destroying a buffer with work pending doesn't wait",
     [](Table& table) {
       table.memory_free_async = [](void* self, anyplace_stream stream, anyplace_address address) {
         real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
         return real.memory_free_async(self, stream, address);
       };
     }},
    {"memory_leaks", "freed memory doesn't come back", "memory: freed memory comes back, again and again",
     [](Table& table) {
       table.memory_free = [](void*, int32_t, uint32_t, anyplace_address) { return ok; };
       table.memory_free_async = [](void*, anyplace_stream, anyplace_address) { return ok; };
     }},
    {"allocation_too_small", "an allocation is cut to 1 MiB", "memory: more than the device has is out_of_memory",
     [](Table& table) {
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         return real.memory_allocate_async(self, stream, std::min(bytes, uint64_t{1} << 20), out);
       };
     }},
    {"out_of_memory_misreported", "out of memory is reported as a failed call",
     "memory: more than the device has is out_of_memory",
     [](Table& table) {
       table.memory_allocate_async = [](void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
         const Status status = real.memory_allocate_async(self, stream, bytes, out);
         return status == ANYPLACE_STATUS_OUT_OF_MEMORY ? Status{ANYPLACE_STATUS_BACKEND_FAILED} : status;
       };
     }},
    {"pinned_out_of_memory_misreported", "out of pinned memory is reported as a bad argument",
     "memory: too much pinned memory is out_of_memory",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         const Status status = real.memory_allocate(self, device, kind, bytes, out);
         return status == ANYPLACE_STATUS_OUT_OF_MEMORY ? Status{ANYPLACE_STATUS_INVALID_ARGUMENT} : status;
       };
     }},
    {"free_memory_constant", "what is allocated is said to be free still",
     "memory: allocated memory isn't said to be free",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->free_bytes = out->total_bytes;
         return status;
       };
     }},
    {"free_memory_over_total", "more memory is free than there is", "memory: free is no more than total",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->free_bytes = out->total_bytes + 1;
         return status;
       };
     }},
    {"memory_figures_unfilled", "what isn't known is said to be 0", "memory: free is no more than total",
     [](Table& table) {
       table.device_memory = [](void*, int32_t, anyplace_memory_info* out) {
         out->free_bytes = 0;
         out->total_bytes = 0;
         return ok;
       };
     }},
    {"free_memory_overstated", "eight times as much memory is said to be free as there is",
     "memory: a quarter of the memory that is said to be free can be allocated, and used to its ends",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->free_bytes *= 8;
         out->total_bytes *= 8;
         return status;
       };
     }},
    {"registration_kept", "host memory stays registered when it was unregistered",
     "memory: registered memory is copied to the device and back whole, and can be registered again",
     [](Table& table) { table.host_unregister = [](void*, int32_t, void*) { return ok; }; }},
    {"registration_remembered", "copies of what was registered once come from what was there then",
     "memory: memory that was registered can be unmapped and mapped anew, and copies use what is there then",
     [](Table& table) {
       static Notes<anyplace_address, std::vector<std::byte>*> contents;  // of what was unregistered
       table.host_register = [](void* self, int32_t device, void* address, uint64_t bytes) {
         const auto at = reinterpret_cast<anyplace_address>(address);
         const Status status = real.host_register(self, device, address, bytes);
         const auto* const from = static_cast<const std::byte*>(address);
         if (status == ok && contents.get(at) == nullptr) {
           contents.set(at, new std::vector<std::byte>(from, from + bytes));
         }
         return status;
       };
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         std::vector<std::byte>* const kept = kind == ANYPLACE_COPY_HOST_TO_DEVICE ? contents.get(from) : nullptr;
         if (kept != nullptr && kept->size() >= bytes) from = reinterpret_cast<anyplace_address>(kept->data());
         return real.memory_copy(self, stream, to, from, bytes, kind);
       };
     }},
    {"registration_written_apart", "what comes down into memory that was registered once goes to the pages of then",
     "memory: memory that was registered can be unmapped and mapped anew, and copies use what is there then",
     [](Table& table) {
       static Notes<anyplace_address, std::vector<std::byte>*> pages;
       table.host_unregister = [](void* self, int32_t device, void* address) {
         pages.set(reinterpret_cast<anyplace_address>(address), new std::vector<std::byte>(1 << 20));
         return real.host_unregister(self, device, address);
       };
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         std::vector<std::byte>* const kept = kind == ANYPLACE_COPY_DEVICE_TO_HOST ? pages.get(to) : nullptr;
         if (kept != nullptr && kept->size() >= bytes) to = reinterpret_cast<anyplace_address>(kept->data());
         return real.memory_copy(self, stream, to, from, bytes, kind);
       };
     }},
    {"registration_of_first_size", "an address that is registered again is registered as large as the first time",
     "memory: an address that was registered is registered again with any other size",
     [](Table& table) {
       static Notes<void*, uint64_t> sizes;
       table.host_register = [](void* self, int32_t device, void* address, uint64_t bytes) {
         const uint64_t first = sizes.get(address, bytes);
         if (first < bytes) return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         sizes.set(address, first);
         return real.host_register(self, device, address, bytes);
       };
     }},
    {"registration_ends_all", "with one registration those beside it end",
     "memory: memory that is unregistered leaves what is registered beside it alone",
     [](Table& table) {
       static std::atomic<int> registered{0};
       table.host_register = [](void* self, int32_t device, void* address, uint64_t bytes) {
         ++registered;
         return real.host_register(self, device, address, bytes);
       };
       table.host_unregister = [](void* self, int32_t device, void* address) {
         if (registered.exchange(0) == 0) return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         return real.host_unregister(self, device, address);
       };
     }},
};

}  // namespace

std::span<const Mutation> allocation_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
