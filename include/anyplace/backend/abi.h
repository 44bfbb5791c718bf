/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin boundary: everything that the core and a backend say to each other, in C.
 *
 * A backend is a shared object named libanyplace_backend_<name>.so that exports one symbol, anyplace_backend_entry. The
 * core calls it once; it fills a table of functions and returns. From then on the core calls the table. A C++ author
 * derives from anyplace::backend::DeviceBackend (device_backend.h) instead and never sees the table.
 *
 * Rules that hold for the whole file
 * - Types. Fixed-width integers, opaque 64-bit handles (0 is null), structs that begin with struct_size, arrays with a
 *   stride. No exception and no C++ type crosses. Who allocates frees: nothing changes owner by crossing.
 * - Versions. A core takes any plugin of its own major. Entries and fields are only ever added at the end. struct_size
 *   is set by the side that owns the memory to what it has; the other side reads and writes no further than that and
 *   than what it knows itself.
 * - Entries marked (optional) may be left null: then the core does what the comment says. All others must be there.
 * - Outcome. Every entry returns an anyplace_status. Before it returns a status other than OK it may leave a message
 *   with host->leave_message, on the same thread. On failure outputs are left alone or set to 0.
 * - Threads. Every entry may be called from any thread, at any time, also with the same handles at the same time. The
 *   core calls no entry with a handle after, or during, the call that destroys it, and passes only handles that this
 *   backend made, with the device they belong to. So a backend needs no table of live handles of its own. Threads that
 *   a backend starts block all signals from their first moment on, but those of a thread's own faults (SIGSEGV, SIGABRT
 *   and the like): the application's handlers don't run on them.
 * - Texts. All that a backend gives, in structs, messages and faults, is UTF-8 that ends with NUL, of whole characters
 *   also where it was cut to fit.
 * - Output. No entry writes to standard output. Those that load a plugin or look at its devices
 *   (anyplace_backend_entry, device_count, device_properties, device_memory) don't write to standard error either:
 *   they use host->log.
 * - Asynchrony. Entries that take a stream submit and return. The backend copies what the work needs later: the
 *   structs, arrays and argument values that a call passes are the caller's again when it returns. (The host memory
 *   of a copy is the exception: it stays valid until the copy is done.)
 * - Device loss. ANYPLACE_STATUS_DEVICE_LOST from any entry means for good: the core calls nothing of that device any
 *   more except destroy and free entries, which must then still be safe.
 *
 * Times are nanoseconds, sizes are bytes, device addresses are 64-bit numbers, devices are 0 .. device_count - 1.
 */
#pragma once

#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this boundary that a header describes. A plugin of another major is refused. */
#define ANYPLACE_ABI_MAJOR 1u
/* Grows with each entry or field that is added at the end. */
#define ANYPLACE_ABI_MINOR 0u

/* The name of a backend's one exported symbol. */
#define ANYPLACE_ENTRY_SYMBOL "anyplace_backend_entry"
#if defined(__GNUC__)
/* Marks that symbol. */
#define ANYPLACE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define ANYPLACE_PLUGIN_EXPORT
#endif

/* Limits that the core enforces when it loads a plugin. */
#define ANYPLACE_MAX_DEVICES 4096
#define ANYPLACE_FOREVER UINT64_MAX /* a timeout that never runs out */
#define ANYPLACE_UNKNOWN UINT64_MAX /* a byte count the vendor can't tell */

/* Handles. The backend makes them and gives them their meaning; one of a live object is never 0. */
typedef uint64_t anyplace_stream;
/* An event: a mark in a stream's work. */
typedef uint64_t anyplace_event;
/* A module: an image of kernels that was loaded on a device. */
typedef uint64_t anyplace_module;
/* A kernel, of a module or of a function of the host. */
typedef uint64_t anyplace_kernel;
/* A gate: a wait that the host ends. */
typedef uint64_t anyplace_gate;
/* Memory of a device without an address, which virtual_map gives it. */
typedef uint64_t anyplace_physical;
/* A graph that was made for a device. */
typedef uint64_t anyplace_graph;
typedef uint64_t anyplace_address; /* of device memory, or of host memory as seen by the host */

/* ---- Capabilities: what a device may lack -------------------------------------------------------------------------*/
/* X(UPPER, lower, bit, what the device then has, in words for people). A device that sets a bit must have the entries
 * of that capability: otherwise the core refuses its properties and names the missing entry. */
#define ANYPLACE_CAPABILITY_LIST(X)                                                                \
  X(TIMED_EVENTS, timed_events, 0, "events that measure time")                                     \
  X(PRIORITIES, priorities, 1, "streams of more than one priority")                                \
  X(BLOCKING_STREAMS, blocking_streams, 2, "streams that synchronise with the null stream")        \
  X(HOST_FUNCTIONS, host_functions, 3, "host functions in a stream's order")                       \
  X(GATES, gates, 4, "waits that the host opens")                                                  \
  X(PINNED_MEMORY, pinned_memory, 5, "pinned host memory")                                         \
  X(MANAGED_MEMORY, managed_memory, 6, "memory that host and device share")                        \
  X(HOST_REGISTER, host_register, 7, "pinning host memory of the user's own")                      \
  X(STREAM_ORDERED_MEMORY, stream_ordered_memory, 8, "allocating and freeing in a stream's order") \
  X(COPY_2D, copy_2d, 9, "pitched copies")                                                         \
  X(PEER_COPY, peer_copy, 10, "copies between this backend's devices")                             \
  X(PEER_ACCESS, peer_access, 11, "access to the memory of another device")                        \
  X(MODULES, modules, 12, "kernels from module images")                                            \
  X(HOST_KERNELS, host_kernels, 13, "kernels that are functions of this process")                  \
  X(NATIVE_HANDLES, native_handles, 14, "the vendor's own handles of devices, streams and events") \
  X(STREAM_FROM_NATIVE, stream_from_native, 15, "wrapping the vendor's own streams")               \
  X(INTERPROCESS_EVENTS, interprocess_events, 16, "events for several processes")                  \
  X(DEVICE_RESET, device_reset, 17, "resetting the device")                                        \
  X(VIRTUAL_MEMORY, virtual_memory, 18, "addresses apart from the memory behind them")             \
  X(LIST_PROCESSES, list_processes, 19, "telling which processes use the device")                  \
  X(HOST_COPY, host_copy, 20, "copies and fills of host memory in a stream's order")               \
  X(EVENT_FROM_NATIVE, event_from_native, 21, "wrapping the vendor's own events")                  \
  X(GRAPHS, graphs, 22, "graphs that the device launches as one")                                  \
  X(INTERPROCESS_MEMORY, interprocess_memory, 23, "memory for several processes")                  \
  X(MONITORING, monitoring, 24, "telling how busy, full and hot the device is")

