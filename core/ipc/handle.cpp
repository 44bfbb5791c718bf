// SPDX-License-Identifier: Apache-2.0
#include "ipc/handle.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "anyplace/backend/kit/process_access.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
}
template <std::size_t N>
std::string_view text_of(const char (&from)[N]) noexcept {
  return {from, strnlen(from, N)};
}
template <std::size_t N>
bool equal(const char (&a)[N], const char (&b)[N]) noexcept {
  return text_of(a) == text_of(b);
}

const char* name_of(IpcKind kind) noexcept { return kind == IpcKind::event ? "an event" : "a buffer"; }

/// Throws backend_failed if a file of /proc couldn't be opened for want of a descriptor. A handle made without the
/// file's contents would be refused as one from elsewhere.
void require_descriptors(int error, DeviceState& device, const char* operation) {
  if (!backend::is_descriptor_shortage(error)) return;
  fail(ErrorCode::backend_failed, device.place, operation,
       backend::no_descriptor_text("what tells processes apart", error));
}

/// Fills in what tells this process, machine and device from others.
void set_origin(IpcHeader& header, DeviceState& device, const char* operation) {
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(header.boot, sizeof(header.boot), file) == nullptr) header.boot[0] = '\0';
    std::fclose(file);
    header.boot[strcspn(header.boot, "\n")] = '\0';
  } else {
    require_descriptors(errno, device, operation);
  }
  if (gethostname(header.host, sizeof(header.host) - 1) != 0) header.host[0] = '\0';
  struct stat found {};
  if (stat("/proc/self/ns/pid", &found) == 0) header.pid_namespace = found.st_ino;
  errno = 0;
  const backend::ProcessIdentity self = backend::this_process();
  if (self.start == 0) require_descriptors(errno, device, operation);
  header.pid = self.pid;
  header.start = self.start;
  header.device = device.index;
  set_text(header.backend, device.backend->name);
  set_text(header.build, fmt::format("{} {}.{}", bounded(device.table->version, sizeof(device.table->version)),
                                     device.table->abi_major, device.table->abi_minor));
  const anyplace_device_properties& properties = properties_of(device, operation);
  set_text(header.uuid, bounded(properties.uuid, sizeof(properties.uuid)));
  set_text(header.place, device.place);
}

/// Reads a handle's header, and checks all that can be checked of the bytes alone.
IpcHeader header_of(DeviceState& device, IpcKind kind, std::span<const std::byte> handle, const char* operation) {
  const auto refuse = [&](const std::string& text) {
    fail(ErrorCode::invalid_argument, device.place, operation, text);
  };
  IpcHeader header{};
  if (handle.size() < sizeof(header)) {
    refuse(
        fmt::format("{} bytes are no handle: it is cut short, or something else\npass on all bytes that "
                    "export_handle() gave",
                    handle.size()));
  }
  std::memcpy(&header, handle.data(), sizeof(header));
  const bool marked = std::memcmp(header.magic, IpcHeader::right_magic, sizeof(header.magic)) == 0;
  if (ipc_checksum(handle) != header.checksum) {
    refuse(marked ? "the handle's bytes were changed on the way, or cut short\npass on all bytes that export_handle() "
                    "gave, as they are"
                  : "the bytes are no handle, or were changed on the way\npass on the bytes that export_handle() gave");
  }
  if (!marked) refuse("the bytes are no handle of anyplace's");
  if (header.version != IpcHeader::current_version || header.header_bytes != sizeof(header)) {
    refuse(
        fmt::format("the handle is of version {}, and this anyplace reads version {}\nuse the same anyplace in both "
                    "processes",
                    header.version, IpcHeader::current_version));
  }
  if (header.backend_bytes > ANYPLACE_IPC_BYTES || handle.size() != sizeof(header) + header.backend_bytes) {
    refuse("the handle's sizes contradict each other");
  }
  if (header.kind != static_cast<std::uint32_t>(kind)) {
    refuse(fmt::format("the handle is of {}, not of {}", name_of(static_cast<IpcKind>(header.kind)), name_of(kind)));
  }
  const bool within = header.offset <= header.shared_bytes && header.bytes <= header.shared_bytes - header.offset;
  if (kind == IpcKind::buffer && (!within || header.bytes == 0)) refuse("the handle's sizes contradict each other");
  return header;
}

