// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include "anyplace/backend/kit/refusals.h"
#include "device.h"
#include "stream.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

/// Copies between addresses that the device can reach.
void copy_within_reach(Submission& on, anyplace_address destination, anyplace_address source, std::uint64_t bytes) {
  on.append("zeCommandListAppendMemoryCopy", [&](ze_command_list_handle_t list, ze_event_handle_t signal,
                                                 std::uint32_t waits, ze_event_handle_t* before) {
    return api().CommandListAppendMemoryCopy(list, from_handle<void>(destination), from_handle<const void>(source),
                                             bytes, signal, waits, before);
  });
}

/// Lines of memory with a pitch.
struct Lines {
  anyplace_address address = 0;
  std::uint64_t pitch = 0;
};

void copy_lines_on_host(Lines to, Lines from, std::uint64_t width, std::uint64_t rows) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::memcpy(from_handle<void>(to.address + row * to.pitch),
                from_handle<const void>(from.address + row * from.pitch), width);
  }
}

bool fits_32_bits(std::uint64_t value) { return value <= std::numeric_limits<std::uint32_t>::max(); }

/// Copies lines between addresses that the device can reach: by one command if the sizes fit into its 32 bits.
void copy_lines_within_reach(Submission& on, Lines to, Lines from, std::uint64_t width, std::uint64_t rows) {
  if (!fits_32_bits(to.pitch) || !fits_32_bits(from.pitch) || !fits_32_bits(rows)) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      copy_within_reach(on, to.address + row * to.pitch, from.address + row * from.pitch, width);
    }
    return;
  }
  // A depth of 0 means a copy of two dimensions.
  const ze_copy_region_t region{0, 0, 0, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(rows), 0};
  on.append("zeCommandListAppendMemoryCopyRegion", [&](ze_command_list_handle_t list, ze_event_handle_t signal,
                                                       std::uint32_t waits, ze_event_handle_t* before) {
    return api().CommandListAppendMemoryCopyRegion(list, from_handle<void>(to.address), &region,
                                                   static_cast<std::uint32_t>(to.pitch), 0,
                                                   from_handle<const void>(from.address), &region,
                                                   static_cast<std::uint32_t>(from.pitch), 0, signal, waits, before);
  });
}

/// Appends a step on the host that copies lines, unless the device is lost by then.
void append_host_copy(Submission& on, Lines to, Lines from, std::uint64_t width, std::uint64_t rows) {
  on.append_host_step(on.device().helper(), [=](anyplace_status status) {
    if (status == ANYPLACE_STATUS_OK) copy_lines_on_host(to, from, width, rows);
  });
}

/// Copies lines where one side is the user's own memory; `width` fits into the staging memory.
void copy_lines_staged(Submission& on, Lines to, Lines from, std::uint64_t width, std::uint64_t rows, bool to_device) {
  const Lines staging{to_handle(on.staging()), width};
  const std::uint64_t rows_at_once = Stream::staging_bytes / width;
  for (std::uint64_t done = 0; done < rows; done += rows_at_once) {
    const std::uint64_t now = std::min(rows_at_once, rows - done);
    const Lines to_now{to.address + done * to.pitch, to.pitch};
    const Lines from_now{from.address + done * from.pitch, from.pitch};
    if (to_device) {
      append_host_copy(on, staging, from_now, width, now);
      copy_lines_within_reach(on, to_now, staging, width, now);
    } else {
      copy_lines_within_reach(on, staging, from_now, width, now);
      append_host_copy(on, to_now, staging, width, now);
    }
  }
}

/// Copies any number of bytes where one side is the user's own memory.
void copy_staged(Submission& on, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                 bool to_device) {
  for (std::uint64_t done = 0; done < bytes; done += Stream::staging_bytes) {
    const std::uint64_t now = std::min(Stream::staging_bytes, bytes - done);
    copy_lines_staged(on, {destination + done, now}, {source + done, now}, now, 1, to_device);
  }
}

