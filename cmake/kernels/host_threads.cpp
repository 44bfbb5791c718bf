// SPDX-License-Identifier: Apache-2.0
//
// Threads of a block that wait for each other (anyplace/device_code/host_block.h), linked into every module of kernels
// for the host; lanes of a warp that do (host_warps.h); and, of kernels that are loops, what they keep across barriers.
//
// A strand is a stack on which threads of the block run, one after another; the thread of the host that was given the
// block is the first. A thread that meets a barrier parks its strand. What then goes on, in this order: a new strand,
// as long as threads haven't begun; else the strands that a barrier released; else, as then all that haven't ended have
// arrived, the barrier releases them. A strand that has no thread left to begin ends; the first one then waits for the
// others instead.
//
// Lanes of a warp meet in the same way, but are released as soon as the last lane of their mask arrives. Lanes that
// have ended aren't waited for: when no strand could go on otherwise, a warp's lanes meet without them.
//
// Invariant: a block's strands all run on the thread of the host that was given the block.
#include <anyplace/device_code/host_block.h>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define ANYPLACE_STRANDS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define ANYPLACE_STRANDS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANYPLACE_STRANDS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define ANYPLACE_STRANDS_TSAN 1
#endif
#endif
#if defined(ANYPLACE_STRANDS_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(ANYPLACE_STRANDS_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#ifndef ANYPLACE_HOST_STACK_BYTES
#if defined(ANYPLACE_STRANDS_ASAN) || defined(ANYPLACE_STRANDS_TSAN)
#define ANYPLACE_HOST_STACK_BYTES (512 << 10)  // their frames are larger
#else
#define ANYPLACE_HOST_STACK_BYTES (128 << 10)
#endif
#endif

