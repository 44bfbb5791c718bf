// SPDX-License-Identifier: Apache-2.0
//
// The interface between ITT's static part and a collector, as Intel's headers have it (ittnotify.h, ittnotify_config.h
// and ittnotify_types.h of ITT 3, https://github.com/intel/ittapi). The collector exports __itt_api_init, is given one
// record, and writes its functions over the pointers that the record lists by name. A pointer that it has no function
// for keeps its value: domains and strings are then kept here, in lists that the collector can walk.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace anyplace::detail::itt {

struct Domain {
  volatile int flags;  ///< 0: the collector doesn't want its annotations
  const char* name;
  void* wide_name;
  int extra1;
  void* extra2;
  Domain* next;
};

struct StringHandle {
  const char* text;
  void* wide_text;
  int extra1;
  void* extra2;
  StringHandle* next;
};

struct Id {
  unsigned long long d1, d2, d3;
};
inline constexpr Id no_id{0, 0, 0};

enum Group : int { group_thread = 1 << 2, group_structure = 1 << 12, group_all = -1 };
enum Scope : int { scope_track_group = 2, scope_track = 3, scope_task = 4 };
enum MetadataType : int { metadata_u64 = 1, metadata_s64 = 2, metadata_u32 = 3, metadata_f64 = 8 };

/// One function: its name, the address of its pointer, the pointer's initial value, and its value if the collector has
/// no such function.
struct ApiInfo {
  const char* name;
  void** function;
  void* before;
  void* otherwise;
  Group group;
};

inline constexpr unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};

struct Global {
  unsigned char magic[8];
  unsigned long version_major;
  unsigned long version_minor;
  unsigned long version_build;
  volatile long api_initialized;
  volatile long mutex_initialized;
  volatile long atomic_counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** library_path;
  ApiInfo* api_list;
  Global* next;
  void* thread_list;
  Domain* domain_list;
  StringHandle* string_list;
  int collection_state;
  void* counter_list;
  unsigned int ipt_collect_events;
  void* histogram_list;
  void* counter_metadata_list;
  void* spare[8];  ///< null; reserved for lists of later versions
};
/// The version of ITT that has this record; collectors read it.
inline constexpr unsigned long version_build = 20250807;

/// The functions: X(name without __itt_, result, parameters, group).
#define ANYPLACE_ITT_ENTRIES(X)                                                                                \
  X(domain_create, Domain*, (const char*), group_structure)                                                    \
  X(string_handle_create, StringHandle*, (const char*), group_structure)                                       \
  X(task_begin, void, (const Domain*, Id task, Id parent, StringHandle*), group_structure)                     \
  X(task_end, void, (const Domain*), group_structure)                                                          \
  X(task_begin_overlapped, void, (const Domain*, Id task, Id parent, StringHandle*), group_structure)          \
  X(task_end_overlapped, void, (const Domain*, Id task), group_structure)                                      \
  X(id_create, void, (const Domain*, Id), group_structure)                                                     \
  X(id_destroy, void, (const Domain*, Id), group_structure)                                                    \
  X(marker, void, (const Domain*, Id, StringHandle*, Scope), group_structure)                                  \
  X(metadata_add, void, (const Domain*, Id, StringHandle*, MetadataType, std::size_t, void*), group_structure) \
  X(metadata_str_add, void, (const Domain*, Id, StringHandle*, const char*, std::size_t), group_structure)     \
  X(thread_set_name, void, (const char*), group_thread)

/// The type of __itt_api_init.
using ApiInit = void (*)(Global*, Group);

}  // namespace anyplace::detail::itt