/// Checks that the handle was made on this machine, for this device, by another process.
void check_origin(DeviceState& device, const IpcHeader& header, const char* operation) {
  const auto refuse = [&](const std::string& text) {
    fail(ErrorCode::invalid_argument, device.place, operation, text);
  };
  IpcHeader here{};
  set_origin(here, device, operation);
  if (!equal(header.boot, here.boot)) {
    refuse(equal(header.host, here.host)
               ? std::string("the handle was made before this machine was started, and what it named is gone")
               : fmt::format("the handle was made on another machine, {}\nmemory and events are shared between "
                             "processes of one machine",
                             in_quotes(text_of(header.host))));
  }
  if (header.pid_namespace != here.pid_namespace) {
    refuse("the handle was made in another PID namespace\nrun both processes in one container, or share its processes");
  }
  if (!equal(header.backend, here.backend)) {
    refuse(fmt::format("the handle is of the backend {}, not of {}", text_of(header.backend), text_of(here.backend)));
  }
  if (!equal(header.build, here.build)) {
    refuse(
        fmt::format("the handle was made by another build of the backend: {}, and this is {}\nuse the same in both "
                    "processes",
                    in_quotes(text_of(header.build)), in_quotes(text_of(here.build))));
  }
  const bool has_uuid = header.uuid[0] != '\0' && here.uuid[0] != '\0';
  if (has_uuid ? !equal(header.uuid, here.uuid) : header.device != here.device) {
    refuse(
        fmt::format("the handle is of another device, which is {} in the process that made it\nopen it on that "
                    "device",
                    text_of(header.place)));
  }
  if (header.pid == here.pid && header.start == here.start) {
    refuse("the handle was made by this process\nuse the object itself: its view is free to copy");
  }
}

}  // namespace

std::vector<std::byte> write_handle(DeviceState& device, IpcKind kind, const IpcContent& content,
                                    const char* operation) {
  IpcHeader header{};
  std::memcpy(header.magic, IpcHeader::right_magic, sizeof(header.magic));
  header.version = IpcHeader::current_version;
  header.kind = static_cast<std::uint32_t>(kind);
  header.header_bytes = sizeof(header);
  header.backend_bytes = std::min<std::uint32_t>(content.backend.byte_count, ANYPLACE_IPC_BYTES);
  set_origin(header, device, operation);
  header.table_nonce = content.share.table.nonce;
  header.table_descriptor = content.share.table.descriptor;
  header.entry = content.share.entry;
  header.generation = content.share.generation;
  header.offset = content.offset;
  header.bytes = content.bytes;
  header.shared_bytes = content.backend.size;
  std::vector<std::byte> handle(sizeof(header) + header.backend_bytes);
  std::memcpy(handle.data(), &header, sizeof(header));
  std::memcpy(handle.data() + sizeof(header), content.backend.bytes, header.backend_bytes);
  header.checksum = ipc_checksum(handle);
  std::memcpy(handle.data(), &header, sizeof(header));
  return handle;
}

IpcContent read_handle(DeviceState& device, IpcKind kind, std::span<const std::byte> handle, const char* operation) {
  const IpcHeader header = header_of(device, kind, handle, operation);
  check_origin(device, header, operation);
  IpcContent content;
  content.share = {
      {{header.pid, header.start}, header.table_nonce, header.table_descriptor}, header.entry, header.generation};
  content.backend.struct_size = sizeof(content.backend);
  content.backend.byte_count = header.backend_bytes;
  content.backend.size = header.shared_bytes;
  content.backend.offset = header.offset;
  std::memcpy(content.backend.bytes, handle.data() + sizeof(header), header.backend_bytes);
  content.offset = header.offset;
  content.bytes = header.bytes;
  return content;
}

}  // namespace anyplace::detail
