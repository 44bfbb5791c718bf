// SPDX-License-Identifier: Apache-2.0
// The promises of the contract, in its order, each in a sentence. A test checks that each has at least one case.
#include <array>

#include "conformance.h"

namespace anyplace::conformance {
namespace {

constexpr Bullet all_bullets[] = {
    // -- Places
    {"places.grammar",
     "a place is name or name:index; the index is decimal, unsigned, without leading zeros, within int"},
    {"places.current", "a name alone means the calling thread's current device of that backend, 0 until set"},
    {"places.aliases", "the aliases of the one table stand for their backends, and resolving one opens nothing"},
    {"places.auto", "auto takes the first backend with a device, in the order of ANYPLACE_AUTO"},
    {"places.selectors", "uuid= and pci= select a device, and print back unchanged"},
    {"places.bad_text", "bad text is invalid_argument, which shows the text and says what is allowed"},
    {"places.missing", "a well-formed place that isn't there is no_such_backend or no_such_device, with what there is"},
    {"places.isolation", "selecting a backend neither opens nor fails because of another backend's plugin"},
    // -- Devices
    {"devices.lazy", "nothing is initialised until first use, and counting devices makes no vendor context"},
    {"devices.current", "the current device is per thread and backend; a guard restores it, also past an exception"},
    {"devices.properties", "a device tells its name, memory, limits, identity and capabilities, or that it can't"},
    {"devices.capabilities", "what a device claims works; what it doesn't claim is unsupported"},
    {"devices.synchronize",
     "synchronising a device waits for all that was submitted to it, for a limited time if asked"},
    {"devices.native",
     "the vendor's device and context are given as numbers, and its visible-device variables honoured"},
    {"devices.peer",
     "peer access can be asked for, enabled and disabled, any number of times, where the vendor has it"},
    {"devices.processes", "a device lists the processes that use it, with the memory that each has, where it can tell"},
    {"devices.fork", "in a forked child every call is forked, without hanging or crashing; destructors do nothing"},
    {"devices.faults",
     "what user code throws is its stream's fault: shown, handed out once, and later work still runs"},
    // -- Monitoring
    {"monitoring.sample", "a device tells how busy, full and hot it is; what it can't tell is unknown, not 0"},
    {"monitoring.counters", "counters never fall, and what is computed from two samples is of the time between them"},
    {"monitoring.memory", "memory in use is all processes' use of it, and no more than there is"},
    // -- The process
    {"process.books", "what is done and undone leaves nothing behind: no memory, thread, descriptor or mapping"},
    {"process.left_alone", "a backend changes nothing of the process that isn't its own, and starts nothing too early"},
    {"process.shutdown", "shutdown waits for all work, for as long as it is given and no longer"},
    // -- Streams
    {"streams.order", "work of one stream runs in order, and work of another isn't held up by it"},
    {"streams.options", "a lower number is a higher priority; what is outside the range becomes its nearest end"},
    {"streams.default", "a blocking stream synchronises with the device's null stream, both ways; others don't"},
    {"streams.per_thread", "each thread has one blocking stream of its own per device, retired when it ends"},
    {"streams.current",
     "the current stream is per thread and device; a guard switches device and stream and restores both"},
    {"streams.record", "recording makes an event if none is given"},
    {"streams.wait_event",
     "waiting holds back later work alone, never the host, for the most recent record at the call"},
    {"streams.wait_stream", "waiting for a stream waits for its work so far, also between devices and backends"},
    {"streams.query", "query says whether the work is done; not yet is no error, and a fault is shown"},
    {"streams.synchronize", "synchronize returns after all submitted work; with a timeout it says when time ran out"},
    {"streams.host_functions", "a host function runs once, in order, on the runtime's thread, and may not call back"},
    {"streams.gates", "a wait for a gate holds back later work until the gate is opened, before the wait or after it"},
    {"streams.native", "a stream's native handle is given, and can be wrapped, which never destroys it"},
    {"streams.identity", "a handle's number is never reused; equality, order and hash go by it"},
    {"streams.destroy", "destroying a stream returns at once and its work completes, also at the end of the process"},
    {"streams.handles", "a null, destroyed or foreign handle is an error, not a crash"},
    {"annotations.marks", "a mark of a stream is heard after its earlier work and before its later work"},
    // -- Events
    {"events.options",
     "events may be timed, sleep while they are waited for, or cross processes; timed ones may not cross"},
    {"events.record", "recording again overwrites; only a stream of the event's device may record it, any may wait"},
    {"events.unrecorded", "an event that was never recorded is complete"},
    {"events.elapsed", "elapsed time is in milliseconds; untimed, unrecorded and incomplete are three errors"},
    {"events.timestamps", "an event tells when it completed on the device's clock, which is read with the host's"},
    {"events.native", "a vendor's event can be wrapped, which never destroys it"},
    {"events.destroy", "destroying an event that a stream still waits on is safe"},
    // -- Memory
    {"memory.kinds", "device, pinned and managed memory, aligned to 256 bytes; 0 bytes is a null handle"},
    {"memory.ordered", "a buffer frees itself in stream order, and memory in use is handed to nobody else"},
    {"memory.native", "a device address is a number; native memory can be wrapped and host memory registered"},
    {"memory.pageable", "copies take any host memory, and it has to be valid until they are done"},
    {"memory.copies", "copies move every byte between host and device, on one device, between devices and backends"},
    {"memory.copies_2d", "pitched copies move the lines and leave what is between them alone"},
    {"memory.fills", "fills write elements of any power of two to 128 bytes, every one and no other"},
    {"memory.addresses", "an address leads to the allocation it is in: whose, of what kind, from where, how large"},
    {"memory.by_address", "copies and fills by address are those of the buffers, with the same checks"},
    {"memory.host_copies", "copies between memory of the host are made in the stream's order"},
    {"memory.alignment", "a buffer begins at the alignment that was asked for"},
    {"memory.ranges", "sizes and overlaps out of range are refused before anything is submitted; 0 bytes is a no-op"},
    {"memory.out_of_memory", "out of memory is an error with figures, after pending frees were waited for"},
    {"memory.figures", "memory figures agree with each other; what the vendor can't tell is unknown, not 0"},
    {"memory.virtual", "addresses and the memory behind them are made apart; memory moves and keeps what it holds"},
    // -- Sharing between processes
    {"ipc.memory", "memory of another process is the same memory, and is kept until the last process closes it"},
    {"ipc.events", "an event is recorded and waited for by any process that has it"},
    {"ipc.handles", "a wrong handle, or one whose object is gone, is refused with the reason"},
    // -- Collectives
    {"collectives.broadcast", "an array is copied to each device, whole, also between backends"},
    {"collectives.reduce", "arrays of any devices are added element by element, on a device of theirs"},
    {"collectives.pieces", "pieces along a dimension go to their devices, and come together again as they were"},
    {"collectives.order", "a collective reads what was written before it, and later writes wait for it"},
    {"collectives.ranks", "operations of a communicator are work of their stream, and give each rank its part"},
    {"collectives.arguments", "what doesn't fit is refused before anything is submitted"},
    // -- Kernels
    {"kernels.launch", "a launch runs every thread of the grid once, with its indices, arguments and shared memory"},
    {"kernels.attributes", "what is known of a kernel is within what the device has"},
    {"kernels.globals", "a module's variables are found by their names, and are memory of the device"},
    {"kernels.native", "the vendor's handles of modules and kernels are given as numbers"},
    {"kernels.images", "a wrong image, an unknown name, and sizes over the limits are errors before anything runs"},
    // -- Graphs
    {"graphs.capture", "what is submitted to a captured stream becomes nodes, which run when the graph is launched"},
    {"graphs.nodes", "a node does what the stream's call does, with the values that it had when it was made"},
    {"graphs.order", "a node runs after all that it comes after, also when branches run at the same time"},
    {"graphs.launch", "a launch is in its stream's order, before and after; launches of one graph never overlap"},
    {"graphs.update", "an update gives later launches other work, and leaves earlier ones what they had"},
    {"graphs.events", "each launch records its events in their places, and waits for the most recent records then"},
    {"graphs.faults", "a fault of a graph's work is the fault of the stream of that launch; the rest of it runs"},
    {"graphs.refusals", "what can't be part of a graph is refused with a reason, and the capture ends with it"},
    {"graphs.memory", "memory that a graph uses is handed to nobody else until it is gone, and then comes back"},
    {"graphs.life", "graphs and what they use may go while launches are pending, which complete; nothing is left"},
    {"graphs.table", "a backend copies what describes a graph, and takes an array with any stride"},
    // -- Random numbers
    {"random.bits", "the same seed gives the same bits as on every other backend, for each distribution and type"},
    {"random.offset", "a fill takes its numbers at the call, each once; a state that is set again gives them again"},
    {"random.graphs", "a captured fill draws at each launch what it would have drawn then"},
    // -- Texts
    {"texts.whole", "every text is UTF-8 that ends with NUL, of whole characters also where it was cut to fit"},
    // -- Errors
    {"errors.exception",
     "every failure is one exception with code, place, operation and text; destructors never throw"},
    {"errors.threads", "every call may come from any thread at any time, also on one handle"},
};

}  // namespace

std::span<const Bullet> bullets() noexcept { return all_bullets; }

}  // namespace anyplace::conformance
