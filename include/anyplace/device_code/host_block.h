// SPDX-License-Identifier: Apache-2.0
//
// A block of a kernel on the host: its threads run one after another, on the thread of the host that was given the
// block.
//
// As long as none meets a barrier, that is a plain loop. A thread that meets one stays there, on its stack, and the
// loop goes on upon another stack; when all that haven't ended have arrived, they go on in turn. host_threads.cpp does
// that; it is linked with every module. Where compilers/clang_loops is at hand (ANYPLACE_BARRIER_LOOPS), it makes loops
// of most kernels instead (docs/barriers.md), and this is what the others have.
//
// A thread of the host runs one block at a time, so the block's state is thread_local.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../backend/abi.h"
#include "vectors.h"

namespace anyplace::device_code {

struct BlockState {
  uint3 thread;  ///< the thread that runs now
  uint3 block;
  dim3 block_size;
  dim3 grid_size;
  void* shared;  ///< dynamic shared memory; null if the launch asked for none

  uint3 next;              ///< the thread to begin next, x fastest
  uint32_t threads_left;   ///< how many threads haven't begun
  bool parted;             ///< a thread met a barrier: there is more than one stack
  anyplace_status status;  ///< what the block returns

  /// Runs threads that haven't begun, one after another, until there is none.
  void (*run_threads)(const void* values);
  const void* values;
};

extern constinit thread_local BlockState block_state __attribute__((visibility("hidden")));

/// Returns when every thread of the block that hasn't ended has called it.
__attribute__((visibility("hidden"))) void barrier();
/// Goes on with the threads that wait in a barrier until all have ended. Called where the block was begun.
__attribute__((visibility("hidden"))) void finish_parted_block() noexcept;
/// Orders the memory operations before it before those behind it.
__attribute__((visibility("hidden"))) void fence() noexcept;

inline constexpr uint32_t warp_size = 32;

/// What a lane passes to the others of its warp, and gets of them.
struct WarpExchange {
  uint32_t mask;      ///< the lanes that meet
  bool predicate;     ///< the lane's vote
  const void* value;  ///< null, or what others may read
  void* result;       ///< another place than `value`, which has the result if nothing is read
  uint32_t bytes;     ///< of both
  uint32_t source;    ///< the lane to read from; nothing is read if it doesn't take part
  uint32_t votes;     ///< out: the lanes that met and whose predicate is true
  bool failed;        ///< out: they can't meet
};

/// Returns when all lanes of the mask have called it that haven't ended. Throws if they can't because one waits
/// elsewhere: on a device they would wait for ever.
extern "C" __attribute__((visibility("hidden"))) void anyplace_meet_warp(WarpExchange* exchange);

/// The number of a thread in its block, x fastest: warps are made of consecutive ones.
inline uint32_t number_in_block(const uint3& thread, const dim3& size) noexcept {
  return thread.x + size.x * (thread.y + size.y * thread.z);
}

/// Memory for what threads that run as loops keep across barriers, aligned to 64 bytes; a block asks once. Throws
/// std::bad_alloc.
extern "C" __attribute__((visibility("hidden"))) void* anyplace_loops_scratch(size_t bytes);
extern constinit thread_local void* loops_scratch __attribute__((visibility("hidden")));  ///< null, or what to free

#if defined(ANYPLACE_BARRIER_LOOPS)
// compilers/clang_loops compiles the kernel: where it can, it makes loops over the block's threads, without stacks. It
// knows BlockState by these offsets.
static_assert(offsetof(BlockState, thread) == 0 && offsetof(BlockState, block) == 12 &&
              offsetof(BlockState, block_size) == 24 && offsetof(BlockState, shared) == 48);

/// Runs the block that block_state describes and the *blocks - 1 behind it in its row of the grid, at most 65536 in
/// all, and returns true; or false, if this kernel needs stacks. If they can't be run as one it sets *blocks to 1,
/// before the kernel's code runs, and runs the first. The compiler puts the loops that it made of `run_thread`, which
/// is one thread, in the place of each call, so nothing defines it.
extern "C" bool anyplace_run_as_loops(void (*run_thread)(const void* values), const void* values, uint32_t* blocks);

struct LoopsScratchGuard {
  LoopsScratchGuard() = default;
  ~LoopsScratchGuard() {
    if (loops_scratch == nullptr) return;
    free(loops_scratch);
    loops_scratch = nullptr;
  }
};
#endif

inline bool begin_next_thread(BlockState& state) noexcept {
  if (state.threads_left == 0) return false;
  --state.threads_left;
  state.thread = state.next;
  if (++state.next.x < state.block_size.x) return true;
  state.next.x = 0;
  if (++state.next.y < state.block_size.y) return true;
  state.next.y = 0;
  ++state.next.z;
  return true;
}

inline void begin_block(const anyplace_block& block, void (*run_threads)(const void*), const void* values) noexcept {
  BlockState& state = block_state;
  state.block = {block.index[0], block.index[1], block.index[2]};
  state.block_size = {block.block[0], block.block[1], block.block[2]};
  state.grid_size = {block.grid[0], block.grid[1], block.grid[2]};
  state.shared = block.shared;
  state.next = {0, 0, 0};
  state.threads_left = block.block[0] * block.block[1] * block.block[2];
  state.parted = false;
  state.status = ANYPLACE_STATUS_OK;
  state.run_threads = run_threads;
  // The arguments live as long as the block runs, which is all the time that anything reads them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
  state.values = values;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/// Marks the block as failed. No further thread begins; those that have begun go on.
inline void fail_block(anyplace_status status) noexcept {
  block_state.status = status;
  block_state.threads_left = 0;
}

struct AssertionFailed {};

/// Is called while an exception of a kernel is handled.
inline void fail_block_with_what_was_thrown() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fail_block(ANYPLACE_STATUS_OUT_OF_MEMORY);
  } catch (...) {  // a device has no exceptions, so there is nobody to pass it to
    fail_block(ANYPLACE_STATUS_KERNEL_FAILED);
  }
}

