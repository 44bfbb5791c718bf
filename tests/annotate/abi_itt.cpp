// SPDX-License-Identifier: Apache-2.0
// Our declarations beside those of ITT's headers.
#define INTEL_NO_MACRO_BODY
#define INTEL_ITTNOTIFY_API_PRIVATE
#include <ittnotify_config.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>

#include "annotate/itt_abi.h"

namespace abi_itt {

namespace ours = anyplace::detail::itt;

#define SAME_FIELD(our_struct, our_name, their_struct, their_name) \
  static_assert(offsetof(ours::our_struct, our_name) == offsetof(their_struct, their_name))
static_assert(sizeof(ours::Domain) == sizeof(__itt_domain));
SAME_FIELD(Domain, flags, __itt_domain, flags);
SAME_FIELD(Domain, name, __itt_domain, nameA);
SAME_FIELD(Domain, next, __itt_domain, next);
static_assert(sizeof(ours::StringHandle) == sizeof(__itt_string_handle));
SAME_FIELD(StringHandle, text, __itt_string_handle, strA);
SAME_FIELD(StringHandle, next, __itt_string_handle, next);
static_assert(sizeof(ours::Id) == sizeof(__itt_id));
static_assert(sizeof(ours::ApiInfo) == sizeof(__itt_api_info));
SAME_FIELD(ApiInfo, name, __itt_api_info, name);
SAME_FIELD(ApiInfo, function, __itt_api_info, func_ptr);
SAME_FIELD(ApiInfo, before, __itt_api_info, init_func);
SAME_FIELD(ApiInfo, otherwise, __itt_api_info, null_func);
SAME_FIELD(ApiInfo, group, __itt_api_info, group);
static_assert(sizeof(ours::Global) >= sizeof(__itt_global));
SAME_FIELD(Global, version_build, __itt_global, version_build);
SAME_FIELD(Global, api_initialized, __itt_global, api_initialized);
SAME_FIELD(Global, mutex_initialized, __itt_global, mutex_initialized);
SAME_FIELD(Global, atomic_counter, __itt_global, atomic_counter);
SAME_FIELD(Global, mutex, __itt_global, mutex);
SAME_FIELD(Global, library, __itt_global, lib);
SAME_FIELD(Global, library_path, __itt_global, dll_path_ptr);
SAME_FIELD(Global, api_list, __itt_global, api_list_ptr);
SAME_FIELD(Global, next, __itt_global, next);
SAME_FIELD(Global, thread_list, __itt_global, thread_list);
SAME_FIELD(Global, domain_list, __itt_global, domain_list);
SAME_FIELD(Global, string_list, __itt_global, string_list);
SAME_FIELD(Global, collection_state, __itt_global, state);
SAME_FIELD(Global, counter_list, __itt_global, counter_list);
SAME_FIELD(Global, ipt_collect_events, __itt_global, ipt_collect_events);
SAME_FIELD(Global, histogram_list, __itt_global, histogram_list);
#undef SAME_FIELD

TEST_CASE("Given ITT's headers then their numbers are those that are used") {
  const unsigned char magic[] = ITT_MAGIC;
  CHECK(std::memcmp(magic, ours::magic, sizeof(magic)) == 0);
  CHECK(int(ours::group_thread) == int(__itt_group_thread));
  CHECK(int(ours::group_structure) == int(__itt_group_structure));
  CHECK(int(ours::group_all) == int(__itt_group_all));
  CHECK(int(ours::scope_track) == int(__itt_scope_track));
  CHECK(int(ours::metadata_u64) == int(__itt_metadata_u64));
  CHECK(int(ours::metadata_s64) == int(__itt_metadata_s64));
  CHECK(int(ours::metadata_u32) == int(__itt_metadata_u32));
  CHECK(int(ours::metadata_f64) == int(__itt_metadata_double));
}

}  // namespace abi_itt
