// SPDX-License-Identifier: Apache-2.0
#include "touches.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace anyplace::validate {
namespace {

Touch device_touch(Engine& engine, const Device& device, const Range& range, bool reads, bool writes) {
  Touch touch;
  touch.space = engine.space_of(device, range.begin);
  touch.range = range;
  touch.reads = reads;
  touch.writes = writes;
  return touch;
}

/// Calls add(range) for each line, or once where the lines adjoin.
template <class Add>
void for_each_line(const Lines& lines, Add&& add) {
  if (lines.rows == 0) return;
  if (lines.rows == 1 || lines.pitch == lines.width) {
    add(Range{lines.address, lines.address + lines.width * lines.rows});
    return;
  }
  for (std::uint64_t row = 0; row < lines.rows; ++row) {
    const std::uint64_t begin = lines.address + row * lines.pitch;
    add(Range{begin, begin + lines.width});
  }
}

}  // namespace

const char* copy_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      return "copy_to_device";
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      return "copy_to_host";
    case ANYPLACE_COPY_HOST_TO_HOST:
      return "copy_on_host";
    default:
      return "copy";
  }
}

void add_device_lines(Engine& engine, const Device& device, const Lines& lines, bool writes, std::vector<Touch>& out) {
  for_each_line(lines, [&](const Range& range) {
    Touch touch = device_touch(engine, device, range, !writes, writes);
    touch.is_declared = true;
    out.push_back(touch);
  });
}

void add_copy(Engine& engine, const Device& device, const anyplace_copy_2d& copy, std::vector<Touch>& out) {
  const Lines to{copy.destination, copy.destination_pitch, copy.width, copy.rows};
  const Lines from{copy.source, copy.source_pitch, copy.width, copy.rows};
  const bool is_fill = copy.kind == ANYPLACE_COPY_HOST_TO_HOST && copy.source == 0;
  const bool reads_host = copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE || copy.kind == ANYPLACE_COPY_HOST_TO_HOST;
  const bool writes_host = copy.kind == ANYPLACE_COPY_DEVICE_TO_HOST || copy.kind == ANYPLACE_COPY_HOST_TO_HOST;
  if (reads_host && !is_fill) {
    for_each_line(from, [&](const Range& range) {
      // Copies between host memory are in the stream's order on both sides.
      if (engine.host_touch(device, range, false, out) && writes_host) out.back().at_the_call = false;
    });
  } else if (!is_fill) {
    add_device_lines(engine, device, from, false, out);
  }
  if (writes_host) {
    for_each_line(to, [&](const Range& range) { static_cast<void>(engine.host_touch(device, range, true, out)); });
  } else {
    add_device_lines(engine, device, to, true, out);
  }
}

void add_peer_copy(Engine& engine, const Device& to, std::uint64_t destination, const Device& from,
                   std::uint64_t source, std::uint64_t bytes, std::vector<Touch>& out) {
  add_device_lines(engine, from, {source, bytes, bytes, 1}, false, out);
  add_device_lines(engine, to, {destination, bytes, bytes, 1}, true, out);
}

void add_launch(Engine& engine, const Device& device, const anyplace_launch& launch, std::vector<Declared>& declared,
                std::vector<Touch>& out) {
  // What was declared last belongs to this launch; what a launch that was refused left lies before it.
  for (std::uint32_t i = launch.argument_count; i-- > 0;) {
    const auto* const argument = reinterpret_cast<const anyplace_argument*>(
        reinterpret_cast<const char*>(launch.arguments) + std::size_t{i} * launch.argument_stride);
    if (argument->kind != ANYPLACE_ARGUMENT_ADDRESS) continue;
    std::uint64_t address = 0;
    std::memcpy(&address, argument->value, sizeof(address));
    if (address == 0) continue;
    // A view's address is told of before its declaration is, and so is what a launch that was refused declared.
    const auto found = std::find_if(declared.rbegin(), declared.rend(),
                                    [&](const Declared& one) { return one.range.begin == address; });
    Range range{address, address};
    std::uint32_t access = ANYPLACE_ACCESS_UNDECLARED;
    if (found != declared.rend()) {
      range = found->range;
      access = found->access;
      declared.erase(std::next(found).base());
    }
    const Space space = engine.space_of(device, address);
    if (range.bytes() == 0) {
      const Allocation* const allocation = engine.allocation_at(space, address);
      if (allocation == nullptr) continue;
      range.end = allocation->range.end;
    }
    Touch touch = device_touch(engine, device, range, (access & ANYPLACE_ACCESS_READ) != 0 || access == 0,
                               (access & ANYPLACE_ACCESS_WRITE) != 0 || access == 0);
    touch.is_declared = access == ANYPLACE_ACCESS_READ;
    out.push_back(touch);
  }
  declared.clear();
}

}  // namespace anyplace::validate
