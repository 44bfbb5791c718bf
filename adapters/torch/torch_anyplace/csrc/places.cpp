// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <anyplace/anyplace.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>

#include "errors.h"
#include "place_list.h"

namespace anyplace_torch {

void rethrow(const anyplace::Error& error) {
  if (error.code() == anyplace::ErrorCode::out_of_memory) C10_THROW_ERROR(OutOfMemoryError, error.what());
  C10_THROW_ERROR(Error, error.what());
}

namespace {

constexpr const char* kVariable = "ANYPLACE_TORCH_PLACES";

thread_local c10::DeviceIndex current = 0;

std::mutex lock;
/// Set once. Never destroyed: streams and memory of torch's may end after this library's destructors ran.
std::atomic<const std::vector<DevicePlace>*> found{nullptr};

const std::vector<DevicePlace>* look() {
  const char* variable = std::getenv(kVariable);
  const std::string text = variable == nullptr ? "auto" : variable;
  std::vector<std::string> entries = anyplace_adapters::entries_of(text);
  std::erase(entries, "");
  TORCH_CHECK(!entries.empty(), kVariable,
              " is set and names no place; for example cpu_sim, or cuda:1,cuda:0; unset it for the ",
              "devices that `auto` finds");
  auto result = std::make_unique<std::vector<DevicePlace>>();
  for (const std::string& entry : entries) {
    std::vector<anyplace::Device> devices;
    try {
      devices = anyplace_adapters::devices_of(entry);
    } catch (const anyplace::Error& error) {
      TORCH_CHECK(false, variable == nullptr ? "" : kVariable, variable == nullptr ? "" : "=",
                  variable == nullptr ? "" : text, variable == nullptr ? "" : ": ", error.what());
    }
    for (const anyplace::Device& device : devices) {
      const bool twice = std::any_of(result->begin(), result->end(), [&](const auto& p) { return p.device == device; });
      TORCH_CHECK(!twice, kVariable, "=", text, ": ", device.to_string(), " is named twice; name each device once");
      result->push_back({device, device.default_stream(), device.has(anyplace::Capability::copy_2d),
                         device.has(anyplace::Capability::pinned_memory)});
    }
  }
  TORCH_CHECK(result->size() <= std::numeric_limits<c10::DeviceIndex>::max(), kVariable, "=", text, ": torch counts ",
              static_cast<int>(std::numeric_limits<c10::DeviceIndex>::max()), " devices at most, and these are ",
              result->size());
  return result.release();
}

std::string listed(const std::vector<DevicePlace>& all) {
  std::string text;
  for (std::size_t index = 0; index < all.size(); ++index) {
    text +=
        (index == 0 ? "" : ", ") + ("anyplace:" + std::to_string(index)) + " (" + all[index].device.to_string() + ")";
  }
  return text;
}

}  // namespace

const std::vector<DevicePlace>& places() {
  if (const auto* all = found.load(std::memory_order_acquire)) return *all;
  const std::lock_guard guard(lock);
  if (const auto* all = found.load(std::memory_order_acquire)) return *all;
  const auto* all = call(look);
  found.store(all, std::memory_order_release);
  return *all;
}

const DevicePlace& place(c10::DeviceIndex index) {
  const auto& all = places();
  const c10::DeviceIndex wanted = index < 0 ? current : index;
  TORCH_CHECK(wanted >= 0 && static_cast<std::size_t>(wanted) < all.size(),
              "there is no device anyplace:", static_cast<int>(wanted), "; there ", all.size() == 1 ? "is " : "are ",
              listed(all), "; the environment variable ", kVariable, " lists others");
  return all[static_cast<std::size_t>(wanted)];
}

c10::DeviceIndex place_count() noexcept {
  try {
    return static_cast<c10::DeviceIndex>(places().size());
  } catch (...) {
    return 0;
  }
}

std::string why_none() {
  try {
    places();
    return "";
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
}

c10::DeviceIndex current_index() noexcept { return current; }

c10::DeviceIndex exchange_index(c10::DeviceIndex index) noexcept { return std::exchange(current, index); }

}  // namespace anyplace_torch