/// Whether the copy has a host side that must go through the staging memory.
bool needs_staging(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint32_t kind) {
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      return stream.device().memory().is_out_of_reach(source);
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      return stream.device().memory().is_out_of_reach(destination);
    case ANYPLACE_COPY_DEVICE_TO_DEVICE:
      return false;
    default:
      backend::refuse_copy_kind("Level Zero", kind);
  }
}

}  // namespace

void Copies::copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                  std::uint32_t kind) {
  const bool staged = needs_staging(stream, destination, source, kind);
  Submission on(stream);
  if (staged) {
    copy_staged(on, destination, source, bytes, kind == ANYPLACE_COPY_HOST_TO_DEVICE);
  } else {
    copy_within_reach(on, destination, source, bytes);
  }
}

void Copies::copy_2d(Stream& stream, const anyplace_copy_2d& copy) {
  const Lines to{copy.destination, copy.destination_pitch};
  const Lines from{copy.source, copy.source_pitch};
  const bool staged = needs_staging(stream, copy.destination, copy.source, copy.kind);
  Submission on(stream);
  if (!staged) {
    return copy_lines_within_reach(on, to, from, copy.width, copy.rows);
  }
  const bool to_device = copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE;
  if (copy.width <= Stream::staging_bytes) {
    return copy_lines_staged(on, to, from, copy.width, copy.rows, to_device);
  }
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    copy_staged(on, to.address + row * to.pitch, from.address + row * from.pitch, copy.width, to_device);
  }
}

void Copies::copy_peer(Stream& stream, const Device& destination_device, anyplace_address destination,
                       const Device& source_device, anyplace_address source, std::uint64_t bytes) {
  if (&destination_device.driver_context() != &source_device.driver_context()) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the two devices have different drivers, which can't copy between them");
  }
  stream.device().require_other(destination_device);
  stream.device().require_other(source_device);
  Submission on(stream);
  copy_within_reach(on, destination, source, bytes);
}

// ---- Fills ---------------------------------------------------------------------------------------------------------

namespace {

bool is_one_byte_repeated(std::uint32_t value, std::uint32_t width) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&value);
  return std::all_of(bytes, bytes + width, [bytes](unsigned char byte) { return byte == bytes[0]; });
}

/// Fills where the pattern is longer than the queue supports: the host writes it once, and it is copied.
void fill_by_copies(Submission& on, anyplace_address address, std::uint32_t value, std::uint32_t width,
                    std::uint64_t bytes) {
  void* const staging = on.staging();
  const std::uint64_t pattern_bytes = std::min(Stream::staging_bytes, bytes);
  on.append_host_step(on.device().helper(), [=](anyplace_status status) {
    if (status != ANYPLACE_STATUS_OK) return;
    for (std::uint64_t at = 0; at < pattern_bytes; at += width) {
      std::memcpy(static_cast<std::byte*>(staging) + at, &value, width);
    }
  });
  for (std::uint64_t done = 0; done < bytes; done += pattern_bytes) {
    copy_within_reach(on, address + done, to_handle(staging), std::min(pattern_bytes, bytes - done));
  }
}

}  // namespace

std::uint32_t fill_pattern_bytes(std::uint32_t value, std::uint32_t width) {
  if (width != 1 && width != 2 && width != 4) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "elements of " + std::to_string(width) + " bytes; 1, 2 or 4 are filled with");
  }
  return is_one_byte_repeated(value, width) ? 1 : width;
}

void Copies::fill(Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                  std::uint64_t count) {
  const std::uint64_t bytes = count * width;
  const std::uint32_t pattern_bytes = fill_pattern_bytes(value, width);
  Submission on(stream);
  if (pattern_bytes > stream.device().facts().longest_fill_pattern) {
    return fill_by_copies(on, address, value, width, bytes);
  }
  // All systems with Level Zero are little-endian, so the low bytes come first.
  on.append("zeCommandListAppendMemoryFill", [&](ze_command_list_handle_t list, ze_event_handle_t signal,
                                                 std::uint32_t waits, ze_event_handle_t* before) {
    return api().CommandListAppendMemoryFill(list, from_handle<void>(address), &value, pattern_bytes, bytes, signal,
                                             waits, before);
  });
}

}  // namespace anyplace::levelzero
