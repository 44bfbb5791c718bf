// SPDX-License-Identifier: Apache-2.0
//
// NVTX: does what NVTX 3's headers do in a program, so that a tool for NVTX attaches to it. As they do, it looks first
// for the library that NVTX_INJECTION64_PATH names, then for a tool that was linked with the program, which defines
// InitializeInjectionNvtx2_fnptr. (NVTX headers of the program's own are attached to separately.)
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "annotate/libraries.h"
#include "annotate/nvtx_abi.h"
#include "annotate/registry.h"
#include "annotate/vendor_listener.h"

namespace anyplace::detail {
namespace {

using namespace nvtx;

/// The slots into which a tool writes its functions. There is one object, because the function that a tool calls for it
/// has no argument that could name another.
struct NvtxSlots {
  std::array<std::array<Function, most_slots>, module_count> functions{};
  // Each table has one slot more, which stays null.
  std::array<std::array<Function*, most_slots + 1>, module_count> tables{};

  NvtxSlots() noexcept {
    for (std::uint32_t module = 1; module < module_count; ++module) {
      for (std::uint32_t slot = 1; slot < slot_counts[module]; ++slot) {
        tables[module][slot] = &functions[module][slot];
      }
    }
  }
  bool any_filled() const noexcept {
    for (const std::uint32_t module : {module_core, module_core2}) {
      for (const Function& function : functions[module]) {
        if (__atomic_load_n(&function, __ATOMIC_ACQUIRE) != nullptr) return true;
      }
    }
    return false;
  }
};
NvtxSlots& nvtx_slots() noexcept {
  static NvtxSlots slots;
  return slots;
}

/// The function in a slot; null if the tool takes no such calls. A tool may change it at any time.
template <class Type>
Type nvtx_function(Module module, std::uint32_t slot) noexcept {
  return reinterpret_cast<Type>(__atomic_load_n(&nvtx_slots().functions[module][slot], __ATOMIC_ACQUIRE));
}

int module_functions(std::uint32_t module, FunctionTable* table, unsigned int* count) {
  if (module == 0 || module >= module_count) return 0;
  if (count != nullptr) *count = slot_counts[module];
  if (table != nullptr) *table = nvtx_slots().tables[module].data();
  return 1;
}
void set_tool_version(std::uint32_t /*version*/) {}

const void* export_table(std::uint32_t number) {
  static constexpr CallbacksTable callbacks{sizeof(CallbacksTable), module_functions};
  static constexpr VersionTable version{sizeof(VersionTable), api_version, 0, set_tool_version};
  if (number == export_callbacks) return &callbacks;
  if (number == export_version) return &version;
  return nullptr;
}

EventAttributes nvtx_attributes(const VendorCall& call) noexcept {
  EventAttributes event{};
  event.version = api_version;
  event.size = sizeof(EventAttributes);
  event.category = call.attributes->category.number();
  if (call.attributes->color) {
    event.color_type = color_argb;
    event.color = *call.attributes->color;
  }
  const annotate::Payload& payload = call.attributes->payload;
  switch (payload.kind()) {
    case annotate::Payload::Kind::none:
      break;
    case annotate::Payload::Kind::i64:
      event.payload_type = payload_i64;
      event.payload.i64 = payload.i64();
      break;
    case annotate::Payload::Kind::u64:
      event.payload_type = payload_u64;
      event.payload.u64 = payload.u64();
      break;
    case annotate::Payload::Kind::f64:
      event.payload_type = payload_f64;
      event.payload.f64 = payload.f64();
      break;
  }
  event.message_type = message_ascii;
  event.message.ascii = call.text;
  return event;
}

class NvtxListener final : public VendorListener {
 public:
  void push(const VendorCall& call) override {
    const EventAttributes event = nvtx_attributes(call);
    if (const DomainHandle domain = handle(call)) {
      const auto function = nvtx_function<DomainRangePushEx>(module_core2, slot_domain_range_push_ex);
      if (function != nullptr) function(domain, &event);
    } else if (const auto push_ex = nvtx_function<RangePushEx>(module_core, slot_range_push_ex)) {
      push_ex(&event);
    } else if (const auto push_a = nvtx_function<RangePushA>(module_core, slot_range_push_a)) {
      push_a(call.text);
    }
  }
  void pop(std::uint32_t number) override {
    if (const DomainHandle domain = handle(number)) {
      const auto function = nvtx_function<DomainRangePop>(module_core2, slot_domain_range_pop);
      if (function != nullptr) function(domain);
    } else if (const auto function = nvtx_function<RangePop>(module_core, slot_range_pop)) {
      function();
    }
  }
  void mark(const VendorCall& call) override {
    const EventAttributes event = nvtx_attributes(call);
    if (const DomainHandle domain = handle(call)) {
      const auto function = nvtx_function<DomainMarkEx>(module_core2, slot_domain_mark_ex);
      if (function != nullptr) function(domain, &event);
    } else if (const auto mark_ex = nvtx_function<MarkEx>(module_core, slot_mark_ex)) {
      mark_ex(&event);
    } else if (const auto mark_a = nvtx_function<MarkA>(module_core, slot_mark_a)) {
      mark_a(call.text);
    }
  }
  std::uint64_t start(const VendorCall& call, std::uint64_t /*id*/) override {
    const EventAttributes event = nvtx_attributes(call);
    if (const DomainHandle domain = handle(call)) {
      const auto function = nvtx_function<DomainRangeStartEx>(module_core2, slot_domain_range_start_ex);
      return function == nullptr ? 0 : function(domain, &event);
    }
    if (const auto start_ex = nvtx_function<RangeStartEx>(module_core, slot_range_start_ex)) return start_ex(&event);
    const auto start_a = nvtx_function<RangeStartA>(module_core, slot_range_start_a);
    return start_a == nullptr ? 0 : start_a(call.text);
  }
  void end(std::uint32_t number, std::uint64_t id) override {
    if (const DomainHandle domain = handle(number)) {
      const auto function = nvtx_function<DomainRangeEnd>(module_core2, slot_domain_range_end);
      if (function != nullptr) function(domain, id);
    } else if (const auto function = nvtx_function<RangeEnd>(module_core, slot_range_end)) {
      function(id);
    }
  }
  void name_thread(const char* name) override {
    const auto function = nvtx_function<NameOsThreadA>(module_core, slot_name_os_thread_a);
    if (function != nullptr) function(static_cast<std::uint32_t>(syscall(SYS_gettid)), name);
  }

