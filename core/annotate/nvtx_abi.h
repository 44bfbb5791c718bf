// SPDX-License-Identifier: Apache-2.0
//
// The interface between NVTX 3 and its tools, as NVIDIA's headers document it (nvToolsExt.h and nvtxDetail/nvtxTypes.h
// of NVTX 3, https://github.com/NVIDIA/NVTX). The tool exports InitializeInjectionNvtx2, asks the function that it is
// given for tables by number, and writes its functions into their slots. A test compares this with the headers where
// they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyplace::detail::nvtx {

inline constexpr std::uint32_t api_version = 3;

// -- The contents of annotations.
struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  union {
    std::uint64_t u64;
    std::int64_t i64;
    double f64;
  } payload;
  std::int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    void* registered;
  } message;
};
enum ColorType : std::int32_t { color_unknown = 0, color_argb = 1 };
enum PayloadType : std::int32_t { payload_unknown = 0, payload_u64 = 1, payload_i64 = 2, payload_f64 = 3 };
enum MessageType : std::int32_t { message_ascii = 1 };

using DomainHandle = void*;
using RangeId = std::uint64_t;

using MarkEx = void (*)(const EventAttributes*);
using MarkA = void (*)(const char*);
using RangeStartEx = RangeId (*)(const EventAttributes*);
using RangeStartA = RangeId (*)(const char*);
using RangeEnd = void (*)(RangeId);
using RangePushEx = int (*)(const EventAttributes*);
using RangePushA = int (*)(const char*);
using RangePop = int (*)();
using NameCategoryA = void (*)(std::uint32_t, const char*);
using NameOsThreadA = void (*)(std::uint32_t, const char*);
using DomainMarkEx = void (*)(DomainHandle, const EventAttributes*);
using DomainRangeStartEx = RangeId (*)(DomainHandle, const EventAttributes*);
using DomainRangeEnd = void (*)(DomainHandle, RangeId);
using DomainRangePushEx = int (*)(DomainHandle, const EventAttributes*);
using DomainRangePop = int (*)(DomainHandle);
using DomainNameCategoryA = void (*)(DomainHandle, std::uint32_t, const char*);
using DomainCreateA = DomainHandle (*)(const char*);

// -- How a tool attaches.
/// Slots are in tables, one for each module.
enum Module : std::uint32_t {
  module_core = 1,
  module_cuda = 2,
  module_opencl = 3,
  module_cudart = 4,
  module_core2 = 5,
  module_sync = 6,
  module_count = 7,
};
/// How many slots each module's table has; number 0 is never used.
inline constexpr std::uint32_t slot_counts[module_count] = {0, 16, 9, 15, 7, 16, 7};
inline constexpr std::uint32_t most_slots = 16;

enum CoreSlot : std::uint32_t {
  slot_mark_ex = 1,
  slot_mark_a = 2,
  slot_range_start_ex = 4,
  slot_range_start_a = 5,
  slot_range_end = 7,
  slot_range_push_ex = 8,
  slot_range_push_a = 9,
  slot_range_pop = 11,
  slot_name_category_a = 12,
  slot_name_os_thread_a = 14,
};
enum Core2Slot : std::uint32_t {
  slot_domain_mark_ex = 1,
  slot_domain_range_start_ex = 2,
  slot_domain_range_end = 3,
  slot_domain_range_push_ex = 4,
  slot_domain_range_pop = 5,
  slot_domain_name_category_a = 8,
  slot_domain_create_a = 12,
};

using Function = void (*)();
/// An array of pointers to slots.
using FunctionTable = Function**;

enum ExportTable : std::uint32_t { export_callbacks = 1, export_version = 3 };
struct CallbacksTable {
  std::size_t size;
  int (*module_functions)(std::uint32_t module, FunctionTable* table, unsigned int* count);
};
struct VersionTable {
  std::size_t size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_tool_version)(std::uint32_t);
};
using GetExportTable = const void* (*)(std::uint32_t);
/// The type of InitializeInjectionNvtx2. It returns 0 if the tool doesn't want to hear anything.
using Initialize = int (*)(GetExportTable);

}  // namespace anyplace::detail::nvtx
