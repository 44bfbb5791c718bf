// SPDX-License-Identifier: Apache-2.0
//
// The plugin's table without a core: for what the public API has no call for, and for the table's own promises.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "vendor.h"

namespace vendor_test {

/// The plugin, entered. It is shut down at the end, which must succeed.
class Plugin {
 public:
  Plugin() {
    host_.struct_size = sizeof(host_);
    host_.abi_major = ANYPLACE_ABI_MAJOR;
    host_.abi_minor = ANYPLACE_ABI_MINOR;
    host_.leave_message = [](void*, int64_t code, const char*, const char* text) {
      message() = text == nullptr ? "" : text;
      vendor_code() = code;
    };
    host_.stream_fault = [](void*, uint64_t, anyplace_status, int64_t, const char*, const char*) {};
    host_.user_code_begin = [](void*) {};
    host_.user_code_end = [](void*) {};
    host_.log = [](void*, uint32_t, const char*) {};
    void* const library = dlopen(plugin_file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<anyplace_backend_entry_function>(dlsym(library, ANYPLACE_ENTRY_SYMBOL));
    table_.struct_size = sizeof(table_);
    if (entry(&host_, &table_) != ANYPLACE_STATUS_OK) throw std::runtime_error(message());
    // A backend lives until the process ends: where a leak checker finds it.
    static auto* const entered = new std::vector<void*>;
    entered->push_back(table_.self);
  }
  Plugin(const Plugin&) = delete;  // the plugin keeps the host's address
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { CHECK(table_.shutdown(table_.self, ANYPLACE_FOREVER) == ANYPLACE_STATUS_OK); }

  const anyplace_backend_table* operator->() const noexcept { return &table_; }
  void* self() const noexcept { return table_.self; }

  /// What was left on this thread.
  static std::string& message() {
    thread_local std::string text;
    return text;
  }
  static int64_t& vendor_code() {
    thread_local int64_t code = 0;
    return code;
  }

  anyplace_device_properties properties(int32_t device) const {
    anyplace_device_properties found{};
    found.struct_size = sizeof(found);
    check(table_.device_properties(table_.self, device, &found));
    return found;
  }
  bool has(int32_t device, unsigned capability) const {
    return (properties(device).capabilities >> capability & 1) != 0;
  }
  anyplace_stream make_stream(int32_t device) {
    anyplace_stream_desc desc{};
    desc.struct_size = sizeof(desc);
    desc.cookie = ++cookies_;
    anyplace_stream made = 0;
    check(table_.stream_create(table_.self, device, &desc, &made));
    return made;
  }
  void synchronize(anyplace_stream stream) const {
    check(table_.stream_synchronize(table_.self, stream, ANYPLACE_FOREVER));
  }
  bool is_done(anyplace_stream stream) const {
    int32_t done = 0;
    check(table_.stream_query(table_.self, stream, &done));
    return done != 0;
  }
  /// Throws, with the message.
  static void check(anyplace_status status) {
    if (status != ANYPLACE_STATUS_OK) throw std::runtime_error(std::to_string(status) + ": " + message());
  }

 private:
  anyplace_host host_{};
  anyplace_backend_table table_{};
  uint64_t cookies_ = 0;
};

}  // namespace vendor_test
