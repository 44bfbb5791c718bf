// SPDX-License-Identifier: Apache-2.0
//
// SPIR-V's variables of work items, OpenCL's functions of barriers, of atomic operations and of copies between
// memories, and how a kernel is run: for a block on one thread of the host, as anyplace/device_code/host_block.h has
// it. A work group is a block, a work item one of its threads.
//
// The functions are called by their mangled names. Pointers' address spaces aren't in these, see host_ir.h. Every
// atomic operation is sequentially consistent.
#include <anyplace/device_code/host_block.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

using anyplace::device_code::block_state;

// -- Where a work item is: SPIR-V's built-in variables by their numbers (builtins.h), section 3.21 of its
// specification. A work item reads them where a barrier may have let another one run before, so they are written anew
// behind it.

extern "C" {
alignas(32) constinit thread_local std::size_t anyplace_builtin_24[4]{};  // NumWorkgroups
alignas(32) constinit thread_local std::size_t anyplace_builtin_25[4]{};  // WorkgroupSize
alignas(32) constinit thread_local std::size_t anyplace_builtin_26[4]{};  // WorkgroupId
alignas(32) constinit thread_local std::size_t anyplace_builtin_27[4]{};  // LocalInvocationId
alignas(32) constinit thread_local std::size_t anyplace_builtin_28[4]{};  // GlobalInvocationId
constinit thread_local std::size_t anyplace_builtin_29 = 0;               // LocalInvocationIndex
constinit thread_local unsigned anyplace_builtin_30 = 0;                  // WorkDim
alignas(32) constinit thread_local std::size_t anyplace_builtin_31[4]{};  // GlobalSize
alignas(32) constinit thread_local std::size_t anyplace_builtin_32[4]{};  // EnqueuedWorkgroupSize
alignas(32) constinit thread_local std::size_t anyplace_builtin_33[4]{};  // GlobalOffset
constinit thread_local std::size_t anyplace_builtin_34 = 0;               // GlobalLinearId
// Each work item is a sub-group of its own.
constinit thread_local unsigned anyplace_builtin_36 = 1;  // SubgroupSize
constinit thread_local unsigned anyplace_builtin_37 = 1;  // SubgroupMaxSize
constinit thread_local unsigned anyplace_builtin_38 = 0;  // NumSubgroups
constinit thread_local unsigned anyplace_builtin_39 = 0;  // NumEnqueuedSubgroups
constinit thread_local unsigned anyplace_builtin_40 = 0;  // SubgroupId
constinit thread_local unsigned anyplace_builtin_41 = 0;  // SubgroupLocalInvocationId
}

namespace {

struct Call {
  void (*kernel)(void* const* arguments);
  void* const* arguments;
};

void write(std::size_t (&to)[4], std::size_t x, std::size_t y, std::size_t z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
}
/// What all work items of the block share.
void write_block() {
  const uint3& index = block_state.block;
  const dim3& block = block_state.block_size;
  const dim3& grid = block_state.grid_size;
  write(anyplace_builtin_24, grid.x, grid.y, grid.z);
  write(anyplace_builtin_25, block.x, block.y, block.z);
  write(anyplace_builtin_26, index.x, index.y, index.z);
  const std::size_t width = std::size_t{grid.x} * block.x;
  const std::size_t height = std::size_t{grid.y} * block.y;
  const std::size_t depth = std::size_t{grid.z} * block.z;
  write(anyplace_builtin_31, width, height, depth);
  write(anyplace_builtin_32, block.x, block.y, block.z);
  anyplace_builtin_30 = depth > 1 ? 3 : height > 1 ? 2 : 1;
  anyplace_builtin_38 = anyplace_builtin_39 = block.x * block.y * block.z;
}
void write_work_item() {
  const uint3& thread = block_state.thread;
  const dim3& block = block_state.block_size;
  const std::size_t(&group)[4] = anyplace_builtin_26;
  const std::size_t(&size)[4] = anyplace_builtin_31;
  const std::size_t x = group[0] * block.x + thread.x, y = group[1] * block.y + thread.y,
                    z = group[2] * block.z + thread.z;
  write(anyplace_builtin_27, thread.x, thread.y, thread.z);
  write(anyplace_builtin_28, x, y, z);
  anyplace_builtin_29 = (std::size_t{thread.z} * block.y + thread.y) * block.x + thread.x;
  anyplace_builtin_34 = (z * size[1] + y) * size[0] + x;
  anyplace_builtin_40 = static_cast<unsigned>(anyplace_builtin_29);
}
void wait_for_block() {
  anyplace::device_code::barrier();
  write_work_item();
}

void run_threads(const void* values) {
  using anyplace::device_code::fail_block;
  const Call& call = *static_cast<const Call*>(values);
  try {
    while (anyplace::device_code::begin_next_thread(block_state)) {
      write_work_item();
      call.kernel(call.arguments);
    }
  } catch (const std::bad_alloc&) {
    fail_block(ANYPLACE_STATUS_OUT_OF_MEMORY);
  } catch (...) {
    fail_block(ANYPLACE_STATUS_KERNEL_FAILED);
  }
}

}  // namespace

// -- What the entry of a kernel calls (host_ir.cpp). `parameters` is its NAME_parameters.

extern "C" anyplace_status anyplace_run_kernel(const anyplace_block* block, void* const* arguments,
                                               const uint32_t* sizes, uint32_t count, const uint32_t* parameters,
                                               void (*kernel)(void* const*)) {
  if (count != parameters[0]) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  if (count != 0 && std::memcmp(sizes, parameters + 1, count * sizeof(uint32_t)) != 0) {
    return ANYPLACE_STATUS_INVALID_ARGUMENT;
  }
  const Call call{kernel, arguments};
  anyplace::device_code::begin_block(*block, &run_threads, &call);
  write_block();
  run_threads(&call);
  if (block_state.parted) anyplace::device_code::finish_parted_block();
  return block_state.status;
}

