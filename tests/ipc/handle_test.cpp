// SPDX-License-Identifier: Apache-2.0
// Handles that are no good: changed, cut short, of elsewhere, of what is gone, of this process.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>

#include "ipc/handle_format.h"
#include "ipc/peer.h"
#include "support/errors.h"

namespace handle_test {

using namespace anyplace;
using test::Peer;
using test::required_error;

using Bytes = std::vector<std::byte>;

Device device() { return Device(test::place_of_test()); }
/// Whether there are events to try the same with.
bool has_events() { return device().has(Capability::interprocess_events); }

/// The handle with something else in its header, and the checksum that is right for it.
Bytes with(Bytes handle, const std::function<void(detail::IpcHeader&)>& change) {
  detail::IpcHeader header{};
  std::memcpy(&header, handle.data(), sizeof(header));
  change(header);
  std::memcpy(handle.data(), &header, sizeof(header));
  header.checksum = detail::ipc_checksum(handle);
  std::memcpy(handle.data(), &header, sizeof(header));
  return handle;
}

Error refused(const Bytes& handle, ErrorCode code = ErrorCode::invalid_argument) {
  return required_error(code, [&] { return Buffer::import(device(), handle); });
}

bool says(const Error& error, const std::string& text) {
  INFO(error.what());
  CHECK(std::string(error.what()).find(text) != std::string::npos);
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST_CASE("Given a handle with one bit changed then it is refused, whichever bit it is", "[buffers]") {
  Peer peer;
  peer.must("buffer b 4096");
  const Bytes buffer = peer.handle("export b");
  const auto each_bit = [](const Bytes& handle, const auto& import) {
    for (std::size_t bit = 0; bit < handle.size() * 8; ++bit) {
      Bytes changed = handle;
      changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      const std::optional<Error> error = test::error_of([&] { import(changed); });
      if (!error || error->code() != ErrorCode::invalid_argument ||
          std::string(error->what()).find("changed") == std::string::npos) {
        FAIL("bit " << bit << ": " << (error ? error->what() : "it was taken"));
      }
    }
  };
  each_bit(buffer, [](const Bytes& bytes) { return Buffer::import(device(), bytes); });
  Buffer::import(device(), buffer);
  if (!has_events()) return;
  peer.must("event e");
  const Bytes event = peer.handle("export-event e");
  each_bit(event, [](const Bytes& bytes) { return Event::import(device(), bytes); });
  Event::import(device(), event);
}

TEST_CASE("Given a handle of any other length then it is refused", "[buffers]") {
  Peer peer;
  peer.must("buffer b 4096");
  const Bytes handle = peer.handle("export b");
  for (std::size_t length = 0; length < handle.size(); ++length) {
    refused(Bytes(handle.begin(), handle.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  Bytes longer = handle;
  longer.push_back(std::byte{0});
  refused(longer);
  says(refused(Bytes(100)), "cut short");
  says(refused(Bytes(2000)), "no handle");
}

TEST_CASE("Given a handle of elsewhere then it is refused, and the reason is told", "[buffers]") {
  Peer peer;
  peer.must("buffer b 4096");
  const Bytes handle = peer.handle("export b");
  using Header = detail::IpcHeader;
  const auto refuse = [&](const std::string& reason, const std::function<void(Header&)>& change) {
    says(refused(with(handle, change)), reason);
  };
  refuse("before this machine was started", [](Header& header) { header.boot[0] ^= 1; });
  refuse("another machine", [](Header& header) {
    header.boot[0] ^= 1;
    std::strcpy(header.host, "elsewhere");
  });
  refuse("PID namespace", [](Header& header) { ++header.pid_namespace; });
  refuse("of the backend other", [](Header& header) { std::strcpy(header.backend, "other"); });
  refuse("another build", [](Header& header) { std::strcpy(header.build, "0.0.1 1.0"); });
  refuse("another device", [](Header& header) { header.uuid[10] ^= 1; });
  refuse("version 2", [](Header& header) { header.version = 2; });
  refuse("contradict", [](Header& header) { header.bytes = header.shared_bytes + 1; });
  refuse("contradict", [](Header& header) { header.offset = UINT64_MAX; });
  refuse("contradict", [](Header& header) { header.backend_bytes = 4000; });
  refuse("contradict", [](Header& header) { header.bytes = 0; });
  refuse("of an event", [](Header& header) { header.kind = 2; });
  says(required_error(ErrorCode::invalid_argument,
                      [&] { return Buffer::import(Device(test::place_of_test(1)), handle); }),
       "another device");
  // With a table, or an entry in it, that isn't there.
  says(refused(with(handle, [](Header& header) { ++header.table_nonce; }), ErrorCode::peer_gone), "has ended");
  says(refused(with(handle, [](Header& header) { header.entry = 70'000; }), ErrorCode::invalid_handle), "was freed");
  says(refused(with(handle, [](Header& header) { ++header.generation; }), ErrorCode::invalid_handle), "was freed");
  says(refused(with(handle, [](Header& header) { header.pid = 1'000'000'000; }), ErrorCode::peer_gone), "has ended");
}

TEST_CASE("Given a handle of this process then it is refused, and the object itself is named", "[buffers]") {
  const Buffer buffer(device(), 4096);
  says(refused(buffer.export_handle()), "made by this process");
  if (!has_events()) return;
  const Event event(device(), {.interprocess = true});
  says(required_error(ErrorCode::invalid_argument, [&] { return Event::import(device(), event.export_handle()); }),
       "made by this process");
}

TEST_CASE("Given a handle of a buffer or an event that was freed then it is refused, and says so", "[buffers]") {
  Peer peer;
  peer.must("buffer b 4096");
  const Bytes buffer = peer.handle("export b");
  peer.must("drop b");
  says(refused(buffer, ErrorCode::invalid_handle), "the buffer of the handle was freed");
  if (has_events()) {
    peer.must("event e");
    const Bytes event = peer.handle("export-event e");
    peer.must("drop-event e");
    says(required_error(ErrorCode::invalid_handle, [&] { return Event::import(device(), event); }),
         "the event of the handle was freed");
  }
  // Its entry has been given to another one by now.
  peer.must("buffer c 4096");
  peer.must("export c");
  refused(buffer, ErrorCode::invalid_handle);
}

TEST_CASE("Given a handle of a process that has ended then it is peer_gone", "[buffers]") {
  Bytes buffer;
  Bytes event;
  {
    Peer peer;
    peer.must("buffer b 4096");
    buffer = peer.handle("export b");
    if (has_events()) {
      peer.must("event e");
      event = peer.handle("export-event e");
    }
  }
  says(refused(buffer, ErrorCode::peer_gone), "has ended");
  if (!has_events()) return;
  says(required_error(ErrorCode::peer_gone, [&] { return Event::import(device(), event); }), "has ended");
}

TEST_CASE("Given what can't be exported then that is told", "[buffers]") {
  required_error(ErrorCode::invalid_argument, [] { return Buffer().export_handle(); });
  const Buffer buffer(device(), 4096);
  required_error(ErrorCode::invalid_argument, [&] { return buffer.sub(7, 0).export_handle(); });
  const Buffer wrapped = Buffer::from_native(device(), buffer.address(), 4096);
  says(required_error(ErrorCode::invalid_argument, [&] { return wrapped.export_handle(); }), "somebody else's");
  const Buffer managed(device(), 4096, {.kind = MemoryKind::managed});
  required_error(ErrorCode::unsupported, [&] { return managed.export_handle(); });
  required_error(ErrorCode::unsupported,
                 [] { return Buffer(device(), 4096, {.kind = MemoryKind::managed, .shareable = true}); });

  Peer peer;
  peer.must("buffer b 4096");
  const Buffer theirs = Buffer::import(device(), peer.handle("export b"));
  says(required_error(ErrorCode::invalid_argument, [&] { return theirs.export_handle(); }), "another process's");
  if (!has_events()) return;
  const Event plain(device());
  says(required_error(ErrorCode::invalid_argument, [&] { return plain.export_handle(); }), "interprocess");
  const Event timed(device(), {.timing = true});
  says(required_error(ErrorCode::invalid_argument, [&] { return timed.export_handle(); }), "timing");
  required_error(ErrorCode::invalid_argument, [] { return Event(device(), {.timing = true, .interprocess = true}); });
  peer.must("event e");
  const Event their_event = Event::import(device(), peer.handle("export-event e"));
  says(required_error(ErrorCode::invalid_argument, [&] { return their_event.export_handle(); }), "another process's");
}

}  // namespace handle_test
