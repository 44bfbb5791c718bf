// SPDX-License-Identifier: Apache-2.0
//
// ROCTX: a library that passes annotations to the profiler that has loaded itself into the process. It does nothing
// without one, so an installed library isn't opened for its own sake. One that is already loaded is used: rocprofv3
// --marker-trace preloads it, and programs that annotate by themselves are linked with it. It has names alone: no
// domains, categories, colours or payloads.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <memory>

#include "annotate/libraries.h"
#include "annotate/roctx_abi.h"
#include "annotate/vendor_listener.h"

namespace anyplace::detail {
namespace {

// The first two are rocprofiler-sdk's, for rocprofv3; the others are roctracer's, for rocprof.
constexpr std::array<const char*, 4> roctx_files{"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so",
                                                 "libroctx64.so.4", "libroctx64.so"};

struct RoctxEntries {
  using RangeId = roctx::RangeId;
#define ANYPLACE_ROCTX_MEMBER(name, required, result, parameters) result(*name) parameters = nullptr;
  ANYPLACE_ROCTX_ENTRIES(ANYPLACE_ROCTX_MEMBER)
#undef ANYPLACE_ROCTX_MEMBER
};

class RoctxListener final : public VendorListener {
 public:
  explicit RoctxListener(const RoctxEntries& entries) noexcept : entries_(entries) {}

  void push(const VendorCall& call) override { entries_.roctxRangePushA(call.text); }
  void pop(std::uint32_t /*domain*/) override { entries_.roctxRangePop(); }
  void mark(const VendorCall& call) override { entries_.roctxMarkA(call.text); }
  std::uint64_t start(const VendorCall& call, std::uint64_t /*id*/) override {
    return entries_.roctxRangeStartA(call.text);
  }
  void end(std::uint32_t /*domain*/, std::uint64_t id) override { entries_.roctxRangeStop(id); }
  void name_thread(const char* name) override {
    if (entries_.roctxNameOsThread != nullptr) entries_.roctxNameOsThread(name);
  }
  void domain_added(std::uint32_t /*domain*/, const char* /*name*/) override {}
  void category_added(std::uint32_t /*category*/, const char* /*name*/) override {}

 private:
  const RoctxEntries entries_;
};

void* open_roctx_file(int flags, OpenedVendor& opened) {
  for (const char* const file : roctx_files) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr) continue;
    const link_map* map = nullptr;
    opened.library = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : file;
    return library;
  }
  return nullptr;
}

}  // namespace

OpenedVendor open_roctx(bool named) {
  OpenedVendor opened;
  void* library = open_roctx_file(RTLD_NOLOAD, opened);
  if (library == nullptr && named) library = open_roctx_file(0, opened);
  if (library == nullptr) {
    opened.idle = "no library of ROCTX is loaded in this process";
    if (named) {
      opened.problem = fmt::format(
          "ANYPLACE_ANNOTATE names it, but neither {} nor {} is found; ROCm's packages rocprofiler-sdk-roctx and "
          "roctracer have them",
          roctx_files[0], roctx_files[2]);
    }
    return opened;
  }
  RoctxEntries entries;
#define ANYPLACE_ROCTX_READ(name, required, result, parameters)                   \
  entries.name = reinterpret_cast<decltype(entries.name)>(dlsym(library, #name)); \
  if (entries.name == nullptr && (required) != 0) opened.problem = "it lacks " #name;
  ANYPLACE_ROCTX_ENTRIES(ANYPLACE_ROCTX_READ)
#undef ANYPLACE_ROCTX_READ
  if (opened.problem.empty()) opened.listener = std::make_unique<RoctxListener>(entries);
  return opened;
}

}  // namespace anyplace::detail