extern "C" void* anyplace_local_memory() { return block_state.shared; }

// -- Barriers and fences.

void barrier(unsigned) { wait_for_block(); }
void work_group_barrier(unsigned) { wait_for_block(); }
void sub_group_barrier(unsigned) { anyplace::device_code::fence(); }
void mem_fence(unsigned) { anyplace::device_code::fence(); }
void read_mem_fence(unsigned) { anyplace::device_code::fence(); }
void write_mem_fence(unsigned) { anyplace::device_code::fence(); }

// -- Atomic operations: atomic_NAME of OpenCL for 32 bits, atom_NAME for 64.

#define OPENCL_ATOMICS(prefix, type)                                                                           \
  type prefix##_add(volatile type* p, type value) { return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST); }   \
  type prefix##_sub(volatile type* p, type value) { return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST); }   \
  type prefix##_and(volatile type* p, type value) { return __atomic_fetch_and(p, value, __ATOMIC_SEQ_CST); }   \
  type prefix##_or(volatile type* p, type value) { return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST); }     \
  type prefix##_xor(volatile type* p, type value) { return __atomic_fetch_xor(p, value, __ATOMIC_SEQ_CST); }   \
  type prefix##_xchg(volatile type* p, type value) { return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); } \
  type prefix##_inc(volatile type* p) { return __atomic_fetch_add(p, type{1}, __ATOMIC_SEQ_CST); }             \
  type prefix##_dec(volatile type* p) { return __atomic_fetch_sub(p, type{1}, __ATOMIC_SEQ_CST); }             \
  type prefix##_cmpxchg(volatile type* p, type expected, type value) {                                         \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
    return expected;                                                                                           \
  }                                                                                                            \
  type prefix##_min(volatile type* p, type value) {                                                            \
    return atomic_change(p, [value](type old) { return value < old ? value : old; });                          \
  }                                                                                                            \
  type prefix##_max(volatile type* p, type value) {                                                            \
    return atomic_change(p, [value](type old) { return old < value ? value : old; });                          \
  }

namespace {
/// Replaces *p by change(*p), and returns what was there.
template <class T, class Change>
T atomic_change(volatile T* p, Change change) {
  T seen;
  __atomic_load(p, &seen, __ATOMIC_SEQ_CST);
  for (;;) {
    T wanted = change(seen);
    if (__atomic_compare_exchange(p, &seen, &wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return seen;
  }
}
}  // namespace

using Uchar = unsigned char;
using Ushort = unsigned short;
using Uint = unsigned;
using Long = long;
using Ulong = unsigned long;
OPENCL_ATOMICS(atomic, int)
OPENCL_ATOMICS(atomic, Uint)
OPENCL_ATOMICS(atom, Long)
OPENCL_ATOMICS(atom, Ulong)

float atomic_xchg(volatile float* p, float value) {
  return atomic_change(p, [value](float) { return value; });
}
double atom_xchg(volatile double* p, double value) {
  return atomic_change(p, [value](double) { return value; });
}
// Those of SPV_EXT_shader_atomic_float_add and _min_max, with the scope and the semantics, by SPIR-V's own names.
#define SPIRV_FLOAT_ATOMICS(type)                                                     \
  type __spirv_AtomicFAddEXT(type* p, int, int, type value) {                         \
    return atomic_change(p, [value](type old) { return old + value; });               \
  }                                                                                   \
  type __spirv_AtomicFMinEXT(type* p, int, int, type value) {                         \
    return atomic_change(p, [value](type old) { return value < old ? value : old; }); \
  }                                                                                   \
  type __spirv_AtomicFMaxEXT(type* p, int, int, type value) {                         \
    return atomic_change(p, [value](type old) { return old < value ? value : old; }); \
  }
SPIRV_FLOAT_ATOMICS(float)
SPIRV_FLOAT_ATOMICS(double)

// -- Copies between local and global memory: each work item copies its share at once, and waiting is a barrier. From
// global to local memory the stride is the source's, the other way round the destination's.

struct ocl_event {
  void* value;
};

namespace {
template <class T>
void copy_share(T* to, const T* from, std::size_t count, std::size_t to_stride, std::size_t from_stride) {
  for (std::size_t i = anyplace_builtin_29; i < count; i += anyplace_builtin_38) {
    to[i * to_stride] = from[i * from_stride];
  }
}
}  // namespace

#define OPENCL_COPY(type)                                                                                        \
  ocl_event async_work_group_strided_copy(type* to, const type* from, std::size_t count, std::size_t stride,     \
                                          ocl_event event) {                                                     \
    copy_share(to, from, count, 1, stride);                                                                      \
    return event;                                                                                                \
  }                                                                                                              \
  ocl_event async_work_group_strided_copy_out(type* to, const type* from, std::size_t count, std::size_t stride, \
                                              ocl_event event) {                                                 \
    copy_share(to, from, count, stride, 1);                                                                      \
    return event;                                                                                                \
  }
OPENCL_COPY(char)
OPENCL_COPY(Uchar)
OPENCL_COPY(short)
OPENCL_COPY(Ushort)
OPENCL_COPY(int)
OPENCL_COPY(Uint)
OPENCL_COPY(Long)
OPENCL_COPY(Ulong)
OPENCL_COPY(float)
OPENCL_COPY(double)
void wait_group_events(int, ocl_event*) { wait_for_block(); }
