// SPDX-License-Identifier: Apache-2.0
// Mutations of memory: copies, fills, allocation, figures.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

constexpr uint64_t chunk = 64 * 1024;

void* pointer(anyplace_address address) { return reinterpret_cast<void*>(address); }

template <uint32_t Kind>
Status first_chunk(void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                   uint32_t kind) {
  return real.memory_copy(self, stream, to, from, kind == Kind ? std::min(bytes, chunk) : bytes, kind);
}

template <uint32_t Kind>
Status at_submission(void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                     uint32_t kind) {
  if (kind != Kind) return real.memory_copy(self, stream, to, from, bytes, kind);
  std::memcpy(pointer(to), pointer(from), bytes);
  return ok;
}

template <uint32_t Kind>
void pitched_at_submission(Table& table) {
  note_streams(table);
  table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
    if (copy->kind != Kind) return real.memory_copy_2d(self, stream, copy);
    const anyplace_stream side = side_stream(self, stream);
    const Status status = real.memory_copy_2d(self, side, copy);
    return status == ok ? real.stream_synchronize(self, side, ANYPLACE_FOREVER) : status;
  };
}

const Mutation copy_mutations[] = {
    {"copy_up_first_chunk", "only the first 64 KiB of a copy to the device arrive",
     "copies: 5 MiB from host to device arrive whole",
     [](Table& table) { table.memory_copy = first_chunk<ANYPLACE_COPY_HOST_TO_DEVICE>; }},
    {"copy_down_first_chunk", "only the first 64 KiB of a copy to the host arrive",
     "copies: 5 MiB from device to host arrive whole",
     [](Table& table) { table.memory_copy = first_chunk<ANYPLACE_COPY_DEVICE_TO_HOST>; }},
    {"copy_on_device_first_chunk", "only the first 64 KiB of a copy on the device arrive",
     "copies: 5 MiB on one device arrive whole",
     [](Table& table) { table.memory_copy = first_chunk<ANYPLACE_COPY_DEVICE_TO_DEVICE>; }},
    {"copy_last_byte_missing", "the last byte of a copy is missing",
     "copies: 257 bytes from host to device arrive whole",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         return bytes < 2 ? ok : real.memory_copy(self, stream, to, from, bytes - 1, kind);
       };
     }},
    {"copy_whole_words_only", "a copy moves whole words of 4 bytes and forgets the rest",
     "copies: 3 bytes from host to device arrive whole",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         return bytes < 4 ? ok : real.memory_copy(self, stream, to, from, bytes / 4 * 4, kind);
       };
     }},
    {"copy_rounds_up", "a copy on the device writes whole words of 8 bytes",
     "copies: 3 bytes on one device arrive whole, and nothing beside them is written",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         const bool here = kind == ANYPLACE_COPY_DEVICE_TO_DEVICE;
         return real.memory_copy(self, stream, to, from, here ? (bytes + 7) / 8 * 8 : bytes, kind);
       };
     }},
    {"copy_source_off_by_one", "a copy reads from one byte further on", "copies: 4095 bytes on one device arrive whole",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         return bytes < 2 ? ok : real.memory_copy(self, stream, to, from + 1, bytes - 1, kind);
       };
     }},
    {"copy_destination_off_by_one", "a copy writes one byte further on",
     "copies: 4095 bytes from device to host arrive whole",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         return bytes < 2 ? ok : real.memory_copy(self, stream, to + 1, from, bytes - 1, kind);
       };
     }},
    {"copy_aligned_down", "a copy starts at the word of 4 bytes that its destination is in",
     "copies: a copy on one device from offset 255 to 2 is exact",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         const bool here = kind == ANYPLACE_COPY_DEVICE_TO_DEVICE;
         return real.memory_copy(self, stream, here ? to / 4 * 4 : to, from, bytes, kind);
       };
     }},
    {"copy_on_device_at_submission", "a copy on the device runs when it is submitted",
     "copies: the source is read when the copy runs",
     [](Table& table) { table.memory_copy = at_submission<ANYPLACE_COPY_DEVICE_TO_DEVICE>; }},
    {"copy_up_at_submission", "a copy from pinned memory runs when it is submitted",
     "host functions: a copy from pinned memory sees what it wrote there",
     [](Table& table) { table.memory_copy = at_submission<ANYPLACE_COPY_HOST_TO_DEVICE>; }},
    {"copy_down_at_submission", "a copy to pinned memory runs when it is submitted",
     "memory: a copy to pinned memory doesn't block the caller and writes nothing early",
     [](Table& table) { table.memory_copy = at_submission<ANYPLACE_COPY_DEVICE_TO_HOST>; }},
    {"copy_blocks", "a copy from pinned memory returns when it is done",
     "memory: a copy from pinned memory doesn't block the caller",
     [](Table& table) {
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         const Status status = real.memory_copy(self, stream, to, from, bytes, kind);
         return status == ok ? real.stream_synchronize(self, stream, ANYPLACE_FOREVER) : status;
       };
     }},

    // -- Pitched copies.
    {"source_pitch_ignored", "the lines of the source are taken to touch",
     "pitched copies: a gap in the source from host to device",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d wrong = *copy;
         wrong.source_pitch = wrong.width;
         return real.memory_copy_2d(self, stream, &wrong);
       };
     }},
    {"destination_pitch_ignored", "the lines of the destination are taken to touch",
     "pitched copies: a gap in the destination from device to host",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d wrong = *copy;
         wrong.destination_pitch = wrong.width;
         return real.memory_copy_2d(self, stream, &wrong);
       };
     }},
    {"last_line_missing", "the last line of a pitched copy is missing", "pitched copies: many lines on one device",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d wrong = *copy;
         return --wrong.rows == 0 ? ok : real.memory_copy_2d(self, stream, &wrong);
       };
     }},
    {"last_column_missing", "the last byte of each line is missing",
     "pitched copies: odd widths and pitches from host to device",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         anyplace_copy_2d wrong = *copy;
         return --wrong.width == 0 ? ok : real.memory_copy_2d(self, stream, &wrong);
       };
     }},
    {"gaps_copied_too", "what is between the lines is copied too", "pitched copies: different gaps on one device",
     [](Table& table) {
       table.memory_copy_2d = [](void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
         const Status status = real.memory_copy_2d(self, stream, copy);
         anyplace_copy_2d gaps = *copy;
         gaps.width = std::min(copy->source_pitch, copy->destination_pitch);
         return status != ok || --gaps.rows == 0 ? status : real.memory_copy_2d(self, stream, &gaps);
       };
     }},

    // -- Between devices.
    {"peer_copy_ignored", "a copy between devices does nothing", "copies: 4097 bytes between two devices arrive whole",
     [](Table& table) {
       table.memory_copy_peer = [](void*, anyplace_stream, int32_t, anyplace_address, int32_t, anyplace_address,
                                   uint64_t) { return ok; };
     }},
    {"peer_copy_reversed", "a copy between devices goes the other way",
     "copies: a copy between devices goes to the device that was named",
     [](Table& table) {
       table.memory_copy_peer = [](void* self, anyplace_stream stream, int32_t to_device, anyplace_address to,
                                   int32_t from_device, anyplace_address from, uint64_t bytes) {
         return real.memory_copy_peer(self, stream, from_device, from, to_device, to, bytes);
       };
     }},
    {"peer_copy_first_chunk", "only the first 64 KiB of a copy between devices arrive",
     "copies: 1 MiB between two devices arrive whole",
     [](Table& table) {
       table.memory_copy_peer = [](void* self, anyplace_stream stream, int32_t to_device, anyplace_address to,
                                   int32_t from_device, anyplace_address from, uint64_t bytes) {
         return real.memory_copy_peer(self, stream, to_device, to, from_device, from, std::min(bytes, chunk));
       };
     }},
    {"peer_copy_at_submission", "a copy between devices runs when it is submitted",
     "copies: a copy between devices runs in its stream's order",
     [](Table& table) {
       table.memory_copy_peer = [](void*, anyplace_stream, int32_t, anyplace_address to, int32_t, anyplace_address from,
                                   uint64_t bytes) {
         std::memcpy(pointer(to), pointer(from), bytes);
         return ok;
       };
     }},
};

