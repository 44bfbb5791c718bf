// SPDX-License-Identifier: Apache-2.0
// Mutations of addresses and memory apart.
#include <algorithm>
#include <vector>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

struct Memory {
  int32_t device = 0;
  uint64_t bytes = 0;
};
Notes<anyplace_physical, Memory> memories;
Notes<anyplace_address, uint64_t> mappings;            // its bytes
Notes<anyplace_physical, anyplace_address> mapped_at;  // where it was mapped last

Status create_and_note(void* self, int32_t device, uint64_t bytes, anyplace_physical* out) {
  const Status status = real.physical_create(self, device, bytes, out);
  if (status == ok) memories.set(*out, {device, bytes});
  return status;
}

Status map_and_note(void* self, int32_t device, anyplace_address address, anyplace_physical physical) {
  const Status status = real.virtual_map(self, device, address, physical);
  if (status == ok) {
    mappings.set(address, memories.get(physical).bytes);
    mapped_at.set(physical, address);
  }
  return status;
}

/// A mapping of memory that nobody else has.
Status map_another(void* self, int32_t device, anyplace_address address, anyplace_physical physical) {
  anyplace_physical another = 0;
  const Status status = real.physical_create(self, device, memories.get(physical).bytes, &another);
  if (status != ok) return status;
  return real.virtual_map(self, device, address, another);
}

/// Each a step behind the one before, whose length is that of the first.
Status map_all_equal(void* self, int32_t device, anyplace_address address, const anyplace_physical* physicals,
                     uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const Status status = real.virtual_map(self, device, address + i * memories.get(physicals[0]).bytes, physicals[i]);
    if (status != ok) return status;
  }
  return ok;
}

Status map_all_each_once(void* self, int32_t device, anyplace_address address, const anyplace_physical* physicals,
                         uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const bool before = std::find(physicals, physicals + i, physicals[i]) != physicals + i;
    const Status status = before ? map_another(self, device, address, physicals[i])
                                 : real.virtual_map(self, device, address, physicals[i]);
    if (status != ok) return status;
    address += memories.get(physicals[i]).bytes;
  }
  return ok;
}

