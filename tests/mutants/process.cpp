// SPDX-License-Identifier: Apache-2.0
// Mutations of what a backend does to its process, and of its end.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstdio>
#include <mutex>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

void handle(int) {}

/// stream_create, with something that it had better not do before.
template <void (*Before)()>
void before_streams(Table& table) {
  table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    Before();
    return real.stream_create(self, device, desc, out);
  };
}

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}
void change_directory() { static_cast<void>(chdir("/")); }
void change_locale() { std::setlocale(LC_ALL, "C.UTF-8"); }
void change_rounding() { std::fesetround(FE_TOWARDZERO); }
void change_creation_mask() { umask(077); }
void say_so() { std::printf("a stream is made\n"); }
void close_input() { close(STDIN_FILENO); }

/// A thread that takes the application's signals, all or some.
template <int... Blocked>
void start_thread() {
  sigset_t mask, before;
  sigemptyset(&mask);
  for (const int number : {0, Blocked...}) {
    if (number != 0) sigaddset(&mask, number);
  }
  pthread_sigmask(SIG_SETMASK, &mask, &before);
  std::thread([] {
    for (;;) pause();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void start_thread_once() {
  static std::once_flag once;
  std::call_once(once, [] { start_thread<SIGINT, SIGTERM, SIGHUP>(); });
}

constexpr const char* signals_taken = "process: the threads that a backend starts take none of the process's signals";
constexpr const char* looks_are_quiet =
    "process: loading a plugin and a look at its devices write nothing to standard output or standard error";

const Mutation mutations[] = {
    {"entry_starts_thread", "the entry starts a thread",
     "process: the plugin's entry and a look at the devices start no thread",
     [](Table&) {
       std::thread([] {
         for (;;) pause();
       }).detach();
     }},
    {"signal_handled", "the plugin takes a signal for itself", left_alone, [](Table&) { signal(SIGUSR2, handle); }},
    {"signal_ignored", "the plugin makes the process ignore SIGPIPE", left_alone,
     [](Table&) { signal(SIGPIPE, SIG_IGN); }},
    {"signals_blocked", "a call leaves the caller's signals blocked", left_alone, before_streams<block_signals>},
    {"directory_changed", "a call changes the directory", left_alone, before_streams<change_directory>},
    {"locale_changed", "a call changes the locale", left_alone, before_streams<change_locale>},
    {"rounding_changed", "a call changes how numbers are rounded", left_alone, before_streams<change_rounding>},
    {"creation_mask_changed", "a call changes the mask of new files", left_alone, before_streams<change_creation_mask>},
    {"standard_output_written", "a call writes to standard output", "process: nothing is written to standard output",
     before_streams<say_so>},
    {"standard_input_closed", "a call closes standard input",
     "process: standard input, output and errors stay what they were", before_streams<close_input>},
    {"thread_takes_signals", "a thread of the backend's takes all signals", signals_taken,
     before_streams<start_thread<>>},
    {"thread_takes_some_signals", "a thread of the backend's blocks but a few signals", signals_taken,
     before_streams<start_thread_once>},
    {"kernel_thread_takes_signals", "a thread that is started for kernels takes signals", signals_taken,
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         start_thread_once();
         return real.kernel_launch(self, stream, kernel, launch);
       };
     }},
    {"sharing_thread_takes_signals", "a thread that watches other processes' events takes signals",
     "process: the threads that a backend starts to share with another process take none of the process's signals",
     [](Table& table) {
       table.event_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out) {
         start_thread_once();
         return real.event_import(self, device, handle, out);
       };
     }},
    {"sharing_server_takes_signals", "a thread that serves what is exported takes signals",
     "process: the threads that a backend starts to share with another process take none of the process's signals",
     [](Table& table) {
       table.event_export = [](void* self, anyplace_event event, anyplace_ipc_handle* out) {
         start_thread_once();
         return real.event_export(self, event, out);
       };
     }},
    {"loading_says_so", "the entry writes to standard error", looks_are_quiet,
     [](Table&) { std::fputs("mutant: loaded\n", stderr); }},
    {"counting_says_so", "counting the devices writes to standard error", looks_are_quiet,
     [](Table& table) {
       table.device_count = [](void* self, int32_t* count) {
         std::fputs("mutant: counting\n", stderr);
         return real.device_count(self, count);
       };
     }},
    {"counting_printed", "counting the devices writes to standard output", looks_are_quiet,
     [](Table& table) {
       table.device_count = [](void* self, int32_t* count) {
         std::printf("mutant: counting\n");
         return real.device_count(self, count);
       };
     }},
    {"looking_says_so", "the first look at a device writes to standard error", looks_are_quiet,
     [](Table& table) {
       table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
         static std::once_flag once;
         std::call_once(once, [] { std::fputs("mutant: a device\n", stderr); });
         return real.device_properties(self, device, out);
       };
     }},
    {"properties_change", "the properties change with use",
     "process: the properties are the same each time, before work and after",
     [](Table& table) {
       static int streams_made = 0;
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         ++streams_made;
         return real.stream_create(self, device, desc, out);
       };
       table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
         const Status status = real.device_properties(self, device, out);
         if (streams_made > 0) out->compute_units += 1;
         return status;
       };
     }},
    {"shutdown_early", "shutting down doesn't wait",
     "process: shutdown, given all the time there is, waits for work that is pending",
     [](Table& table) { table.shutdown = [](void*, uint64_t) { return ok; }; }},
    {"shutdown_says_ok", "a shutdown that ran out of time says that all is done",
     "process: shutdown waits no longer than it is given, and returns TIMEOUT",
     [](Table& table) {
       table.shutdown = [](void* self, uint64_t timeout) {
         real.shutdown(self, timeout);
         return ok;
       };
     }},
    {"shutdown_time_signed", "a shutdown takes its time for a number with a sign",
     "process: shutdown, given 2^63 nanoseconds, waits for work that is pending",
     [](Table& table) {
       table.shutdown = [](void* self, uint64_t timeout) {
         const bool negative = timeout > INT64_MAX && timeout != ANYPLACE_FOREVER;
         return real.shutdown(self, negative ? 0 : timeout);
       };
     }},
    {"shutdown_time_added", "a shutdown adds something to its time without looking",
     "process: shutdown, given 2^64 - 2 nanoseconds, waits for work that is pending",
     [](Table& table) {
       table.shutdown = [](void* self, uint64_t timeout) {
         return real.shutdown(self, timeout == ANYPLACE_FOREVER ? timeout : timeout + 1000);
       };
     }},
};

}  // namespace

std::span<const Mutation> process_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
