// SPDX-License-Identifier: Apache-2.0
// A program for `anyplace sweep`: fills memory on cpu_sim:0 and writes it to the file `result`. The first argument says
// what it does wrong when a call fails.
#include <anyplace/anyplace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace anyplace;

/// Never freed, because a copy may still write to it when a synchronisation has failed.
std::vector<std::uint32_t>& host_memory() {
  static auto& only = *new std::vector<std::uint32_t>(1024);
  return only;
}

/// Leaves stream and memory behind if a call fails.
void work_and_leave() {
  auto stream = std::make_unique<Stream>(Device("cpu_sim:0"));
  auto data = std::make_unique<Buffer>(*stream, 4096);
  std::vector<std::uint32_t>& host = host_memory();
  try {
    stream->fill(data->as<std::uint32_t>(), 42u);
    stream->copy(host, *data);
    stream->synchronize();
  } catch (const Error&) {
    static_cast<void>(stream.release());
    static_cast<void>(data.release());
    throw;
  }
  std::ofstream("result").write(reinterpret_cast<const char*>(host.data()), 4096);
}

void work_and_free() {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 4096);
  std::vector<std::uint32_t>& host = host_memory();
  stream.fill(data.as<std::uint32_t>(), 42u);
  stream.copy(host, data);
  stream.synchronize();
  std::ofstream("result").write(reinterpret_cast<const char*>(host.data()), 4096);
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

int ending_of(const std::string& mode) {
  if (mode == "crashes") std::abort();
  if (mode == "hangs") wait_for_ever();
  if (mode == "goes on") {
    std::ofstream("result") << "nothing";
    return 0;
  }
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  for (int i = 1; i < argc; ++i) std::printf("%s\n", argv[i]);
  if (mode == "never ends") wait_for_ever();
  if (mode == "fails") return 7;
  std::fflush(stdout);
  const pid_t child = mode == "forks" ? fork() : -1;
  int status = 0;
  try {
    mode == "leaks" ? work_and_leave() : work_and_free();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = ending_of(mode);
  }
  int of_child = 0;
  if (child > 0) waitpid(child, &of_child, 0);
  return status != 0 ? status : WEXITSTATUS(of_child);
}
