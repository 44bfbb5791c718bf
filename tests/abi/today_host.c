/* SPDX-License-Identifier: Apache-2.0
 *
 * A host of today's version, which knows nothing of the next: it opens a plugin and does a little work with it, and
 * checks that nothing was written past what it said it has.
 *
 *   today_host PLUGIN      exit status 0: all went well; 1: what didn't is on standard error
 */
#include <anyplace/backend/abi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 512, GUARD = 0xA5, COUNT = 1000 };

static void fail_at(int line, const char* what) {
  fprintf(stderr, "today_host: line %d: %s\n", line, what);
  exit(1);
}
#define REQUIRE(condition)                           \
  do {                                               \
    if (!(condition)) fail_at(__LINE__, #condition); \
  } while (0)
#define REQUIRE_OK(call) REQUIRE((call) == ANYPLACE_STATUS_OK)

/* A struct of today's version with bytes behind it that nobody may touch. Static, so that what hangs on it isn't a
 * leak. */
#define GUARDED(type, name)           \
  static struct {                     \
    type value;                       \
    unsigned char guard[GUARD_BYTES]; \
  } name
#define GUARDED_INIT(name)                                     \
  do {                                                         \
    memset(&(name).value, 0, sizeof((name).value));            \
    memset((name).guard, GUARD, sizeof((name).guard));         \
    (name).value.struct_size = (uint32_t)sizeof((name).value); \
  } while (0)
#define REQUIRE_INTACT(name)                                                                    \
  do {                                                                                          \
    for (int i_ = 0; i_ < GUARD_BYTES; ++i_) REQUIRE((name).guard[i_] == GUARD);                \
    REQUIRE((name).value.struct_size <= sizeof((name).value) && (name).value.struct_size != 0); \
  } while (0)

GUARDED(anyplace_backend_table, table);
GUARDED(anyplace_device_properties, properties);
GUARDED(anyplace_memory_info, memory);

static int faults;
static int released;
static int host_function_runs;

static void leave_message(void* context, int64_t vendor_code, const char* vendor_name, const char* text) {
  (void)context;
  fprintf(stderr, "message: %lld %s %s\n", (long long)vendor_code, vendor_name ? vendor_name : "", text ? text : "");
}
static void stream_fault(void* context, uint64_t cookie, anyplace_status status, int64_t vendor_code,
                         const char* vendor_name, const char* text) {
  (void)cookie;
  (void)status;
  ++faults;
  leave_message(context, vendor_code, vendor_name, text);
}
static void user_code(void* context) { (void)context; }
static void log_line(void* context, uint32_t level, const char* text) {
  (void)context;
  fprintf(stderr, "log %u: %s\n", level, text);
}

static void host_access(void* context, uint32_t access, anyplace_address address, uint64_t bytes) {
  (void)context;
  (void)access;
  (void)address;
  (void)bytes;
}

static const anyplace_host host = {
    sizeof(anyplace_host), ANYPLACE_ABI_MAJOR, ANYPLACE_ABI_MINOR, 0,        NULL,       leave_message,
    stream_fault,          user_code,          user_code,          log_line, host_access};

static void open_plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_at(__LINE__, dlerror());
  /* POSIX lets a data pointer be read as a function's this way. */
  anyplace_backend_entry_function entry;
  *(void**)&entry = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  REQUIRE(entry != NULL);
  GUARDED_INIT(table);
  REQUIRE_OK(entry(&host, &table.value));
  REQUIRE_INTACT(table);
  REQUIRE(table.value.struct_size == sizeof(anyplace_backend_table));
  REQUIRE(table.value.abi_major == ANYPLACE_ABI_MAJOR);
  REQUIRE(memchr(table.value.name, 0, sizeof(table.value.name)) != NULL && table.value.name[0] != 0);
}

static void look_at_devices(const anyplace_backend_table* t) {
  int32_t count = 0;
  REQUIRE_OK(t->device_count(t->self, &count));
  REQUIRE(count >= 1);
  GUARDED_INIT(properties);
  REQUIRE_OK(t->device_properties(t->self, 0, &properties.value));
  REQUIRE_INTACT(properties);
  REQUIRE(properties.value.address_alignment >= 256 && properties.value.name[0] != 0);
  GUARDED_INIT(memory);
  REQUIRE_OK(t->device_memory(t->self, 0, &memory.value));
  REQUIRE_INTACT(memory);
  REQUIRE(memory.value.total_bytes != 0);
}

static int has(uint32_t bit) { return (properties.value.capabilities >> bit & 1) != 0; }

static void run_host_function(void* user, anyplace_status status) {
  if (status == ANYPLACE_STATUS_OK) ++*(int*)user;
}