  void domain_added(std::uint32_t number, const char* name) override {
    const auto function = nvtx_function<DomainCreateA>(module_core2, slot_domain_create_a);
    if (function == nullptr) return;
    const DomainHandle domain = function(name);
    if (domain == nullptr) return;
    for (std::uint32_t category = 1; category < max_categories && !category_name(category).empty(); ++category) {
      name_category(domain, category, category_name(category).data());
    }
    domains_[number].store(domain, std::memory_order_release);
  }
  void category_added(std::uint32_t category, const char* name) override {
    const auto function = nvtx_function<NameCategoryA>(module_core, slot_name_category_a);
    if (function != nullptr) function(category, name);
    for (const std::atomic<DomainHandle>& each : domains_) {
      const DomainHandle domain = each.load(std::memory_order_acquire);
      if (domain != nullptr) name_category(domain, category, name);
    }
  }

 private:
  static void name_category(DomainHandle domain, std::uint32_t category, const char* name) {
    const auto function = nvtx_function<DomainNameCategoryA>(module_core2, slot_domain_name_category_a);
    if (function != nullptr) function(domain, category, name);
  }
  /// The tool's handle of the domain. Null for the default domain, and for a domain that the tool made no handle for:
  /// its annotations go to the default one.
  DomainHandle handle(std::uint32_t number) const noexcept {
    return number < max_domains ? domains_[number].load(std::memory_order_acquire) : nullptr;
  }
  DomainHandle handle(const VendorCall& call) const noexcept { return handle(call.attributes->domain.number()); }

  std::array<std::atomic<DomainHandle>, max_domains> domains_{};
};

Initialize initialize_from(const char* path, OpenedVendor& opened) {
  opened.library = path;
  opened.problem = tool_file_problem(path);
  if (!opened.problem.empty()) return nullptr;
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    opened.problem = linker_error();
    return nullptr;
  }
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr) opened.problem = "it has no InitializeInjectionNvtx2, so it is no tool for NVTX 3";
  return initialize;
}

}  // namespace

OpenedVendor open_nvtx(bool named) {
  OpenedVendor opened;
  Initialize initialize = nullptr;
  const char* const path = secure_getenv("NVTX_INJECTION64_PATH");
  if (path != nullptr && *path != '\0') {
    initialize = initialize_from(path, opened);
    if (initialize == nullptr) return opened;
  } else if (const auto* const linked =
                 static_cast<Initialize*>(dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr"))) {
    initialize = *linked;
    opened.library = "the program";
  }
  if (initialize == nullptr) {
    opened.library.clear();
    opened.idle = "no tool asks for NVTX: NVTX_INJECTION64_PATH isn't set";
    if (named)
      opened.problem = "ANYPLACE_ANNOTATE names it, but NVTX_INJECTION64_PATH, which names the tool, isn't set";
    return opened;
  }
  if (initialize(export_table) == 0) {
    opened.problem = "its InitializeInjectionNvtx2 says that it can't or won't hear anything";
  } else {
    // A tool without functions so far is kept, because it may fill its slots at any time: CUPTI does so when somebody
    // subscribes.
    opened.listener = std::make_unique<NvtxListener>();
    if (!nvtx_slots().any_filled())
      opened.problem = "it asks for no annotations so far; it gets those that it asks for later";
  }
  return opened;
}

}  // namespace anyplace::detail
