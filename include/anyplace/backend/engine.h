/* SPDX-License-Identifier: Apache-2.0
 *
 * The boundary of engines: everything that the core and an engine of communicators say to each other, in C.
 *
 * An engine moves data between ranks, which are processes with a device each. It is a shared object named
 * libanyplace_engine_<name>.so that exports one symbol, anyplace_engine_entry. The core finds it where it finds
 * backends, calls the symbol once, and then the functions of the table that it filled. docs/ranks.md says how to write
 * one; tests/ranks/plugins/alone_engine.c is the least that there is.
 *
 * An engine works in one of two ways, which `kind` says:
 * - ANYPLACE_ENGINE_ON_STREAM, as NCCL does: operations are enqueued on the vendor's own stream. The core watches how
 *   long they take and what the engine says of them, and aborts the group where one fails.
 * - ANYPLACE_ENGINE_ON_HOST, as MPI does: operations are started and tested, by the host. The core holds the stream
 *   meanwhile, copies what the engine doesn't reach to host memory and back, and makes progress on a thread of its own.
 *
 * The rules of abi.h for types, versions, ownership, texts and messages hold here, too. What is different:
 * - Threads. The core calls library and part_check at any time from any thread. Of engines on the host it calls the
 *   others under one lock, one at a time; none of these may wait for another rank, but begin, group_create and
 *   group_split, which may: where may_wait_elsewhere says so they are called without the lock, on a thread of the
 *   core's, which is left to itself where it takes longer than the timeout. Of engines on a stream the core calls
 *   entries with a group one at a time.
 * - Time. The core has the limits. No entry has one.
 * - Failure. A group whose entry has failed isn't used again, but for group_abort and group_destroy. Memory that a
 *   started operation names stays valid for ever where the operation doesn't end.
 */
#pragma once

#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ANYPLACE_ENGINE_ABI_MAJOR 1u
#define ANYPLACE_ENGINE_ABI_MINOR 0u
#define ANYPLACE_ENGINE_ENTRY_SYMBOL "anyplace_engine_entry"

/* Made by the engine, meaningful to it alone. Never 0 for a live object. */
typedef uint64_t anyplace_group;     /* the ranks of a communicator */
typedef uint64_t anyplace_operation; /* what was started and isn't done */

enum { ANYPLACE_ENGINE_ON_STREAM = 1, ANYPLACE_ENGINE_ON_HOST = 2 };

/* X(UPPER, lower, number, bytes of an element) */
#define ANYPLACE_DTYPE_LIST(X) \
  X(F16, f16, 0, 2)            \
  X(BF16, bf16, 1, 2)          \
  X(F32, f32, 2, 4)            \
  X(F64, f64, 3, 8)            \
  X(C64, c64, 4, 8)            \
  X(C128, c128, 5, 16)         \
  X(I8, i8, 6, 1)              \
  X(I16, i16, 7, 2)            \
  X(I32, i32, 8, 4)            \
  X(I64, i64, 9, 8)            \
  X(U8, u8, 10, 1)             \
  X(U16, u16, 11, 2)           \
  X(U32, u32, 12, 4)           \
  X(U64, u64, 13, 8)           \
  X(BOOLEAN, boolean, 14, 1)

/* X(UPPER, lower, number) */
#define ANYPLACE_REDUCTION_LIST(X) X(SUM, sum, 0) X(PROD, prod, 1) X(MIN, min, 2) X(MAX, max, 3) X(AVG, avg, 4)

/* X(UPPER, lower, number). What each does is said at Communicator's members (communicator.h). */
#define ANYPLACE_COLLECTIVE_LIST(X)    \
  X(ALL_REDUCE, all_reduce, 0)         \
  X(REDUCE, reduce, 1)                 \
  X(BROADCAST, broadcast, 2)           \
  X(ALL_GATHER, all_gather, 3)         \
  X(REDUCE_SCATTER, reduce_scatter, 4) \
  X(ALL_TO_ALL, all_to_all, 5)         \
  X(SEND, send, 6)                     \
  X(RECV, recv, 7)                     \
  X(BARRIER, barrier, 8)

