// SPDX-License-Identifier: Apache-2.0
//
// A backend seen through its table, for promises that the public API hides behind checks, caches and threads of its
// own: what an operation leaves behind, the ends of every range, the process itself. A process that makes a
// TableBackend makes no Device, so that the plugin's entry is called once in it, as the contract has it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "support.h"

namespace anyplace::conformance {

/// What the backend told host->stream_fault.
struct TableFault {
  std::uint64_t cookie = 0;
  anyplace_status status = ANYPLACE_STATUS_OK;
};

/// Entries that are called through members fail the case unless they return OK; the report shows the entry, and the
/// message that it left. ENTRY calls any other.
class TableBackend {
 public:
  /// Loads the plugin of the place under test and calls its entry.
  explicit TableBackend(const Run& run, Caller caller = {});
  TableBackend(const TableBackend&) = delete;  // shuts the backend down once
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
  /// Whose faults are told with that cookie.
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
  /// Contents by way of `stream`; they return when it is done.
  void write(anyplace_stream stream, anyplace_address address, const Bytes& contents, Caller caller = {}) const;
  Bytes read(anyplace_stream stream, anyplace_address address, std::uint64_t bytes, Caller caller = {}) const;
  void fill(anyplace_stream stream, anyplace_address address, std::uint8_t value, std::uint64_t bytes,
            Caller caller = {}) const;

  /// Calls the backend's shutdown; nothing of it may be called afterwards. Skips the case where there is none.
  anyplace_status shut_down(std::uint64_t timeout_ns, Caller caller = {});
  /// All faults so far, in the order in which they were told.
  static std::vector<TableFault> faults();
  /// What the calling thread's last entry that failed said of it; forgets it.
  static std::string message();
  /// From now on every text that a backend leaves, reports or logs is kept: names of the vendor's codes too.
  static void note_texts();
  /// Those so far.
  static std::vector<std::string> texts();
  /// Fails the case unless `status` is OK. For ENTRY's and MUST's sake.
  static void require(anyplace_status status, const char* entry, Caller caller);

 private:
  std::int32_t device_;
  anyplace_backend_table table_{};
  bool shut_down_ = false;
};

/// Holds a stream back until open(): by a host function that waits, or by a gate where there are no host functions.
/// Skips the case where there is neither. Opens at the latest when it is destroyed.
class TableHold {
 public:
  explicit TableHold(const TableBackend& backend) : backend_(backend) {}
  TableHold(const TableHold&) = delete;  // names one gate
  TableHold& operator=(const TableHold&) = delete;
  ~TableHold();

  /// Once.
  void hold(anyplace_stream stream, Caller caller = {});
  void open() noexcept;

 private:
  struct State;
  const TableBackend& backend_;
  std::shared_ptr<State> state_;
  anyplace_gate gate_ = 0;
};

/// Calls `body` as a host function of the stream. It throws nothing.
void submit(const TableBackend& backend, anyplace_stream stream, std::function<void()> body, Caller caller = {});

/// Some time that depends on `round`, so that the next call comes now before, now after what runs meanwhile.
void linger(int round) noexcept;

/// Of so many blocks with one thread each, without arguments.
anyplace_launch launch_of(std::uint32_t blocks) noexcept;

/// Kernels of the host.
anyplace_status do_nothing(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept;
anyplace_status fail(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept;

inline std::uint64_t number_of(const void* pointer) noexcept { return reinterpret_cast<std::uint64_t>(pointer); }
inline void* pointer_of(anyplace_address address) noexcept { return reinterpret_cast<void*>(address); }

}  // namespace anyplace::conformance

/// Calls an entry of a TableBackend, which may be null in no case that does, and gives its status.
#define ENTRY(backend, entry, ...)                            \
  (::anyplace::conformance::step(__FILE__, __LINE__, #entry), \
   (backend).table().entry((backend).self() __VA_OPT__(, ) __VA_ARGS__))

/// The same for one that has to return OK.
#define MUST(backend, entry, ...) \
  ::anyplace::conformance::TableBackend::require(ENTRY(backend, entry, __VA_ARGS__), #entry, {__FILE__, __LINE__})

/// And for one that has to return another status: CHECK_STATUS(OUT_OF_MEMORY, backend, memory_allocate, ...).
#define CHECK_STATUS(name, backend, entry, ...)                                                                        \
  ::anyplace::conformance::check_equal(static_cast<::anyplace::ErrorCode>(ENTRY(backend, entry, __VA_ARGS__)),         \
                                       static_cast<::anyplace::ErrorCode>(ANYPLACE_STATUS_##name), __FILE__, __LINE__, \
                                       "what " #entry " returns")
