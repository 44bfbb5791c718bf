// SPDX-License-Identifier: Apache-2.0
//
// Kernels as a double runs them: functions of a shared object for the host (the format shared_object of cpu_sim), each
// with `NAME_parameters`, a const uint32_t[] of the number of its parameters and the size of each. Knows nothing of a
// vendor, nor of the formats that such an image travels in.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::doubles {

struct HostKernel {
  anyplace_host_kernel function = nullptr;
  std::vector<uint32_t> sizes;  // of its parameters
};

/// A loaded image; unloaded with the object, so kernels and variables keep it.
class HostImage {
 public:
  /// Null if the bytes are no shared object that can be loaded here; `why` then says so.
  static std::shared_ptr<HostImage> load(std::string_view bytes, std::string& why);
  explicit HostImage(void* handle) noexcept : handle_(handle) {}
  HostImage(const HostImage&) = delete;
  HostImage& operator=(const HostImage&) = delete;
  ~HostImage();

  /// nullopt if there is no function of that name that says what it takes.
  std::optional<HostKernel> kernel(const std::string& name) const;
  struct Variable {
    void* address = nullptr;
    uint64_t bytes = 0;
  };
  /// nullopt if there is no variable of that name.
  std::optional<Variable> variable(const std::string& name) const;

 private:
  void* handle_;
};

/// The arguments of a launch: copies of the values, each aligned as far as its size asks for.
class KernelArguments {
 public:
  /// `values[i]` points at `sizes[i]` bytes.
  KernelArguments(const std::vector<uint32_t>& sizes, const void* const* values);
  KernelArguments(KernelArguments&&) noexcept = default;
  KernelArguments& operator=(KernelArguments&&) noexcept = default;

  void* const* pointers() const noexcept { return pointers_.data(); }
  uint32_t count() const noexcept { return static_cast<uint32_t>(pointers_.size()); }
  /// Those of 8 bytes, which may be addresses.
  std::vector<uint64_t> addresses() const;

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  std::vector<uint32_t> sizes_;
  std::vector<Line> storage_;  // what a kernel changes of it is its own
  std::vector<void*> pointers_;
};

struct KernelShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint64_t shared_bytes = 0;
};

/// Runs all blocks on the calling thread. False: one of them didn't return OK or threw, or there was no memory for what
/// they share. `stopped` is asked now and then; true makes it return early, with true.
bool run_kernel(const HostKernel& kernel, const KernelShape& shape, const KernelArguments& arguments,
                bool (*stopped)());

}  // namespace anyplace::doubles
