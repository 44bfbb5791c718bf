// SPDX-License-Identifier: Apache-2.0
// What is said when a kernel on cpu_sim ends the process, and that it ends as it would have without that.
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "memory/memory_support.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/sanitized.h"

namespace fault_test {

using namespace anyplace;
using namespace memory_test;

namespace {

/// A kernel that writes to an address where nothing is, in block (0, 5, 0).
int stray() {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
  stream.launch(module.kernel("stray"), {{1, 7}, 1}, std::uint64_t{0x1230});  // a number: nobody can check it
  stream.synchronize();
  return 0;
}

void died_of(const test::Ended& child, int signal) {
  INFO(child.out);
  CHECK_FALSE(child.hung);
  if (test::sanitized) {
    CHECK(child.status != 0);
  } else {
    CHECK(child.signal == signal);
  }
}

}  // namespace

TEST_CASE("A module's kernel that leaves its memory is named with its block and the process dies of the signal") {
  const test::Ended child = test::in_child(stray);
  died_of(child, SIGSEGV);
  CHECK_THAT(child.out, Catch::Contains("anyplace: cpu_sim: SIGSEGV at address 0x1230 in the kernel stray, "
                                        "block (0, 5, 0)"));
}

TEST_CASE("A kernel whose blocks run as one and that leaves its memory is named with those blocks") {
  const test::Ended child = test::in_child([] {
    test::set_env("ANYPLACE_CPU_SIM_WORKERS", "1");
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
    stream.launch(module.kernel("stray_joined"), {{100'000, 2}, 1}, std::uint64_t{0x1230});
    stream.synchronize();
    return 0;
  });
  died_of(child, SIGSEGV);
  CHECK_THAT(child.out, Catch::Contains("SIGSEGV at address 0x1230 in the kernel stray_joined, one of the blocks (") &&
                            Catch::Contains(", 0) to (") && Catch::Contains(", 0); what"));
}

TEST_CASE("A callable that leaves its memory is told with its block") {
  const test::Ended child = test::in_child([] {
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Kernel kernel(device, [](const Block& block, std::uint64_t where) {
      if (block.index().x == 2) *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(where)) = 1;
    });
    stream.launch(kernel, {3, 1}, std::uint64_t{0x4560});
    stream.synchronize();
    return 0;
  });
  died_of(child, SIGSEGV);
  CHECK_THAT(child.out, Catch::Contains("SIGSEGV at address 0x4560 in the kernel (a callable), block (2, 0, 0)"));
}

TEST_CASE("A division by zero in a kernel is told as well") {
  const test::Ended child = test::in_child([] {
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Module module = Module::from_file(device, KERNEL_TEST_MODULE);
    stream.launch(module.kernel("divide"), {1, 1}, 0);
    stream.synchronize();
    return 0;
  });
#if defined(__x86_64__)
  died_of(child, SIGFPE);
  CHECK_THAT(child.out, Catch::Contains("SIGFPE") && Catch::Contains("in the kernel divide, block (0, 0, 0)"));
#endif
}

TEST_CASE("Left off, signals are left alone") {
  const test::Ended child = test::in_child([] {
    test::set_env("ANYPLACE_CPU_SIM_FAULTS", "off");
    return stray();
  });
  died_of(child, SIGSEGV);
  CHECK_THAT(child.out, !Catch::Contains("in the kernel"));
}

TEST_CASE("Another word than report and off is refused with what is allowed") {
  const test::Ended child = test::in_child([] {
    test::set_env("ANYPLACE_CPU_SIM_FAULTS", "loud");
    return stray();
  });
  CHECK(child.status == 99);
  CHECK_THAT(child.out,
             Catch::Contains("ANYPLACE_CPU_SIM_FAULTS is \"loud\"") && Catch::Contains("allowed is report or off"));
}

namespace {

sigjmp_buf way_out;
void jump_out(int) { siglongjmp(way_out, 1); }
void exit_with_seven(int, siginfo_t* info, void*) {
  _exit(reinterpret_cast<std::uintptr_t>(info->si_addr) == 0x1230 ? 7 : 8);
}

}  // namespace

TEST_CASE("An application's own handler gets a kernel's fault as it would have") {
  const test::Ended child = test::in_child([] {
    struct sigaction action {};
    action.sa_sigaction = exit_with_seven;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    return stray();
  });
  INFO(child.out);
  CHECK(child.status == 7);
  CHECK_THAT(child.out, Catch::Contains("in the kernel stray, block (0, 5, 0)"));
}

TEST_CASE("A fault outside of kernels is the application's alone") {
  const test::Ended child = test::in_child([] {
    struct sigaction action {};
    action.sa_handler = jump_out;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Kernel kernel(device, [](const Block&) {});
    stream.launch(kernel, {1, 1});
    stream.synchronize();
    for (int i = 0; i < 3; ++i) {
      if (sigsetjmp(way_out, 1) == 0) {
        *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(0x1230)) = 1;
        return 1;
      }
    }
    return 5;
  });
  INFO(child.out);
  CHECK(child.status == 5);
  CHECK_THAT(child.out, !Catch::Contains("anyplace"));
}

TEST_CASE("A signal that was sent is none of a kernel's, and does what it did") {
  const test::Ended child = test::in_child([] {
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Kernel kernel(device, [](const Block&) { ::raise(SIGBUS); });
    stream.launch(kernel, {1, 1});
    stream.synchronize();
    return 0;
  });
  died_of(child, SIGBUS);
  CHECK_THAT(child.out, !Catch::Contains("in the kernel"));
}

TEST_CASE("A process without kernels keeps its handlers") {
  const test::Ended child = test::in_child([] {
    struct sigaction before {};
    sigaction(SIGSEGV, nullptr, &before);
    const Device device("cpu_sim:0");
    const Stream stream(device);
    const Buffer buffer(stream, 100);
    stream.memset8(buffer, 1);
    stream.synchronize();
    struct sigaction after {};
    sigaction(SIGSEGV, nullptr, &after);
    return std::memcmp(&before.sa_handler, &after.sa_handler, sizeof(before.sa_handler)) == 0 ? 0 : 1;
  });
  CHECK(child.status == 0);
}

}  // namespace fault_test
