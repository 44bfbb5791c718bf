/* SPDX-License-Identifier: Apache-2.0
 *
 * The boundary of layers: everything that the core and a layer say to each other, in C.
 *
 * A layer stands between the core and a backend: it fills a table of functions of the backend's shape, each of which
 * may call the table below. It is a shared object named libanyplace_layer_<name>.so that exports one symbol,
 * anyplace_layer_entry. The core finds it where it finds backends, calls the symbol once, and then `begin` once for
 * each backend that the layer is put over. docs/layers.md says how layers are chosen and in which order they stand;
 * kit/layer.h makes the table of a C++ class.
 *
 * The rules of abi.h for types, versions, ownership, threads, texts and messages hold here, too. What is different:
 * - Contract. To the core a layer is the backend: its entries keep the promises of abi.h. To the table below it is the
 *   core: it calls no entry with a handle after the call that destroys it, and so on.
 * - Self. An entry is called with the `self` of the table that it is in. So a layer calls the table below with
 *   next->self.
 * - Handles. They pass unchanged, whatever layers there are.
 * - Time. A layer is put over a backend before the backend's devices are first asked for their properties, and stays
 *   for the life of the process. device_count was called before.
 */
#pragma once

#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this boundary. A plugin of another major is refused. */
#define ANYPLACE_LAYER_ABI_MAJOR 1u
/* Grows with each entry or field that is added at the end. */
#define ANYPLACE_LAYER_ABI_MINOR 0u
/* The name of a layer's one exported symbol. */
#define ANYPLACE_LAYER_ENTRY_SYMBOL "anyplace_layer_entry"

/* The functions that the core offers to a layer's own entries. Those of a backend's table get the backend's
 * anyplace_host in `begin`. Valid for the life of the process. */
typedef struct anyplace_layer_host {
  uint32_t struct_size;
  uint32_t abi_major; /* ANYPLACE_LAYER_ABI_MAJOR of the core */
  uint32_t abi_minor; /* ANYPLACE_LAYER_ABI_MINOR of the core */
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* Says why the entry running on this thread is about to fail, as anyplace_host's function of the same name. */
  void (*leave_message)(void* context, int64_t vendor_code, const char* vendor_name, const char* text);
  /* Logs a line for debugging; level is ANYPLACE_LOG_*. */
  void (*log)(void* context, uint32_t level, const char* text);
} anyplace_layer_host;

/* Where the answer to a command goes. */
typedef struct anyplace_layer_reply {
  uint32_t struct_size;
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* Called any number of times, with pieces of the answer. */
  void (*text)(void* context, const char* text, uint64_t count);
} anyplace_layer_reply;

/* What a program annotates (anyplace/annotate.h), as a layer hears it. */
#define ANYPLACE_ANNOTATION_RANGE_PUSHED 0u
#define ANYPLACE_ANNOTATION_RANGE_POPPED 1u  /* a thread ended its innermost range of that domain */
#define ANYPLACE_ANNOTATION_RANGE_STARTED 2u /* a range began that may end on another thread */
#define ANYPLACE_ANNOTATION_RANGE_ENDED 3u   /* such a range ended */
#define ANYPLACE_ANNOTATION_MARK 4u          /* a point was marked, by a thread or by a stream's work */
#define ANYPLACE_ANNOTATION_THREAD_NAMED 5u  /* a thread got a name */
#define ANYPLACE_ANNOTATION_KINDS 6u         /* how many kinds there are */

/* The values of payload_kind: there is no number. */
#define ANYPLACE_ANNOTATION_NO_PAYLOAD 0u
#define ANYPLACE_ANNOTATION_I64 1u /* payload is a signed number */
#define ANYPLACE_ANNOTATION_U64 2u /* payload is an unsigned number */
#define ANYPLACE_ANNOTATION_F64 3u /* payload is a double */

