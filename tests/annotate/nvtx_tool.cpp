// SPDX-License-Identifier: Apache-2.0
// A tool for NVTX 3, as the tests have it: a library that NVTX_INJECTION64_PATH names. It writes what it hears to the
// file that NVTX_TOOL_RECORD names, and misbehaves as ANNOTATE_TEST_MODE says.
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "annotate/nvtx_abi.h"
#include "record.h"

namespace {

using namespace anyplace::detail::nvtx;
using annotate_record::Line;
using annotate_record::mode_is;

struct ToolDomain {
  std::string name;
};

std::mutex mutex;  // guards the rest
std::map<std::pair<std::string, std::uint32_t>, std::string> categories;
RangeId last_range = 1000;

void say(Line line) { annotate_record::record("NVTX_TOOL_RECORD", line); }

std::string name_of(DomainHandle domain) {
  return domain == nullptr ? "-" : static_cast<const ToolDomain*>(domain)->name;
}

Line line_of(const char* what, DomainHandle domain, const EventAttributes* event) {
  Line line{what};
  line.domain = name_of(domain);
  if (event->version != 3 || event->size != 48) line.what += "?";
  if (event->category != 0) {
    const std::lock_guard lock(mutex);
    line.category = categories[{line.domain, event->category}];
  }
  if (event->color_type == color_argb) line.color = annotate_record::hexadecimal(event->color);
  if (event->payload_type == payload_i64) line.payload = "i64:" + std::to_string(event->payload.i64);
  if (event->payload_type == payload_u64) line.payload = "u64:" + std::to_string(event->payload.u64);
  if (event->payload_type == payload_f64) line.payload = "f64:" + std::to_string(event->payload.f64);
  if (event->message_type == message_ascii) line.name = event->message.ascii;
  return line;
}

void mark(DomainHandle domain, const EventAttributes* event) {
  if (mode_is("throws_later")) throw std::runtime_error("this tool has had enough");
  say(line_of("mark", domain, event));
}
int push(DomainHandle domain, const EventAttributes* event) {
  if (mode_is("throws_later")) throw std::runtime_error("this tool has had enough");
  say(line_of("push", domain, event));
  return 0;
}
int pop(DomainHandle domain) {
  Line line{"pop"};
  line.domain = name_of(domain);
  say(line);
  return 0;
}
RangeId start(DomainHandle domain, const EventAttributes* event) {
  RangeId id = 0;
  {
    const std::lock_guard lock(mutex);
    id = ++last_range;
  }
  Line line = line_of("start", domain, event);
  line.what += " " + std::to_string(id);
  say(line);
  return id;
}
void end(DomainHandle domain, RangeId id) {
  Line line{"end " + std::to_string(id)};
  line.domain = name_of(domain);
  say(line);
}

void core_mark(const EventAttributes* event) { mark(nullptr, event); }
int core_push(const EventAttributes* event) { return push(nullptr, event); }
int core_pop() { return pop(nullptr); }
RangeId core_start(const EventAttributes* event) { return start(nullptr, event); }
void core_end(RangeId id) { end(nullptr, id); }

void plain_mark(const char* name) { say({.what = "mark A", .name = name}); }
int plain_push(const char* name) {
  say({.what = "push A", .name = name});
  return 0;
}

void name_category(DomainHandle domain, std::uint32_t number, const char* name) {
  const std::lock_guard lock(mutex);
  categories[{name_of(domain), number}] = name;
}
void core_name_category(std::uint32_t number, const char* name) { name_category(nullptr, number, name); }
void name_thread(std::uint32_t thread, const char* name) {
  say({.what = "thread " + std::to_string(thread), .name = name});
}
/// They live for ever, as a program may annotate at exit.
DomainHandle create_domain(const char* name) {
  static auto* const all = new std::list<ToolDomain>;
  const std::lock_guard lock(mutex);
  return &all->emplace_back(ToolDomain{name});
}

template <class Type>
void fill(FunctionTable table, std::uint32_t slot, Type function) {
  *table[slot] = reinterpret_cast<Function>(function);
}

void fill_core(FunctionTable core) {
  if (mode_is("fills_plain")) {
    fill(core, slot_mark_a, plain_mark);
    fill(core, slot_range_push_a, plain_push);
    fill(core, slot_range_pop, core_pop);
    return;
  }
  fill(core, slot_mark_ex, core_mark);
  fill(core, slot_range_push_ex, core_push);
  fill(core, slot_range_pop, core_pop);
  fill(core, slot_range_start_ex, core_start);
  fill(core, slot_range_end, core_end);
  fill(core, slot_name_category_a, core_name_category);
  fill(core, slot_name_os_thread_a, name_thread);
}
void fill_core2(FunctionTable core2) {
  fill(core2, slot_domain_mark_ex, mark);
  fill(core2, slot_domain_range_push_ex, push);
  fill(core2, slot_domain_range_pop, pop);
  fill(core2, slot_domain_range_start_ex, start);
  fill(core2, slot_domain_range_end, end);
  fill(core2, slot_domain_name_category_a, name_category);
  fill(core2, slot_domain_create_a, create_domain);
}

FunctionTable later_core = nullptr;

/// The table of a module, which must have that many slots.
FunctionTable table_of(const CallbacksTable& callbacks, std::uint32_t module, unsigned expected) {
  FunctionTable table = nullptr;
  unsigned count = 0;
  if (callbacks.module_functions(module, &table, &count) != 1 || count != expected) std::abort();
  return table;
}

int attach(GetExportTable export_table) {
  if (mode_is("throws_at_once")) throw std::runtime_error("this tool doesn't like it here");
  if (mode_is("ends_the_process")) _exit(3);
  while (mode_is("hangs")) pause();
  if (mode_is("returns_0")) return 0;
  if (mode_is("fills_nothing")) return 1;
  const auto& version = *static_cast<const VersionTable*>(export_table(export_version));
  const auto& callbacks = *static_cast<const CallbacksTable*>(export_table(export_callbacks));
  if (version.version != 3 || version.size != sizeof(VersionTable) || export_table(77) != nullptr) std::abort();
  version.set_tool_version(3);
  if (callbacks.size != sizeof(CallbacksTable) || callbacks.module_functions(0, nullptr, nullptr) != 0 ||
      callbacks.module_functions(7, nullptr, nullptr) != 0) {
    std::abort();
  }
  const FunctionTable core = table_of(callbacks, module_core, 16), core2 = table_of(callbacks, module_core2, 16);
  for (const auto& [module, count] :
       {std::pair{module_cuda, 9u}, {module_opencl, 15u}, {module_cudart, 7u}, {module_sync, 7u}}) {
    const FunctionTable table = table_of(callbacks, module, count);
    for (unsigned slot = 1; slot < count; ++slot) *table[slot] = nullptr;
  }
  later_core = core;
  if (mode_is("fills_later")) return 1;
  if (mode_is("fills_null")) {
    for (unsigned slot = 1; slot < 16; ++slot) *core[slot] = *core2[slot] = nullptr;
    return 1;
  }
  fill_core(core);
  if (!mode_is("fills_plain")) fill_core2(core2);
  return 1;
}

}  // namespace

/// What a program calls that lets a tool begin later.
extern "C" __attribute__((visibility("default"))) void annotate_test_fill_now() { fill_core(later_core); }

#ifdef NVTX_TOOL_LINKED
/// As a tool that is linked with a program has it.
extern "C" __attribute__((visibility("default"))) Initialize InitializeInjectionNvtx2_fnptr;
Initialize InitializeInjectionNvtx2_fnptr = attach;
#else
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(GetExportTable export_table) {
  return attach(export_table);
}
#endif
