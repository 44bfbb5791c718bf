// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/table_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "plugins/device_properties.h"
#include "runtime/backend.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

constexpr const char* by_allocator = "the allocator";
/// A vendor's pages may be smaller. Each needs a call, so several of them make one page here (min_page in
/// heap_options.h).
constexpr std::uint64_t least_page = 2 * 1024 * 1024;

class TableSource final : public MemorySource {
 public:
  explicit TableSource(DeviceState& device) noexcept : device_(device) {}

  std::uint64_t page_bytes() noexcept override {
    if (!page_known_) {
      page_bytes_ = ask_page_bytes();
      page_known_ = true;
    }
    return page_bytes_;
  }

  anyplace_status last_status() const noexcept override { return last_status_; }

  // -- Memory with an address.
  SourceResult allocate(std::uint64_t bytes, anyplace_address* address) noexcept override {
    return made("memory_allocate", bytes, address, [&](anyplace_address* out) {
      return table().memory_allocate(device_.self, device_.index, ANYPLACE_MEMORY_DEVICE, bytes, out);
    });
  }
  void free(anyplace_address address, std::uint64_t /*bytes*/) noexcept override {
    static_cast<void>(given_back(table().memory_free(device_.self, device_.index, ANYPLACE_MEMORY_DEVICE, address)));
  }

  // -- Addresses and memory, made separately.
  SourceResult reserve(std::uint64_t bytes, anyplace_address* address) noexcept override {
    return made("virtual_reserve", bytes, address, [&](anyplace_address* out) {
      return table().virtual_reserve(device_.self, device_.index, bytes, out);
    });
  }
  void release(anyplace_address address, std::uint64_t bytes) noexcept override {
    static_cast<void>(given_back(table().virtual_release(device_.self, device_.index, address, bytes)));
  }
  SourceResult create(std::uint64_t bytes, anyplace_physical* physical) noexcept override {
    return made("physical_create", bytes, physical, [&](anyplace_physical* out) {
      return table().physical_create(device_.self, device_.index, bytes, out);
    });
  }
  void destroy(anyplace_physical physical) noexcept override {
    static_cast<void>(given_back(table().physical_destroy(device_.self, physical)));
  }
  SourceResult map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                       std::uint64_t* mapped) noexcept override {
    *mapped = 0;
    if (device_.lost.load(std::memory_order_relaxed)) return result_of(ANYPLACE_STATUS_DEVICE_LOST);
    if (count > 1 && table().virtual_map_all != nullptr) {
      const SourceResult result =
          result_of(table().virtual_map_all(device_.self, device_.index, address, physicals, count));
      if (result == SourceResult::done) *mapped = count;
      if (result == SourceResult::done || device_.lost.load(std::memory_order_relaxed)) return result;
      // Mapping one by one tells how many can be mapped, and whether mapping works at all.
      static_cast<void>(take_message());
    }
    for (; *mapped < count; ++*mapped) {
      const anyplace_address at = address + *mapped * page_bytes_;
      const SourceResult result = result_of(table().virtual_map(device_.self, device_.index, at, physicals[*mapped]));
      if (result != SourceResult::done) return result;
    }
    return SourceResult::done;
  }
  bool unmap(anyplace_address address, std::uint64_t bytes) noexcept override {
    const anyplace_status status = table().virtual_unmap(device_.self, device_.index, address, bytes);
    if (status != ANYPLACE_STATUS_OK) last_status_ = status;  // for a request that fails with it
    return given_back(status);
  }

 private:
  const anyplace_backend_table& table() const noexcept { return *device_.table; }

  /// A device that can't tell its page size, or whose page size isn't a power of two, counts as one without virtual
  /// memory.
  std::uint64_t ask_page_bytes() noexcept {
    try {
      if (!has_capability(device_, Capability::virtual_memory, by_allocator)) return 0;
    } catch (const std::exception&) {
      return 0;  // the next request gives the reason
    }
    std::uint64_t granularity = 0;
    const anyplace_status status = table().virtual_granularity(device_.self, device_.index, &granularity);
    if (result_of(status) != SourceResult::done) {
      static_cast<void>(take_message());
      return 0;
    }
    return std::has_single_bit(granularity) ? std::max(granularity, least_page) : 0;
  }

  /// Calls the entry, which makes something. Of a lost device nothing may be asked any more.
  template <class Made, class Call>
  SourceResult made(const char* entry, std::uint64_t bytes, Made* out, Call call) noexcept {
    if (device_.lost.load(std::memory_order_relaxed)) return result_of(ANYPLACE_STATUS_DEVICE_LOST);
    Made result = 0;
    const SourceResult outcome = result_of(call(&result));
    if (outcome != SourceResult::done) return outcome;
    if (result == 0) return gave_nothing(entry, bytes);
    *out = result;
    return outcome;
  }

  SourceResult gave_nothing(const char* entry, std::uint64_t bytes) noexcept {
    last_status_ = ANYPLACE_STATUS_BACKEND_FAILED;
    try {
      leave_message(0, nullptr,
                    fmt::format("the backend's {} said it succeeded with {} bytes, and gave 0", entry, bytes).c_str());
    } catch (const std::exception&) {  // the status alone must do
    }
    return SourceResult::failed;
  }

  SourceResult result_of(anyplace_status status) noexcept {
    last_status_ = status;
    if (status == ANYPLACE_STATUS_OK) return SourceResult::done;
    if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) return SourceResult::out_of_memory;
    if (status == ANYPLACE_STATUS_DEVICE_LOST) lose();
    return SourceResult::failed;
  }

  /// Marks the device as lost. The message is kept for later calls, and left to the caller, which reports this one.
  void lose() noexcept {
    if (!device_.lost.load(std::memory_order_relaxed)) {
      try {
        Message message = take_message();
        keep_loss(device_, error_of(ANYPLACE_STATUS_DEVICE_LOST, message, device_.place, by_allocator));
        leave_message(message.vendor_code, message.vendor_name.c_str(), message.text.c_str());
      } catch (const std::exception&) {  // without memory for the reason the loss is still noted
      }
    }
    mark_lost(device_);
  }

  /// Checks an entry that gives something back. It may be called on a lost device.
  bool given_back(anyplace_status status) noexcept {
    check_given_back(status, device_, by_allocator);
    return status == ANYPLACE_STATUS_OK;
  }

  DeviceState& device_;
  bool page_known_ = false;
  std::uint64_t page_bytes_ = 0;
  anyplace_status last_status_ = ANYPLACE_STATUS_OK;
};

}  // namespace

std::unique_ptr<MemorySource> make_table_source(DeviceState& device) { return std::make_unique<TableSource>(device); }

}  // namespace anyplace::detail