enum {
#define ANYPLACE_DTYPE_ENUM(upper, lower, number, bytes) ANYPLACE_DTYPE_##upper = (number),
  ANYPLACE_DTYPE_LIST(ANYPLACE_DTYPE_ENUM)
#undef ANYPLACE_DTYPE_ENUM
      ANYPLACE_DTYPE_COUNT
};
enum {
#define ANYPLACE_REDUCTION_ENUM(upper, lower, number) ANYPLACE_REDUCTION_##upper = (number),
  ANYPLACE_REDUCTION_LIST(ANYPLACE_REDUCTION_ENUM)
#undef ANYPLACE_REDUCTION_ENUM
};
enum {
#define ANYPLACE_COLLECTIVE_ENUM(upper, lower, number) ANYPLACE_COLLECTIVE_##upper = (number),
  ANYPLACE_COLLECTIVE_LIST(ANYPLACE_COLLECTIVE_ENUM)
#undef ANYPLACE_COLLECTIVE_ENUM
};

/* One operation of a rank. The core has checked it: the type has the reduction, the root is a rank, the count is more
 * than 0 but for a barrier, source and destination are the same or apart. An element of an array with a stride. */
typedef struct anyplace_engine_part {
  uint32_t collective; /* ANYPLACE_COLLECTIVE_* */
  uint32_t type;       /* ANYPLACE_DTYPE_* */
  uint32_t reduction;  /* ANYPLACE_REDUCTION_*, of what reduces */
  int32_t root;        /* or the peer of a send and a recv */
  uint64_t count;      /* elements, as Communicator's members count them */
  /* Of a broadcast both are the same; one that the rank doesn't use may be 0. Of a barrier both are
   * ANYPLACE_ENGINE_SCRATCH_BYTES of the device's memory, for an engine on a stream; 0 on the host. */
  anyplace_address destination;
  anyplace_address source;
} anyplace_engine_part;
#define ANYPLACE_ENGINE_SCRATCH_BYTES 256

/* The library that the engine opens, filled by the engine. The texts live as long as the process. */
typedef struct anyplace_engine_library {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path;    /* of its file */
  const char* version; /* as it tells it */
} anyplace_engine_library;

/* What rank 0 makes and all ranks get, so that they find each other: bytes that mean something to the engine alone. */
#define ANYPLACE_ENGINE_ID_BYTES 1024
typedef struct anyplace_engine_id {
  uint32_t struct_size;
  uint32_t byte_count; /* of bytes */
  uint8_t bytes[ANYPLACE_ENGINE_ID_BYTES];
} anyplace_engine_id;

/* A device, as an engine that works with its vendor knows it. */
typedef struct anyplace_engine_device {
  uint32_t struct_size;
  int32_t index;           /* as its backend counts */
  uint64_t native_context; /* ANYPLACE_NATIVE_CONTEXT of the backend's device_native; 0 where it has none */
  const char* backend;     /* its name; lives as long as the process */
} anyplace_engine_device;

typedef struct anyplace_engine_group_desc {
  uint32_t struct_size;
  int32_t rank; /* -1, and size -1: as the engine's world has them */
  int32_t size;
  uint32_t reserved;
  const anyplace_engine_device* device;
  const anyplace_engine_id* id; /* null for an engine with a world */
} anyplace_engine_group_desc;

/* What anyplace_engine_group.flags is made of. DEVICE_MEMORY: operations on the host take addresses of the device's
 * memory as they are; else the core copies through memory of the host. */
enum { ANYPLACE_ENGINE_DEVICE_MEMORY = 1u };

/* A group that was made, filled by the engine. */
typedef struct anyplace_engine_group {
  uint32_t struct_size;
  uint32_t flags; /* of engines on the host: ANYPLACE_ENGINE_DEVICE_MEMORY */
  int32_t rank;
  int32_t size;
  anyplace_group group; /* 0 where a split left this rank out */
  /* Of engines on the host: an all_reduce of at most so many bytes, of memory that isn't copied, is over a few tests
   * after its start where the ranks are in step, so the call that submits it tests for a while before it becomes work
   * of the stream. 0: never. */
  uint64_t at_once_bytes;
} anyplace_engine_group;

