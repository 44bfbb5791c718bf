// SPDX-License-Identifier: Apache-2.0
//
// The loader's checks of what a plugin gives it: the bytes of its file, and the table that its entry filled. The first
// byte of the input chooses; whatever the rest is, the answer is yes or a short reason, and yes means that what the
// core relies on holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "anyplace/error.h"
#include "plugins/elf_check.h"
#include "plugins/plugin_table.h"

namespace {

namespace detail = anyplace::detail;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_reason(const std::string& reason) {
  require(reason.size() < 2000);
  for (const char c : reason) require(c >= 0x20 && c < 0x7f);
}

void check_capabilities(const anyplace_backend_table& table, std::uint64_t capabilities) {
  try {
    detail::check_capabilities(table, capabilities, "fuzz:0", "fuzz");
    require(!detail::missing_entry(table, capabilities).has_value());
  } catch (const anyplace::Error& error) {
    require(error.code() == anyplace::ErrorCode::plugin_refused);
    check_reason(error.what());
  }
}

void check_table(const std::uint8_t* data, std::size_t size) {
  std::uint64_t capabilities = 0;
  std::uint32_t host_size = sizeof(anyplace_backend_table);
  if (size < sizeof(capabilities)) return;
  std::memcpy(&capabilities, data, sizeof(capabilities));
  data += sizeof(capabilities);
  size -= sizeof(capabilities);
  // A host of today, or an older one that has less room.
  if ((capabilities >> 63) != 0) host_size = detail::first_table_size;

  anyplace_backend_table table{};
  std::memcpy(&table, data, std::min<std::size_t>(size, sizeof(table)));
  const std::string problem = detail::table_problem(table, host_size, "fuzz");
  check_reason(problem);
  if (problem.empty()) {
    require(table.abi_major == ANYPLACE_ABI_MAJOR && table.struct_size <= host_size);
    require(std::string(table.name) == "fuzz");
    require(std::memchr(table.version, 0, sizeof(table.version)) != nullptr);
    require(std::memchr(table.description, 0, sizeof(table.description)) != nullptr);
    require(table.device_count != nullptr && table.stream_create != nullptr && table.memory_set != nullptr);
    require((table.gate_create == nullptr) == (table.stream_wait_gate == nullptr));
    require((table.kernel_from_host == nullptr) == (table.kernel_destroy == nullptr));
  }
  check_capabilities(table, capabilities);
}

void check_file(const std::uint8_t* data, std::size_t size) {
  // Memory of its own, so that reading past it is found.
  const std::vector<std::uint8_t> file(data, data + size);
  const auto read = [&](std::uint64_t offset, void* out, std::size_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset) return false;
    std::memcpy(out, file.data() + offset, bytes);
    return true;
  };
  const std::string problem = detail::elf_problem(file.size(), read);
  check_reason(problem);
  if (problem.empty())
    require(file.size() > 64 && std::memcmp(file.data(),
                                            "\x7f"
                                            "ELF",
                                            4) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    check_table(data + 1, size - 1);
  } else {
    check_file(data + 1, size - 1);
  }
  return 0;
}