namespace anyplace::device_code {

constinit thread_local BlockState block_state{};

namespace {

// -- Another stack. On x86-64 and aarch64 that is a function of ours, for which a call from one stack returns on
// another: a barrier is met by each thread of each block, and swapcontext() makes system calls for the mask of signals,
// which strands share.

#if defined(__x86_64__) || defined(__aarch64__)
struct Context {
  void* stack_pointer;
};
extern "C" __attribute__((visibility("hidden"))) void anyplace_switch_stack(void** from, void* to) noexcept;
void change(Context& from, const Context& to) noexcept { anyplace_switch_stack(&from.stack_pointer, to.stack_pointer); }
#else
using Context = ucontext_t;
void change(Context& from, const Context& to) noexcept { swapcontext(&from, &to); }
#endif

// What a function may not change is kept on the stack that is left, with the return address. Strands have one set of
// control words for floating-point numbers, as a kernel on a device can't change any.
//
// begin_at() makes `context` begin with `run`, which doesn't return, on the stack from `bottom` to `top`, a multiple
// of 16.
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .hidden anyplace_switch_stack
  .globl anyplace_switch_stack
  .type anyplace_switch_stack, @function
anyplace_switch_stack:
  .cfi_startproc
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size anyplace_switch_stack, . - anyplace_switch_stack
  .popsection
)");

void begin_at(Context& context, void* /*bottom*/, void* top, void (*run)()) noexcept {
  auto** frame = static_cast<void**>(top);
  *--frame = nullptr;  // where `run` would return to; behind it the stack is aligned as a function expects
  *--frame = reinterpret_cast<void*>(run);
  for (int i = 0; i < 6; ++i) *--frame = nullptr;
  context.stack_pointer = frame;
}
#elif defined(__aarch64__)
// The hint is `bti c`, where indirect branches may land; older processors ignore it. The return address isn't signed,
// as nobody could have signed that of a strand that begins. Nor is it taken in x30, which the caller expects to have
// lost: with nothing there, `run` returns nowhere, and what walks up the stack ends at it.
asm(R"(
  .pushsection .text
  .hidden anyplace_switch_stack
  .globl anyplace_switch_stack
  .type anyplace_switch_stack, @function
  .p2align 4
anyplace_switch_stack:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp d14, d15, [sp, #144]
  ldp d12, d13, [sp, #128]
  ldp d10, d11, [sp, #112]
  ldp d8, d9, [sp, #96]
  ldp x27, x28, [sp, #80]
  ldp x25, x26, [sp, #64]
  ldp x23, x24, [sp, #48]
  ldp x21, x22, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x16, [sp], #160
  mov x30, xzr
  ret x16
  .cfi_endproc
  .size anyplace_switch_stack, . - anyplace_switch_stack
  .popsection
)");

void begin_at(Context& context, void* /*bottom*/, void* top, void (*run)()) noexcept {
  constexpr int registers = 20;
  auto** const frame = static_cast<void**>(top) - registers;
  for (int i = 0; i < registers; ++i) frame[i] = nullptr;
  frame[1] = reinterpret_cast<void*>(run);
  context.stack_pointer = frame;
}
#else
void begin_at(Context& context, void* bottom, void* top, void (*run)()) noexcept {
  getcontext(&context);
  context.uc_stack.ss_sp = bottom;
  context.uc_stack.ss_size = static_cast<size_t>(static_cast<char*>(top) - static_cast<char*>(bottom));
  context.uc_link = nullptr;
  makecontext(&context, run, 0);
}
#endif

struct Strand {
  Context context;
  Strand* next;        // in the one list that it is in
  uint3 thread;        // of the block, while it waits in the barrier
  void* mapping;       // its stack, with the guard page below; null for the thread of the host itself
  const void* bottom;  // of the stack
  size_t bytes;
  size_t unused;          // of these, at the top
  void* fake_stack;       // AddressSanitizer's
  void* sanitizer_fiber;  // ThreadSanitizer's
};

struct List {
  Strand* first;
  Strand* last;

  bool empty() const noexcept { return first == nullptr; }
  void add(Strand& strand) noexcept {
    strand.next = nullptr;
    (first == nullptr ? first : last->next) = &strand;
    last = &strand;
  }
  Strand& take() noexcept {
    Strand& strand = *first;
    first = strand.next;
    return strand;
  }
};

/// The lanes of a warp that wait for others of it, with what they pass to each other.
struct Warp {
  struct Lane {
    Strand* strand;
    WarpExchange* exchange;
  };
  Lane lanes[warp_size];
  uint32_t waiting;     // a bit for each lane that does
  uint32_t in_barrier;  // a bit for each that waits in the barrier of the block instead; kept by release_warps() alone

  /// The lanes that wait for just these.
  uint32_t waiting_for(uint32_t mask) const noexcept {
    uint32_t found = 0;
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
      const bool is_one = (waiting >> lane & 1) != 0 && lanes[lane].exchange->mask == mask;
      found |= static_cast<uint32_t>(is_one) << lane;
    }
    return found;
  }
};

/// The strands of the block that this thread runs.
struct BlockStrands {
  Strand host;  // the thread itself
  Strand* current;
  List arrived;   // in the barrier
  List released;  // from it, not gone on yet
  List ended;
  Warp* warps;  // of the whole block; null until a lane waits
  uint32_t warp_count;
  uint32_t lanes_waiting;  // of all warps
};
constinit thread_local BlockStrands strands{};

// -- Stacks are kept for the next block, until the module is unloaded.

constexpr size_t stack_bytes = ANYPLACE_HOST_STACK_BYTES;
// A guard page splits a mapping, and a process may have some 65000 of these; what comes after goes without.
constexpr int most_guards = 8192;

class Pool {
 public:
  constexpr Pool() = default;

  /// Throws std::bad_alloc.
  Strand& take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) return free_.take();
    }
    return make();
  }
  void give_back(List list) noexcept {
    const std::lock_guard lock(mutex_);
    while (!list.empty()) {
      Strand& strand = list.take();
      if (closed_) {
        destroy(strand);
      } else {
        free_.add(strand);
      }
    }
  }
  /// When the module is unloaded or the process ends; a block that still runs then keeps its strands to its end.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    while (!free_.empty()) destroy(free_.take());
  }

 private:
  static size_t page() noexcept { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

  Strand& make() {
    const size_t bytes = stack_bytes + page();
    void* const mapping =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    auto* const strand = new (std::nothrow) Strand{};
    if (strand == nullptr || !guard(mapping)) {
      delete strand;
      munmap(mapping, bytes);
      throw std::bad_alloc();
    }
    strand->mapping = mapping;
    strand->bottom = static_cast<char*>(mapping) + page();
    strand->bytes = stack_bytes;
    strand->unused = next_offset();
    return *strand;
  }
  bool guard(void* mapping) noexcept {
    const std::lock_guard lock(mutex_);
    return guards_ == most_guards || (++guards_, mprotect(mapping, page(), PROT_NONE) == 0);
  }
  /// Stacks begin at different offsets in a page: what is on top of each is used again and again, and would else
  /// compete for the same few lines of the cache.
  size_t next_offset() noexcept {
    const std::lock_guard lock(mutex_);
    return made_++ % 32 * 128;
  }
  static void destroy(Strand& strand) noexcept {
    munmap(strand.mapping, strand.bytes + page());
    delete &strand;
  }

  std::mutex mutex_;  // guards what follows; a leaf
  List free_{};
  int guards_ = 0;   // made so far
  size_t made_ = 0;  // stacks, so far
  bool closed_ = false;
};
constinit Pool pool;
/// Apart from the pool, which must outlive it: blocks may still run when the process ends.
[[maybe_unused]] const struct PoolCloser {
  PoolCloser() = default;
  ~PoolCloser() { pool.close(); }
} pool_closer;

// -- What the sanitizers want to know of a change of stacks. Inlined, because ThreadSanitizer counts functions that
// begin and end for each strand, and a function that changed strands would begin in one and end in the other.

__attribute__((always_inline)) inline void before_switch([[maybe_unused]] Strand* from,
                                                         [[maybe_unused]] const Strand& to) noexcept {
#if defined(ANYPLACE_STRANDS_ASAN)
  // Null instead of a place for the fake stack: this strand has ended.
  __sanitizer_start_switch_fiber(from == nullptr ? nullptr : &from->fake_stack, to.bottom, to.bytes);
#elif defined(ANYPLACE_STRANDS_TSAN)
  __tsan_switch_to_fiber(to.sanitizer_fiber, 0);
#endif
}

__attribute__((always_inline)) inline void after_switch([[maybe_unused]] Strand& here) noexcept {
#if defined(ANYPLACE_STRANDS_ASAN)
  const void* bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(here.fake_stack, &bottom, &bytes);
  if (strands.host.bottom == nullptr) {  // the first change of all comes from there
    strands.host.bottom = bottom;
    strands.host.bytes = bytes;
  }
#endif
}

// -- Changing strands.

void switch_to(Strand& to) noexcept {
  Strand& from = *strands.current;
  if (&from == &to) return;
  strands.current = &to;
  before_switch(&from, to);
  change(from.context, to.context);
  after_switch(from);
}

// -- Warps.

/// Gives each lane of the group what it asked for, and releases it unless it is `running`, which goes on by itself.
void complete_exchange(Warp& warp, uint32_t group, const Strand* running) noexcept {
  uint32_t votes = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if ((group >> lane & 1) != 0 && warp.lanes[lane].exchange->predicate) votes |= 1u << lane;
  }
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if ((group >> lane & 1) == 0) continue;
    WarpExchange& own = *warp.lanes[lane].exchange;
    own.votes = votes;
    const bool is_there = own.source < warp_size && (group >> own.source & 1) != 0;
    const WarpExchange* const from = is_there ? warp.lanes[own.source].exchange : nullptr;
    if (own.result != nullptr && from != nullptr && from->bytes == own.bytes) {
      std::memcpy(own.result, from->value, own.bytes);
    }
    if (warp.lanes[lane].strand != running) strands.released.add(*warp.lanes[lane].strand);
    --strands.lanes_waiting;
  }
  warp.waiting &= ~group;
}

/// Marks the lanes that wait in the block's barrier.
void look_into_barrier() noexcept {
  for (uint32_t i = 0; i < strands.warp_count; ++i) strands.warps[i].in_barrier = 0;
  for (const Strand* strand = strands.arrived.first; strand != nullptr; strand = strand->next) {
    const uint32_t number = number_in_block(strand->thread, block_state.block_size);
    strands.warps[number / warp_size].in_barrier |= 1u << number % warp_size;
  }
}

/// Ends a block in which lanes of a warp can wait for ever: what they wait in throws.
void fail_waiting_lanes() noexcept {
  const uint3 at = block_state.block;
  std::fprintf(
      stderr,
      "block: [%u,%u,%u]: a function of a warp waits for threads that its mask names and that wait elsewhere; on "
      "a device it would wait for ever. See docs/kernels.md\n",
      at.x, at.y, at.z);
  for (uint32_t i = 0; i < strands.warp_count; ++i) {
    Warp& warp = strands.warps[i];
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((warp.waiting >> lane & 1) == 0) continue;
      warp.lanes[lane].exchange->failed = true;
      strands.released.add(*warp.lanes[lane].strand);
    }
    warp.waiting = 0;
  }
  strands.lanes_waiting = 0;
}

/// Is called when all threads have ended or wait: releases lanes of which none that they wait for does so elsewhere.
void release_warps() noexcept {
  look_into_barrier();
  for (uint32_t i = 0; i < strands.warp_count; ++i) {
    Warp& warp = strands.warps[i];
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((warp.waiting >> lane & 1) == 0) continue;
      const uint32_t mask = warp.lanes[lane].exchange->mask, group = warp.waiting_for(mask);
      if ((mask & ~group & (warp.waiting | warp.in_barrier)) == 0) complete_exchange(warp, group, nullptr);
    }
  }
  if (strands.released.empty()) fail_waiting_lanes();
}