enum {
#define ANYPLACE_CAPABILITY_ENUM(upper, lower, bit, text) ANYPLACE_CAPABILITY_BIT_##upper = (bit),
  ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_ENUM)
#undef ANYPLACE_CAPABILITY_ENUM
};

/* ---- Kinds --------------------------------------------------------------------------------------------------------*/
enum {
  ANYPLACE_MEMORY_DEVICE = 1,   /* the device's own */
  ANYPLACE_MEMORY_PINNED = 2,   /* the host's, which the device reaches */
  ANYPLACE_MEMORY_MANAGED = 3,  /* of host and device, at one address */
  ANYPLACE_MEMORY_SHAREABLE = 4 /* only with INTERPROCESS_MEMORY: device memory that memory_export can export, freed as
                                   DEVICE */
};
enum {
  ANYPLACE_COPY_HOST_TO_DEVICE = 1,   /* the source is the host's */
  ANYPLACE_COPY_DEVICE_TO_HOST = 2,   /* the destination is the host's */
  ANYPLACE_COPY_DEVICE_TO_DEVICE = 3, /* both are the device's */
  ANYPLACE_COPY_HOST_TO_HOST = 4      /* only with the capability HOST_COPY; both sides in the stream's order */
};
enum {
  ANYPLACE_STREAM_BLOCKING = 1u /* synchronises with the null stream */
};
enum {
  ANYPLACE_EVENT_TIMING = 1u,        /* keeps when it completed */
  ANYPLACE_EVENT_BLOCKING_SYNC = 2u, /* a host that waits for it sleeps */
  ANYPLACE_EVENT_INTERPROCESS = 4u   /* other processes may have it */
};
enum {
  ANYPLACE_ARGUMENT_VALUE = 1,  /* bytes that the kernel gets as they are */
  ANYPLACE_ARGUMENT_ADDRESS = 2 /* an anyplace_address */
};
enum {
  ANYPLACE_NATIVE_DEVICE = 1, /* the vendor's device (CUdevice) */
  ANYPLACE_NATIVE_CONTEXT = 2 /* the vendor's context (CUcontext) */
};
enum {
  ANYPLACE_LOG_INFO = 1,   /* what is done */
  ANYPLACE_LOG_WARNING = 2 /* what is wrong and does no harm */
};

/* X(UPPER, lower, number, what a node of a graph does). A backend never sees the last two: the core puts a child
 * graph's nodes in the child's place, and submits a graph with a staged copy itself. */
#define ANYPLACE_GRAPH_NODE_LIST(X)                                       \
  X(EMPTY, empty, 1, "nothing: it joins what it comes after")             \
  X(KERNEL, kernel, 2, "launches a kernel")                               \
  X(COPY, copy, 3, "copies, on one device or between two that are peers") \
  X(MEMSET, memset, 4, "fills memory with an integer")                    \
  X(HOST_FUNCTION, host_function, 5, "calls a function of the host")      \
  X(EVENT_RECORD, event_record, 6, "records an event")                    \
  X(EVENT_WAIT, event_wait, 7, "waits for an event's most recent record") \
  X(CHILD_GRAPH, child_graph, 8, "a whole graph")                         \
  X(STAGED_COPY, staged_copy, 9, "copies between devices through the host")

enum {
#define ANYPLACE_GRAPH_NODE_ENUM(upper, lower, number, text) ANYPLACE_GRAPH_NODE_##upper = (number),
  ANYPLACE_GRAPH_NODE_LIST(ANYPLACE_GRAPH_NODE_ENUM)
#undef ANYPLACE_GRAPH_NODE_ENUM
};

/* X(UPPER, lower, number, what it is). The bit (1 << number) stands for it in image_formats. */
#define ANYPLACE_IMAGE_LIST(X)                                       \
  X(PTX, ptx, 1, "NVIDIA PTX text")                                  \
  X(CUBIN, cubin, 2, "NVIDIA cubin (ELF)")                           \
  X(FATBIN, fatbin, 3, "NVIDIA fatbin")                              \
  X(HSACO, hsaco, 4, "AMD code object (ELF), or a bundle of them")   \
  X(SPIRV, spirv, 5, "SPIR-V")                                       \
  X(NATIVE, native, 6, "the device's own binary")                    \
  X(SHARED_OBJECT, shared_object, 7, "a shared object for the host") \
  X(OPENCL_C, opencl_c, 8, "OpenCL C text")

enum {
#define ANYPLACE_IMAGE_ENUM(upper, lower, number, text) ANYPLACE_IMAGE_##upper = (number),
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_ENUM)
#undef ANYPLACE_IMAGE_ENUM
};

/* ---- Structs ------------------------------------------------------------------------------------------------------*/

/* What the backend tells of a device. A text is "" where the vendor can't tell. */
typedef struct anyplace_device_properties {
  uint32_t struct_size;
  uint32_t compute_units;         /* blocks of one launch that run at the same time if nothing else does, at least 1 */
  uint64_t capabilities;          /* bits of 1 << ANYPLACE_CAPABILITY_BIT_* */
  uint64_t image_formats;         /* bits of 1 << ANYPLACE_IMAGE_* */
  uint64_t total_memory;          /* bytes, of which an unused device can allocate nearly all; or ANYPLACE_UNKNOWN */
  uint64_t address_alignment;     /* of every device allocation; a power of two, at least 256 */
  uint64_t max_shared_bytes;      /* dynamic shared memory of one block */
  uint32_t max_grid[3];           /* blocks in each direction */
  uint32_t max_block[3];          /* threads of a block in each direction */
  uint32_t max_threads_per_block; /* the product's limit; above 0 */
  int32_t least_priority;         /* the numerically highest; 0 where there is one priority */
  int32_t greatest_priority;      /* the numerically lowest: runs first */
  uint32_t reserved;              /* 0 */
  char name[128];                 /* as the vendor spells it */
  char vendor[64];                /* who made the device */
  char architecture[64];          /* "sm_90", "gfx90a", "x86-64"; what code must be built for */
  char driver_version[64];        /* the version of the vendor's driver */
  char uuid[64];                  /* what NAME:uuid=... is compared with */
  char pci[32];                   /* "0000:17:00.0" */

  /* In each of these 0 means that the vendor can't tell. */
  uint64_t clock_hz;        /* of the compute units, at most */
  uint64_t memory_clock_hz; /* of the memory, at most */
  uint64_t l2_cache_bytes;  /* of the last-level cache of the compute units */
  uint64_t max_allocation;  /* bytes of the largest allocation, if so much is free; one of far more is OUT_OF_MEMORY */
  uint32_t memory_bus_bits; /* the width of the memory's bus */
  uint32_t multiprocessors; /* as the vendor counts them: SMs, CUs, cores */
  uint32_t sub_group_sizes; /* the sum of the possible numbers of threads that run in step, each a power of two */
  uint32_t features;        /* the ANYPLACE_FEATURE_* bits of features_known that the device has */
  uint32_t features_known;  /* the bits of features that the vendor can tell */
  uint32_t reserved_features; /* 0 */
} anyplace_device_properties;

