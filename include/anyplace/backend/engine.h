/* SPDX-License-Identifier: Apache-2.0
 *
 * The boundary of engines: everything that the core and an engine of communicators say to each other, in C.
 *
 * An engine moves data between ranks, which are processes with a device each. It is a shared object named
 * libanyplace_engine_<name>.so that exports one symbol, anyplace_engine_entry. The core finds it where it finds
 * backends, calls the symbol once, and then the functions of the table that it filled. docs/ranks.md says how to write
 * one; tests/ranks/plugins/alone_engine.c is the smallest one.
 *
 * An engine works in one of two ways, which `kind` says:
 * - ANYPLACE_ENGINE_ON_STREAM, as NCCL does: operations are enqueued on the vendor's own stream. The core watches how
 *   long they take and what the engine says of them, and aborts the group where one fails.
 * - ANYPLACE_ENGINE_ON_HOST, as MPI does: operations are started and tested, by the host. The core holds the stream
 *   meanwhile, copies what the engine doesn't reach to host memory and back, and makes progress on a thread of its own.
 *
 * The rules of abi.h for types, versions, ownership, texts and messages hold here, too. What is different:
 * - Threads. The core calls library, may_wait_elsewhere, identify and part_check at any time, from any thread. It calls
 *   the other entries of engines on the host under one lock, so one at a time, and they must not wait for another rank.
 *   begin, group_create and group_split are the exceptions, because they have to wait: where may_wait_elsewhere allows
 *   it, the core calls them without the lock, on a thread of its own. If such a call takes longer than the timeout, the
 *   core waits for it no longer and leaves the thread running. At exit the core calls finish without the lock, when
 *   nothing is pending, and end_all, too, if another thread keeps the lock for longer than a second. Entries of engines
 *   on a stream that take a group are called one at a time for each group.
 * - Time. The core limits how long it waits; no entry is given a limit.
 * - Failure. When an operation that the application called has failed (operation_start, operation_test, group_error),
 *   its group isn't used again, except by group_abort and group_destroy. After a failed group_enqueue or group_split
 * the group may be used again. Memory that a started operation names stays valid for ever if the operation never ends.
 */
#pragma once

#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this boundary. A plugin of another major is refused. */
#define ANYPLACE_ENGINE_ABI_MAJOR 1u
/* Grows with each entry or field that is added at the end. */
#define ANYPLACE_ENGINE_ABI_MINOR 0u
/* The name of an engine's one exported symbol. */
#define ANYPLACE_ENGINE_ENTRY_SYMBOL "anyplace_engine_entry"

/* The engine makes these numbers, and only the engine knows what they mean. The number of a live object is never 0. */
typedef uint64_t anyplace_group;     /* the ranks of a communicator */
typedef uint64_t anyplace_operation; /* an operation that was started and isn't done */

enum {
  ANYPLACE_ENGINE_ON_STREAM = 1, /* operations are enqueued on the vendor's own stream */
  ANYPLACE_ENGINE_ON_HOST = 2    /* operations are started and tested by the host */
};

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

/* X(UPPER, lower, number). Communicator's members (communicator.h) say what each collective does. */
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
      ANYPLACE_DTYPE_COUNT /* how many types there are */
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
 * than 0 except for a barrier, and source and destination don't overlap unless the operation is in place
 * (communicator.h). Entries get an array of parts and the stride between two of them. */
typedef struct anyplace_engine_part {
  uint32_t collective; /* ANYPLACE_COLLECTIVE_* */
  uint32_t type;       /* ANYPLACE_DTYPE_* */
  uint32_t reduction;  /* ANYPLACE_REDUCTION_*; means something only if the collective reduces */
  int32_t root;        /* a send and a recv have their peer here */
  uint64_t count;      /* elements, as Communicator's members count them */
  /* A broadcast has the same address in both. An address that the rank doesn't use may be 0. For a barrier an engine on
   * a stream gets in both the address of ANYPLACE_ENGINE_SCRATCH_BYTES of the device's memory, which it may write to;
   * on the host both are 0. */
  anyplace_address destination;
  anyplace_address source; /* where the rank's own elements are */
} anyplace_engine_part;
/* Bytes of the device's memory that an engine on a stream may write to for a barrier. */
#define ANYPLACE_ENGINE_SCRATCH_BYTES 256

/* The library that the engine opens, filled by the engine. The texts live as long as the process. */
typedef struct anyplace_engine_library {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path;    /* where its file is */
  const char* version; /* the version that the library tells */
} anyplace_engine_library;

/* Rank 0 makes an id (identify), and the core hands it to all ranks, so that they find each other. Only the engine
 * knows what the bytes mean. */
#define ANYPLACE_ENGINE_ID_BYTES 1024
/* Such an id. */
typedef struct anyplace_engine_id {
  uint32_t struct_size;
  uint32_t byte_count;                     /* how many of the bytes are used */
  uint8_t bytes[ANYPLACE_ENGINE_ID_BYTES]; /* what the engine needs to find the ranks */
} anyplace_engine_id;