/// The warp of the thread that runs now. Throws std::bad_alloc.
Warp& warp_of(uint32_t number) {
  if (strands.warps == nullptr) {
    const dim3 size = block_state.block_size;
    const uint32_t count = (size.x * size.y * size.z + warp_size - 1) / warp_size;
    strands.warps = static_cast<Warp*>(std::calloc(count, sizeof(Warp)));
    if (strands.warps == nullptr) throw std::bad_alloc();
    strands.warp_count = count;
  }
  return strands.warps[number / warp_size];
}

struct LanesWaitElsewhere {};

/// Whose turn it is when no thread is left to begin; null if all have ended. A barrier opens here.
Strand* next_in_turn() noexcept {
  if (strands.released.empty() && strands.lanes_waiting != 0) release_warps();
  if (strands.released.empty()) {
    strands.released = strands.arrived;
    strands.arrived = {};
  }
  return strands.released.empty() ? nullptr : &strands.released.take();
}

[[noreturn]] void end_strand() noexcept {
  strands.ended.add(*strands.current);
  Strand* const next = next_in_turn();
  Strand& to = next == nullptr ? strands.host : *next;
  strands.current = &to;
  Strand& ended = *strands.ended.last;
  before_switch(nullptr, to);
  change(ended.context, to.context);
  __builtin_unreachable();
}

