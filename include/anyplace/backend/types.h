/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of the plugin boundary: limits, handles, capabilities, kinds, and the structs that the entries of abi.h
 * take and fill. This is a part of abi.h, whose rules hold here, too, and which includes it; nobody else has to.
 */
#pragma once

#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
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

#ifdef __cplusplus
} /* extern "C" */
#endif