const Mutation fill_mutations[] = {
    {"fill_of_bytes", "a fill writes as many bytes as it should elements", "fills: 1000 elements of 16 bits are set",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value, uint32_t,
                             uint64_t count) { return real.memory_set(self, stream, address, value, 1, count); };
     }},
    {"fill_of_equal_bytes", "a fill writes the lowest byte of the value into every byte",
     "fills: 1000 elements of 32 bits are set",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address, value, 1, count * width);
       };
     }},
    {"fill_one_short", "a fill leaves out the last element", "fills: 1000 elements of 8 bits are set",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return count < 2 ? ok : real.memory_set(self, stream, address, value, width, count - 1);
       };
     }},
    {"fill_one_too_many", "a fill writes one element too many",
     "fills: 3 elements of 8 bits are set and nothing beside them",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address, value, width, count < 16 ? count + 1 : count);
       };
     }},
    {"fill_first_mebibyte", "a fill stops after 1 MiB", "fills: a big fill reaches the last byte",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address, value, width, std::min(count, uint64_t{1} << 20));
       };
     }},
    {"fill_sign_lost", "a fill loses the highest bit", "fills: the value the sign bit is set in every width",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address, value & 0x7fffffffu, width, count);
       };
     }},
    {"fill_aligned_down", "a fill starts at the 16 bytes that its address is in",
     "fills: elements of 8 bits from byte 7 are exact",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         return real.memory_set(self, stream, address / 16 * 16, value, width, count);
       };
     }},
    {"pitched_copy_on_device_at_submission", "a pitched copy on the device runs when it is submitted",
     "submission: a pitched copy on the device neither reads nor writes before its turn",
     pitched_at_submission<ANYPLACE_COPY_DEVICE_TO_DEVICE>},
    {"pitched_copy_up_at_submission", "a pitched copy from pinned memory runs when it is submitted",
     "submission: a pitched copy from pinned memory neither reads nor writes before its turn",
     pitched_at_submission<ANYPLACE_COPY_HOST_TO_DEVICE>},
    {"pitched_copy_down_at_submission", "a pitched copy to pinned memory runs when it is submitted",
     "submission: a pitched copy to pinned memory neither reads nor writes before its turn",
     pitched_at_submission<ANYPLACE_COPY_DEVICE_TO_HOST>},
    {"fill_to_even_end", "narrow elements are filled two by two, and an odd one takes its neighbour along",
     "fills: elements of 16 bits in each count from each address are exact",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         if (width == 4 || count == 1 || address % (2 * width) != 0) {
           return real.memory_set(self, stream, address, value, width, count);
         }
         const uint32_t twice = value << (8 * width) | (value & ((1u << (8 * width)) - 1));
         return real.memory_set(self, stream, address, twice, 2 * width, (count + 1) / 2);
       };
     }},
    {"fill_from_even_address", "an even number of narrow elements is filled from the even address before it",
     "fills: elements of 8 bits in each count from each address are exact",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         if (width != 1 || count % 2 != 0) return real.memory_set(self, stream, address, value, width, count);
         return real.memory_set(self, stream, address / 2 * 2, (value & 0xff) * 0x101, 2, count / 2);
       };
     }},
    {"fill_value_unmasked", "a narrow fill takes bits of the number that aren't its",
     "fills: a fill takes the low bits of the number that the core gives",
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         if (width == 1 && value > 0xff) value >>= 8;
         return real.memory_set(self, stream, address, value, width, count);
       };
     }},
    {"fill_at_submission", "a fill runs when it is submitted",
     "submission: a fill of words neither reads nor writes before its turn",
     [](Table& table) {
       note_streams(table);
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         const anyplace_stream side = side_stream(self, stream);
         const Status status = real.memory_set(self, side, address, value, width, count);
         return status == ok ? real.stream_synchronize(self, side, ANYPLACE_FOREVER) : status;
       };
     }},
};

std::vector<Mutation> joined() {
  std::vector<Mutation> all(std::begin(copy_mutations), std::end(copy_mutations));
  all.insert(all.end(), std::begin(fill_mutations), std::end(fill_mutations));
  return all;
}

}  // namespace

std::span<const Mutation> memory_mutations() noexcept {
  static const std::vector<Mutation> all = joined();
  return all;
}

}  // namespace anyplace::mutants
