// SPDX-License-Identifier: Apache-2.0
//
// The plug-in as Paddle opens it, without Paddle: the table that InitPlugin fills, and the little that the cases share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "paddle/phi/backends/device_ext.h"

/// Ends the case if `condition` doesn't hold.
#define REQUIRE(condition)                                                                                \
  do {                                                                                                    \
    if (!(condition))                                                                                     \
      throw std::runtime_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #condition); \
  } while (false)

namespace entries_test {

struct Plugin {
  C_DeviceInterface table{};
  CustomRuntimeParams params{};
  void (*init)(CustomRuntimeParams*) = nullptr;
  const char* (*last_error)() = nullptr;
  void (*clear_error)() = nullptr;

  /// The thread's last error, which is then forgotten.
  std::string error() const {
    const std::string text = last_error();
    clear_error();
    return text;
  }
};

/// Opened once, of the path that the program was given.
Plugin& plugin();
/// How many devices ANYPLACE_PADDLE_PLACES gives.
int device_count();

/// A device as Paddle hands it over.
struct Device {
  explicit Device(int id) : device{id} {}
  operator C_Device() { return &device; }
  C_Device_st device;
};

/// A chunk of device memory of Paddle's.
class Memory {
 public:
  Memory(int id, std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  void* data() const { return data_; }

 private:
  Device device_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int id);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  C_Stream get() const { return stream_; }
  void synchronize();

 private:
  Device device_;
  C_Stream stream_ = nullptr;
};

/// Calls the function in the stream's order, as Paddle does: it is freed after the call.
C_Status add_callback(int id, C_Stream stream, std::function<void()> function);

/// `count` different numbers from `first`.
std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first = 1);

using Case = void (*)();
/// A case of that name, for main to run.
struct Register {
  Register(const char* name, Case body);
};

#define ENTRIES_CASE_NAME_2(line) case_##line
#define ENTRIES_CASE_NAME(line) ENTRIES_CASE_NAME_2(line)
#define ENTRIES_CASE_REGISTERED_2(line) registered_##line
#define ENTRIES_CASE_REGISTERED(line) ENTRIES_CASE_REGISTERED_2(line)
#define CASE(name)                                                                                          \
  static void ENTRIES_CASE_NAME(__LINE__)();                                                                \
  static const entries_test::Register ENTRIES_CASE_REGISTERED(__LINE__)(name, ENTRIES_CASE_NAME(__LINE__)); \
  static void ENTRIES_CASE_NAME(__LINE__)()

}  // namespace entries_test
