// SPDX-License-Identifier: Apache-2.0
// The one main() of all test programs.
#define CATCH_CONFIG_MAIN
#include <unistd.h>

#include <catch2/catch.hpp>

#if __has_include(<catch2/catch_all.hpp>)  // Catch2 3 makes none of the macro
int main(int count, char** arguments) { return Catch::Session().run(count, arguments); }
#endif

// LeakSanitizer asks this at exit. In the child of a fork its list of threads is the parent's: it would wait for them
// for ever. What a test program itself leaks is found in the program itself.
static const pid_t program = getpid();
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return getpid() != program; }
