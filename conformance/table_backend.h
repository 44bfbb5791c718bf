// SPDX-License-Identifier: Apache-2.0
//
// A backend used through its table, for promises that the public API hides behind its own checks, caches and threads:
// what an operation leaves behind, the ends of every range, the process itself. A process that makes a TableBackend
// makes no Device, so that the plugin's entry function is called once in it, as the contract says.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "support.h"

namespace anyplace::conformance {

/// The arguments of a call of host->stream_fault.
struct TableFault {
  std::uint64_t cookie = 0;
  anyplace_status status = ANYPLACE_STATUS_OK;
};

/// Entries that are called through members fail the case unless they return OK; the report shows the entry and its
/// message. ENTRY calls any other entry.
class TableBackend {
 public:
  /// Loads the plugin of the place under test and calls its entry.
  explicit TableBackend(const Run& run, Caller caller = {});
  TableBackend(const TableBackend&) = delete;  // it shuts the backend down once
  TableBackend& operator=(const TableBackend&) = delete;
  ~TableBackend();

  const anyplace_backend_table& table() const noexcept { return table_; }
  void* self() const noexcept { return table_.self; }
  /// The device under test, and another of the backend.
  std::int32_t device() const noexcept { return device_; }
  std::int32_t second() const noexcept { return device_ == 0 ? 1 : 0; }
  anyplace_device_properties properties(std::int32_t device, Caller caller = {}) const;
  anyplace_memory_info memory(std::int32_t device, Caller caller = {}) const;
  bool has(Capability capability) const;

  anyplace_stream stream(Caller caller = {}) const { return stream_of(device_, caller); }
  anyplace_stream stream_of(std::int32_t device, Caller caller = {}) const;
  /// Makes a stream whose faults are reported with that cookie.
  anyplace_stream stream_with(std::uint64_t cookie, Caller caller = {}) const;
  std::uint64_t native(anyplace_stream stream, Caller caller = {}) const;
  anyplace_stream wrapper_of(std::uint64_t native, std::uint64_t cookie = 1000000, Caller caller = {}) const;
  anyplace_event event(std::uint32_t flags = 0, Caller caller = {}) const;
  anyplace_address allocate(std::uint64_t bytes, std::uint32_t kind = ANYPLACE_MEMORY_DEVICE, Caller caller = {}) const;
  void free(anyplace_address address, std::uint32_t kind = ANYPLACE_MEMORY_DEVICE, Caller caller = {}) const;
  anyplace_kernel kernel(anyplace_host_kernel function, void* user = nullptr, void (*release)(void*) = nullptr,
                         Caller caller = {}) const;
  void synchronize(anyplace_stream stream, Caller caller = {}) const;
  void destroy(anyplace_stream stream, Caller caller = {}) const;
  /// These write and read contents by `stream`, and return when that is done.
  void write(anyplace_stream stream, anyplace_address address, const Bytes& contents, Caller caller = {}) const;
  Bytes read(anyplace_stream stream, anyplace_address address, std::uint64_t bytes, Caller caller = {}) const;
  void fill(anyplace_stream stream, anyplace_address address, std::uint8_t value, std::uint64_t bytes,
            Caller caller = {}) const;

  /// Calls the backend's shutdown; nothing of the backend may be called afterwards. Skips the case if there is none.
  anyplace_status shut_down(std::uint64_t timeout_ns, Caller caller = {});
  /// All faults so far, in the order of their reports.
  static std::vector<TableFault> faults();
  /// Returns, and forgets, the message of the calling thread's last entry that failed.
  static std::string message();
  /// From now on every text that a backend leaves, reports or logs is kept, including names of the vendor's codes.
  static void note_texts();
  /// The texts that were kept so far.
  static std::vector<std::string> texts();
  /// Fails the case unless `status` is OK. ENTRY and MUST use it.
  static void require(anyplace_status status, const char* entry, Caller caller);

 private:
  std::int32_t device_;
  anyplace_backend_table table_{};
  bool shut_down_ = false;
};

/// Holds a stream back until open(), by a host function that waits or, if there are none, by a gate. Skips the case if
/// there is neither. The destructor opens it at the latest.
class TableHold {
 public:
  explicit TableHold(const TableBackend& backend) : backend_(backend) {}
  TableHold(const TableHold&) = delete;  // it is one gate
  TableHold& operator=(const TableHold&) = delete;
  ~TableHold();

  /// May be called once.
  void hold(anyplace_stream stream, Caller caller = {});
  void open() noexcept;

 private:
  struct State;
  const TableBackend& backend_;
  std::shared_ptr<State> state_;
  anyplace_gate gate_ = 0;
};

/// Calls `body` as a host function of the stream. It must not throw.
void submit(const TableBackend& backend, anyplace_stream stream, std::function<void()> body, Caller caller = {});

/// Waits for a time that depends on `round`, so that the next call comes sometimes before and sometimes after what runs
/// meanwhile.
void linger(int round) noexcept;

/// A launch of that many blocks with one thread each, without arguments.
anyplace_launch launch_of(std::uint32_t blocks) noexcept;

/// Host kernels.
anyplace_status do_nothing(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept;
anyplace_status fail(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept;

inline std::uint64_t number_of(const void* pointer) noexcept { return reinterpret_cast<std::uint64_t>(pointer); }
inline void* pointer_of(anyplace_address address) noexcept { return reinterpret_cast<void*>(address); }

}  // namespace anyplace::conformance

/// Calls an entry of a TableBackend, which must not be null in a case that does so, and gives its status.
#define ENTRY(backend, entry, ...)                            \
  (::anyplace::conformance::step(__FILE__, __LINE__, #entry), \
   (backend).table().entry((backend).self() __VA_OPT__(, ) __VA_ARGS__))

/// Calls an entry that has to return OK.
#define MUST(backend, entry, ...) \
  ::anyplace::conformance::TableBackend::require(ENTRY(backend, entry, __VA_ARGS__), #entry, {__FILE__, __LINE__})

/// Calls an entry that has to return another status: CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate, ...).
#define CHECK_STATUS(name, backend, entry, ...)                                                                        \
  ::anyplace::conformance::check_equal(static_cast<::anyplace::ErrorCode>(ENTRY(backend, entry, __VA_ARGS__)),         \
                                       static_cast<::anyplace::ErrorCode>(ANYPLACE_STATUS_##name), __FILE__, __LINE__, \
                                       "what " #entry " returns")