/* Bits of anyplace_device_properties.features and features_known. */
enum {
  ANYPLACE_FEATURE_FLOAT16 = 1u,            /* arithmetic with 16-bit floating point */
  ANYPLACE_FEATURE_FLOAT64 = 2u,            /* arithmetic with 64-bit floating point */
  ANYPLACE_FEATURE_INT64_ATOMICS = 4u,      /* atomic operations on 64-bit integers */
  ANYPLACE_FEATURE_UNIFIED_ADDRESSING = 8u, /* no address is both the host's and the device's, nor two devices' */
  ANYPLACE_FEATURE_VIRTUAL_TIME = 16u /* the device's clock is the work's and the calls', which take a modelled time */
};

/* What the backend tells of a kernel. A count of UINT32_MAX or ANYPLACE_UNKNOWN means that the vendor can't tell. */
typedef struct anyplace_kernel_attributes {
  uint32_t struct_size;
  uint32_t max_threads_per_block; /* of this kernel; at most the device's */
  uint32_t registers;             /* of a thread */
  uint32_t sub_group_size;        /* threads that run in step: one of the device's sub_group_sizes */
  uint64_t shared_bytes;          /* of a block, without the dynamic shared memory of a launch */
  uint64_t local_bytes;           /* of a thread */
  uint64_t constant_bytes;        /* constant memory that the kernel uses */
} anyplace_kernel_attributes;

/* A variable of a module, filled by the backend. */
typedef struct anyplace_global {
  uint32_t struct_size;
  uint32_t reserved;
  anyplace_address address; /* of device memory */
  uint64_t bytes;           /* the size of the variable */
} anyplace_global;

/* Readings of two clocks in nanoseconds, filled by the backend. */
typedef struct anyplace_clock {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t device; /* since a moment that the device chooses */
  uint64_t host;   /* CLOCK_MONOTONIC at the same moment */
} anyplace_clock;

/* How full a device's memory is, for every process, filled by the backend. */
typedef struct anyplace_memory_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t free_bytes;  /* or ANYPLACE_UNKNOWN */
  uint64_t total_bytes; /* or ANYPLACE_UNKNOWN; the limit where one is set */
} anyplace_memory_info;

/* A process that uses a device, filled by the backend. It is an element of an array with a stride. */
typedef struct anyplace_process {
  uint64_t id;            /* its number in the calling process's PID namespace */
  uint64_t memory_bytes;  /* the device memory that it uses, or ANYPLACE_UNKNOWN */
  uint32_t kinds;         /* the ANYPLACE_PROCESS_* bits of kinds_known that hold for it */
  uint32_t kinds_known;   /* the bits of kinds that the vendor can tell */
  uint32_t compute_ppm;   /* its share of the device's time, in millionths, over a span that the vendor chooses */
  uint32_t compute_known; /* 1 if compute_ppm is known */
} anyplace_process;

/* Bits of anyplace_process.kinds and kinds_known: the process has work or contexts of that kind on the device. */
enum {
  ANYPLACE_PROCESS_COMPUTE = 1u, /* kernels and copies */
  ANYPLACE_PROCESS_GRAPHICS = 2u /* pictures */
};

/* X(UPPER, lower, bit, what the figure is). These are the figures of anyplace_device_sample, in the struct's order;
 * new ones go at the end. Each is a uint64_t. A backend tells a utilisation either as a share or by counters, not
 * both. */
#define ANYPLACE_SAMPLE_LIST(X)                                                                                        \
  X(COMPUTE_PPM, compute_ppm, 0, "share of the time, over a span of the vendor's own, with something to compute: ppm") \
  X(MEMORY_PPM, memory_ppm, 1, "the same, in which memory was read or written")                                        \
  X(COMPUTE_ACTIVE_NS, compute_active_ns, 2, "time with something to compute, since any beginning: never falls")       \
  X(MEMORY_ACTIVE_NS, memory_active_ns, 3, "the same, in which memory was read or written")                            \
  X(ACTIVE_CLOCK_NS, active_clock_ns, 4, "the clock of the two above, when they were read")                            \
  X(MEMORY_USED_BYTES, memory_used_bytes, 5, "by all processes; at most the total")                                    \
  X(MEMORY_TOTAL_BYTES, memory_total_bytes, 6, "of the device's memory")                                               \
  X(TEMPERATURE_MILLIKELVIN, temperature_millikelvin, 7, "0 degrees Celsius are 273150")                               \
  X(POWER_MILLIWATTS, power_milliwatts, 8, "now, or over a span of the vendor's own")                                  \
  X(POWER_LIMIT_MILLIWATTS, power_limit_milliwatts, 9, "the limit in force")                                           \
  X(ENERGY_MICROJOULES, energy_microjoules, 10, "since a beginning of the driver's own: never falls")                  \
  X(CORE_CLOCK_HZ, core_clock_hz, 11, "of the compute units, now")                                                     \
  X(MEMORY_CLOCK_HZ, memory_clock_hz, 12, "now")                                                                       \
  X(THROTTLE, throttle, 13, "bits of 1 << ANYPLACE_THROTTLE_BIT_*: why the clocks are low")                            \
  X(ECC_CORRECTED, ecc_corrected, 14, "errors of memory that were put right")                                          \
  X(ECC_UNCORRECTED, ecc_uncorrected, 15, "errors of memory that were not")                                            \
  X(PCIE_RX_BYTES, pcie_rx_bytes, 16, "that the device received over PCIe, since any beginning")                       \
  X(PCIE_TX_BYTES, pcie_tx_bytes, 17, "that it sent")                                                                  \
  X(LINK_RX_BYTES, link_rx_bytes, 18, "the same over all its links to other devices")                                  \
  X(LINK_TX_BYTES, link_tx_bytes, 19, "that it sent")