/* One annotation. Its texts and numbers are the program's own. */
typedef struct anyplace_annotation {
  uint32_t struct_size;
  uint32_t kind;    /* ANYPLACE_ANNOTATION_RANGE_PUSHED, ... */
  const char* name; /* name_bytes of text without a NUL behind them, for the time of the call; "" where a range ends */
  uint64_t name_bytes;   /* how many bytes name has */
  const char* domain;    /* "" for the default one. Both end in a NUL, and are valid for the life of the process */
  const char* category;  /* "" for none */
  uint64_t range;        /* of a range that is started or ended: its id; else 0 */
  uint64_t stream;       /* of a mark that a stream has reached: the stream's id; else 0 */
  uint64_t payload;      /* the bits of the number */
  uint32_t payload_kind; /* ANYPLACE_ANNOTATION_NO_PAYLOAD, ... */
  uint32_t has_color;    /* 1 if color is set */
  uint32_t color;        /* 0xAARRGGBB */
  int32_t depth;         /* of a range that is pushed or popped: its depth in its thread and domain, from 0 */
} anyplace_annotation;

/* The values of `access`: what is done to memory. */
enum {
  ANYPLACE_ACCESS_UNDECLARED = 0, /* nobody said; it may be both */
  ANYPLACE_ACCESS_READ = 1,       /* it is only read */
  ANYPLACE_ACCESS_WRITE = 2,      /* it is only written */
  ANYPLACE_ACCESS_READ_WRITE = 3  /* it is read and written */
};

/* Memory that the application gets or gives back. Streams are named by the cookies of their anyplace_stream_desc. */
typedef struct anyplace_layer_memory {
  uint32_t struct_size;
  uint32_t kind;            /* ANYPLACE_MEMORY_DEVICE, _PINNED or _MANAGED */
  anyplace_address address; /* where the memory begins */
  uint64_t bytes;           /* how many bytes it has */
  uint64_t stream;          /* in whose order the memory is had and given back; 0 for pinned memory */
  uint32_t user_count;      /* how many elements users has */
  uint32_t is_kept;         /* 1 when it is given back while a graph keeps it: it will be given back again, with 0 */
  const uint64_t* users;    /* the other streams that were named as using it (record_stream), when it is given back */
} anyplace_layer_memory;

/* What an operation does to a range of memory. */
typedef struct anyplace_layer_access {
  uint32_t access; /* ANYPLACE_ACCESS_READ, ... */
  uint32_t reserved;
  anyplace_address address; /* where the range begins */
  uint64_t bytes;           /* how many bytes it has */
} anyplace_layer_access;

/* An operation of a communicator that orders its ranks: what comes before it in the stream of a rank that gives comes
 * before what comes behind it in the stream of a rank that takes. */
typedef struct anyplace_layer_meeting {
  uint64_t id;    /* the same at all ranks that take part, and of one operation alone */
  uint32_t ranks; /* how many ranks of this process take part, at most; a rank whose part has two sides counts twice */
  uint32_t gives; /* 1 if others depend on this rank */
  uint32_t takes; /* 1 if this rank depends on others */
  uint32_t reserved;
} anyplace_layer_meeting;