void run_strand() {
  after_switch(*strands.current);
  block_state.run_threads(block_state.values);
  end_strand();
}

Strand& new_strand() {
  Strand& strand = pool.take();
  strand.fake_stack = nullptr;
#if defined(ANYPLACE_STRANDS_ASAN)
  __asan_unpoison_memory_region(strand.bottom, strand.bytes);  // the frames that the last strand left there
#elif defined(ANYPLACE_STRANDS_TSAN)
  strand.sanitizer_fiber = __tsan_create_fiber(0);
#endif
  char* const bottom = static_cast<char*>(const_cast<void*>(strand.bottom));
  begin_at(strand.context, bottom, bottom + strand.bytes - strand.unused, run_strand);
  return strand;
}

void part_block() noexcept {
  block_state.parted = true;
  strands.current = &strands.host;
  strands.arrived = strands.released = strands.ended = {};
  strands.lanes_waiting = 0;
#if defined(ANYPLACE_STRANDS_ASAN)
  strands.host.bottom = nullptr;
#elif defined(ANYPLACE_STRANDS_TSAN)
  strands.host.sanitizer_fiber = __tsan_get_current_fiber();
#endif
}

}  // namespace

void barrier() {
  BlockState& state = block_state;
  if (!state.parted) part_block();
  const uint3 thread = state.thread;
  Strand* const fresh = state.threads_left == 0 ? nullptr : &new_strand();
  strands.current->thread = thread;
  strands.arrived.add(*strands.current);
  switch_to(fresh != nullptr ? *fresh : *next_in_turn());
  state.thread = thread;
}

void finish_parted_block() noexcept {
  // Back when the last of them has ended.
  if (Strand* const next = next_in_turn()) switch_to(*next);
#if defined(ANYPLACE_STRANDS_TSAN)
  for (Strand* strand = strands.ended.first; strand != nullptr; strand = strand->next) {
    __tsan_destroy_fiber(strand->sanitizer_fiber);
  }
#endif
  pool.give_back(strands.ended);
  strands.ended = {};
  std::free(strands.warps);
  strands.warps = nullptr;
}

void fence() noexcept {
#if defined(ANYPLACE_STRANDS_TSAN)
  // ThreadSanitizer knows no fences; an operation on a common object orders what they would.
  static constinit uint32_t common = 0;
  __atomic_fetch_add(&common, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

// No object with a destructor: it would keep the module loaded until the thread ends.
constinit thread_local void* loops_scratch = nullptr;

}  // namespace anyplace::device_code

extern "C" void anyplace_meet_warp(anyplace::device_code::WarpExchange* exchange) {
  using namespace anyplace::device_code;
  BlockState& state = block_state;
  if (!state.parted) part_block();
  const uint3 thread = state.thread;
  const uint32_t number = number_in_block(thread, state.block_size), lane = number % warp_size;
  const uint32_t left = state.block_size.x * state.block_size.y * state.block_size.z - (number - lane);
  Warp& warp = warp_of(number);
  exchange->mask = (exchange->mask | 1u << lane) & (left >= warp_size ? ~0u : (1u << left) - 1);
  const uint32_t others = exchange->mask & ~(1u << lane);
  const bool is_last = (warp.waiting_for(exchange->mask) & others) == others;
  Strand* const fresh = is_last || state.threads_left == 0 ? nullptr : &new_strand();
  warp.lanes[lane] = {strands.current, exchange};
  warp.waiting |= 1u << lane;
  ++strands.lanes_waiting;
  if (is_last) {
    complete_exchange(warp, exchange->mask, strands.current);
    return;
  }
  switch_to(fresh != nullptr ? *fresh : *next_in_turn());
  state.thread = thread;
  if (exchange->failed) throw LanesWaitElsewhere();
}

extern "C" void* anyplace_loops_scratch(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  anyplace::device_code::loops_scratch = memory;
  return memory;
}