enum {
#define ANYPLACE_SAMPLE_ENUM(upper, lower, bit, text) ANYPLACE_SAMPLE_BIT_##upper = (bit),
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLE_ENUM)
#undef ANYPLACE_SAMPLE_ENUM
};

/* X(UPPER, lower, bit, why the device is slower than it could be) */
#define ANYPLACE_THROTTLE_LIST(X)                                                    \
  X(IDLE, idle, 0, "there is nothing to do")                                         \
  X(POWER, power, 1, "the power limit")                                              \
  X(TEMPERATURE, temperature, 2, "too hot")                                          \
  X(CURRENT, current, 3, "the electrical current, or a brake of the power supply")   \
  X(HARDWARE, hardware, 4, "the hardware's protection; which part of it isn't told") \
  X(SOFTWARE, software, 5, "clocks that somebody set")                               \
  X(SYNCHRONIZED_CLOCKS, synchronized_clocks, 6, "in step with a slower device")     \
  X(OTHER, other, 7, "one without a public name")

enum {
#define ANYPLACE_THROTTLE_ENUM(upper, lower, bit, text) ANYPLACE_THROTTLE_BIT_##upper = (bit),
  ANYPLACE_THROTTLE_LIST(ANYPLACE_THROTTLE_ENUM)
#undef ANYPLACE_THROTTLE_ENUM
};

/* What the backend measured of a device at one moment; it counts the use by all processes. memory_total_bytes may
 * leave out what the vendor keeps for itself, and memory_used_bytes is at least what the listed processes use
 * together. */
typedef struct anyplace_device_sample {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t known;   /* bits of 1 << ANYPLACE_SAMPLE_BIT_* of the known figures; the others are 0 */
  char source[256]; /* where the figures come from, or what is missing, in lines of text for people */
#define ANYPLACE_SAMPLE_FIELD(upper, lower, bit, text) uint64_t lower;
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLE_FIELD)
#undef ANYPLACE_SAMPLE_FIELD
} anyplace_device_sample;

/* What stream_create is asked for. */
typedef struct anyplace_stream_desc {
  uint32_t struct_size;
  uint32_t flags;   /* ANYPLACE_STREAM_* */
  int32_t priority; /* already within the device's range */
  uint32_t reserved;
  uint64_t cookie; /* names the stream in host->stream_fault; never 0, never reused */
} anyplace_stream_desc;

/* What event_create is asked for. */
typedef struct anyplace_event_desc {
  uint32_t struct_size;
  uint32_t flags; /* ANYPLACE_EVENT_* */
} anyplace_event_desc;

/* A copy of rows lines of width bytes each; a pitch is the distance between the starts of two lines, at least width. */
typedef struct anyplace_copy_2d {
  uint32_t struct_size;
  uint32_t kind;                /* ANYPLACE_COPY_* */
  anyplace_address destination; /* the first byte that is written */
  uint64_t destination_pitch;   /* bytes between the starts of two lines there */
  anyplace_address source;      /* the first byte that is read */
  uint64_t source_pitch;        /* bytes between the starts of two lines there */
  uint64_t width;               /* bytes of a line */
  uint64_t rows;                /* how many lines there are */
} anyplace_copy_2d;

/* What the vendor can't read out of an image and has to be told about one of its kernels. */
typedef struct anyplace_kernel_metadata {
  uint32_t struct_size;
  int32_t shared_argument; /* index of the argument that is the dynamic shared memory; -1 if none is */
  const char* name;        /* the name of the kernel, as the image has it */
} anyplace_kernel_metadata;

/* An image that module_load is given. */
typedef struct anyplace_module_desc {
  uint32_t struct_size;
  uint32_t format;      /* ANYPLACE_IMAGE_*, detected by the core; always one of the device's image_formats */
  const void* image;    /* the first byte of the image */
  uint64_t image_bytes; /* how many bytes it has; no byte behind them is read */
  const anyplace_kernel_metadata* metadata; /* array of metadata_count, may be null */
  uint32_t metadata_count;                  /* how many elements metadata has */
  uint32_t metadata_stride;                 /* bytes from one element to the next */
  const char* options;                      /* for the vendor's compiler; may be null */
} anyplace_module_desc;

/* One argument of a launch. */
typedef struct anyplace_argument {
  uint32_t kind;     /* ANYPLACE_ARGUMENT_*; ADDRESS: value points at an anyplace_address */
  uint32_t size;     /* of the value */
  const void* value; /* the bytes of the argument, or an anyplace_address */
} anyplace_argument;

/* A launch of a kernel: its sizes and its arguments. */
typedef struct anyplace_launch {
  uint32_t struct_size;
  uint32_t grid[3];         /* within the device's limits and never 0 */
  uint32_t block[3];        /* within the device's limits and never 0 */
  uint32_t argument_count;  /* how many elements arguments has */
  uint32_t argument_stride; /* bytes from one element to the next */
  uint32_t reserved;
  uint64_t shared_bytes;              /* within the device's limit */
  const anyplace_argument* arguments; /* in the order of the kernel's parameters */
} anyplace_launch;

/* One block of a running host kernel. */
typedef struct anyplace_block {
  uint32_t struct_size;
  uint32_t grid[3];      /* blocks of the launch in each direction */
  uint32_t block[3];     /* threads of a block in each direction */
  uint32_t index[3];     /* of this block, each below grid */
  void* shared;          /* shared_bytes of memory of this block's own, aligned to 64, not cleared; null if none */
  uint64_t shared_bytes; /* the bytes of shared */
} anyplace_block;

/* A kernel that is a function of the host. It is called once per block, by any thread; blocks run in any order and at
 * the same time. arguments[i] points at a copy of the i-th value of the launch; sizes[i] is its size. A status other
 * than OK becomes the stream's fault, with the message that the function left on its thread. It must not throw. */
typedef anyplace_status (*anyplace_host_kernel)(void* user, const anyplace_block* block, void* const* arguments,
                                                const uint32_t* sizes, uint32_t argument_count);

/* A host function of a stream. It is called exactly once: with OK in its place in the stream's order, or with another
 * status if it will never run in that place (the device was lost). The calling thread is the backend's own and never
 * inside an entry. The function must not throw. */
typedef void (*anyplace_host_function)(void* user, anyplace_status status);

/* One node of a graph: what it does, and which nodes it comes after. It is an element of an array with a stride.
 * Members that belong to other kinds of nodes are 0. */
