// SPDX-License-Identifier: Apache-2.0
//
//   entries_test PLUGIN    runs every case on the devices of ANYPLACE_PADDLE_PLACES, a line for each; exits 1 if one
//   fails
#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "entries.h"

namespace entries_test {
namespace {

const char* plugin_path = "";

std::vector<std::pair<const char*, Case>>& cases() {
  static std::vector<std::pair<const char*, Case>> all;
  return all;
}

template <class Function>
Function find(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error(std::string("the plug-in has no ") + name);
  return reinterpret_cast<Function>(symbol);
}

Plugin open_plugin() {
  void* const library = ::dlopen(plugin_path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  Plugin opened;
  opened.init = find<void (*)(CustomRuntimeParams*)>(library, "InitPlugin");
  opened.last_error = find<const char* (*)()>(library, "anyplace_paddle_last_error");
  opened.clear_error = find<void (*)()>(library, "anyplace_paddle_clear_error");
  return opened;
}

}  // namespace

Register::Register(const char* name, Case body) { cases().emplace_back(name, body); }

Plugin& plugin() {
  static Plugin& opened = [&]() -> Plugin& {
    static Plugin plugin = open_plugin();
    plugin.table.size = sizeof(C_DeviceInterface);
    plugin.params.size = sizeof(CustomRuntimeParams);
    plugin.params.interface = &plugin.table;
    plugin.init(&plugin.params);
    if (plugin.params.device_type == nullptr) throw std::runtime_error(std::string("refused: ") + plugin.last_error());
    return plugin;
  }();
  return opened;
}

int device_count() {
  std::size_t count = 0;
  REQUIRE(plugin().table.get_device_count(&count) == C_SUCCESS);
  return static_cast<int>(count);
}

Memory::Memory(int id, std::size_t bytes) : device_(id), bytes_(bytes) {
  REQUIRE(plugin().table.device_memory_allocate(device_, &data_, bytes) == C_SUCCESS);
  REQUIRE(data_ != nullptr);
}
Memory::~Memory() { (void)plugin().table.device_memory_deallocate(device_, data_, bytes_); }

Stream::Stream(int id) : device_(id) {
  REQUIRE(plugin().table.create_stream(device_, &stream_) == C_SUCCESS);
  REQUIRE(stream_ != nullptr);
}
Stream::~Stream() { (void)plugin().table.destroy_stream(device_, stream_); }
void Stream::synchronize() { REQUIRE(plugin().table.synchronize_stream(device_, stream_) == C_SUCCESS); }

C_Status add_callback(int id, C_Stream stream, std::function<void()> function) {
  Device device(id);
  auto* const kept = new std::function<void()>(std::move(function));
  return plugin().table.stream_add_callback(
      device, stream,
      [](C_Device, C_Stream, void* user_data, C_Status*) {
        const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(user_data));
        (*mine)();
      },
      kept);
}

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = first + static_cast<std::uint32_t>(i);
  return result;
}

int run(std::string_view text) {
  int passed = 0, failed = 0;
  for (const auto& [name, body] : cases()) {
    if (std::string_view(name).find(text) == std::string_view::npos) continue;
    try {
      body();
      ++passed;
      std::printf("passed: %s\n", name);
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED: %s: %s (last error: %s)\n", name, error.what(), plugin().last_error());
    }
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace entries_test

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: entries_test PLUGIN [TEXT]\n");
    return 2;
  }
  entries_test::plugin_path = argv[1];
  return entries_test::run(argc == 3 ? argv[2] : "");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
