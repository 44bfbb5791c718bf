// SPDX-License-Identifier: Apache-2.0
//
// Memory of several processes: what a handle is of, what opens it, and what is refused.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "support/environment.h"
#include "test_support.h"

namespace ipc_test {

using Catch::Contains;
using test::ok;
using test::World;

namespace {

ze_ipc_mem_handle_t handle_of(const World& world, const void* memory) {
  ze_ipc_mem_handle_t handle{};
  ok(zeMemGetIpcHandle(world.context, memory, &handle));
  return handle;
}

/// The handle with another number in its first word, where the descriptor is.
ze_ipc_mem_handle_t with_descriptor(ze_ipc_mem_handle_t handle, int number) {
  std::memcpy(handle.data, &number, sizeof(number));
  return handle;
}

ze_result_t open(const World& world, const ze_ipc_mem_handle_t& handle, void** out, ze_ipc_memory_flags_t flags = 0) {
  return zeMemOpenIpcHandle(world.context, world.devices[0], handle, flags, out);
}

/// In a process of its own, forked before the driver was used here, once `ready` was written to the pipe.
class Other {
 public:
  explicit Other(const std::function<bool(const ze_ipc_mem_handle_t&, int exporter)>& body) {
    REQUIRE(pipe(pipe_) == 0);
    const pid_t exporter = getpid();
    child_ = fork();
    if (child_ != 0) return;
    ze_ipc_mem_handle_t handle{};
    const bool heard = read(pipe_[0], &handle, sizeof(handle)) == sizeof(handle);
    _exit(heard && body(handle, exporter) ? 0 : 1);
  }
  bool does_well_with(const ze_ipc_mem_handle_t& handle) {
    if (write(pipe_[1], &handle, sizeof(handle)) != sizeof(handle)) return false;
    int status = 0;
    waitpid(child_, &status, 0);
    close(pipe_[0]);
    close(pipe_[1]);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  int pipe_[2];
  pid_t child_ = 0;
};

/// The file that a process has under the number.
int take(int process, int number) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}
int descriptor_in(const ze_ipc_mem_handle_t& handle) {
  int number = -1;
  std::memcpy(&number, handle.data, sizeof(number));
  return number;
}

}  // namespace

TEST_CASE("a handle opens with its descriptor in another process, and not without") {
  Other other([](const ze_ipc_mem_handle_t& handle, int exporter) {
    const World world;
    void* opened = nullptr;
    bool good = open(world, with_descriptor(handle, 900), &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT;
    good = open(world, with_descriptor(handle, 0), &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT && good;
    const int file = take(exporter, descriptor_in(handle));
    void* again = nullptr;
    good = open(world, with_descriptor(handle, file), &opened) == ZE_RESULT_SUCCESS && good;
    good = open(world, with_descriptor(handle, file), &again) == ZE_RESULT_SUCCESS && opened != again && good;
    close(file);
    auto* const words = static_cast<std::uint32_t*>(opened);
    good = good && words[0] == 7 && words[1] == 8;
    if (good) words[1] = 9;
    good = zeMemFree(world.context, opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT && good;
    good = zeMemCloseIpcHandle(world.context, opened) == ZE_RESULT_SUCCESS && good;
    good = zeMemCloseIpcHandle(world.context, opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT && good;
    good = zeMemCloseIpcHandle(world.context, again) == ZE_RESULT_SUCCESS && good;
    return good && world.control.misuses() == 4;
  });
  const World world;
  std::uint32_t* const words = world.words({7, 8});
  CHECK(other.does_well_with(handle_of(world, words)));
  CHECK(words[1] == 9);
}

TEST_CASE("a handle that names its process needs no descriptor") {
  test::set_env("LEVELZERO_DOUBLE_IPC", "opaque");
  Other other([](const ze_ipc_mem_handle_t& handle, int) {
    const World world;
    void* opened = nullptr;
    return open(world, handle, &opened) == ZE_RESULT_SUCCESS && *static_cast<std::uint32_t*>(opened) == 7;
  });
  const World world;
  CHECK(other.does_well_with(handle_of(world, world.words({7}))));
}

TEST_CASE("a handle is of device memory's beginning, on its context") {
  const World world;
  std::uint32_t* const words = world.words({7, 8});
  ze_ipc_mem_handle_t handle{};
  CHECK(zeMemGetIpcHandle(world.context, nullptr, &handle) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeMemGetIpcHandle(world.context, words, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(world.control.misuses() == 0);
  CHECK(zeMemGetIpcHandle(world.context, words + 1, &handle) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemGetIpcHandle(world.context, &handle, &handle) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemGetIpcHandle(world.another_context(), words, &handle) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 3);
  const ze_ipc_mem_handle_t first = handle_of(world, words);
  const ze_ipc_mem_handle_t second = handle_of(world, words);
  CHECK(std::memcmp(&first, &second, sizeof(first)) == 0);
}

TEST_CASE("a handle is put back once, and ends with its memory") {
  const World world;
  std::uint32_t* const words = world.words({7});
  const ze_ipc_mem_handle_t handle = handle_of(world, words);
  const int number = descriptor_in(handle);
  CHECK(fcntl(number, F_GETFD) >= 0);
  ok(zeMemPutIpcHandle(world.context, handle));
  CHECK(fcntl(number, F_GETFD) < 0);
  CHECK(zeMemPutIpcHandle(world.context, handle) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const int another = descriptor_in(handle_of(world, words));
  CHECK(fcntl(another, F_GETFD) >= 0);
  ok(zeMemFree(world.context, words));
  CHECK(fcntl(another, F_GETFD) < 0);
}

TEST_CASE("what isn't opened as it should be is refused") {
  const World world;
  const ze_ipc_mem_handle_t handle = handle_of(world, world.words({7}));
  void* opened = nullptr;
  CHECK(open(world, handle, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(open(world, handle, &opened, 4) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.control.misuses() == 0);
  CHECK(open(world, handle, &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("in the process that made it"));
  CHECK(zeMemCloseIpcHandle(world.context, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeMemCloseIpcHandle(world.context, world.words({1})) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a driver says that it shares memory") {
  const World world;
  auto properties = test::desc_of<ze_driver_ipc_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES);
  ok(zeDriverGetIpcProperties(world.driver, &properties));
  CHECK(properties.flags == ZE_IPC_PROPERTY_FLAG_MEMORY);
}

TEST_CASE("a driver that shares nothing says so") {
  test::set_env("LEVELZERO_DOUBLE_IPC", "none");
  const World world;
  auto properties = test::desc_of<ze_driver_ipc_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES);
  ok(zeDriverGetIpcProperties(world.driver, &properties));
  CHECK(properties.flags == 0);
  ze_ipc_mem_handle_t handle{};
  CHECK(zeMemGetIpcHandle(world.context, world.words({7}), &handle) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

}  // namespace ipc_test
