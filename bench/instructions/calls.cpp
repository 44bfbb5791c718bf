// SPDX-License-Identifier: Apache-2.0
//
// Makes one kind of call many times, for `count`, which runs it under callgrind and counts the instructions between
// entering measured_*() and leaving it, but for those inside the function that the call is there for: the driver's, or
// the entry of bench_null.
//
//   bench_instructions anyplace PLACE CALL COUNT IMAGE    through anyplace
//   bench_instructions driver INDEX CALL COUNT IMAGE      through libcuda.so.1 alone
//   bench_instructions entries PLUGIN CALL COUNT IMAGE    through a plugin's table alone
//
// CALL is one of those in the tables below; those through the driver are fewer. IMAGE has the kernels empty and
// empty_3. The loops are written alike: what they cost themselves is on both sides.
#include <anyplace/anyplace.h>
#include <anyplace/backend/abi.h>
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "driver.h"

#define MEASURED extern "C" __attribute__((noinline)) void

namespace {

struct Subject {
  anyplace::StreamView stream;
  anyplace::EventView event;
  anyplace::KernelView kernel;
  anyplace::BufferView buffer;
  anyplace::BufferView other_buffer;
  std::byte* host = nullptr;
};

constexpr std::uint64_t copied = 64;     // bytes
constexpr std::uint64_t buffered = 256;  // bytes

struct DriverSubject {
  const bench::Driver& driver;
  bench::CuHandle stream = nullptr;
  bench::CuHandle event = nullptr;
  bench::CuHandle kernel = nullptr;
};

struct TableSubject {
  anyplace_backend_table table{};
  anyplace_stream stream = 0;
  anyplace_event event = 0;
  anyplace_kernel kernel = 0;
  anyplace_address address = 0;
  anyplace_address other_address = 0;
};

void must(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

// -- Through anyplace.

MEASURED measured_record(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.event.record(subject.stream);
}
MEASURED measured_wait(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.wait_event(subject.event);
}
MEASURED measured_query(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.event.query());
}
MEASURED measured_stream_query(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.stream.query());
}
MEASURED measured_launch(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {1, 1});
}
MEASURED measured_launch_3(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {1, 1}, std::uint64_t{0}, 1.0f, 2);
}
/// On a stream that is captured: each becomes a node.
MEASURED measured_capture_3(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {1, 1}, std::uint64_t{0}, 1.0f, 2);
}

MEASURED measured_launch_buffers(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) {
    subject.stream.launch(subject.kernel, {1, 1}, subject.buffer, subject.other_buffer, subject.buffer);
  }
}
MEASURED measured_launch_2d(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {{1, 2}, {4, 4}, 16});
}
MEASURED measured_callable(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {1, 1});
}
MEASURED measured_callable_3(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch(subject.kernel, {1, 1}, std::uint64_t{0}, 1.0f, 2);
}
MEASURED measured_synchronize(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.synchronize();
}
MEASURED measured_event_synchronize(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.event.synchronize();
}
MEASURED measured_copy_up(const Subject& subject, long count) {
  const anyplace::BufferView to(subject.buffer.id(), 0, copied);
  for (long i = 0; i < count; ++i) subject.stream.copy(to, anyplace::ConstHostSpan(subject.host, copied));
}
MEASURED measured_copy_down(const Subject& subject, long count) {
  const anyplace::BufferView from(subject.buffer.id(), 0, copied);
  for (long i = 0; i < count; ++i) subject.stream.copy(anyplace::HostSpan(subject.host, copied), from);
}
MEASURED measured_copy(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.copy(subject.buffer, subject.other_buffer);
}
MEASURED measured_copy_address(const Subject& subject, long count) {
  const anyplace::Address to(subject.buffer.address());
  for (long i = 0; i < count; ++i) subject.stream.copy(to, anyplace::Address(subject.host), copied);
}
MEASURED measured_copy_2d(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.copy_2d(subject.buffer, 16, subject.other_buffer, 32, 8, 4);
}
MEASURED measured_memset(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.memset32(subject.buffer, 1);
}
MEASURED measured_host_function(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.launch_host_func([] {});
}

/// What a callable is there for: the instructions around it are counted.
MEASURED empty_block() { asm volatile(""); }

