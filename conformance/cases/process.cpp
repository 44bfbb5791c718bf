// SPDX-License-Identifier: Apache-2.0
//
// A backend is a guest in its process: it changes nothing that isn't its own, starts no thread before there is work,
// and its shutdown waits for all work, as long as it is given and no longer.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "figures.h"
#include "table_module.h"

namespace anyplace::conformance::process_cases {
namespace {

// ---- The process's state

struct SignalState {
  void* handler = nullptr;
  int flags = 0;
};

/// The handler of a signal: SIG_DFL, SIG_IGN or a function.
SignalState state_of(int number) {
  struct sigaction action {};
  if (sigaction(number, nullptr, &action) != 0) return {};
  SignalState state;
  static_assert(sizeof(action.sa_handler) == sizeof(state.handler));
  std::memcpy(&state.handler, &action.sa_handler, sizeof(state.handler));
  state.flags = action.sa_flags;
  return state;
}

/// Whether a signal handler may be there. A vendor's library may handle signals (page faults of managed memory), the
/// plugin must not.
bool is_of(const void* function, const std::string& plugin) {
  if (reinterpret_cast<std::uintptr_t>(function) <= 1) return true;  // the default, or ignored
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  return std::filesystem::exists(info.dli_fname) && std::filesystem::equivalent(info.dli_fname, plugin);
}

/// The thread's floating-point mode: rounding and, on x86, the handling of denormals and exceptions.
unsigned arithmetic() {
#if defined(__SSE__)
  constexpr unsigned exceptions_so_far = 0x3f;
  return _mm_getcsr() & ~exceptions_so_far;
#else
  return static_cast<unsigned>(std::fegetround());
#endif
}

struct ProcessState {
  SignalState signals[65];
  sigset_t mask;
  std::string directory;
  std::string locale;
  mode_t creation_mask;
  unsigned arithmetic;
  int file_flags[3];
};

ProcessState process_state() {
  ProcessState state{};
  for (int number = 1; number <= 64; ++number) state.signals[number] = state_of(number);
  sigemptyset(&state.mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &state.mask);
  state.directory = std::filesystem::current_path().string();
  state.locale = std::setlocale(LC_ALL, nullptr);
  state.creation_mask = umask(0);
  umask(state.creation_mask);
  state.arithmetic = arithmetic();
  for (int i = 0; i < 3; ++i) state.file_flags[i] = fcntl(i, F_GETFL);
  return state;
}

/// Whether a backend may handle the signal. One whose kernels run in this process may report the kernel that ends it.
bool may_be_reported(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

enum class KernelsHere : std::uint8_t { not_yet, ran };

void check_same(const ProcessState& before, const ProcessState& after, const std::string& plugin,
                KernelsHere kernels = KernelsHere::not_yet) {
  for (int number = 1; number <= 64; ++number) {
    const SignalState was = before.signals[number];
    const SignalState is = after.signals[number];
    if (was.handler == is.handler && was.flags == is.flags) continue;
    if (is.handler != was.handler && !is_of(is.handler, plugin)) continue;
    if (kernels == KernelsHere::ran && may_be_reported(number)) continue;
    check_failed(__FILE__, __LINE__, "what happens at signal " + std::to_string(number) + " was changed");
  }
  for (int number = 1; number <= 64; ++number) {
    if (sigismember(&before.mask, number) == sigismember(&after.mask, number)) continue;
    check_failed(__FILE__, __LINE__, "whether the thread takes signal " + std::to_string(number) + " was changed");
  }
  CHECK_EQUAL(after.directory, before.directory);
  CHECK_EQUAL(after.locale, before.locale);
  CHECK_EQUAL(after.creation_mask, before.creation_mask);
  CHECK_EQUAL(after.arithmetic, before.arithmetic);
  for (int i = 0; i < 3; ++i) CHECK_EQUAL(after.file_flags[i], before.file_flags[i]);
}

/// Uses a little of everything that every backend has, also of what fails.
void use(const TableBackend& backend) {
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_event event = backend.event();
  const anyplace_address memory = backend.allocate(1 << 20);
  const Bytes contents = pattern(1 << 16);
  backend.write(stream, memory, contents);
  backend.fill(stream, memory + (1 << 16), 5, 1 << 16);
  CHECK_BYTES(backend.read(stream, memory, 1 << 16), contents);
  MUST(backend, event_record, event, stream);
  MUST(backend, stream_wait_event, other, event);
  static_cast<void>(ENTRY(backend, event_synchronize, event, 1000));
  MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
  if (backend.has(Capability::host_functions)) submit(backend, stream, [] {});
  anyplace_address none = 0;
  CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE,
               std::uint64_t{1} << 62, &none);
  MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  MUST(backend, event_destroy, event);
  backend.free(memory);
  backend.destroy(stream);
  backend.destroy(other);
}

/// Makes waits that end before the work does.
void use_time(const TableBackend& backend) {
  if (!backend.has(Capability::host_functions)) return;
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  TableHold hold(backend);
  hold.hold(stream);
  MUST(backend, event_record, event, stream);
  static_cast<void>(ENTRY(backend, stream_synchronize, stream, 1000));
  static_cast<void>(ENTRY(backend, event_synchronize, event, 1000));
  static_cast<void>(ENTRY(backend, device_synchronize, backend.device(), 1000));
  hold.open();
  backend.synchronize(stream);
  MUST(backend, event_destroy, event);
  backend.destroy(stream);
}

void use_host_kernels(const TableBackend& backend) {
  if (!backend.has(Capability::host_kernels)) return;
  const anyplace_stream stream = backend.stream();
  const anyplace_kernel kernel = backend.kernel(fail);
  const anyplace_launch launch = launch_of(8);
  MUST(backend, kernel_launch, stream, kernel, &launch);
  backend.synchronize(stream);
  MUST(backend, kernel_destroy, kernel);
  backend.destroy(stream);
}

void use_modules(const Run& run, const TableBackend& backend) {
  if (!backend.has(Capability::modules) || run.module_file().empty()) return;
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  TableImage image(run);
  anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  anyplace_kernel none = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  static_cast<void>(ENTRY(backend, module_kernel, module, "no_such_kernel", &none));
  FillLaunch fill(memory, 64, 1);
  MUST(backend, kernel_launch, stream, kernel, &fill.launch());
  backend.synchronize(stream);
  MUST(backend, module_unload, module);
  image.bytes().resize(std::min<std::size_t>(image.bytes().size(), 64));
  desc = image.desc();
  static_cast<void>(ENTRY(backend, module_load, backend.device(), &desc, &module));
  backend.free(memory);
  backend.destroy(stream);
}

void use_virtual_memory(const TableBackend& backend) {
  if (!backend.has(Capability::virtual_memory)) return;
  std::uint64_t granule = 0;
  anyplace_address range = 0;
  anyplace_physical physical = 0;
  MUST(backend, virtual_granularity, backend.device(), &granule);
  MUST(backend, virtual_reserve, backend.device(), 2 * granule, &range);
  MUST(backend, physical_create, backend.device(), granule, &physical);
  MUST(backend, virtual_map, backend.device(), range, physical);
  MUST(backend, virtual_unmap, backend.device(), range, granule);
  MUST(backend, physical_destroy, physical);
  MUST(backend, virtual_release, backend.device(), range, 2 * granule);
}

void use_all_but_kernels(const TableBackend& backend) {
  use(backend);
  use_time(backend);
  use_virtual_memory(backend);
}

void use_kernels(const Run& run, const TableBackend& backend) {
  use_host_kernels(backend);
  use_modules(run, backend);
}

ANYPLACE_CASE("process", "process.left_alone",
              "signals, the directory, the locale and the rounding of numbers stay as they were") {
  const ProcessState before = process_state();
  KernelsHere kernels = KernelsHere::not_yet;
  {
    TableBackend backend(run);
    check_same(before, process_state(), run.plugin_file());
    use_all_but_kernels(backend);
    check_same(before, process_state(), run.plugin_file());
    use_kernels(run, backend);
    kernels = backend.has(Capability::host_kernels) ? KernelsHere::ran : KernelsHere::not_yet;
    check_same(before, process_state(), run.plugin_file(), kernels);
    if (backend.table().shutdown != nullptr) backend.shut_down(ANYPLACE_FOREVER);
  }
  check_same(before, process_state(), run.plugin_file(), kernels);
}

ANYPLACE_CASE("process", "process.left_alone", "nothing is written to standard output") {
  const Folder folder;
  const std::string path = folder.file("output", "");
  std::fflush(nullptr);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_APPEND);
  CHECK(file >= 0);
  CHECK(dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
  {
    TableBackend backend(run);
    use_all_but_kernels(backend);
    use_kernels(run, backend);
    if (backend.table().shutdown != nullptr) backend.shut_down(ANYPLACE_FOREVER);
  }
  std::fflush(nullptr);
  std::string text(256, '\0');
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  CHECK_EQUAL(text, "");
}

ANYPLACE_CASE("process", "process.left_alone", "standard input, output and errors stay what they were") {
  struct stat before[3] = {};
  for (int i = 0; i < 3; ++i) fstat(i, &before[i]);
  {
    TableBackend backend(run);
    use(backend);
    if (backend.table().shutdown != nullptr) backend.shut_down(ANYPLACE_FOREVER);
  }
  for (int i = 0; i < 3; ++i) {
    struct stat after {};
    CHECK(fstat(i, &after) == 0);
    CHECK(after.st_ino == before[i].st_ino);
    CHECK(after.st_dev == before[i].st_dev);
  }
}

/// The number of libraries that the process has loaded, without plugins.
int libraries() {
  int count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        void* const library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
        const bool plugin = library != nullptr && dlsym(library, ANYPLACE_ENTRY_SYMBOL) != nullptr;
        *static_cast<int*>(into) += plugin ? 0 : 1;
        return 0;
      },
      &count);
  return count;
}

