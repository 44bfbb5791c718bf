// SPDX-License-Identifier: Apache-2.0
//
// What the entries are to a trace: which submit something, which make or end objects, and what their slices are called.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <cstdint>
#include <string>

#include "objects.h"
#include "record.h"

namespace anyplace::trace {

using Table = anyplace_backend_table;

template <auto Entry>
inline constexpr std::uint16_t entry_index = static_cast<std::uint16_t>(backend::EntryOf<Entry>::index);

template <auto Entry, auto... Entries>
constexpr bool is_one_of = ((entry_index<Entry> == entry_index<Entries>) || ...);

/// Entries whose work is timed by events in its stream.
template <auto Entry>
constexpr bool is_timed = is_one_of<Entry, &Table::memory_copy, &Table::memory_copy_2d, &Table::memory_copy_peer,
                                    &Table::memory_set, &Table::kernel_launch, &Table::graph_launch>;

/// Entries that submit something that others may wait for.
template <auto Entry>
constexpr bool is_submission = is_timed<Entry> || is_one_of<Entry, &Table::stream_host_function, &Table::event_record>;

/// Whether an entry makes objects, or ends some: these are followed while no trace is being written, too.
bool makes_object(std::uint16_t entry) noexcept;
bool ends_object(std::uint16_t entry) noexcept;

const char* name_of(std::uint16_t entry) noexcept;
/// "copy", "fill", "kernel", "graph", "host_function", "record", "wait" (on the device), "synchronize" (of the host),
/// "query", "memory", or "call" for all others.
const char* category_of(std::uint16_t entry) noexcept;
std::string status_name(anyplace_status status);
const char* memory_title(std::uint64_t kind) noexcept;

/// The device that a call is for; -1 for all or an unknown one.
std::int32_t device_of(const BackendObjects& objects, const Record& record) noexcept;
/// The bytes that an operation moves or writes; 0 for others.
std::uint64_t bytes_of(const Record& record) noexcept;
/// "copy host to device", a kernel's name, ...
std::string execution_name(const BackendObjects& objects, const Record& record);

}  // namespace anyplace::trace
