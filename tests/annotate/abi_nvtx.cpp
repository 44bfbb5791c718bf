// SPDX-License-Identifier: Apache-2.0
// Our declarations beside those of NVTX 3's headers, and a tool that hears both.
#include <nvtx3/nvToolsExt.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "annotate/nvtx_abi.h"
#include "anyplace/annotate.h"
#include "tools.h"

namespace abi_nvtx {

namespace ours = anyplace::detail::nvtx;
namespace annotate = anyplace::annotate;

#define SAME_FIELD(our_name, their_name) \
  static_assert(offsetof(ours::EventAttributes, our_name) == offsetof(nvtxEventAttributes_t, their_name))
static_assert(sizeof(ours::EventAttributes) == sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
#undef SAME_FIELD

static_assert(sizeof(ours::CallbacksTable) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(ours::CallbacksTable, module_functions) ==
              offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(sizeof(ours::VersionTable) == sizeof(NvtxExportTableVersionInfo));
static_assert(offsetof(ours::VersionTable, set_tool_version) ==
              offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));

TEST_CASE("Given NVTX's headers then their numbers are those that are used") {
  CHECK(ours::api_version == NVTX_VERSION);
  CHECK(int(ours::color_argb) == int(NVTX_COLOR_ARGB));
  CHECK(int(ours::payload_u64) == int(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64));
  CHECK(int(ours::payload_i64) == int(NVTX_PAYLOAD_TYPE_INT64));
  CHECK(int(ours::payload_f64) == int(NVTX_PAYLOAD_TYPE_DOUBLE));
  CHECK(int(ours::message_ascii) == int(NVTX_MESSAGE_TYPE_ASCII));
  CHECK(int(ours::export_callbacks) == int(NVTX_ETID_CALLBACKS));
  CHECK(int(ours::export_version) == int(NVTX_ETID_VERSIONINFO));
  CHECK(int(ours::module_core) == int(NVTX_CB_MODULE_CORE));
  CHECK(int(ours::module_core2) == int(NVTX_CB_MODULE_CORE2));
  CHECK(int(ours::module_count) == int(NVTX_CB_MODULE_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_CORE]) == int(NVTX_CBID_CORE_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_CUDA]) == int(NVTX_CBID_CUDA_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_OPENCL]) == int(NVTX_CBID_OPENCL_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_CUDART]) == int(NVTX_CBID_CUDART_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_CORE2]) == int(NVTX_CBID_CORE2_SIZE));
  CHECK(int(ours::slot_counts[NVTX_CB_MODULE_SYNC]) == int(NVTX_CBID_SYNC_SIZE));
  CHECK(int(ours::slot_mark_ex) == int(NVTX_CBID_CORE_MarkEx));
  CHECK(int(ours::slot_mark_a) == int(NVTX_CBID_CORE_MarkA));
  CHECK(int(ours::slot_range_start_ex) == int(NVTX_CBID_CORE_RangeStartEx));
  CHECK(int(ours::slot_range_start_a) == int(NVTX_CBID_CORE_RangeStartA));
  CHECK(int(ours::slot_range_end) == int(NVTX_CBID_CORE_RangeEnd));
  CHECK(int(ours::slot_range_push_ex) == int(NVTX_CBID_CORE_RangePushEx));
  CHECK(int(ours::slot_range_push_a) == int(NVTX_CBID_CORE_RangePushA));
  CHECK(int(ours::slot_range_pop) == int(NVTX_CBID_CORE_RangePop));
  CHECK(int(ours::slot_name_category_a) == int(NVTX_CBID_CORE_NameCategoryA));
  CHECK(int(ours::slot_name_os_thread_a) == int(NVTX_CBID_CORE_NameOsThreadA));
  CHECK(int(ours::slot_domain_mark_ex) == int(NVTX_CBID_CORE2_DomainMarkEx));
  CHECK(int(ours::slot_domain_range_start_ex) == int(NVTX_CBID_CORE2_DomainRangeStartEx));
  CHECK(int(ours::slot_domain_range_end) == int(NVTX_CBID_CORE2_DomainRangeEnd));
  CHECK(int(ours::slot_domain_range_push_ex) == int(NVTX_CBID_CORE2_DomainRangePushEx));
  CHECK(int(ours::slot_domain_range_pop) == int(NVTX_CBID_CORE2_DomainRangePop));
  CHECK(int(ours::slot_domain_name_category_a) == int(NVTX_CBID_CORE2_DomainNameCategoryA));
  CHECK(int(ours::slot_domain_create_a) == int(NVTX_CBID_CORE2_DomainCreateA));
}

TEST_CASE("Given NVTX's headers then a tool hears the same of them as of annotations") {
  const annotate_test::Tools tools;
  ::setenv("ANYPLACE_ANNOTATE", "nvtx", 1);
  ::setenv("NVTX_INJECTION64_PATH", NVTX_TOOL, 1);
  ::setenv("NVTX_TOOL_RECORD", tools.folder.file("theirs").c_str(), 1);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
  nvtxDomainNameCategoryA(domain, 1, "copies");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = 1;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff76b900;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.payload.llValue = -5;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "tile";
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainMarkEx(domain, &event);
  nvtxDomainRangePop(domain);

  ::setenv("NVTX_TOOL_RECORD", tools.folder.file("ours").c_str(), 1);
  const annotate::Domain loader("loader");
  const annotate::Attributes attributes{
      .domain = loader, .category = annotate::Category("copies"), .color = 0xff76b900, .payload = -5};
  annotate::range_push("tile", attributes);
  annotate::mark("tile", attributes);
  annotate::range_pop(loader);
  const auto theirs = annotate_test::read_record(tools.folder.file("theirs"));
  CHECK(theirs.size() == 3);
  CHECK((theirs == annotate_test::read_record(tools.folder.file("ours"))));
}

}  // namespace abi_nvtx
