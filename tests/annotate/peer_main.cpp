// SPDX-License-Identifier: Apache-2.0
// What the cases run in a process of its own: annotate_peer SCENARIO. Tools are looked for once in a process.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "anyplace/anyplace.h"

namespace {

namespace annotate = anyplace::annotate;

std::atomic<long> allocations{0};

void states() {
  for (const annotate::ListenerLibrary& library : annotate::listener_libraries()) {
    std::printf("%s %s: %s\n", library.name.c_str(), library.active ? "active" : "idle", library.reason.c_str());
  }
}

/// All kinds of calls, on three threads.
void tour() {
  const annotate::Category early("early");
  const annotate::Domain before("before");  // before anything was looked for
  annotate::range_push("frame", {.color = 0xff112233});
  const annotate::Domain loader("loader");
  const annotate::Category copies("copies");
  annotate::range_push("tile", {.domain = loader, .category = copies, .payload = 7});
  annotate::mark("pixel", {.domain = before, .category = early, .payload = 0.5});
  annotate::mark("plain");
  const annotate::RangeId id = annotate::range_start("load", {.payload = 9u});
  std::thread([&] {
    annotate::name_thread("loader");
    annotate::range_end(id);
    const annotate::Range range(std::string_view("inner and more").substr(0, 5));
  }).join();
  annotate::range_pop(loader);
  annotate::range_pop();
  annotate::range_pop();  // one too many
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.mark("reached");
  stream.synchronize();
}

void once() {
  annotate::range_push("once");
  annotate::mark("again");
  if (const char* const mode = std::getenv("ANNOTATE_TEST_MODE");
      mode != nullptr && std::strcmp(mode, "fills_later") == 0) {
    void* const tool = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    reinterpret_cast<void (*)()>(dlsym(tool, "annotate_test_fill_now"))();
  }
  annotate::range_pop();
  annotate::mark("and again");
  std::printf("listening: %d\n", annotate::listening() ? 1 : 0);
  states();
}

void strings() {
  const std::string large(10 << 20, 'x');
  std::string wide;  // a character of two bytes across the limit
  for (int i = 0; i < 40000; ++i) wide += "\xc3\xa4";
  annotate::mark("");
  annotate::mark(std::string("before\0after", 12));
  annotate::mark(large);
  annotate::mark(large.c_str());
  annotate::mark("x" + wide);
}

void open_at_exit() {
  static std::optional<annotate::Range> kept;
  annotate::range_push("open");
  std::thread([] { annotate::range_push("open at the thread's end"); }).join();
  static_cast<void>(annotate::range_start("never ended"));
  kept.emplace("ends with the static objects");
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.mark("reached");
  stream.synchronize();
}

void many_names() {
  for (int i = 0; i < 17000; ++i) annotate::mark("name " + std::to_string(i));
}

void deep() {
  for (int i = 0; i < 10000; ++i) annotate::range_push("deeper");
  for (int i = 0; i < 10000; ++i) annotate::range_pop();
}

/// In the child everything is silent, whatever the parent's other threads held.
int fork_while_busy() {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      annotate::range_end(annotate::range_start("busy"));
      annotate::Category("busy");
    }
  });
  const annotate::RangeId id = annotate::range_start("parent's");
  int failed = 0;
  {
    const annotate::Range range("parent's");
    for (int round = 0; round < 20; ++round) {
      const pid_t child = ::fork();
      if (child == 0) {
        bool good = annotate::range_push("child's") == annotate::nobody_listens && !annotate::listening() &&
                    annotate::range_start("child's") == 0 && !annotate::range_end(id) &&
                    annotate::Category("child's").number() == 0;
        annotate::mark("child's");
        struct : annotate::Listener {
        } listener;
        try {
          const annotate::ListenerGuard guard(listener);
          good = false;
        } catch (const anyplace::Error& error) {
          good = good && error.code() == anyplace::ErrorCode::forked;
        }
        ::_exit(good ? 0 : 1);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) ++failed;
    }
  }
  stop = true;
  busy.join();
  std::printf("failed: %d\n", failed);
  return failed == 0 ? 0 : 1;
}

void nobody() {
  annotate::mark("this one looks for tools");
  const std::string name(1000, 'n');
  const long before = allocations.load();
  for (int i = 0; i < 1000; ++i) {
    const annotate::Range range(name, {.payload = i});
    annotate::range_push(name.c_str());
    annotate::mark(name);
    annotate::range_end(annotate::range_start(name));
    annotate::range_pop();
  }
  std::printf("allocations: %ld\n", allocations.load() - before);
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
#endif

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  if (const char* const library = std::getenv("ANNOTATE_TEST_LOAD")) {
    if (dlopen(library, RTLD_NOW) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  if (scenario == "tour") tour();
  if (scenario == "once") once();
  if (scenario == "strings") strings();
  if (scenario == "open_at_exit") open_at_exit();
  if (scenario == "many_names") many_names();
  if (scenario == "deep") deep();
  if (scenario == "nobody") nobody();
  if (scenario == "fork") return fork_while_busy();
  return 0;
}