const Mutation mutations[] = {
    {"virtual_moved_empty", "memory that is mapped again is other memory",
     "virtual memory: memory of 2 granules keeps what it holds when it is mapped elsewhere",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map = map_another;
     }},
    {"virtual_alias_is_copy", "memory that is mapped at a second address is a copy",
     "virtual memory: memory that is mapped at several addresses is one memory",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map = [](void* self, int32_t device, anyplace_address address, anyplace_physical physical) {
         if (mapped_at.get(physical) != 0) return map_another(self, device, address, physical);
         return map_and_note(self, device, address, physical);
       };
     }},
    {"virtual_mapped_too_low", "memory is mapped a granule before the address, where that is free",
     "virtual memory: mapped memory of 1 granule holds what is written to it",
     [](Table& table) {
       table.virtual_map = [](void* self, int32_t device, anyplace_address address, anyplace_physical physical) {
         uint64_t granule = 0;
         real.virtual_granularity(self, device, &granule);
         const Status status = real.virtual_map(self, device, address - granule, physical);
         return status == ok ? ok : real.virtual_map(self, device, address, physical);
       };
     }},
    {"virtual_unmap_ignored", "unmapping does nothing",
     "virtual memory: other memory can be mapped where memory was unmapped, and has its own contents",
     [](Table& table) { table.virtual_unmap = [](void*, int32_t, anyplace_address, uint64_t) { return ok; }; }},
    {"virtual_unmap_first", "of mappings that adjoin only the first is unmapped",
     "virtual memory: mappings that adjoin are unmapped at once, and others stay",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map = map_and_note;
       table.virtual_unmap = [](void* self, int32_t device, anyplace_address address, uint64_t bytes) {
         return real.virtual_unmap(self, device, address, std::min(bytes, mappings.get(address)));
       };
     }},
    {"virtual_map_all_reversed", "several memories are mapped at once with the last one first",
     "virtual memory: several memories are mapped at once, one behind the other",
     [](Table& table) {
       table.virtual_map_all = [](void* self, int32_t device, anyplace_address address,
                                  const anyplace_physical* physicals, uint64_t count) {
         std::vector<anyplace_physical> reversed(physicals, physicals + count);
         std::reverse(reversed.begin(), reversed.end());
         return real.virtual_map_all(self, device, address, reversed.data(), count);
       };
     }},
    {"virtual_map_all_first", "of several memories only the first is mapped",
     "virtual memory: several memories are mapped at once, one behind the other",
     [](Table& table) {
       table.virtual_map_all = [](void* self, int32_t device, anyplace_address address,
                                  const anyplace_physical* physicals, uint64_t /*count*/) {
         return real.virtual_map_all(self, device, address, physicals, 1);
       };
     }},
    {"virtual_map_all_equal", "several memories that are mapped at once are taken to be as large as the first",
     "virtual memory: memories of different sizes are mapped at once in any order, and any of them are unmapped at "
     "once",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map_all = map_all_equal;
     }},
    {"virtual_unmap_all", "where one of several that were mapped at once is unmapped all are",
     "virtual memory: memories of different sizes are mapped at once in any order, and any of them are unmapped at "
     "once",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map_all = [](void* self, int32_t device, anyplace_address address,
                                  const anyplace_physical* physicals, uint64_t count) {
         uint64_t bytes = 0;
         for (uint64_t i = 0; i < count; ++i) bytes += memories.get(physicals[i]).bytes;
         const Status status = real.virtual_map_all(self, device, address, physicals, count);
         if (status == ok) mappings.set(address, bytes);
         return status;
       };
       table.virtual_unmap = [](void* self, int32_t device, anyplace_address address, uint64_t bytes) {
         const uint64_t all = std::max(bytes, mappings.take(address));
         return real.virtual_unmap(self, device, address, all);
       };
     }},
    {"virtual_map_all_at_most_128", "of several memories no more than 128 are mapped",
     "virtual memory: hundreds of memories are mapped at once, and each is in its place",
     [](Table& table) {
       table.virtual_map_all = [](void* self, int32_t device, anyplace_address address,
                                  const anyplace_physical* physicals, uint64_t count) {
         return real.virtual_map_all(self, device, address, physicals, std::min<uint64_t>(count, 128));
       };
     }},
    {"virtual_map_all_each_once", "a memory that is mapped twice at once is there once, and a copy",
     "virtual memory: one memory that is mapped several times at once is one memory",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map_all = map_all_each_once;
     }},
    {"virtual_destroy_unmaps", "memory that is destroyed while it is mapped is gone at once",
     "virtual memory: memory that is destroyed while it is mapped stays until it isn't",
     [](Table& table) {
       table.physical_create = create_and_note;
       table.virtual_map = map_and_note;
       table.physical_destroy = [](void* self, anyplace_physical physical) {
         const Memory memory = memories.get(physical);
         const anyplace_address address = mapped_at.get(physical);
         if (address != 0) real.virtual_unmap(self, memory.device, address, memory.bytes);
         return real.physical_destroy(self, physical);
       };
     }},
    {"virtual_memory_leaks", "memory that is destroyed doesn't come back",
     "virtual memory: memory that is destroyed can be allocated again, mapped before or not",
     [](Table& table) { table.physical_destroy = [](void*, anyplace_physical) { return ok; }; }},
    {"virtual_addresses_shared", "every range of addresses is the same",
     "virtual memory: addresses that are released can be reserved again, and cost no memory",
     [](Table& table) {
       table.virtual_reserve = [](void* self, int32_t device, uint64_t bytes, anyplace_address* out) {
         static anyplace_address only = 0;
         if (only == 0) {
           const Status status = real.virtual_reserve(self, device, bytes, &only);
           if (status != ok) return status;
         }
         *out = only;
         return ok;
       };
       table.virtual_release = [](void*, int32_t, anyplace_address, uint64_t) { return ok; };
     }},
    {"virtual_limit_ignored", "memory without an address is cut to a granule",
     "virtual memory: more memory than the device has is OUT_OF_MEMORY, and costs nothing",
     [](Table& table) {
       table.physical_create = [](void* self, int32_t device, uint64_t bytes, anyplace_physical* out) {
         uint64_t granule = 0;
         real.virtual_granularity(self, device, &granule);
         return real.physical_create(self, device, std::min(bytes, granule), out);
       };
     }},
    {"virtual_memory_not_counted", "memory without an address is said to be free still",
     "virtual memory: memory isn't said to be free from the moment it is made",
     [](Table& table) {
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         out->free_bytes = out->total_bytes;
         return status;
       };
     }},
};

}  // namespace

std::span<const Mutation> virtual_memory_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