typedef struct anyplace_graph_node {
  uint32_t kind;                /* ANYPLACE_GRAPH_NODE_* */
  uint32_t dependency_count;    /* of dependencies */
  const uint32_t* dependencies; /* indices of the nodes that it comes after, each less than its own and given once */

  /* -- KERNEL. The kernel belongs to the graph's device. The core destroys it and unloads its module only after the
   * graph doesn't need it any more: after graph_destroy, or after an update to nodes without it when the earlier
   * launches are done. */
  anyplace_kernel kernel;        /* the kernel that is launched */
  const anyplace_launch* launch; /* its sizes and arguments, valid during the call */
  /* -- COPY. copy->rows is 1 for a copy of one piece. If the two device numbers are equal, both sides are memory of
   * the graph's device or of the host. If they differ, it is a peer copy of one piece, on a backend with PEER_COPY. */
  const anyplace_copy_2d* copy; /* what is copied, valid during the call */
  int32_t destination_device;   /* the number of the device that is written; of either side if the two are equal */
  int32_t source_device;        /* the number of the device that is read */
  /* -- MEMSET. The members have the meaning of memory_set's parameters. */
  anyplace_address address; /* the first byte that is filled */
  uint64_t count;           /* how many elements are filled */
  uint32_t value;           /* the value of each */
  uint32_t width;           /* bytes of an element: 1, 2 or 4 */
  /* -- HOST_FUNCTION. Each launch calls it with OK, in its place, on such a thread as stream_host_function's; if the
   * device is lost it isn't called. It stays callable until graph_destroy, or until after an update the earlier
   * launches are done. */
  anyplace_host_function function; /* the function that is called */
  void* user;                      /* its first argument */
  /* -- EVENT_RECORD, EVENT_WAIT. A record's event belongs to the graph's device, a wait's to any device. Neither is
   * INTERPROCESS: the core launches graphs with such an event node by node. The wait is for the most recent record,
   * complete or not, among the calls of event_record and the launches of graphs with a record of the event that
   * returned before graph_launch was called. If there is none, nothing is waited for. The event lives as long as the
   * graph. */
  anyplace_event event; /* the event that is recorded or waited for */
} anyplace_graph_node;

/* The nodes of a graph, each after those that it comes after. */
typedef struct anyplace_graph_desc {
  uint32_t struct_size;
  uint32_t node_count;  /* at least 1 */
  uint32_t node_stride; /* bytes from one node to the next */
  uint32_t reserved;
  const anyplace_graph_node* nodes; /* array of node_count */
} anyplace_graph_desc;

/* How a backend of another process finds memory or an event. Only the same backend understands the bytes. They are
 * sent unchanged to processes on the same machine that use the same version of the backend. The core adds where they
 * come from, and detects whether they were changed. */
#define ANYPLACE_IPC_BYTES 1024
/* Such a handle, filled by memory_export or event_export. */
typedef struct anyplace_ipc_handle {
  uint32_t struct_size;
  uint32_t byte_count;               /* of bytes */
  uint64_t offset;                   /* for memory: bytes from the start of what is shared to the exported address */
  uint64_t size;                     /* for memory: bytes of what is shared */
  uint8_t bytes[ANYPLACE_IPC_BYTES]; /* what the backend needs to find it */
} anyplace_ipc_handle;

/* ---- What the core offers to a backend ----------------------------------------------------------------------------*/
/* It is valid for the life of the process. Every function may be called from any thread and returns at once. */
typedef struct anyplace_host {
  uint32_t struct_size;
  uint32_t abi_major; /* ANYPLACE_ABI_MAJOR of the core */
  uint32_t abi_minor; /* ANYPLACE_ABI_MINOR of the core */
  uint32_t reserved;
  void* context; /* pass it back as the first argument */

  /* Says why the entry running on this thread is about to fail. vendor_name and text may be null. Both are copied. 0,
   * null and null withdraw the message. With a code or a name the text is the vendor's. Without them it is the
   * backend's own and says what is wrong and, if it can, each on a line of its own, what would be right and where to
   * look. */
  void (*leave_message)(void* context, int64_t vendor_code, const char* vendor_name, const char* text);

  /* Reports an asynchronous fault of the stream that cookie names, when it happens. The core keeps the first fault,
   * shows it in query and hands it out, once, in synchronize. If text is null, the message that was left on this
   * thread is used. The stream goes on with its next command afterwards, unless status is DEVICE_LOST. The fault is
   * reported before the command counts as complete. */
  void (*stream_fault)(void* context, uint64_t cookie, anyplace_status status, int64_t vendor_code,
                       const char* vendor_name, const char* text);

  /* A backend calls these before and after user code that it runs itself (the kernels of a shared object), so that a
   * call back into anyplace is not_permitted there. The core does it for host functions and for kernels of
   * kernel_from_host. The calls nest. */
  void (*user_code_begin)(void* context);
  /* Ends what user_code_begin began, on the same thread. */
  void (*user_code_end)(void* context);

  /* Logs a line for debugging; level is ANYPLACE_LOG_*. The log is off unless the variable ANYPLACE_LOG is set. */
  void (*log)(void* context, uint32_t level, const char* text);

  /* Tells layers that the calling thread, which is the application's, reads or writes memory of a device, now; access
   * is 1, 2 or, if that isn't known, 3. It may be called in the handler of the signal that this access raised, when the
   * process is going to die of it. (optional for a backend, which seldom can notice it.) */
  void (*host_access)(void* context, uint32_t access, anyplace_address address, uint64_t bytes);
} anyplace_host;

