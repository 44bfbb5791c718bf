// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "captures.h"

namespace anyplace::doubles {
namespace {

constexpr uint64_t most_staged = 64 * 1024;

unsigned char* bytes_at(uint64_t address) { return static_cast<unsigned char*>(to_pointer(address)); }

/// What is known of a copy's ends once they were checked.
struct Checked {
  Uses uses;
  bool pageable_destination = false, pageable_source = false;
  bool host_destination = false, host_source = false;
};

uint64_t extent(const End& end, const Copy& copy) { return end.pitch * (copy.height - 1) + copy.width; }

int check_ends(const Context& context, const Copy& copy, Checked& checked) {
  const End& to = copy.destination;
  const End& from = copy.source;
  int result = check_range(context, to.address, extent(to, copy), to.want, checked.uses, &checked.pageable_destination);
  if (result != 0) return result;
  result = check_range(context, from.address, extent(from, copy), from.want, checked.uses, &checked.pageable_source);
  if (result != 0) return result;
  checked.host_destination = is_host_memory(to.address);
  checked.host_source = is_host_memory(from.address);
  const bool overlap = to.address < from.address + copy.width && from.address < to.address + copy.width;
  if (overlap && copy.height == 1) misuses().add("a copy whose ends overlap");
  return 0;
}

void copy_rows(const Copy& copy) {
  for (uint64_t row = 0; row < copy.height; ++row) {
    std::memmove(bytes_at(copy.destination.address + row * copy.destination.pitch),
                 bytes_at(copy.source.address + row * copy.source.pitch), copy.width);
  }
}

/// The source's bytes now, as a copy that the operation can read later.
std::shared_ptr<std::vector<unsigned char>> stage(Copy& copy) {
  auto staged = std::make_shared<std::vector<unsigned char>>(copy.width * copy.height);
  for (uint64_t row = 0; row < copy.height; ++row) {
    std::memcpy(staged->data() + row * copy.width, bytes_at(copy.source.address + row * copy.source.pitch), copy.width);
  }
  copy.source.address = Word(staged->data());
  copy.source.pitch = copy.width;
  return staged;
}

Operation copy_operation(Uses uses, std::shared_ptr<std::vector<unsigned char>> staged, const Copy& copy) {
  Operation operation;
  operation.run = [uses = std::move(uses), staged = std::move(staged), copy] {
    return run_on(uses, "a copy", [&] {
      copy_rows(copy);
      return 0;
    });
  };
  return operation;
}

int copy_in(const StreamRef& stream, Copy copy, Form form) {
  if (copy.width == 0 || copy.height == 0) return 0;
  if (form == Form::in_stream) {
    const auto node = [&](NodeWork& work) { return copy_work(stream->context, copy, work); };
    if (const auto captured = capture_node(stream, node)) return *captured;
  }
  Checked checked;
  int result = check_ends(*stream->context, copy, checked);
  if (result != 0) return result;
  const bool synchronous = form == Form::synchronous;
  const bool async_anyway = !synchronous && state().settings.pageable_async;
  const bool on_host_alone = checked.host_destination && checked.host_source;
  bool wait = !async_anyway && (checked.pageable_destination || on_host_alone);
  if (synchronous && (checked.host_destination || (checked.host_source && !checked.pageable_source))) wait = true;
  std::shared_ptr<std::vector<unsigned char>> staged;
  if (checked.pageable_source && !async_anyway && !wait) {
    // Without a stream, what was submitted before is waited for, but not the copy from the driver's own memory.
    if (synchronous) {
      {
        const Locked lock(state().mutex);
        if (const int refused = refuse_captured(lock, *stream); refused != 0) return refused;
      }
      result = wait_for_all(*stream);
      if (result != 0) return result;
    }
    wait = copy.width * copy.height > most_staged;
    if (!wait) staged = stage(copy);
  }
  return submit_and(wait, stream, copy_operation(std::move(checked.uses), std::move(staged), copy));
}

/// Whose memory it is: the host's, or which device's.
uint64_t place_of(uint64_t address) {
  const auto block = state().memory.block_of(address);
  return block && (block->kind == MemoryKind::device || block->kind == MemoryKind::mapped)
             ? static_cast<uint64_t>(block->device) + 1
             : 0;
}

template <class Element>
int check_fill(const Context& context, const Fill& fill, Uses& uses) {
  if (fill.destination % sizeof(Element) != 0 || fill.width > SIZE_MAX / sizeof(Element)) return code::invalid_value;
  const uint64_t row = fill.width * sizeof(Element);
  if (fill.height > 1 && (fill.pitch < row || fill.pitch % sizeof(Element) != 0)) return code::invalid_value;
  if (fill.height > 1 && fill.pitch > static_cast<size_t>(max_pitch)) return code::invalid_value;
  const uint64_t extent = (fill.height - 1) * fill.pitch + row;
  return check_range(context, fill.destination, extent, Want::access, uses);
}

template <class Element>
Operation fill_operation(Uses uses, const Fill& fill, Element value) {
  Operation operation;
  operation.run = [uses = std::move(uses), fill, value] {
    return run_on(uses, "a fill", [&] {
      for (size_t y = 0; y < fill.height; ++y) {
        auto* const first = static_cast<Element*>(to_pointer(fill.destination + y * fill.pitch));
        std::fill_n(first, fill.width, value);
      }
      return 0;
    });
  };
  return operation;
}

}  // namespace

int copy_on(Word stream, const Copy& copy, Form form) {
  StreamRef found;
  const int result = resolve_stream_for_work(stream, found);
  return result == 0 ? copy_in(found, copy, form) : result;
}

int copy_bytes(Word destination, Want destination_is, Word source, Want source_is, uint64_t bytes, Word stream,
               Form form) {
  return copy_on(stream, {{destination, bytes, destination_is}, {source, bytes, source_is}, bytes, 1}, form);
}

template <class Element>
int fill(const Fill& fill, Element value, Word stream, Form form) {
  StreamRef found;
  int result = resolve_stream_for_work(stream, found);
  if (result != 0 || fill.width == 0 || fill.height == 0) return result;
  if (form == Form::in_stream) {
    const auto node = [&](NodeWork& work) { return fill_work<Element>(found->context, fill, value, work); };
    if (const auto captured = capture_node(found, node)) return *captured;
  }
  Uses uses;
  result = check_fill<Element>(*found->context, fill, uses);
  if (result != 0) return result;
  return submit_and(form == Form::synchronous && is_host_memory(fill.destination), found,
                    fill_operation(std::move(uses), fill, value));
}
template int fill(const Fill&, uint8_t, Word, Form);
template int fill(const Fill&, uint16_t, Word, Form);
template int fill(const Fill&, uint32_t, Word, Form);

// -- The same as nodes of graphs. What they touch is looked at when they are added and at each launch: where it is gone
// by then, they run on what was there and fault.

int copy_work(const ContextRef& context, const Copy& copy, NodeWork& work) {
  if (copy.width == 0 || copy.height == 0) return code::invalid_value;
  Checked added;
  if (const int result = check_ends(*context, copy, added); result != 0) return result;
  work.kind = NodeKind::copy;
  work.context = context;
  work.fixed = {place_of(copy.destination.address), place_of(copy.source.address)};
  work.prepare = [copy, uses = std::move(added.uses)](const Context& on) {
    Checked now;
    const bool there = check_ends(on, copy, now) == 0;
    return copy_operation(there ? std::move(now.uses) : uses, nullptr, copy);
  };
  return 0;
}

template <class Element>
int fill_work(const ContextRef& context, const Fill& fill, Element value, NodeWork& work) {
  if (fill.width == 0 || fill.height == 0) return code::invalid_value;
  Uses added;
  if (const int result = check_fill<Element>(*context, fill, added); result != 0) return result;
  work.kind = NodeKind::fill;
  work.context = context;
  work.fixed = {place_of(fill.destination), sizeof(Element), fill.height};
  if (fill.height > 1) work.fixed.insert(work.fixed.end(), {fill.width, fill.pitch});
  work.prepare = [fill, value, uses = std::move(added)](const Context& on) {
    Uses now;
    const bool there = check_fill<Element>(on, fill, now) == 0;
    return fill_operation(there ? std::move(now) : uses, fill, value);
  };
  return 0;
}
template int fill_work(const ContextRef&, const Fill&, uint8_t, NodeWork&);
template int fill_work(const ContextRef&, const Fill&, uint16_t, NodeWork&);
template int fill_work(const ContextRef&, const Fill&, uint32_t, NodeWork&);

}  // namespace anyplace::doubles