/* All ranks that a launcher has started, filled by the engine. */
typedef struct anyplace_engine_world {
  uint32_t struct_size;
  uint32_t begun_here; /* 1: the engine has started its library itself, and finish ends it */
  anyplace_engine_group group;
} anyplace_engine_world;

/* What operation_test says. STARTING: it has more to start, which comes before what later operations of the group
 * start; they aren't started before it is RUNNING or DONE. */
enum { ANYPLACE_OPERATION_DONE = 1, ANYPLACE_OPERATION_RUNNING = 2, ANYPLACE_OPERATION_STARTING = 3 };

/* ---- What the core offers to an engine. Valid for the life of the process; may be called from any thread. ---------*/
typedef struct anyplace_engine_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* As anyplace_host's. With a code or a name the text is the vendor's, and the core says which engine has failed. */
  void (*leave_message)(void* context, int64_t vendor_code, const char* vendor_name, const char* text);
  void (*log)(void* context, uint32_t level, const char* text);
  /* The program itself ends what the engine works with (MPI_Finalize): what is pending ends with SHUT_DOWN and this
   * text, as does what is called later. When it returns the engine isn't called any more, but by threads that are
   * inside of it for long: those entries fail. Not called under a lock that entries take. */
  void (*ended)(void* context, const char* text);
} anyplace_engine_host;