/* ---- What a backend offers to the core ----------------------------------------------------------------------------*/
/* The entries of a backend. The rules at the top of this file hold for all of them. */
typedef struct anyplace_backend_table {
  uint32_t struct_size; /* in: bytes of the core's struct; out: bytes that the plugin filled, no more than those */
  uint32_t abi_major;   /* ANYPLACE_ABI_MAJOR and _MINOR of the header that the plugin was built with */
  uint32_t abi_minor;   /* the smaller of the two is what both sides know */
  uint32_t reserved;
  char name[32];         /* the <name> of its file */
  char version[32];      /* of the plugin */
  char description[128]; /* one line for people */
  void* self;            /* passed back as the first argument of every entry; may be null */

  /* -- Life. */
  /* Waits for all submitted work, at most timeout_ns, then frees what it can. TIMEOUT means that work is still
   * running. The core calls it once, while the process exits, and no entry afterwards; it never calls it in a forked
   * child. (optional): the core calls device_synchronize on the devices that were used, and leaks the rest. */
  anyplace_status (*shutdown)(void* self, uint64_t timeout_ns);

  /* -- Devices. device_count, device_properties and device_memory must not make a vendor context. Properties never
   * change. */
  /* A message that is left with OK says what may hide further devices (a variable and its value): the core adds it to
   * errors about devices that aren't there. */
  anyplace_status (*device_count)(void* self, int32_t* count);
  /* Fills in what the device is and can do. */
  anyplace_status (*device_properties)(void* self, int32_t device, anyplace_device_properties* out);
  /* kind is ANYPLACE_NATIVE_*. (optional): native handles are unsupported. The entry may make the vendor's context. */
  anyplace_status (*device_native)(void* self, int32_t device, uint32_t kind, uint64_t* native);
  /* Fills in how much memory the device has and how much of it is free. */
  anyplace_status (*device_memory)(void* self, int32_t device, anyplace_memory_info* out);
  /* Returns when everything submitted to the device before the call is done; TIMEOUT when time ran out first. A backend
   * that can't wait for a limited time answers UNSUPPORTED to a finite timeout, and the core polls its streams. */
  anyplace_status (*device_synchronize)(void* self, int32_t device, uint64_t timeout_ns);
  /* (optional): reset is unsupported. */
  anyplace_status (*device_reset)(void* self, int32_t device);

  /* -- Peer access. (optional, the three together): peer access is unsupported. Enabling twice is OK, and so is
   * disabling access that isn't enabled. A device is no peer of itself. */
  /* Sets *can_access to 1 if work of the device can reach the peer's memory, else to 0. */
  anyplace_status (*peer_query)(void* self, int32_t device, int32_t peer, int32_t* can_access);
  /* Lets work of the device reach the peer's memory. */
  anyplace_status (*peer_enable)(void* self, int32_t device, int32_t peer);
  /* Takes back what peer_enable gave. */
  anyplace_status (*peer_disable)(void* self, int32_t device, int32_t peer);

  /* -- Streams. */
  /* Makes a stream of the device, with the flags and the priority of desc. */
  anyplace_status (*stream_create)(void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out);
  /* Gives the device's null stream. The core calls it once per device; desc carries the stream's cookie. The stream
   * is never destroyed. */
  anyplace_status (*stream_default)(void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out);
  /* Wraps a vendor's stream. Destroying the wrapper leaves the vendor's stream alone. (optional): unsupported. */
  anyplace_status (*stream_from_native)(void* self, int32_t device, uint64_t native, const anyplace_stream_desc* desc,
                                        anyplace_stream* out);
  /* (optional): native handles are unsupported. */
  anyplace_status (*stream_native)(void* self, anyplace_stream stream, uint64_t* native);
  /* Returns at once; work submitted before still completes. */
  anyplace_status (*stream_destroy)(void* self, anyplace_stream stream);
  /* Sets *done to 1 if all submitted work is complete, else to 0. It reports no faults: host->stream_fault does that.
   */
  anyplace_status (*stream_query)(void* self, anyplace_stream stream, int32_t* done);
  /* Waits for one stream, as device_synchronize does for a device. */
  anyplace_status (*stream_synchronize)(void* self, anyplace_stream stream, uint64_t timeout_ns);
  /* Holds back what is submitted to the stream later until the event's most recent record at the time of this call is
   * complete. Never blocks the host. For an event that was never recorded nothing is held back. The event may belong
   * to another device. */
  anyplace_status (*stream_wait_event)(void* self, anyplace_stream stream, anyplace_event event);
  /* (optional): host functions are unsupported, and waits from other backends on this one's work poll. */
  anyplace_status (*stream_host_function)(void* self, anyplace_stream stream, anyplace_host_function function,
                                          void* user);

  /* -- Gates: events that the host opens, for work of another vendor. (optional, the four together): the core holds a
   * waiting stream's submissions back itself. A gate is opened at most once, by any thread, also from inside a host
   * function of any backend. An open gate ends every wait on it, earlier and later ones. An open gate may be
   * destroyed while waits on it are pending; no new wait is submitted then. */
  /* Makes a gate, which is closed, for streams of the device to wait for. */
  anyplace_status (*gate_create)(void* self, int32_t device, anyplace_gate* out);
  /* Opens the gate. Never blocks. */
  anyplace_status (*gate_open)(void* self, anyplace_gate gate);
  /* Destroys the gate, whose handle the core doesn't use any more. */
  anyplace_status (*gate_destroy)(void* self, anyplace_gate gate);
  /* Holds back what is submitted to the stream later until the gate is open. */
  anyplace_status (*stream_wait_gate)(void* self, anyplace_stream stream, anyplace_gate gate);

  /* -- Events. */
  /* Makes an event of the device, with the flags of desc. */
  anyplace_status (*event_create)(void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out);
  /* An event may be destroyed while streams still wait on it. */
  anyplace_status (*event_destroy)(void* self, anyplace_event event);
  /* The stream belongs to the event's device. Recording again replaces the record and doesn't affect waits that were
   * submitted before. */
  anyplace_status (*event_record)(void* self, anyplace_event event, anyplace_stream stream);
  /* Sets *done to 1 if the most recent record is complete or there was none, else to 0. */
  anyplace_status (*event_query)(void* self, anyplace_event event, int32_t* done);
  /* Waits for the event's most recent record, as device_synchronize does for a device. */
  anyplace_status (*event_synchronize)(void* self, anyplace_event event, uint64_t timeout_ns);
  /* Gives the milliseconds from start to end, negative if end came first. Both events were made with TIMING, and
   * their records are complete; for one that was never recorded the entry returns NOT_RECORDED. (optional):
   * unsupported. */
  anyplace_status (*event_elapsed)(void* self, anyplace_event start, anyplace_event end, double* milliseconds);
  /* (optional): native handles are unsupported. */
  anyplace_status (*event_native)(void* self, anyplace_event event, uint64_t* native);

  /* -- Memory. bytes is never 0. */
  /* kind is ANYPLACE_MEMORY_*. Returns UNSUPPORTED for a kind that the device lacks and OUT_OF_MEMORY when there is
   * none. Device memory is aligned to address_alignment. The entry may synchronise. */
  anyplace_status (*memory_allocate)(void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out);
  /* The core calls it when no work uses the memory any more. The entry may synchronise. */
  anyplace_status (*memory_free)(void* self, int32_t device, uint32_t kind, anyplace_address address);
  /* Allocate and free device memory in the stream's order. (optional, the two together): the core frees after an
   * event. Memory made by either allocate may be freed by either free. */
  anyplace_status (*memory_allocate_async)(void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out);
  /* Frees memory of memory_allocate_async in the stream's order: earlier work of the stream may still use it. */
  anyplace_status (*memory_free_async)(void* self, anyplace_stream stream, anyplace_address address);
  /* Pins host memory that the user owns. (optional, the two together): registering is unsupported. */
  anyplace_status (*host_register)(void* self, int32_t device, void* address, uint64_t bytes);
  /* Ends what host_register began for that address. */
  anyplace_status (*host_unregister)(void* self, int32_t device, void* address);

  /* -- Copies and fills, in the stream's order. bytes, count, width and rows are never 0, ranges never overlap. kind
   * is ANYPLACE_COPY_*. Host memory stays valid until the copy is done. If it isn't pinned (memory_allocate,
   * host_register), the call may block, and a source may be read at any time from the call on, before the stream's
   * earlier work is done; a destination is written in the stream's order. A backend whose devices have neither
   * pinned_memory nor host_register reads all host memory in the stream's order. */
  /* Copies bytes. kind says which side is whose. */
  anyplace_status (*memory_copy)(void* self, anyplace_stream stream, anyplace_address destination,
                                 anyplace_address source, uint64_t bytes, uint32_t kind);
  /* (optional): the core copies line by line. */
  anyplace_status (*memory_copy_2d)(void* self, anyplace_stream stream, const anyplace_copy_2d* copy);
  /* Copies between two devices of this backend; the stream belongs to either. (optional): the core goes through host
   * memory. */
  anyplace_status (*memory_copy_peer)(void* self, anyplace_stream stream, int32_t destination_device,
                                      anyplace_address destination, int32_t source_device, anyplace_address source,
                                      uint64_t bytes);
  /* Sets count elements of width 1, 2 or 4 bytes to the low bits of value. address is aligned to width and lies in
   * device or managed memory or, with the capability HOST_COPY, in host memory. */
  anyplace_status (*memory_set)(void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                                uint32_t width, uint64_t count);

  /* -- Kernels. (optional, module_load, module_unload and module_kernel together): modules are unsupported. */
  /* Returns INVALID_IMAGE, with the compiler's log in the message, when the device can't use the image. That includes
   * a truncated image and one whose headers point beyond its bytes: the backend never reads beyond image_bytes, and
   * the process must not crash. */
  anyplace_status (*module_load)(void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out);
  /* A module may be unloaded while its kernels are queued or running. Its kernel handles end with it. */
  anyplace_status (*module_unload)(void* self, anyplace_module module);
  /* Returns NO_SUCH_KERNEL for an unknown name and for a variable's. A name that is asked for again gives the same
   * handle or another one of the same function. */
  anyplace_status (*module_kernel)(void* self, anyplace_module module, const char* name, anyplace_kernel* out);
  /* Makes a kernel of a function of this process. The backend calls release(user) once, on any thread, when the
   * kernel is destroyed and nothing queued needs it any more. (optional, the two together): such kernels are
   * unsupported. */
  anyplace_status (*kernel_from_host)(void* self, int32_t device, anyplace_host_kernel function, void* user,
                                      void (*release)(void* user), anyplace_kernel* out);
  /* Destroys a kernel of kernel_from_host, which may still be queued or running. */
  anyplace_status (*kernel_destroy)(void* self, anyplace_kernel kernel);
  /* (optional): there are no kernels at all. */
  anyplace_status (*kernel_launch)(void* self, anyplace_stream stream, anyplace_kernel kernel,
                                   const anyplace_launch* launch);

  /* -- Virtual memory: device addresses and the memory behind them, made apart. (optional, the seven together): the
   * core has allocations of fixed size only. Sizes and addresses are multiples of the granularity, a power of two.
   * Every other entry takes mapped memory as device memory; no entry may touch addresses that aren't mapped. */
  /* Gives the granularity of sizes and addresses. */
  anyplace_status (*virtual_granularity)(void* self, int32_t device, uint64_t* bytes);
  /* Reserves a range of addresses without memory. Returns OUT_OF_MEMORY when there is none of that size. */
  anyplace_status (*virtual_reserve)(void* self, int32_t device, uint64_t bytes, anyplace_address* out);
  /* Releases the whole range that one virtual_reserve gave. Nothing is mapped in it except what virtual_unmap failed
   * for. */
  anyplace_status (*virtual_release)(void* self, int32_t device, anyplace_address address, uint64_t bytes);
  /* Makes memory of the device without an address. Returns OUT_OF_MEMORY when there is none. */
  anyplace_status (*physical_create)(void* self, int32_t device, uint64_t bytes, anyplace_physical* out);
  /* Releases the memory. Where it is mapped it stays usable and is freed when it is unmapped. */
  anyplace_status (*physical_destroy)(void* self, anyplace_physical physical);
  /* Maps all of the memory at address, inside one reserved range, where nothing is mapped. When the entry returns,
   * its device and the devices that have peer access to that can read and write it. Memory may be mapped at several
   * addresses. */
  anyplace_status (*virtual_map)(void* self, int32_t device, anyplace_address address, anyplace_physical physical);
  /* Unmaps the range of bytes at address, which is one mapping or several adjoining ones, each whole. The core calls
   * it when no work uses the range any more. The entry may synchronise. If it fails, the core doesn't use the
   * addresses again, and destroys the memory and releases the range as if it had succeeded. */
  anyplace_status (*virtual_unmap)(void* self, int32_t device, anyplace_address address, uint64_t bytes);

  /* -- Processes. */
  /* Lists the processes that use the device, each once, in any order; the calling process is among them at least
   * while it has memory of the device. Processes that have ended, or have no number in the caller's PID namespace,
   * are left out. *count is the number of structs that there is room for, which may be 0, and becomes the number of
   * processes. If there are more processes than room, the first ones are written. The structs are stride bytes apart;
   * no more than stride bytes of each are written. (optional): unsupported. */
  anyplace_status (*list_processes)(void* self, int32_t device, anyplace_process* processes, uint32_t stride,
                                    uint32_t* count);

  /* -- More of virtual memory. */
  /* Maps count > 0 memories of the device at once, as virtual_map does: the first at address, each next one right
   * behind. It maps all of them or, if it fails, none; then the core calls virtual_map for each. (optional): the core
   * calls virtual_map for each. */
  anyplace_status (*virtual_map_all)(void* self, int32_t device, anyplace_address address,
                                     const anyplace_physical* physicals, uint64_t count);

  /* -- Clocks. */
  /* Gives the time on the device's clock, in nanoseconds, at which an event's most recent record completed. The event
   * was made with TIMING, and the record is complete; for one that was never recorded the entry returns NOT_RECORDED.
   * (optional, with device_clock): the core measures from an event of its own, with event_elapsed. */
  anyplace_status (*event_timestamp)(void* self, anyplace_event event, uint64_t* nanoseconds);
  /* Reads the device's clock and the host's, as nearly at the same moment as the vendor allows. (optional, with
   * event_timestamp). */
  anyplace_status (*device_clock)(void* self, int32_t device, anyplace_clock* out);

  /* -- More native handles. */
  /* Wraps a vendor's event that was made with the given flags (ANYPLACE_EVENT_*). Destroying the wrapper leaves the
   * vendor's event alone. (optional): unsupported. */
  anyplace_status (*event_from_native)(void* self, int32_t device, uint64_t native, uint32_t flags,
                                       anyplace_event* out);
  /* (optional): unsupported. */
  anyplace_status (*module_native)(void* self, anyplace_module module, uint64_t* native);
  /* Gives the vendor's handle of a module's kernel. (optional): unsupported. */
  anyplace_status (*kernel_native)(void* self, anyplace_kernel kernel, uint64_t* native);

  /* -- More of kernels. */
  /* (optional): only the device's limits are known. */
  anyplace_status (*kernel_attributes)(void* self, anyplace_kernel kernel, anyplace_kernel_attributes* out);
  /* Gives how many blocks of that many threads, with shared_bytes of dynamic shared memory each, a multiprocessor
   * runs at the same time. (optional): unsupported. */
  anyplace_status (*kernel_occupancy)(void* self, anyplace_kernel kernel, uint32_t threads, uint64_t shared_bytes,
                                      uint32_t* blocks);
  /* Finds a variable of the module by its name. Its memory is the module's and lives as long: each load of an image
   * has variables of its own. Returns NO_SUCH_GLOBAL for an unknown name and for a kernel's. (optional): unsupported.
   */
  anyplace_status (*module_global)(void* self, anyplace_module module, const char* name, anyplace_global* out);

  /* -- Graphs. (optional, the four together): the core submits the nodes one by one at each launch. */
  /* Makes a graph that can be launched again and again. The description, with the arrays and values that it points
   * to, is the caller's again when the entry returns. Returns UNSUPPORTED for a graph with a node that the device
   * can't have in one: the core submits that graph's nodes itself. Each device with GRAPHS takes graphs of empty
   * nodes, fills of bytes and copies of one piece within its memory. */
  anyplace_status (*graph_create)(void* self, int32_t device, const anyplace_graph_desc* desc, anyplace_graph* out);
  /* Changes the work of later launches; each node has the kind and the dependencies that it was made with. Launches
   * made before keep their work. If the entry returns UNSUPPORTED, the core makes another graph in its place. If it
   * fails, the graph is unchanged. */
  anyplace_status (*graph_update)(void* self, anyplace_graph graph, const anyplace_graph_desc* desc);
  /* Launches the graph in the stream's order: it begins when the stream's earlier work is done, and later work waits
   * for all of it. The stream belongs to the graph's device. The core submits a launch only behind the graph's
   * earlier ones, in their stream or after an event, so two launches never run at the same time. Faults of the work
   * are the stream's. */
  anyplace_status (*graph_launch)(void* self, anyplace_graph graph, anyplace_stream stream);
  /* The core calls it when no launch is pending or the device is lost. */
  anyplace_status (*graph_destroy)(void* self, anyplace_graph graph);

  /* -- Sharing between processes. The entries return PEER_GONE when the process at the other end has ended. */
  /* Makes a handle by which other processes find the bytes of device memory at address. The memory stays allocated or
   * mapped until memory_export_end. Where the vendor shares whole allocations, all exports of one allocation have the
   * same bytes and size. Memory of the kind SHAREABLE can always be exported; for other memory that the vendor can't
   * share the entry returns UNSUPPORTED. (optional, with memory_import and memory_import_end): sharing memory is
   * unsupported. */
  anyplace_status (*memory_export)(void* self, int32_t device, anyplace_address address, uint64_t bytes,
                                   anyplace_ipc_handle* out);
  /* The core calls it once for each memory_export that succeeded, when the memory is about to be freed. (optional):
   * it isn't called. */
  anyplace_status (*memory_export_end)(void* self, int32_t device, anyplace_address address,
                                       const anyplace_ipc_handle* handle);
  /* Opens memory of this device that another process exported, and gives the address of the first of its size bytes.
   * The core never has the same bytes open twice. The exporting process doesn't free the memory meanwhile, unless it
   * ends. */
  anyplace_status (*memory_import)(void* self, int32_t device, const anyplace_ipc_handle* handle,
                                   anyplace_address* out);
  /* Ends a memory_import. The core calls it when no work of this process uses the memory any more. The entry may
   * synchronise. */
  anyplace_status (*memory_import_end)(void* self, int32_t device, anyplace_address address);
  /* Makes a handle by which other processes find an event that was made with INTERPROCESS. The event lives until they
   * have destroyed theirs or ended. (optional, with event_import): sharing events is unsupported. */
  anyplace_status (*event_export)(void* self, anyplace_event event, anyplace_ipc_handle* out);
  /* Opens another process's event as one of this process. All processes that have it may record it and wait for each
   * other's records. If a process ends before what it recorded is complete, and the vendor can tell, those that wait
   * get PEER_GONE within a second: from event_synchronize and event_query, or as the fault of a stream, which then
   * goes on. event_destroy ends the import. */
  anyplace_status (*event_import)(void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out);

  /* -- Monitoring. */
  /* Measures the device now, whoever uses it. A figure that the vendor can't tell of this device is left out of
   * known; that is no error. Neither is a missing management library: source names it. The entry makes no context and
   * waits for no work. Between two samples counters never fall, and a figure that was known stays known unless a call
   * of the vendor's fails. Returns DEVICE_LOST if the vendor says that the device is gone. (optional): unsupported. */
  anyplace_status (*device_sample)(void* self, int32_t device, anyplace_device_sample* out);
  /* -- End of version 1.0. */
} anyplace_backend_table;

/* The one symbol that a plugin exports. The core calls it once per process, on any thread. It fills the table up to
 * what both sides know and sets struct_size to that. It loads the vendor's library: LIBRARY_MISSING, NO_DRIVER or
 * another status with a message refuses the plugin with that reason. It creates no context and starts no thread that
 * can be started later. host stays valid for the life of the process; table does not. */
typedef anyplace_status (*anyplace_backend_entry_function)(const anyplace_host* host, anyplace_backend_table* table);
/* The symbol itself. */
ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table);

#ifdef __cplusplus
} /* extern "C" */
#endif