// Nobody listens: the library is told of none.
MEASURED measured_annotate_range(const Subject& /*subject*/, long count) {
  for (long i = 0; i < count; ++i) {
    const anyplace::annotate::Range range("range", {.payload = i});
    asm volatile("" ::: "memory");  // or the compiler would join the beginning with the end
  }
}
MEASURED measured_annotate_push_pop(const Subject& /*subject*/, long count) {
  for (long i = 0; i < count; ++i) {
    anyplace::annotate::range_push("range", {.color = 0xff76b900});
    anyplace::annotate::range_pop();
  }
}
MEASURED measured_annotate_mark(const Subject& /*subject*/, long count) {
  for (long i = 0; i < count; ++i) anyplace::annotate::mark("mark");
}
MEASURED measured_annotate_stream_mark(const Subject& subject, long count) {
  for (long i = 0; i < count; ++i) subject.stream.mark("mark");
}

// -- Straight through the driver.

MEASURED measured_driver_record(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.driver.event_record(subject.event, subject.stream) == 0);
}
MEASURED measured_driver_wait(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.driver.stream_wait_event(subject.stream, subject.event, 0) == 0);
}
MEASURED measured_driver_query(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.driver.event_query(subject.event) == 0);
}
MEASURED measured_driver_stream_query(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) must(subject.driver.stream_query(subject.stream) == 0);
}
MEASURED measured_driver_launch(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) {
    must(subject.driver.launch(subject.kernel, 1, 1, 1, 1, 1, 1, 0, subject.stream, nullptr, nullptr) == 0);
  }
}
MEASURED measured_driver_launch_3(const DriverSubject& subject, long count) {
  for (long i = 0; i < count; ++i) {
    std::uint64_t a = 0;
    float b = 1;
    int c = 2;
    void* arguments[] = {&a, &b, &c};
    must(subject.driver.launch(subject.kernel, 1, 1, 1, 1, 1, 1, 0, subject.stream, arguments, nullptr) == 0);
  }
}

// -- Straight through a plugin's table.

MEASURED measured_entries_record(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) must(table.event_record(table.self, subject.event, subject.stream) == 0);
}
MEASURED measured_entries_wait(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) must(table.stream_wait_event(table.self, subject.stream, subject.event) == 0);
}
MEASURED measured_entries_query(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    std::int32_t done = 0;
    must(table.event_query(table.self, subject.event, &done) == 0 && done != 0);
  }
}
MEASURED measured_entries_stream_query(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    std::int32_t done = 0;
    must(table.stream_query(table.self, subject.stream, &done) == 0 && done != 0);
  }
}

namespace {

void launch_entry(const TableSubject& subject, const anyplace_argument* arguments, std::uint32_t count) {
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = launch.block[1] = launch.block[2] = 1;
  launch.argument_count = count;
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = arguments;
  must(subject.table.kernel_launch(subject.table.self, subject.stream, subject.kernel, &launch) == 0);
}

}  // namespace

MEASURED measured_entries_launch(const TableSubject& subject, long count) {
  for (long i = 0; i < count; ++i) launch_entry(subject, nullptr, 0);
}
MEASURED measured_entries_launch_3(const TableSubject& subject, long count) {
  for (long i = 0; i < count; ++i) {
    const std::uint64_t a = 0;
    const float b = 1;
    const int c = 2;
    const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_VALUE, sizeof(a), &a},
                                           {ANYPLACE_ARGUMENT_VALUE, sizeof(b), &b},
                                           {ANYPLACE_ARGUMENT_VALUE, sizeof(c), &c}};
    launch_entry(subject, arguments, 3);
  }
}

MEASURED measured_entries_launch_buffers(const TableSubject& subject, long count) {
  for (long i = 0; i < count; ++i) {
    const anyplace_address a = subject.address, b = subject.other_address, c = subject.address;
    const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_ADDRESS, sizeof(a), &a},
                                           {ANYPLACE_ARGUMENT_ADDRESS, sizeof(b), &b},
                                           {ANYPLACE_ARGUMENT_ADDRESS, sizeof(c), &c}};
    launch_entry(subject, arguments, 3);
  }
}

MEASURED measured_entries_launch_2d(const TableSubject& subject, long count) {
  measured_entries_launch(subject, count);
}
MEASURED measured_entries_callable(const TableSubject& subject, long count) { measured_entries_launch(subject, count); }
MEASURED measured_entries_callable_3(const TableSubject& subject, long count) {
  measured_entries_launch_3(subject, count);
}
MEASURED measured_entries_synchronize(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) must(table.stream_synchronize(table.self, subject.stream, ANYPLACE_FOREVER) == 0);
}
MEASURED measured_entries_event_synchronize(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) must(table.event_synchronize(table.self, subject.event, ANYPLACE_FOREVER) == 0);
}

namespace {

void copy_entry(const TableSubject& subject, std::uint32_t kind, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    must(table.memory_copy(table.self, subject.stream, subject.address, subject.other_address, copied, kind) == 0);
  }
}

}  // namespace