/// Says what an assert (assert.h) found, in the words of CUDA, and fails the block: what a kernel throws is a fault.
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  const BlockState& at = block_state;
  fprintf(stderr, "%s:%d: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, at.block.x,
          at.block.y, at.block.z, at.thread.x, at.thread.y, at.thread.z, what);
  throw AssertionFailed();
}

template <class T>
inline T load_value(const void* from) noexcept {
  T value;
  memcpy(&value, from, sizeof(value));
  return value;
}

/// CUDA's least limit on what the parameters of a kernel take together.
inline constexpr size_t max_parameter_bytes = 4096;

/// The bytes of parameters that lie one behind the other, each aligned.
template <class... Args>
constexpr size_t parameter_bytes() noexcept {
  size_t bytes = 0;
  ((bytes = (bytes + alignof(Args) - 1) / alignof(Args) * alignof(Args) + sizeof(Args)), ...);
  return bytes;
}

/// Makes a function that cpu_sim can call of `kernel`, a static function.
template <auto kernel, class Signature = decltype(kernel)>
struct Export {
  static_assert(!std::is_same_v<Signature, Signature>, "a kernel is a function that returns void");
};

template <auto kernel, class... Args>
struct Export<kernel, void (*)(Args...)> {
  static_assert((!std::is_reference_v<Args> && ...), "a kernel's parameters are passed by value");
  static_assert((std::is_trivially_copyable_v<Args> && ...), "a kernel's parameters are copied as bytes");
  static_assert((!std::is_same_v<std::remove_cv_t<Args>, long double> && ...),
                "long double is laid out differently on a device; take a double");
  static_assert(parameter_bytes<std::remove_reference_t<Args>...>() <= max_parameter_bytes,
                "a kernel's parameters take 4096 bytes at most; more than that goes into a buffer");

  /// The value of NAME_parameters: how many there are, and the size of each in bytes.
  struct Parameters {
    uint32_t values[1 + sizeof...(Args)];
  };
  static constexpr Parameters parameters() noexcept {
    return {{static_cast<uint32_t>(sizeof...(Args)), static_cast<uint32_t>(sizeof(Args))...}};
  }

  /// Runs `block`, and those behind it in its row of the grid if *blocks is more than 1 and they can be run as one;
  /// else it sets *blocks to 1. That write is known to leave the block's state alone, which else were read again.
  static anyplace_status run(const anyplace_block& block, uint32_t* __restrict blocks, void* const* arguments,
                             const uint32_t* sizes, uint32_t count) noexcept {
    if (count != sizeof...(Args)) return ANYPLACE_STATUS_INVALID_ARGUMENT;
    if constexpr (sizeof...(Args) != 0) {
      constexpr Parameters expected = parameters();
      if (memcmp(sizes, expected.values + 1, sizeof(expected.values) - sizeof(uint32_t)) != 0) {
        return ANYPLACE_STATUS_INVALID_ARGUMENT;
      }
    }
    const Values values = load(arguments, std::index_sequence_for<Args...>());
    begin_block(block, &run_threads, &values);
    if (!run_as_loops(values, blocks)) {
      *blocks = 1;
      run_threads(&values);
    }
    if (block_state.parted) finish_parted_block();
    return block_state.status;
  }

 private:
  using Values = std::tuple<std::remove_cv_t<Args>...>;

  template <size_t... I>
  static Values load([[maybe_unused]] void* const* arguments, std::index_sequence<I...>) noexcept {
    return Values(load_value<std::remove_cv_t<Args>>(arguments[I])...);
  }
  static void run_threads(const void* values) noexcept {
    const Values& own = *static_cast<const Values*>(values);
    try {
      while (begin_next_thread(block_state)) std::apply(kernel, own);
    } catch (...) {
      fail_block_with_what_was_thrown();
    }
  }
#if defined(ANYPLACE_BARRIER_LOOPS)
  static bool run_as_loops(const Values& values, uint32_t* blocks) noexcept {
    const LoopsScratchGuard guard;
    try {
      return anyplace_run_as_loops(&run_thread, &values, blocks);
    } catch (...) {
      fail_block_with_what_was_thrown();
    }
    return true;
  }
  static void run_thread(const void* values) {
    run_thread(*static_cast<const Values*>(values), std::index_sequence_for<Args...>());
  }
  template <size_t... I>
  static void run_thread([[maybe_unused]] const Values& values, std::index_sequence<I...>) {
    kernel(std::get<I>(values)...);
  }
#else
  static bool run_as_loops(const Values&, uint32_t*) noexcept { return false; }
#endif
};

template <auto kernel, class... Args>
struct Export<kernel, void (*)(Args...) noexcept> : Export<static_cast<void (*)(Args...)>(kernel)> {};

}  // namespace anyplace::device_code
