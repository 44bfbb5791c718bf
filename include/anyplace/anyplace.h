// SPDX-License-Identifier: Apache-2.0
//
// anyplace: pick a device by a string and run on it.
//
//   anyplace::Device device("cpu_sim:0");                      // or "cuda:0", "hip:1", "levelzero:0", "auto"
//   anyplace::Stream stream(device);
//   anyplace::Buffer data(stream, 1024);
//   stream.memset8(data, 42);
//   std::vector<std::uint8_t> host(1024);
//   stream.copy(host, data);                                   // submitted, not done
//   stream.synchronize();                                      // done
//
// The concepts, one header each:
//   place.h    Place: the string that names a device
//   device.h   Device: properties, synchronisation, peers, the current device
//   stream.h   Stream: a queue of work, in order; copies, fills, launches, host functions
//   event.h    Event: a mark in a stream's work, to wait for and to measure with
//   memory.h   Buffer, HostBuffer: memory that frees itself; allocator.h, where it comes from: the caching allocator,
//              pools, adaptors, one of your own; memory_stats.h, what it came to
//   address.h  Address: memory named by where it is, and what is known of it
//   kernel.h   Kernel, Module: code for a device; kernel_images.h, code for every device; device_code.h, what it is
//              written with (not included here: it is for the sources of kernels); compile.h, kernels out of a string,
//              and kernel_cache.h, where they are kept (not included here: what compiles nothing needs neither)
//   graph.h    Graph, GraphExec: work that is put together once and launched again and again
//   random.h   Generator: random numbers, the same bits on every backend
//   ipc.h      memory and events that several processes use
//   annotate.h Range, mark: names for what a program does, shown by whatever profiler is there
//   monitor.h  how busy, full and hot a device is, and who uses it
//   communicator.h  Communicator: collective operations between processes
//   dtype.h    DType: the types of elements that array views, generators and collectives know
//   array.h    Array, ArrayView: memory as elements in several dimensions; dlpack.h, the same memory for other
//              libraries (not included here: it needs theirs)
//   comm.h     collectives within the process: broadcast, reduce_add, scatter, gather
//   guard.h    DeviceGuard, StreamGuard: the current device and stream, for a scope
//   error.h    Error: the one exception
//   plugins.h  where backends come from
//   layers.h   what stands between the library and a backend; access.h, what a program tells those that check it
//
// Owning types (Stream, Event, Buffer, Kernel, Module) can be moved, not copied. Each derives from a view of the same
// name, which is a number, free to copy, and safe to use wrongly: a destroyed handle is an error, not a crash.
#pragma once

#include "access.h"
#include "address.h"
#include "allocator.h"
#include "annotate.h"
#include "array.h"
#include "comm.h"
#include "communicator.h"
#include "device.h"
#include "dtype.h"
#include "error.h"
#include "event.h"
#include "export.h"
#include "graph.h"
#include "graph_types.h"
#include "guard.h"
#include "ipc.h"
#include "kernel.h"
#include "kernel_images.h"
#include "layers.h"
#include "memory.h"
#include "memory_stats.h"
#include "monitor.h"
#include "place.h"
#include "plugins.h"
#include "random.h"
#include "stream.h"
#include "version.h"