/* A device, described so that an engine can find it through the vendor's library. */
typedef struct anyplace_engine_device {
  uint32_t struct_size;
  int32_t index;           /* the number that its backend gives it */
  uint64_t native_context; /* ANYPLACE_NATIVE_CONTEXT of the backend's device_native; 0 where it has none */
  const char* backend;     /* the name of the backend; it lives as long as the process */
} anyplace_engine_device;

/* The group that group_create makes, and this rank's part in it. */
typedef struct anyplace_engine_group_desc {
  uint32_t struct_size;
  int32_t rank; /* rank and size are both -1 if the engine's world decides them */
  int32_t size; /* how many ranks there are */
  uint32_t reserved;
  const anyplace_engine_device* device; /* the device of this rank, valid during the call */
  const anyplace_engine_id* id;         /* null for an engine with a world */
} anyplace_engine_group_desc;

/* The bits of anyplace_engine_group.flags. With ANYPLACE_ENGINE_DEVICE_MEMORY an engine on the host takes addresses of
 * the device's memory. Without it the core copies such memory to the host's memory before an operation and back
 * afterwards. */
enum {
  ANYPLACE_ENGINE_DEVICE_MEMORY = 1u /* it takes addresses of the device's memory */
};

/* A group that was made, filled by the engine. */
typedef struct anyplace_engine_group {
  uint32_t struct_size;
  uint32_t flags;       /* only engines on the host set ANYPLACE_ENGINE_DEVICE_MEMORY */
  int32_t rank;         /* the number of this rank, from 0 */
  int32_t size;         /* how many ranks there are */
  anyplace_group group; /* 0 if a split left this rank out */
  /* For engines on the host. An all_reduce of at most this many bytes usually ends within a few tests if the ranks
   * start it at about the same time. So the call that submits it tests it for a while before it makes it work of the
   * stream, which costs more. This is done only with ANYPLACE_ENGINE_DEVICE_MEMORY, and never if the number is 0. */
  uint64_t at_once_bytes;
} anyplace_engine_group;

/* All ranks that a launcher has started, filled by the engine. */
typedef struct anyplace_engine_world {
  uint32_t struct_size;
  uint32_t begun_here;         /* 1 if the engine itself has started its library, which finish then ends */
  anyplace_engine_group group; /* all ranks of the world, which the engine keeps */
} anyplace_engine_world;

/* The states that operation_test gives. STARTING means that the engine has more to start for this operation. Every rank
 * has to start that before a later operation of the group, so the core starts no later one until this one is RUNNING or
 * DONE. */
enum {
  ANYPLACE_OPERATION_DONE = 1,    /* it is over, and the memory is the core's again */
  ANYPLACE_OPERATION_RUNNING = 2, /* all of it is started */
  ANYPLACE_OPERATION_STARTING = 3 /* there is more to start */
};

/* ---- What the core offers to an engine. Valid for the life of the process; may be called from any thread. ---------*/
/* What the core offers to an engine. */
typedef struct anyplace_engine_host {
  uint32_t struct_size;
  uint32_t abi_major; /* ANYPLACE_ENGINE_ABI_MAJOR of the core */
  uint32_t abi_minor; /* ANYPLACE_ENGINE_ABI_MINOR of the core */
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* leave_message and log do what those of anyplace_host do. If vendor_code isn't 0 or vendor_name isn't empty, the
   * text counts as the vendor's, and the core's Error says which engine has failed. */
  void (*leave_message)(void* context, int64_t vendor_code, const char* vendor_name, const char* text);
  /* Logs a line for debugging; level is ANYPLACE_LOG_*. */
  void (*log)(void* context, uint32_t level, const char* text);
  /* The engine calls it when the program itself ends what the engine works with (MPI_Finalize). Operations that are
   * pending, and calls that are made later, then end with SHUT_DOWN and this text. It waits up to a second for a thread
   * that is inside an entry. After it has returned the core doesn't call the engine any more, except from a thread that
   * stays inside for longer, whose entries then fail. It must not be called under a lock that entries take. */
  void (*ended)(void* context, const char* text);
} anyplace_engine_host;