MEASURED measured_entries_copy_up(const TableSubject& subject, long count) {
  copy_entry(subject, ANYPLACE_COPY_HOST_TO_DEVICE, count);
}
MEASURED measured_entries_copy_down(const TableSubject& subject, long count) {
  copy_entry(subject, ANYPLACE_COPY_DEVICE_TO_HOST, count);
}
MEASURED measured_entries_copy(const TableSubject& subject, long count) {
  copy_entry(subject, ANYPLACE_COPY_DEVICE_TO_DEVICE, count);
}
MEASURED measured_entries_copy_2d(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    anyplace_copy_2d copy{};
    copy.struct_size = sizeof(copy);
    copy.kind = ANYPLACE_COPY_DEVICE_TO_DEVICE;
    copy.destination = subject.address;
    copy.destination_pitch = 16;
    copy.source = subject.other_address;
    copy.source_pitch = 32;
    copy.width = 8;
    copy.rows = 4;
    must(table.memory_copy_2d(table.self, subject.stream, &copy) == 0);
  }
}
MEASURED measured_entries_memset(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    must(table.memory_set(table.self, subject.stream, subject.address, 1, 4, buffered / 4) == 0);
  }
}
MEASURED measured_entries_host_function(const TableSubject& subject, long count) {
  const anyplace_backend_table& table = subject.table;
  for (long i = 0; i < count; ++i) {
    must(table.stream_host_function(
             table.self, subject.stream, [](void*, anyplace_status) {}, nullptr) == 0);
  }
}

namespace {

template <class Of>
struct Call {
  const char* name;
  void (*run)(const Of&, long);
};

constexpr Call<Subject> calls[] = {
    {"record", measured_record},
    {"wait", measured_wait},
    {"query", measured_query},
    {"stream_query", measured_stream_query},
    {"launch", measured_launch},
    {"launch_3", measured_launch_3},
    {"capture_3", measured_capture_3},
    {"launch_buffers", measured_launch_buffers},
    {"launch_2d", measured_launch_2d},
    {"callable", measured_callable},
    {"callable_3", measured_callable_3},
    {"synchronize", measured_synchronize},
    {"event_synchronize", measured_event_synchronize},
    {"copy_up", measured_copy_up},
    {"copy_down", measured_copy_down},
    {"copy", measured_copy},
    {"copy_address", measured_copy_address},
    {"copy_2d", measured_copy_2d},
    {"memset", measured_memset},
    {"host_function", measured_host_function},
    {"annotate_range", measured_annotate_range},
    {"annotate_push_pop", measured_annotate_push_pop},
    {"annotate_mark", measured_annotate_mark},
    {"annotate_stream_mark", measured_annotate_stream_mark},
    // The blocks of 2 lines: bench_null runs one.
    {"block", measured_launch_2d},
};
constexpr Call<DriverSubject> driver_calls[] = {
    {"record", measured_driver_record}, {"wait", measured_driver_wait},
    {"query", measured_driver_query},   {"stream_query", measured_driver_stream_query},
    {"launch", measured_driver_launch}, {"launch_3", measured_driver_launch_3},
};
constexpr Call<TableSubject> entries_calls[] = {
    {"record", measured_entries_record},
    {"wait", measured_entries_wait},
    {"query", measured_entries_query},
    {"stream_query", measured_entries_stream_query},
    {"launch", measured_entries_launch},
    {"launch_3", measured_entries_launch_3},
    {"launch_buffers", measured_entries_launch_buffers},
    {"launch_2d", measured_entries_launch_2d},
    {"callable", measured_entries_callable},
    {"callable_3", measured_entries_callable_3},
    {"synchronize", measured_entries_synchronize},
    {"event_synchronize", measured_entries_event_synchronize},
    {"copy_up", measured_entries_copy_up},
    {"copy_down", measured_entries_copy_down},
    {"copy", measured_entries_copy},
    {"copy_address", measured_entries_copy_up},
    {"copy_2d", measured_entries_copy_2d},
    {"memset", measured_entries_memset},
    {"host_function", measured_entries_host_function},
};

template <class Of, std::size_t N>
void (*find(const Call<Of> (&all)[N], const std::string& name))(const Of&, long) {
  for (const Call<Of>& call : all) {
    if (name == call.name) return call.run;
  }
  throw std::runtime_error("no such call: " + name);
}

struct Options {
  std::string name;
  long count = 0;
  const char* image = nullptr;

