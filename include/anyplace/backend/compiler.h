/* SPDX-License-Identifier: Apache-2.0
 *
 * The boundary of compilers: everything that the core and a compiler of kernels say to each other, in C.
 *
 * A compiler makes an image for a device of kernels' source while the program runs (anyplace/compile.h). It is a shared
 * object named libanyplace_compiler_<name>.so that exports one symbol, anyplace_compiler_entry. The core finds it where
 * it finds backends, calls the symbol once, and then the functions of the table that it filled. docs/kernels.md says
 * how to write one.
 *
 * The rules of abi.h for types, versions, ownership, texts and messages hold here, too. What is different:
 * - Processes. The core asks `library` in the application's process, and calls `compile` in a process of its own
 *   (anyplace_compile_helper), which has one thread, no device and the limits of the compilation. An application may
 *   ask for a compilation in its own process; then any thread may call `compile`.
 * - Limits. `compile` needn't limit its time or memory, because the core ends its process, and all that it has started.
 * - Failure. Source that can't be compiled is COMPILE_FAILED, with everything that the compiler says in the log.
 *   Everything else that goes wrong has another status, with a message.
 */
#pragma once

#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this boundary. A plugin of another major is refused. */
#define ANYPLACE_COMPILER_ABI_MAJOR 1u
/* Grows with each entry or field that is added at the end. */
#define ANYPLACE_COMPILER_ABI_MINOR 0u
/* The name of a compiler's one exported symbol. */
#define ANYPLACE_COMPILER_ENTRY_SYMBOL "anyplace_compiler_entry"

/* Bits of anyplace_compile_request.flags. */
enum {
  ANYPLACE_COMPILE_FAST_MATH = 1u, /* less exact arithmetic, as the compiler's own option for that has it */
  ANYPLACE_COMPILE_DEBUG = 2u,     /* with lines for a debugger, and without optimisation */
  /* The architecture is that of a device, for which an image for an older one will do where the device takes it.
   * Without this a person has named the architecture, and the image is for that one. */
  ANYPLACE_COMPILE_FOR_DEVICE = 4u
};

/* What anyplace_compile_request.source is. */
enum {
  ANYPLACE_SOURCE_DIALECT = 0u, /* CUDA C++ in the dialect of anyplace/device_code.h, which it needn't include */
  ANYPLACE_SOURCE_SPIRV = 1u    /* an image in SPIR-V, in any byte order; there are no expressions then */
};

/* What is to be compiled. Texts and arrays are valid during the call. */
typedef struct anyplace_compile_request {
  uint32_t struct_size;
  uint32_t format;           /* ANYPLACE_IMAGE_*: one of the compiler's */
  const char* architecture;  /* "sm_80", "gfx90a"; "" for the compiler's choice, and always for SPIR-V and OpenCL C */
  const char* source;        /* as `language` says */
  uint64_t source_bytes;     /* how many bytes source has; nothing need end them */
  const char* name;          /* the name of the source in messages, which begin with name:line */
  const char* library;       /* the path that `library` gave */
  const char* headers;       /* a folder with the folder anyplace/ that has device_code.h */
  const char* folder;        /* an empty folder, which the core deletes afterwards with all that is in it */
  uint32_t standard;         /* of C++: 17 or 20 */
  uint32_t flags;            /* ANYPLACE_COMPILE_* */
  uint32_t define_count;     /* how many elements defines has */
  uint32_t include_count;    /* how many elements includes has */
  uint32_t expression_count; /* how many elements expressions has */
  uint32_t option_count;     /* how many elements options has */
  uint32_t language;         /* ANYPLACE_SOURCE_* */
  uint32_t reserved;
  const char* const* defines;     /* "NAME" or "NAME=VALUE" */
  const char* const* includes;    /* folders, in the order of the search */
  const char* const* expressions; /* kernels that are instantiations of templates: "scale<float>" */
  const char* const* options;     /* words for the compiler itself */
} anyplace_compile_request;

/* Where a compilation's results go. `context` is the first argument of each. */
typedef struct anyplace_compile_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* Called once, for the finished image. */
  void (*image)(void* context, const void* bytes, uint64_t count);
  /* Called for everything that the compiler says, in pieces. */
  void (*log)(void* context, const char* text, uint64_t count);
  /* Called for each expression: the name under which the image has it. */
  void (*lowered)(void* context, const char* expression, const char* name);
  /* Called for each file that the source included, except those below request.headers. */
  void (*header)(void* context, const char* path);
} anyplace_compile_sink;

/* The library or program that the compiler works with, filled by `library`. The texts live until the next call of it on
 * this thread. */
typedef struct anyplace_compiler_library {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path; /* where it was found */
  /* Is another text whenever the library or program is another one: it is a part of what the cache knows an image by.
   */
  const char* version;
} anyplace_compiler_library;

/* What the core offers to a compiler. Valid for the life of the process; may be called from any thread. */
typedef struct anyplace_compiler_host {
  uint32_t struct_size;
  uint32_t abi_major; /* ANYPLACE_COMPILER_ABI_MAJOR of the core */
  uint32_t abi_minor; /* ANYPLACE_COMPILER_ABI_MINOR of the core */
  uint32_t reserved;
  void* context; /* pass it back as the first argument */
  /* Says why the entry running on this thread is about to fail, as anyplace_host's function of the same name. */
  void (*leave_message)(void* context, int64_t vendor_code, const char* vendor_name, const char* text);
} anyplace_compiler_host;

/* What a compiler offers to the core. */
typedef struct anyplace_compiler_table {
  uint32_t struct_size;  /* in: bytes the core has; out: bytes the compiler filled, no more than that */
  uint32_t abi_major;    /* ANYPLACE_COMPILER_ABI_MAJOR and _MINOR of the header that the compiler was built with */
  uint32_t abi_minor;    /* the minor version of that header */
  uint32_t formats;      /* bit ANYPLACE_IMAGE_*: what it makes of the dialect */
  char name[32];         /* the <name> of its file */
  char version[32];      /* of the plugin */
  char description[128]; /* one line for people */
  uint32_t rank;         /* compilers with a lower one are asked first: 0 for a device's vendor's own, 1 for others */
  uint32_t from_spirv;   /* bit ANYPLACE_IMAGE_*: what it makes of SPIR-V */
  void* self;            /* passed back as the first argument of every entry; may be null */

  /* Finds the library or program that makes images of the format (ANYPLACE_IMAGE_*), and starts nothing. Returns
   * LIBRARY_MISSING with a message that says what is missing, and which package has it. Any thread may call it. */
  anyplace_status (*library)(void* self, uint32_t format, anyplace_compiler_library* out);
  /* Returns UNSUPPORTED, with a message that says what there is, for an architecture that it can't make images for.
   * (optional): without it `compile` finds out. */
  anyplace_status (*supports)(void* self, uint32_t format, const char* architecture);
  /* Compiles request, and passes what comes out and what is said to sink, before it returns. */
  anyplace_status (*compile)(void* self, const anyplace_compile_request* request, const anyplace_compile_sink* sink);
  /* -- End of version 1.0. */
} anyplace_compiler_table;

/* The one symbol that a compiler's plugin exports. Called once per process, by any thread. The rules of
 * anyplace_backend_entry (abi.h) hold. */
typedef anyplace_status (*anyplace_compiler_entry_function)(const anyplace_compiler_host* host,
                                                            anyplace_compiler_table* table);
/* The symbol itself. */
ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host,
                                                               anyplace_compiler_table* table);

#ifdef __cplusplus
} /* extern "C" */
#endif
