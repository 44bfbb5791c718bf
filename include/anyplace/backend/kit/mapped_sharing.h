// SPDX-License-Identifier: Apache-2.0
//
// MappedSharing: shares mapped memory (virtual_memory.h) between processes, for vendors that export each piece of it as
// a file descriptor. The other process fetches the descriptors of the pieces behind a buffer (descriptors.h) and maps
// the pieces, one behind the other, at addresses of its own.
//
// A piece has one descriptor while at least one buffer in it is shared. A handle holds at most most_pieces pieces, all
// of one size, which limits the size of a shared buffer.
#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "descriptor_server.h"
#include "virtual_memory.h"

namespace anyplace::backend {

/// The bytes of a handle for another process; the descriptors of the pieces follow them.
struct MappedBytes {
  static constexpr char right_magic[8] = {'m', 'a', 'p', 'p', 'e', 'd', ' ', '1'};  ///< how the bytes begin

  char magic[8];              ///< right_magic, else the bytes are of something else
  DescriptorOwner owner;      ///< the process that has the descriptors
  std::uint64_t piece_bytes;  ///< bytes of each piece
  std::uint32_t pieces;       ///< how many descriptors follow
  std::uint32_t reserved;
};

/// One for each device, with the Vendor of virtual_memory.h. Thread-safe.
template <class Vendor>
class MappedSharing {
 public:
  using Device = typename Vendor::Device;
  using Memory = VirtualMemory<Vendor>;  ///< what the memory comes from
  static constexpr std::size_t most_pieces = (ANYPLACE_IPC_BYTES - sizeof(MappedBytes)) /
                                             sizeof(CarriedDescriptor);  ///< the most pieces that a handle has room for

  /// Shares memory of `memory`, which is of `device`; both outlive it.
  MappedSharing(Device& device, Memory& memory) noexcept : device_(device), memory_(memory) {}
  MappedSharing(const MappedSharing&) = delete;  // one per device
  MappedSharing& operator=(const MappedSharing&) = delete;

  /// Returns false if the bytes aren't mapped memory. Throws UNSUPPORTED for mapped memory that can't be shared.
  bool export_memory(anyplace_address address, std::uint64_t bytes, anyplace_ipc_handle& out);
  /// Whether the bytes are those of mapped memory.
  static bool is_mapped(const anyplace_ipc_handle& handle) noexcept {
    return handle.byte_count >= sizeof(MappedBytes) &&
           std::memcmp(handle.bytes, MappedBytes::right_magic, sizeof(MappedBytes::right_magic)) == 0;
  }
  // -- The handle must be one of mapped memory.
  /// Offers the descriptors no longer, if this was the last export of them.
  void end_export(const anyplace_ipc_handle& handle);
  /// Maps the memory of another process, and returns its address here. Throws PEER_GONE, INVALID_ARGUMENT and what the
  /// vendor reports.
  anyplace_address import_memory(const anyplace_ipc_handle& handle);
  /// Returns false if no mapped memory was imported at the address.
  bool end_import(anyplace_address address);

 private:
  struct Piece {
    Descriptor descriptor;
    CarriedDescriptor carried;
    int count = 0;  ///< how many shared buffers lie in it
  };
  using Pieces = std::vector<CarriedDescriptor>;
  using Physical = typename Memory::Physical;

  CarriedDescriptor share_piece(anyplace_address address);
  void let_go(const Pieces& pieces) noexcept;
  static Pieces read(const anyplace_ipc_handle& handle, MappedBytes& bytes);
  void map_pieces(anyplace_address address, const std::vector<Descriptor>& descriptors, std::uint64_t piece_bytes);

  Device& device_;
  Memory& memory_;
  std::mutex mutex_;                                  // guards the rest; the vendor is called under it
  std::map<anyplace_address, Piece> shared_;          // by the address of their mapping
  std::map<anyplace_address, std::uint64_t> opened_;  // memory of other processes: bytes by address
};

template <class Vendor>
CarriedDescriptor MappedSharing<Vendor>::share_piece(anyplace_address address) {
  const auto [found, is_new] = shared_.try_emplace(address);
  Piece& piece = found->second;
  try {
    if (is_new) {
      int descriptor = -1;
      const auto made = Vendor::export_at(address, descriptor);
      if (made.result != typename Device::Result{}) {
        require_descriptor("sharing a buffer");
        device_.fail(made);
      }
      piece.descriptor = Descriptor(descriptor);
      if (piece.descriptor) {
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
      } else {
        refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string(made.call) + " answered success and gave no descriptor");
      }
      piece.carried = descriptor_server().offer(descriptor);
    }
  } catch (...) {
    shared_.erase(found);
    throw;
  }
  ++piece.count;
  return piece.carried;
}

template <class Vendor>
void MappedSharing<Vendor>::let_go(const Pieces& pieces) noexcept {
  for (const CarriedDescriptor& carried : pieces) {
    for (auto piece = shared_.begin(); piece != shared_.end(); ++piece) {
      if (piece->second.carried != carried) continue;
      if (--piece->second.count == 0) {
        descriptor_server().withdraw(piece->second.descriptor.number());
        shared_.erase(piece);
      }
      break;
    }
  }
}