static anyplace_status add_one(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                               uint32_t argument_count) {
  if (user != &released || argument_count != 2 || sizes[0] != sizeof(anyplace_address) ||
      sizes[1] != sizeof(uint32_t)) {
    return ANYPLACE_STATUS_INVALID_ARGUMENT;
  }
  anyplace_address address;
  uint32_t count;
  memcpy(&address, arguments[0], sizeof(address));
  memcpy(&count, arguments[1], sizeof(count));
  unsigned char* data = (unsigned char*)(uintptr_t)address;
  for (uint32_t t = 0; t < block->block[0]; ++t) {
    const uint32_t i = block->index[0] * block->block[0] + t;
    if (i < count) ++data[i];
  }
  return ANYPLACE_STATUS_OK;
}
static void release(void* user) { *(int*)user = 1; }

static void launch_kernel(const anyplace_backend_table* t, anyplace_stream stream, anyplace_address data) {
  anyplace_kernel kernel = 0;
  const uint32_t count = COUNT;
  REQUIRE_OK(t->kernel_from_host(t->self, 0, add_one, &released, release, &kernel));
  const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_ADDRESS, sizeof(data), &data},
                                         {ANYPLACE_ARGUMENT_VALUE, sizeof(count), &count}};
  const anyplace_launch launch = {sizeof(launch), {(COUNT + 63) / 64, 1, 1}, {64, 1, 1}, 2, sizeof(arguments[0]), 0, 0,
                                  arguments};
  REQUIRE_OK(t->kernel_launch(t->self, stream, kernel, &launch));
  REQUIRE_OK(t->kernel_destroy(t->self, kernel));
}

static void work(const anyplace_backend_table* t) {
  const anyplace_stream_desc desc = {sizeof(desc), 0, 0, 0, 17};
  const anyplace_event_desc event_desc = {sizeof(event_desc), 0};
  anyplace_stream stream = 0, other = 0;
  anyplace_event event = 0;
  anyplace_address data = 0;
  static unsigned char back[COUNT];
  REQUIRE_OK(t->stream_create(t->self, 0, &desc, &stream));
  REQUIRE_OK(t->stream_create(t->self, 0, &desc, &other));
  REQUIRE_OK(t->event_create(t->self, 0, &event_desc, &event));
  REQUIRE_OK(t->memory_allocate(t->self, 0, ANYPLACE_MEMORY_DEVICE, COUNT, &data));
  REQUIRE(stream != 0 && other != 0 && stream != other && event != 0 && data % 256 == 0);

  unsigned char expected = 41;
  REQUIRE_OK(t->memory_set(t->self, stream, data, 41, 1, COUNT));
  if (t->kernel_from_host != NULL && has(ANYPLACE_CAPABILITY_BIT_HOST_KERNELS)) {
    launch_kernel(t, stream, data);
    ++expected;
  }
  const int host_functions = t->stream_host_function != NULL && has(ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  if (host_functions) REQUIRE_OK(t->stream_host_function(t->self, stream, run_host_function, &host_function_runs));
  REQUIRE_OK(t->event_record(t->self, event, stream));
  REQUIRE_OK(t->stream_wait_event(t->self, other, event));
  REQUIRE_OK(
      t->memory_copy(t->self, other, (anyplace_address)(uintptr_t)back, data, COUNT, ANYPLACE_COPY_DEVICE_TO_HOST));
  REQUIRE_OK(t->stream_synchronize(t->self, other, ANYPLACE_FOREVER));
  int32_t done = 0;
  REQUIRE_OK(t->event_query(t->self, event, &done));
  REQUIRE(done == 1);
  for (int i = 0; i < COUNT; ++i) REQUIRE(back[i] == expected);
  REQUIRE(host_function_runs == host_functions);
  REQUIRE(faults == 0);

  REQUIRE_OK(t->memory_free(t->self, 0, ANYPLACE_MEMORY_DEVICE, data));
  REQUIRE_OK(t->event_destroy(t->self, event));
  REQUIRE_OK(t->stream_destroy(t->self, other));
  REQUIRE_OK(t->stream_destroy(t->self, stream));
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: today_host PLUGIN\n");
    return 2;
  }
  open_plugin(argv[1]);
  const anyplace_backend_table* t = &table.value;
  look_at_devices(t);
  work(t);
  if (t->shutdown != NULL) REQUIRE_OK(t->shutdown(t->self, UINT64_C(10000000000)));
  if (t->shutdown != NULL && has(ANYPLACE_CAPABILITY_BIT_HOST_KERNELS)) REQUIRE(released == 1);
  REQUIRE_INTACT(table);
  printf("%s %s: a host of version %u.%u works with it\n", t->name, t->version, ANYPLACE_ABI_MAJOR, ANYPLACE_ABI_MINOR);
  return 0;
}
