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
#include "types.h"

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
