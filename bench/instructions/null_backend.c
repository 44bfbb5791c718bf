/* SPDX-License-Identifier: Apache-2.0
 *
 * The backend "bench_null": entries that return OK and do nothing, so that what a call through anyplace costs is what
 * the core costs. For measuring alone: there is nothing at its addresses, and it runs nothing but what it says. */
#include <anyplace/backend/abi.h>
#include <string.h>

#define ENTRY __attribute__((noinline)) static

/* The last kernel made of a callable. A launch of it runs one block if the grid has more than one line, else none. */
static anyplace_host_kernel host_kernel;
static void* host_kernel_user;

/* clang-format off */
ENTRY anyplace_status null_device_count(void* self, int32_t* count) { (void)self; *count = 1; return ANYPLACE_STATUS_OK; }
ENTRY anyplace_status null_device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self; (void)device; out->free_bytes = out->total_bytes = ANYPLACE_UNKNOWN; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_device_synchronize(void* self, int32_t device, uint64_t timeout_ns) {
  (void)self; (void)device; (void)timeout_ns; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_create(void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
  (void)self; (void)device; *out = desc->cookie; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_destroy(void* self, anyplace_stream stream) { (void)self; (void)stream; return ANYPLACE_STATUS_OK; }
ENTRY anyplace_status null_event_create(void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
  (void)self; (void)device; (void)desc; *out = 1; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_event_destroy(void* self, anyplace_event event) { (void)self; (void)event; return ANYPLACE_STATUS_OK; }
ENTRY anyplace_status null_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
  (void)self; (void)device; (void)kind;
  static uint64_t next = UINT64_C(1) << 40; /* nobody looks at what is there; made under the allocator's lock */
  *out = next; next += (bytes + 4095) & ~UINT64_C(4095); return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_memory_free(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  (void)self; (void)device; (void)kind; (void)address; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_module_load(void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
  (void)self; (void)device; (void)desc; *out = 1; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_module_unload(void* self, anyplace_module module) { (void)self; (void)module; return ANYPLACE_STATUS_OK; }
ENTRY anyplace_status null_module_kernel(void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
  (void)self; (void)module; (void)name; *out = 1; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_kernel_from_host(void* self, int32_t device, anyplace_host_kernel function, void* user,
                                            void (*release)(void* user), anyplace_kernel* out) {
  (void)self; (void)device; (void)release; host_kernel = function; host_kernel_user = user; *out = 2; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_kernel_destroy(void* self, anyplace_kernel kernel) { (void)self; (void)kernel; return ANYPLACE_STATUS_OK; }

/* The measured ones. */
ENTRY anyplace_status null_event_record(void* self, anyplace_event event, anyplace_stream stream) {
  (void)self; (void)event; (void)stream; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_wait_event(void* self, anyplace_stream stream, anyplace_event event) {
  (void)self; (void)stream; (void)event; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_event_query(void* self, anyplace_event event, int32_t* done) {
  (void)self; (void)event; *done = 1; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_query(void* self, anyplace_stream stream, int32_t* done) {
  (void)self; (void)stream; *done = 1; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_kernel_launch(void* self, anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
  (void)self; (void)stream;
  if (kernel == 2 && launch->grid[1] > 1) {
    anyplace_block block = {.struct_size = sizeof(block)};
    host_kernel(host_kernel_user, &block, 0, 0, launch->argument_count);
  }
  return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_synchronize(void* self, anyplace_stream stream, uint64_t timeout_ns) {
  (void)self; (void)stream; (void)timeout_ns; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_event_synchronize(void* self, anyplace_event event, uint64_t timeout_ns) {
  (void)self; (void)event; (void)timeout_ns; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_memory_copy(void* self, anyplace_stream stream, anyplace_address destination, anyplace_address source,
                                       uint64_t bytes, uint32_t kind) {
  (void)self; (void)stream; (void)destination; (void)source; (void)bytes; (void)kind; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_memory_copy_2d(void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
  (void)self; (void)stream; (void)copy; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_memory_set(void* self, anyplace_stream stream, anyplace_address address, uint32_t value, uint32_t width,
                                      uint64_t count) {
  (void)self; (void)stream; (void)address; (void)value; (void)width; (void)count; return ANYPLACE_STATUS_OK;
}
ENTRY anyplace_status null_stream_host_function(void* self, anyplace_stream stream, anyplace_host_function function, void* user) {
  (void)self; (void)stream; function(user, ANYPLACE_STATUS_OK); return ANYPLACE_STATUS_OK;
}
/* clang-format on */

ENTRY anyplace_status null_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  out->capabilities =
      UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_MODULES | UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_HOST_KERNELS |
      UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS | UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_COPY_2D;
  out->image_formats = UINT64_C(1) << ANYPLACE_IMAGE_PTX;
  out->total_memory = ANYPLACE_UNKNOWN;
  out->address_alignment = 256;
  for (int i = 0; i < 3; ++i) out->max_grid[i] = out->max_block[i] = 1024;
  out->max_threads_per_block = 1024;
  out->max_shared_bytes = 1024;
  strcpy(out->name, "null");
  return ANYPLACE_STATUS_OK;
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* out) {
  (void)host;
  anyplace_backend_table table = {0};
  table.struct_size = out->struct_size < sizeof(table) ? out->struct_size : (uint32_t)sizeof(table);
  table.abi_major = ANYPLACE_ABI_MAJOR;
  table.abi_minor = ANYPLACE_ABI_MINOR;
  strcpy(table.name, "bench_null");
  strcpy(table.version, "1.0");
  strcpy(table.description, "Does nothing, for measuring the core alone");
  table.device_count = null_device_count;
  table.device_properties = null_device_properties;
  table.device_memory = null_device_memory;
  table.device_synchronize = null_device_synchronize;
  table.stream_create = null_stream_create;
  table.stream_default = null_stream_create;
  table.stream_destroy = null_stream_destroy;
  table.stream_query = null_stream_query;
  table.stream_synchronize = null_stream_synchronize;
  table.stream_wait_event = null_stream_wait_event;
  table.event_create = null_event_create;
  table.event_destroy = null_event_destroy;
  table.event_record = null_event_record;
  table.event_query = null_event_query;
  table.event_synchronize = null_event_synchronize;
  table.memory_allocate = null_memory_allocate;
  table.memory_free = null_memory_free;
  table.memory_copy = null_memory_copy;
  table.memory_copy_2d = null_memory_copy_2d;
  table.memory_set = null_memory_set;
  table.module_load = null_module_load;
  table.module_unload = null_module_unload;
  table.module_kernel = null_module_kernel;
  table.kernel_launch = null_kernel_launch;
  table.kernel_from_host = null_kernel_from_host;
  table.kernel_destroy = null_kernel_destroy;
  table.stream_host_function = null_stream_host_function;
  memcpy(out, &table, table.struct_size);
  return ANYPLACE_STATUS_OK;
}