/* What a layer offers to the core. */
typedef struct anyplace_layer_table {
  uint32_t struct_size;        /* in: bytes the core has; out: bytes the layer filled, no more than that */
  uint32_t abi_major;          /* ANYPLACE_LAYER_ABI_MAJOR and _MINOR of the header that the layer was built with */
  uint32_t abi_minor;          /* the minor version of that header */
  uint32_t backend_abi_major;  /* ANYPLACE_ABI_MAJOR of that header */
  uint32_t backend_table_size; /* sizeof(anyplace_backend_table) there: a layer has to know all entries of the core's */
  uint32_t reserved;
  char name[32];         /* the <name> of its file */
  char version[32];      /* of the plugin */
  char description[128]; /* one line for people */
  char variables[256];   /* the environment variables that it reads, blanks between; "" if none */
  void* self;            /* passed back as the first argument of `begin` and `command`; may be null */

  /* Puts the layer over a backend. host is the backend's, next the table below, which is complete: entries that the
   * backend lacks are null. Both are valid for the life of the process. table->struct_size is what the core has. The
   * layer fills the table: name, version and description are next's, self is its own for this backend. It may add
   * entries that next lacks and leave out others, if device_properties says so. A failure keeps the backend from being
   * used; the next use tries again. */
  anyplace_status (*begin)(void* self, const anyplace_host* host, const anyplace_backend_table* next,
                           anyplace_backend_table* table);
  /* The core calls it once for each `begin` that succeeded, with the self of the table that this filled: at exit, when
   * the backend's shutdown has returned, and where another layer couldn't be put over the same backend. No entry is
   * called afterwards. Work that was left behind may still call what the layer gave to the backend (host functions), so
   * nothing that they use is freed. It isn't called in a forked child, nor if shutdown hangs. (optional): it isn't
   * called. */
  void (*end)(void* instance);
  /* Does what the program asks of the layer by name (anyplace::layer_command). The layer defines names and arguments.
   * Returns INVALID_ARGUMENT, with a message, for a name that it doesn't know and for a bad argument. Any thread may
   * call it, also before the first `begin`. (optional): the layer takes no commands. */
  anyplace_status (*command)(void* self, const char* name, const char* argument, const anyplace_layer_reply* reply);
  /* -- Annotations. */
  /* Is told each annotation from the first `begin` on, once however many backends the layer is over. It is called on
   * the annotating thread, by several at once, and may neither call anyplace nor annotate. A thread's pushes and pops
   * come in their order; a pop of a range that was pushed before the first `begin` comes without its push. It isn't
   * called at exit or in a forked child. (optional), and a table may end before it: the layer hears no annotations. */
  void (*annotation)(void* self, const anyplace_annotation* annotation);

  /* -- What calls to the backend don't show. (optional, each): the layer isn't told. They are called by any thread,
   * also by several at a time, and for as long as the process runs. `instance` is the self of the table that the layer
   * filled for that backend. A layer that has one of them makes calls that concern memory take the core's slow paths.
   */
  /* The application got memory: a Buffer or a HostBuffer was made. It may have been another's before, whose work of
   * `memory->stream` may not be done. */
  void (*memory_taken)(void* instance, int32_t device, const anyplace_layer_memory* memory);
  /* The application gave it back. Called before the core hands it on. */
  void (*memory_returned)(void* instance, int32_t device, const anyplace_layer_memory* memory);
  /* An argument of the next launch by this thread: what the kernel does to `bytes` bytes from an address on. It is
   * matched to the launch's arguments by the address. What no argument has is of no meaning. */
  void (*argument)(void* self, uint32_t access, anyplace_address address, uint64_t bytes);
  /* The launch, with the arguments that were told of so far, is kept for later: `launch` is the address that
   * kernel_launch or graph_create will get. */
  void (*launch_kept)(void* self, const anyplace_launch* launch);
  /* The calling thread reads or writes memory, now. A status other than OK, with a message, is thrown to it. */
  anyplace_status (*host_access)(void* self, uint32_t access, anyplace_address address, uint64_t bytes);
  /* With 1: what the thread calls from now on is the core's own bookkeeping, which the application may not rely on, as
   * asking whether freed memory is still used. With 0: that has ended. The calls nest. */
  void (*core_calls)(void* self, uint32_t begin);
  /* The stream with that cookie, which may be another backend's, waits for the most recent record of the event by means
   * that the backends don't see as one. `instance` is the event's. */
  void (*stream_waits)(void* instance, anyplace_event event, uint64_t stream);
  /* The host function that the backend gets next with that `user` (stream_host_function, graph_create, graph_update) is
   * the core's own, and makes this copy within the host's memory. A copy without a source is a fill, and one of no rows
   * accesses nothing that the application has. Null withdraws it, if the backend got the function or not. */
  void (*host_function)(void* self, void* user, const anyplace_copy_2d* copy);
  /* The stream with that cookie gets work that the backend doesn't see: an engine's collective, called `name`. There
   * are meetings where this process has several ranks of the communicator. A status other than OK, with a message, is
   * thrown to the application, and the work isn't submitted. */
  anyplace_status (*engine_work)(void* instance, uint64_t stream, const char* name,
                                 const anyplace_layer_access* accesses, uint32_t count,
                                 const anyplace_layer_meeting* meetings, uint32_t meeting_count);
  /* -- End of version 1.0. */
} anyplace_layer_table;

/* The one symbol that a layer's plugin exports. Called once per process, by any thread. A status other than OK, with a
 * message, refuses the plugin with that reason. The rules of anyplace_backend_entry (abi.h) hold. */
typedef anyplace_status (*anyplace_layer_entry_function)(const anyplace_layer_host* host, anyplace_layer_table* table);
/* The symbol itself. */
ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_layer_entry(const anyplace_layer_host* host,
                                                            anyplace_layer_table* table);

#ifdef __cplusplus
} /* extern "C" */
#endif