/* ---- What an engine offers to the core ----------------------------------------------------------------------------*/
typedef struct anyplace_engine_table {
  uint32_t struct_size; /* in: bytes the core has; out: bytes the engine filled, no more than that */
  uint32_t abi_major;   /* ANYPLACE_ENGINE_ABI_MAJOR and _MINOR of the header that the engine was built with */
  uint32_t abi_minor;
  uint32_t kind;         /* ANYPLACE_ENGINE_ON_* */
  char name[32];         /* the <name> of its file */
  char title[32];        /* what texts call what it works with: "MPI" */
  char version[32];      /* of the plugin */
  char description[128]; /* one line for people */
  char library_file[64]; /* the file that library() looks for; "" for none */
  /* The backends that it is chosen for, with a blank between two. One that is "*" stands for all that no other engine
   * names. An engine without a "*" refuses all others. */
  char backends[128];
  /* Variables of the environment, with a blank between two: each says that the launcher of the engine's world has
   * started this process. "" for an engine without a world. */
  char launcher_variables[128];
  void* self; /* passed back as the first argument of every entry; may be null */

  /* Opens the vendor's library, unless it is open, and starts nothing of it. LIBRARY_MISSING with a message that says
   * why not, and which package has it. It is called before all others, which are called only once it has succeeded. */
  anyplace_status (*library)(void* self, anyplace_engine_library* out);

  /* -- The world: of an engine on the host whose launcher counts its ranks. (optional, the three together): ranks are
   * those of the other bootstraps, and identify is there. */
  /* Starts the vendor's library, unless the program has, and makes a group of all ranks. Waits for them. It is called
   * again after it has failed, and has the signal mask of the thread that makes the communicator. */
  anyplace_status (*begin)(void* self, anyplace_engine_world* out);
  /* Ends the vendor's library at the process's exit, when all ranks have come to theirs. */
  anyplace_status (*finish)(void* self);
  /* Ends the processes of all ranks, this one too, with that status, since they would wait for this one for ever. */
  anyplace_status (*end_all)(void* self, int32_t exit_status);
  /* *yes = 1: begin, group_create and group_split may be called while other entries are, on any thread. 0: they are
   * called under the lock of the others and on the thread that makes the communicator, where nothing limits their time.
   * It may change with begin. (optional): 1. */
  anyplace_status (*may_wait_elsewhere)(void* self, int32_t* yes);

  /* -- Groups. */
  /* What rank 0 hands to all, for one group. (optional for an engine with a world, which has no use for it). */
  anyplace_status (*identify)(void* self, const anyplace_engine_device* device, anyplace_engine_id* out);
  /* Makes a group of all ranks, each of which calls it. Waits for them. INVALID_ARGUMENT if the world has another rank
   * or size. Of a world all ranks have passed a barrier before, and may only be ending now. */
  anyplace_status (*group_create)(void* self, const anyplace_engine_group_desc* desc, anyplace_engine_group* out);
  /* Makes groups of those ranks that give the same color, in the order of key, then of the old rank. A negative color:
   * of none. Waits for the ranks, which have passed a barrier of the group where the engine works on the host. */
  anyplace_status (*group_split)(void* self, anyplace_group group, int32_t color, int32_t key,
                                 anyplace_engine_group* out);
  /* Ends a group without pending operations that hasn't failed. On a stream it may wait for those. */
  anyplace_status (*group_destroy)(void* self, anyplace_group group);
  /* UNSUPPORTED, with a message that says what takes it instead, for an operation that the engine lacks. Returns at
   * once. (optional): it lacks none. */
  anyplace_status (*part_check)(void* self, const anyplace_engine_part* part);

  /* -- Operations on the host: of ANYPLACE_ENGINE_ON_HOST alone. */
  /* Starts parts, at least one, as one. Ranks start the operations of a group in the same order. */
  anyplace_status (*operation_start)(void* self, anyplace_group group, const anyplace_engine_part* parts,
                                     uint32_t count, uint32_t stride, anyplace_operation* out);
  /* Looks once whether it is done, and starts what comes next; *state is ANYPLACE_OPERATION_*. Frees one that is done.
   * One that never gets done is left to itself. */
  anyplace_status (*operation_test)(void* self, anyplace_operation operation, uint32_t* state);

  /* -- Operations on a stream: of ANYPLACE_ENGINE_ON_STREAM alone. */
  /* Submits parts, at least one, as one, to the vendor's stream (stream_native), and returns. */
  anyplace_status (*group_enqueue)(void* self, anyplace_group group, uint64_t native_stream,
                                   const anyplace_engine_part* parts, uint32_t count, uint32_t stride);
  /* OK while the engine knows of nothing wrong with what is pending; PEER_GONE if a rank has ended; INVALID_ARGUMENT if
   * ranks call different operations. Returns at once. */
  anyplace_status (*group_error)(void* self, anyplace_group group);
  /* Ends the group and what is pending of it, whose streams go on. Never waits for other ranks. */
  anyplace_status (*group_abort)(void* self, anyplace_group group);
  /* -- End of version 1.0. */
} anyplace_engine_table;

/* X(entry, which engines have it): EVERY; WORLD, which have all of these or none; ID, which have no world; ANY, none
 * has to; HOST and STREAM, by kind. In the table's order. */
#define ANYPLACE_ENGINE_ENTRY_LIST(X) \
  X(library, EVERY)                   \
  X(begin, WORLD)                     \
  X(finish, WORLD)                    \
  X(end_all, WORLD)                   \
  X(may_wait_elsewhere, ANY)          \
  X(identify, ID)                     \
  X(group_create, EVERY)              \
  X(group_split, EVERY)               \
  X(group_destroy, EVERY)             \
  X(part_check, ANY)                  \
  X(operation_start, HOST)            \
  X(operation_test, HOST)             \
  X(group_enqueue, STREAM)            \
  X(group_error, STREAM)              \
  X(group_abort, STREAM)

/* The one symbol that an engine's plugin exports. Called once per process, by any thread. It fills the table up to what
 * both sides know and sets struct_size to that. It opens no library of the vendor's, which library() does. A status
 * other than OK, with a message, refuses the plugin with that reason. host stays valid for the life of the process;
 * table does not. */
typedef anyplace_status (*anyplace_engine_entry_function)(const anyplace_engine_host* host,
                                                          anyplace_engine_table* table);
ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_engine_entry(const anyplace_engine_host* host,
                                                             anyplace_engine_table* table);

#ifdef __cplusplus
} /* extern "C" */
#endif
