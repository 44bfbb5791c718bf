/* SPDX-License-Identifier: Apache-2.0
 *
 * The test kernels (README.md) as functions of the host, each called once per block: a module of format shared_object.
 */
#include <anyplace/backend/abi.h>
#include <string.h>

/* Exports NAME_parameters, the number of a kernel's arguments and the size of each, for whoever gets pointers without
 * sizes. The kernel itself refuses other ones. */
#define PARAMETERS(name, n, ...)                                    \
  ANYPLACE_PLUGIN_EXPORT extern const uint32_t name##_parameters[]; \
  const uint32_t name##_parameters[(n) + 1] = {(n), __VA_ARGS__}
#define EXPECT(name)                                                                          \
  do {                                                                                        \
    const uint32_t* const expected = name##_parameters;                                       \
    if (argument_count != expected[0] || memcmp(sizes, expected + 1, 4 * expected[0]) != 0) { \
      return ANYPLACE_STATUS_INVALID_ARGUMENT;                                                \
    }                                                                                         \
    (void)user;                                                                               \
  } while (0)

#define VALUE(type, i) (*(type const*)arguments[i])
#define KERNEL(name)                                                                                           \
  anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes, \
                       uint32_t argument_count);                                                               \
  anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes, \
                       uint32_t argument_count)

/* A variable of the module. */
ANYPLACE_PLUGIN_EXPORT extern uint32_t numbers[4];
uint32_t numbers[4] = {2, 3, 5, 7};

PARAMETERS(fill, 3, 8, 4, 4);
ANYPLACE_PLUGIN_EXPORT KERNEL(fill) {
  EXPECT(fill);
  uint32_t* const data = VALUE(uint32_t*, 0);
  const uint32_t count = VALUE(uint32_t, 1);
  const uint32_t value = VALUE(uint32_t, 2);
  for (uint32_t t = 0; t < block->block[0]; ++t) {
    const uint64_t i = (uint64_t)block->index[0] * block->block[0] + t;
    if (i < count) data[i] = value;
  }
  return ANYPLACE_STATUS_OK;
}

PARAMETERS(axpy, 4, 8, 8, 4, 4);
ANYPLACE_PLUGIN_EXPORT KERNEL(axpy) {
  EXPECT(axpy);
  float* const y = VALUE(float*, 0);
  const float* const x = VALUE(const float*, 1);
  const float a = VALUE(float, 2);
  const uint32_t count = VALUE(uint32_t, 3);
  for (uint32_t t = 0; t < block->block[0]; ++t) {
    const uint64_t i = (uint64_t)block->index[0] * block->block[0] + t;
    if (i < count) y[i] += a * x[i];
  }
  return ANYPLACE_STATUS_OK;
}

static void write_indices(uint32_t* out, const anyplace_block* block, uint32_t x, uint32_t y, uint32_t z) {
  const uint64_t width = (uint64_t)block->grid[0] * block->block[0];
  const uint64_t height = (uint64_t)block->grid[1] * block->block[1];
  const uint64_t gx = (uint64_t)block->index[0] * block->block[0] + x;
  const uint64_t gy = (uint64_t)block->index[1] * block->block[1] + y;
  const uint64_t gz = (uint64_t)block->index[2] * block->block[2] + z;
  uint32_t* const mine = out + 12 * ((gz * height + gy) * width + gx);
  const uint32_t thread[3] = {x, y, z};
  memcpy(mine, block->index, 12);
  memcpy(mine + 3, thread, 12);
  memcpy(mine + 6, block->grid, 12);
  memcpy(mine + 9, block->block, 12);
}

PARAMETERS(indices, 1, 8);
ANYPLACE_PLUGIN_EXPORT KERNEL(indices) {
  EXPECT(indices);
  uint32_t* const out = VALUE(uint32_t*, 0);
  for (uint32_t z = 0; z < block->block[2]; ++z) {
    for (uint32_t y = 0; y < block->block[1]; ++y) {
      for (uint32_t x = 0; x < block->block[0]; ++x) write_indices(out, block, x, y, z);
    }
  }
  return ANYPLACE_STATUS_OK;
}

PARAMETERS(block_sum, 2, 8, 8);
ANYPLACE_PLUGIN_EXPORT KERNEL(block_sum) {
  EXPECT(block_sum);
  uint32_t* const sums = VALUE(uint32_t*, 0);
  const uint32_t* const values = VALUE(const uint32_t*, 1);
  const uint32_t threads = block->block[0];
  if (block->shared_bytes < 4ull * threads) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  uint32_t* const shared = block->shared;
  for (uint32_t t = 0; t < threads; ++t) shared[t] = values[(uint64_t)block->index[0] * threads + t];
  uint32_t sum = 0;
  for (uint32_t t = 0; t < threads; ++t) sum += shared[t];
  sums[block->index[0]] = sum;
  return ANYPLACE_STATUS_OK;
}

PARAMETERS(arguments, 7, 8, 1, 2, 4, 8, 4, 4);
ANYPLACE_PLUGIN_EXPORT KERNEL(arguments) {
  EXPECT(arguments);
  uint64_t* const out = VALUE(uint64_t*, 0);
  if (block->index[0] != 0 || block->index[1] != 0 || block->index[2] != 0) return ANYPLACE_STATUS_OK;
  uint32_t bits = 0;
  memcpy(&bits, arguments[5], sizeof(bits));
  out[0] = VALUE(uint8_t, 1);
  out[1] = VALUE(uint16_t, 2);
  out[2] = VALUE(uint32_t, 3);
  out[3] = VALUE(uint64_t, 4);
  out[4] = bits;
  out[5] = (uint64_t)(int64_t)VALUE(int32_t, 6);
  return ANYPLACE_STATUS_OK;
}

/* A call of the module's own. */
static __attribute__((noinline)) uint32_t scaled(uint32_t value, uint32_t by) { return value * 1000 + by; }

PARAMETERS(look_up, 2, 8, 4);
ANYPLACE_PLUGIN_EXPORT KERNEL(look_up) {
  EXPECT(look_up);
  uint32_t* const out = VALUE(uint32_t*, 0);
  const uint32_t count = VALUE(uint32_t, 1);
  for (uint32_t t = 0; t < block->block[0]; ++t) {
    const uint64_t i = (uint64_t)block->index[0] * block->block[0] + t;
    if (i < count) out[i] = scaled(numbers[i % 4], (uint32_t)i);
  }
  return ANYPLACE_STATUS_OK;
}
