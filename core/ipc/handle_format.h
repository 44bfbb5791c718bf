// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a handle for other processes: a header of fixed size, then the backend's own bytes. They are read on the
// machine where they were written, so numbers are laid out as in its memory.
//
// The checksum is FNV-1a over all bytes, with its own bytes as 0. Each step maps different states to different ones, so
// every change within eight neighbouring bits changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace anyplace::detail {

enum class IpcKind : std::uint32_t { buffer = 1, event = 2 };

struct IpcHeader {
  static constexpr char right_magic[8] = {'a', 'n', 'y', 'p', 'l', 'a', 'c', 'e'};
  static constexpr std::uint32_t current_version = 1;

  char magic[8];
  std::uint32_t version;
  std::uint32_t kind;  // an IpcKind
  std::uint64_t checksum;
  std::uint32_t header_bytes;
  std::uint32_t backend_bytes;  // how many bytes lie behind the header

  // -- Where the handle was made. Texts end with NUL.
  char boot[40];  // the kernel's number for this start of the machine
  char host[64];  // the machine's name, for messages
  std::uint64_t pid_namespace;
  std::uint64_t start;  // when the process started
  std::uint32_t pid;
  std::int32_t device;
  char backend[32];
  char build[64];  // the build of the plugin and its boundary
  char uuid[64];   // the device's; may be empty
  char place[40];  // the device's, for messages

  // -- The entry that counts the users (share_table.h).
  std::uint64_t table_nonce;
  std::uint32_t table_descriptor;
  std::uint32_t entry;
  std::uint64_t generation;

  // -- For a buffer: its range in the memory that the backend shares.
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t shared_bytes;
};
static_assert(sizeof(IpcHeader) == 408 && alignof(IpcHeader) == 8);

inline std::uint64_t ipc_checksum(std::span<const std::byte> handle) noexcept {
  constexpr std::size_t begin = offsetof(IpcHeader, checksum), end = begin + sizeof(IpcHeader::checksum);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < handle.size(); ++i) {
    const bool own = i >= begin && i < end;
    sum = (sum ^ (own ? 0 : std::to_integer<std::uint64_t>(handle[i]))) * 0x100000001b3;
  }
  return sum;
}

}  // namespace anyplace::detail