template <class Vendor>
bool MappedSharing<Vendor>::export_memory(anyplace_address address, std::uint64_t bytes, anyplace_ipc_handle& out) {
  const auto mappings = memory_.mappings_behind(address, bytes);
  if (mappings.empty()) return false;
  if (!memory_.is_shareable()) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the driver exports no mapped memory of this device");
  }
  const auto [first, piece_bytes] = mappings.front();
  for (const auto& [at, size] : mappings) {
    if (size != piece_bytes) refuse(ANYPLACE_STATUS_UNSUPPORTED, "the memory is in pieces of different sizes");
  }
  if (mappings.size() > most_pieces) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the memory is in " + std::to_string(mappings.size()) +
                                            " pieces, and what is shared has " + std::to_string(most_pieces) +
                                            " at most");
  }
  const typename Vendor::Scope scope(device_);
  const std::lock_guard lock(mutex_);
  Pieces pieces;
  pieces.reserve(mappings.size());
  try {
    for (const auto& [at, size] : mappings) pieces.push_back(share_piece(at));
  } catch (...) {
    let_go(pieces);
    throw;
  }
  MappedBytes head{{}, descriptor_server().owner(), piece_bytes, static_cast<std::uint32_t>(pieces.size()), 0};
  std::memcpy(head.magic, MappedBytes::right_magic, sizeof(head.magic));
  std::memcpy(out.bytes, &head, sizeof(head));
  std::memcpy(out.bytes + sizeof(head), pieces.data(), pieces.size() * sizeof(pieces[0]));
  out.byte_count = static_cast<std::uint32_t>(sizeof(head) + pieces.size() * sizeof(pieces[0]));
  out.offset = address - first;
  out.size = pieces.size() * piece_bytes;
  return true;
}

template <class Vendor>
auto MappedSharing<Vendor>::read(const anyplace_ipc_handle& handle, MappedBytes& bytes) -> Pieces {
  std::memcpy(&bytes, handle.bytes, sizeof(bytes));
  const std::uint64_t pieces_bytes = bytes.pieces * sizeof(CarriedDescriptor);
  if (bytes.pieces == 0 || bytes.pieces > most_pieces || handle.byte_count != sizeof(bytes) + pieces_bytes ||
      bytes.piece_bytes == 0 || handle.size / bytes.piece_bytes != bytes.pieces) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the bytes are no mapped memory: their sizes contradict each other");
  }
  Pieces pieces(bytes.pieces);
  std::memcpy(pieces.data(), handle.bytes + sizeof(bytes), pieces_bytes);
  return pieces;
}

template <class Vendor>
void MappedSharing<Vendor>::end_export(const anyplace_ipc_handle& handle) {
  MappedBytes bytes{};
  const Pieces pieces = read(handle, bytes);  // export_memory wrote it
  const std::lock_guard lock(mutex_);
  let_go(pieces);
}

/// The imported handles are released at once, because the mappings keep the memory.
template <class Vendor>
void MappedSharing<Vendor>::map_pieces(anyplace_address address, const std::vector<Descriptor>& descriptors,
                                       std::uint64_t piece_bytes) {
  const typename Vendor::Scope scope(device_);
  std::vector<Physical> pieces;
  pieces.reserve(descriptors.size());
  const auto end = [&pieces] {
    typename Device::Result first{};
    const char* call = "";
    for (const Physical& piece : pieces) {
      const auto made = Vendor::destroy(piece.handle);
      if (first == typename Device::Result{}) first = made.result, call = made.call;
    }
    pieces.clear();
    return Called<typename Device::Result>{first, call};
  };
  try {
    for (const Descriptor& descriptor : descriptors) {
      Physical piece{&device_, {}, piece_bytes};
      const auto made = Vendor::import(descriptor.number(), piece.handle);
      if (made.result != typename Device::Result{}) require_descriptor("another process's memory");
      device_.check(made);
      pieces.push_back(piece);
    }
    memory_.map_all(address, pieces.size(), [&pieces](std::uint64_t i) -> const Physical& { return pieces[i]; });
  } catch (...) {
    static_cast<void>(end());
    throw;
  }
  device_.check(end());
}

template <class Vendor>
anyplace_address MappedSharing<Vendor>::import_memory(const anyplace_ipc_handle& handle) {
  MappedBytes bytes{};
  const Pieces pieces = read(handle, bytes);
  if (!memory_.is_shareable()) refuse(ANYPLACE_STATUS_UNSUPPORTED, "the driver opens no mapped memory on this device");
  const std::vector<Descriptor> descriptors = fetch_descriptors(bytes.owner, pieces);
  const std::uint64_t size = bytes.piece_bytes * bytes.pieces;
  const anyplace_address address = memory_.reserve(size);
  try {
    map_pieces(address, descriptors, bytes.piece_bytes);
    const std::lock_guard lock(mutex_);
    opened_.emplace(address, size);
  } catch (...) {
    const auto clean = [&](auto&& step) {
      try {
        step();
      } catch (...) {  // the first failure is thrown later
      }
    };
    if (!memory_.mappings_behind(address, size).empty()) clean([&] { memory_.unmap(address, size); });
    clean([&] { memory_.release(address, size); });
    throw;
  }
  return address;
}

template <class Vendor>
bool MappedSharing<Vendor>::end_import(anyplace_address address) {
  std::uint64_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = opened_.find(address);
    if (found == opened_.end()) return false;
    size = found->second;
    opened_.erase(found);
  }
  memory_.unmap(address, size);
  memory_.release(address, size);
  return true;
}

}  // namespace anyplace::backend