  bool wants_callable() const { return name == "callable" || name == "callable_3" || name == "block"; }
  const char* kernel() const { return name == "launch_3" || name == "capture_3" ? "empty_3" : "empty"; }
};

/// Once before it counts, and never more than a batch without a synchronise: a full queue would be measured otherwise.
template <class Run, class Synchronize>
void in_batches(long count, Run&& run, Synchronize&& synchronize) {
  constexpr long batch = 256;
  run(1);
  synchronize();
  for (long left = count; left > 0; left -= batch) {
    run(left < batch ? left : batch);
    synchronize();
  }
}

void through_anyplace(const char* place, const Options& options) {
  const anyplace::Device device(place);
  // As on any thread that the CUDA runtime was used on, and on the driver's side of the comparison.
  if (device.backend() == "cuda") bench::Driver(device.index());
  const anyplace::Stream stream(device);
  const anyplace::Event event(device);
  anyplace::Module module;
  anyplace::Kernel callable;
  // cpu_sim would take a shared object, and what is counted there is a callable's launch.
  const bool wants_callable = options.wants_callable() || device.backend() == "cpu_sim";
  if (wants_callable) {
    callable = options.name == "callable_3"
                   ? anyplace::Kernel(device, [](const anyplace::Block&, std::uint64_t, float, int) {})
                   : anyplace::Kernel(device, [](const anyplace::Block&) { empty_block(); });
  } else {
    module = anyplace::Module::from_file(device, options.image);
  }
  const anyplace::Buffer buffer(stream, buffered), other_buffer(stream, buffered);
  std::array<std::byte, copied> host{};
  const Subject subject{stream,
                        event,
                        wants_callable ? callable.view() : module.kernel(options.kernel()),
                        buffer.view(),
                        other_buffer.view(),
                        host.data()};
  const auto run = find(calls, options.name);
  event.record(stream);
  stream.synchronize();
  const auto run_batch = [&](long batch) {
    if (options.name != "capture_3") return run(subject, batch);
    stream.begin_capture();
    run(subject, batch);
    static_cast<void>(stream.end_capture());
  };
  in_batches(options.count, run_batch, [&] { stream.synchronize(); });
}

void through_driver(int index, const Options& options) {
  const bench::Driver driver(index);
  DriverSubject subject{driver};
  driver.check(driver.stream_create(&subject.stream, bench::cu_stream_non_blocking, 0), "cuStreamCreateWithPriority");
  driver.check(driver.event_create(&subject.event, bench::cu_event_disable_timing), "cuEventCreate");
  const std::vector<char> image = bench::read_image(options.image);
  bench::CuHandle module = nullptr;
  driver.check(driver.module_load(&module, image.data()), "cuModuleLoadData");
  driver.check(driver.module_kernel(&subject.kernel, module, options.kernel()), "cuModuleGetFunction");
  const auto synchronize = [&] { driver.check(driver.stream_synchronize(subject.stream), "cuStreamSynchronize"); };
  const auto run = find(driver_calls, options.name);
  driver.check(driver.event_record(subject.event, subject.stream), "cuEventRecord");
  synchronize();
  in_batches(
      options.count, [&](long batch) { run(subject, batch); }, synchronize);
  driver.check(driver.module_unload(module), "cuModuleUnload");
  driver.check(driver.event_destroy(subject.event), "cuEventDestroy");
  driver.check(driver.stream_destroy(subject.stream), "cuStreamDestroy");
}

/// For bench_null alone, which asks its host for nothing and has no handles.
void through_entries(const char* plugin, const Options& options) {
  void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("no plugin: ") + dlerror());
  const auto entry = reinterpret_cast<anyplace_status (*)(const anyplace_host*, anyplace_backend_table*)>(
      dlsym(library, "anyplace_backend_entry"));
  if (entry == nullptr) throw std::runtime_error(std::string("no plugin: ") + dlerror());
  anyplace_host host{};
  host.struct_size = sizeof(host);
  TableSubject subject;
  subject.table.struct_size = sizeof(subject.table);
  must(entry(&host, &subject.table) == 0);
  const auto run = find(entries_calls, options.name);
  in_batches(
      options.count, [&](long batch) { run(subject, batch); }, [] {});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s anyplace|driver|entries PLACE|INDEX|PLUGIN CALL COUNT IMAGE\n", argv[0]);
    return 2;
  }
  const Options options{argv[3], std::atol(argv[4]), argv[5]};
  const std::string way = argv[1];
  if (way == "anyplace") {
    through_anyplace(argv[2], options);
  } else if (way == "driver") {
    through_driver(std::atoi(argv[2]), options);
  } else if (way == "entries") {
    through_entries(argv[2], options);
  } else {
    throw std::runtime_error("'" + way + "' is none of anyplace, driver, entries");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