std::int64_t threads() {
  std::int64_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

ANYPLACE_CASE("process", "process.left_alone", "the plugin's entry and a look at the devices start no thread") {
  // Loads the plugin with the libraries that it is linked to. Libraries that are loaded later are the vendor's, and the
  // threads may be theirs.
  if (dlopen(run.plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) check_failed(__FILE__, __LINE__, dlerror());
  const int libraries_before = libraries();
  const std::int64_t threads_before = threads();
  TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t device = 0; device < count; ++device) {
    backend.properties(device);
    backend.memory(device);
  }
  if (threads() > threads_before && libraries() > libraries_before) {
    skip("an entry in which no vendor's library may have started threads");
  }
  CHECK_EQUAL(threads(), threads_before);
}

ANYPLACE_CASE("process", "process.left_alone", "the properties are the same each time, before work and after") {
  TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  std::vector<anyplace_device_properties> before;
  for (std::int32_t device = 0; device < count; ++device) before.push_back(backend.properties(device));
  use(backend);
  std::int32_t again = 0;
  MUST(backend, device_count, &again);
  CHECK_EQUAL(again, count);
  for (std::int32_t device = 0; device < count; ++device) {
    const anyplace_device_properties after = backend.properties(device);
    CHECK(std::memcmp(&after, &before[static_cast<std::size_t>(device)], sizeof(after)) == 0);
  }
}

// ---- Shutdown

struct Time {
  std::string label;
  std::uint64_t nanoseconds;
  bool enough;  ///< whether work that is already done fits into it
};
const std::vector<Time> times = {{"no time", 0, false},
                                 {"a nanosecond", 1, false},
                                 {"2^62 nanoseconds", std::uint64_t{1} << 62, true},
                                 {"2^63 nanoseconds", std::uint64_t{1} << 63, true},
                                 {"2^64 - 2 nanoseconds", ANYPLACE_FOREVER - 1, true},
                                 {"all the time there is", ANYPLACE_FOREVER, true}};

std::vector<Time> those_enough() {
  std::vector<Time> enough;
  std::copy_if(times.begin(), times.end(), std::back_inserter(enough), [](const Time& time) { return time.enough; });
  return enough;
}
const std::vector<Time> enough_times = those_enough();

void check_ended(anyplace_status status, bool enough) {
  if (!enough && status == ANYPLACE_STATUS_TIMEOUT) return;
  TableBackend::require(status, "shutdown", {__FILE__, __LINE__});
}

ANYPLACE_CASES(times, "process", "process.shutdown", "shutdown, given {}, ends an instance that was never used") {
  TableBackend backend(run);
  check_ended(backend.shut_down(parameter.nanoseconds), parameter.enough);
}

ANYPLACE_CASES(times, "process", "process.shutdown", "shutdown, given {}, ends an instance whose work is done") {
  TableBackend backend(run);
  use(backend);
  const anyplace_stream left = backend.stream();
  const anyplace_event event = backend.event();
  MUST(backend, event_record, event, left);
  backend.synchronize(left);
  check_ended(backend.shut_down(parameter.nanoseconds), parameter.enough);
}

ANYPLACE_CASES(enough_times, "process", "process.shutdown", "shutdown, given {}, waits for work that is pending") {
  TableBackend backend(run);
  if (backend.table().shutdown == nullptr) skip("the entry shutdown");
  TableHold hold(backend);
  const anyplace_stream stream = backend.stream();
  hold.hold(stream);
  std::atomic<bool> ran{false};
  const bool tells = backend.has(Capability::host_functions);
  if (tells) submit(backend, stream, [&] { ran = true; });
  std::atomic<bool> ended{false};
  anyplace_status status = ANYPLACE_STATUS_OK;
  std::thread waiter([&] {
    status = backend.shut_down(parameter.nanoseconds);
    ended = true;
  });
  try {
    CHECK_STAYS_FALSE(ended.load());
  } catch (...) {
    hold.open();
    waiter.join();
    throw;
  }
  hold.open();
  step(__FILE__, __LINE__, "waiting for shutdown to return");
  waiter.join();
  TableBackend::require(status, "shutdown", {__FILE__, __LINE__});
  if (tells) CHECK(ran.load());
}

ANYPLACE_CASE("process", "process.shutdown", "shutdown waits no longer than it is given, and returns TIMEOUT") {
  TableBackend backend(run);
  if (backend.table().shutdown == nullptr) skip("the entry shutdown");
  TableHold hold(backend);
  const anyplace_stream stream = backend.stream();
  hold.hold(stream);
  CHECK_EQUAL(static_cast<ErrorCode>(backend.shut_down(5 * 1000 * 1000)), ErrorCode::timeout);
}

ANYPLACE_CASE("process", "process.shutdown", "shutdown waits for the work of destroyed streams too",
              Capability::host_functions) {
  TableBackend backend(run);
  if (backend.table().shutdown == nullptr) skip("the entry shutdown");
  std::atomic<int> ran{0};
  for (int i = 0; i < 8; ++i) {
    const anyplace_stream stream = backend.stream();
    for (int each = 0; each < 50; ++each) submit(backend, stream, [&] { ++ran; });
    backend.destroy(stream);
  }
  TableBackend::require(backend.shut_down(ANYPLACE_FOREVER), "shutdown", {__FILE__, __LINE__});
  CHECK_EQUAL(ran.load(), 400);
}

}  // namespace
}  // namespace anyplace::conformance::process_cases