/* ---- What an engine offers to the core ----------------------------------------------------------------------------*/
/* What an engine offers to the core. */
typedef struct anyplace_engine_table {
  uint32_t struct_size;  /* in: bytes the core has; out: bytes the engine filled, no more than that */
  uint32_t abi_major;    /* ANYPLACE_ENGINE_ABI_MAJOR and _MINOR of the header that the engine was built with */
  uint32_t abi_minor;    /* the minor version of that header */
  uint32_t kind;         /* ANYPLACE_ENGINE_ON_* */
  char name[32];         /* the <name> of its file */
  char title[32];        /* the name, in texts for people, of what it works with: "MPI" */
  char version[32];      /* of the plugin */
  char description[128]; /* one line for people */
  char library_file[64]; /* the file that library() looks for; "" for none */
  /* The names of the backends that it is chosen for, with a blank between two. The name "*" stands for every backend
   * that no other engine names. An engine without a "*" is refused for a backend that it doesn't name, even if the
   * application asks for the engine. */
  char backends[128];
  /* Variables of the environment, with a blank between two: each says that the launcher of the engine's world has
   * started this process. "" for an engine without a world. */
  char launcher_variables[128];
  void* self; /* passed back as the first argument of every entry; may be null */

  /* Opens the vendor's library, unless it is open, but starts nothing of it. Returns LIBRARY_MISSING with a message
   * that says why it can't be opened, and which package has it. The core calls it before all other entries, and calls
   * those only once it has succeeded. */
  anyplace_status (*library)(void* self, anyplace_engine_library* out);

  /* -- The world. An engine on the host has one if its launcher counts its ranks. (optional: begin, finish and end_all
   * are there together or not at all): without a world the ranks are those of the other bootstraps, and the engine has
   * to have identify. */
  /* Starts the vendor's library, unless the program has done so, and makes a group of all ranks. Waits for them. The
   * core may call it again after it has failed. It runs with the signal mask of the thread that makes the communicator,
   * which the threads that it starts inherit. */
  anyplace_status (*begin)(void* self, anyplace_engine_world* out);
  /* Ends the vendor's library at the process's exit, when all ranks have come to theirs. */
  anyplace_status (*finish)(void* self);
  /* Ends the processes of all ranks, this one too, with that status, since they would wait for this one for ever. */
  anyplace_status (*end_all)(void* self, int32_t exit_status);
  /* Sets *yes to 1 if begin, group_create and group_split may be called on any thread while other entries are. With 0
   * the core calls them on the thread that makes the communicator, group_create and group_split under the lock of the
   * other entries, and nothing limits their time. begin may change the answer. (optional): without it, it is 1. */
  anyplace_status (*may_wait_elsewhere)(void* self, int32_t* yes);

  /* -- Groups. */
  /* Makes the id of one group. It is called at rank 0, and the core hands the id to all ranks. (optional for an engine
   * with a world, where it isn't called). */
  anyplace_status (*identify)(void* self, const anyplace_engine_device* device, anyplace_engine_id* out);
  /* Makes a group of all ranks, each of which calls it. Waits for them. Returns INVALID_ARGUMENT if the world has
   * another rank or size. If the engine has a world, all ranks have passed a barrier of it before, so a rank can be
   * missing only if it ends during the call. */
  anyplace_status (*group_create)(void* self, const anyplace_engine_group_desc* desc, anyplace_engine_group* out);
  /* Makes groups of those ranks that give the same color, in the order of key, then of the old rank. A rank with a
   * negative color is in none of them, and its out->group stays 0. Waits for the ranks. If the engine works on the
   * host, they have passed a barrier of the group before. */
  anyplace_status (*group_split)(void* self, anyplace_group group, int32_t color, int32_t key,
                                 anyplace_engine_group* out);
  /* Ends a group that hasn't failed and whose operations are done. The entry of an engine on a stream may wait for what
   * the engine still does. */
  anyplace_status (*group_destroy)(void* self, anyplace_group group);
  /* Returns UNSUPPORTED for an operation that the engine lacks, with a message that says what to use instead. Returns
   * at once. (optional): without it the engine lacks none. */
  anyplace_status (*part_check)(void* self, const anyplace_engine_part* part);

  /* -- Operations on the host. Only engines of kind ANYPLACE_ENGINE_ON_HOST have these. */
  /* Starts parts, at least one, as one operation. All ranks start the operations of a group in the same order. */
  anyplace_status (*operation_start)(void* self, anyplace_group group, const anyplace_engine_part* parts,
                                     uint32_t count, uint32_t stride, anyplace_operation* out);
  /* Tests once whether the operation is done, and starts what comes next of it. Sets *state to ANYPLACE_OPERATION_*. It
   * frees an operation that is DONE. An operation that never ends is never freed; the core no longer tests it. */
  anyplace_status (*operation_test)(void* self, anyplace_operation operation, uint32_t* state);

  /* -- Operations on a stream. Only engines of kind ANYPLACE_ENGINE_ON_STREAM have these. */
  /* Submits parts, at least one, to the vendor's stream (stream_native) as one operation, and returns. */
  anyplace_status (*group_enqueue)(void* self, anyplace_group group, uint64_t native_stream,
                                   const anyplace_engine_part* parts, uint32_t count, uint32_t stride);
  /* Returns OK while the engine knows of nothing wrong with what is pending, PEER_GONE if a rank has ended, and
   * INVALID_ARGUMENT if the ranks call different operations. Returns at once. */
  anyplace_status (*group_error)(void* self, anyplace_group group);
  /* Ends the group and its pending operations, so that their streams go on. Never waits for other ranks. */
  anyplace_status (*group_abort)(void* self, anyplace_group group);
  /* -- End of version 1.0. */
} anyplace_engine_table;

/* X(entry, which engines have it), in the table's order. Every engine has to have an EVERY. Only engines on the host
 * may have a WORLD, and one that has one has to have all of them. An engine without a world has to have an ID. No
 * engine has to have an ANY. Engines on the host have to have a HOST, and engines on a stream a STREAM. */
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
/* The symbol itself. */
ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_engine_entry(const anyplace_engine_host* host,
                                                             anyplace_engine_table* table);

#ifdef __cplusplus
} /* extern "C" */
#endif
