// SPDX-License-Identifier: Apache-2.0
//
// What the signal handler calls about a SIGSEGV: a command's access opens the memory, and everything else is reported.
//
// A fault is raised by the thread's own instruction, which is one of a kernel, a copy or the host and never one of the
// tables' code. So the thread doesn't hold mutex_ already.
#include <anyplace/backend/device_backend.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <iterator>

#include "command_depth.h"
#include "fault_report.h"
#include "protection.h"

namespace anyplace::cpu_sim {
namespace {

/// What the processor says about the instruction that faulted.
struct Access {
  std::uint64_t instruction = 0;  // its address; 0 if it isn't known
  const char* verb = "accesses";
  std::uint32_t mode = 3;  // 1 if it reads, 2 if it writes; 3 if that isn't known
};

Access access_of(const void* context) noexcept {
  Access access;
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr std::uint64_t write_bit = 2;
  access.instruction = static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
  const bool writes = (static_cast<std::uint64_t>(machine.gregs[REG_ERR]) & write_bit) != 0;
  access.verb = writes ? "writes" : "reads";
  access.mode = writes ? 2 : 1;
#elif defined(__aarch64__)
  access.instruction = machine.pc;
#endif
  return access;
}

/// Adds "byte 5 of", "3 bytes behind" or "1 bytes before".
void add_offset(ReportText& text, anyplace_address address, anyplace_address begin, std::uint64_t bytes) noexcept {
  if (address < begin) {
    text.add(begin - address);
    text.add(" bytes before the beginning of ");
  } else if (address - begin >= bytes) {
    text.add(address - begin - bytes + 1);
    text.add(" bytes behind the last of ");
  } else {
    text.add("byte ");
    text.add(address - begin);
    text.add(" of ");
  }
}

void add_trace(ReportText& text, const char* what, const char* operation, const StackTrace& trace, int first) noexcept {
  text.add("\n  ");
  text.add(what);
  text.add(operation);
  text.add(", on thread ");
  text.add(trace.thread);
  text.add(":");
  trace.add_to(text, first);
}

}  // namespace

Protection::Fault Protection::fault(const siginfo_t& info, const void* context) noexcept {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const Access access = access_of(context);
  if (access.instruction == address) return Fault::unknown;  // It jumped there.
  std::unique_lock lock(mutex_);
  const Region* const found = near(address);
  if (found == nullptr) return Fault::unknown;
  const bool inside = address >= found->first_page && address < found->end_page;
  if (inside && !found->freed && CommandDepth::depth > 0) {
    if (has_keys()) return Fault::unknown;
    Region& region = regions_.find(found->outer_begin())->second;
    const std::uint64_t bytes = region.end_page - region.first_page;
    if (mprotect(backend::from_handle<void>(region.first_page), bytes, PROT_READ | PROT_WRITE) != 0) {
      return Fault::unknown;
    }
    // Another command may have opened it since this one's instruction; then it is in the list already.
    if (region.open) return Fault::opened;
    region.open = true;
    region.next = opened_;
    opened_ = &region;
    return Fault::opened;
  }
  report(*found, address, context);
  lock.unlock();
  // A layer allocates and locks, which the handler of this signal may: the instruction is the application's.
  if (inside && CommandDepth::depth == 0 && getpid() == process_) host_.host_access(access.mode, address, 1);
  return Fault::reported;
}

/// Returns the region that has the address, else the one that was freed last of those that had it, else one that ends
/// less than a page before it, or null. It is called under mutex_.
const Protection::Region* Protection::near(anyplace_address address) const noexcept {
  const auto next = regions_.upper_bound(address);
  const Region* const before = next == regions_.begin() ? nullptr : &std::prev(next)->second;
  if (before != nullptr && address < before->outer_end()) return before;
  for (std::size_t i = 1; i <= retired_.size(); ++i) {
    const Region& freed = retired_[(next_retired_ + retired_.size() - i) % retired_.size()];
    if (freed.bytes != 0 && address >= freed.outer_begin() && address < freed.outer_end()) return &freed;
  }
  return before != nullptr && address < before->outer_end() + page_bytes_ ? before : nullptr;
}

/// Adds who accesses the memory: "the kernel scale, block (3, 0, 0),", "a copy" or "the host".
void Protection::add_who(ReportText& text) const noexcept {
  if (CommandDepth::depth == 0) {
    text.add(getpid() == process_ ? "the host" : "a child that the host forked");
  } else if (!InKernel::any()) {
    text.add(CommandDepth::what);
  } else {
    InKernel::describe(text);
    text.add(",");
  }
}

void Protection::report(const Region& region, anyplace_address address, const void* context) const noexcept {
  ReportText text;
  const Access access = access_of(context);
  text.add("anyplace: cpu_sim: SIGSEGV: ");
  add_who(text);
  text.add(" ");
  text.add(access.verb);
  text.add(" ");
  add_offset(text, address, region.begin, region.bytes);
  text.add(region.freed ? "freed device memory of cpu_sim:" : "device memory of cpu_sim:");
  text.add(static_cast<std::uint64_t>(region.device));
  text.add(", ");
  text.add(region.bytes);
  text.add(" bytes at ");
  text.add_hex(region.begin);
  text.add("\n  ");
  text.add(CommandDepth::depth > 0 ? "a device would fault, or damage other memory"
                                   : "on a device the host can't: copy to or from host memory, or use pinned or "
                                     "managed memory (docs/cpu_sim.md, Device memory that is protected)");
  add_trace(text, "allocated by ", region.made_by, region.made, region.made.own_frames());
  if (region.freed) add_trace(text, "freed by ", region.freed_by, region.end, region.end.own_frames());

  StackTrace here = StackTrace::here();
  int first = 0;  // The frames before the instruction are the handler's.
  while (first < here.count && reinterpret_cast<std::uintptr_t>(here.frames[first]) != access.instruction) ++first;
  char name[17] = "";
  prctl(PR_GET_NAME, name);
  add_trace(text, "accessed by ", name, here, first == here.count ? 0 : first);
  text.write();
}

}  // namespace anyplace::cpu_sim
