// SPDX-License-Identifier: Apache-2.0
//
// anyplace as `interop.py` calls it from Python, in a process where another library has the same device, memory and
// streams. Every function returns 0, or -1 and leaves what went wrong to last_error().
#include <anyplace/anyplace.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

std::string message;  // of the last failure; the script has one thread
std::optional<anyplace::Stream> own_stream;
std::optional<anyplace::Event> own_event;

template <class Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    message = error.what();
    return -1;
  }
}

}  // namespace

EXPORTED const char* interop_last_error() { return message.c_str(); }

/// The device's context, as the driver names it.
EXPORTED int interop_context(const char* place, std::uint64_t* out) {
  return guarded([&] { *out = anyplace::Device(place).native_context(); });
}

/// Fills the other library's memory on the other library's stream; asynchronous.
EXPORTED int interop_fill(const char* place, std::uint64_t stream, std::uint64_t address, std::uint64_t bytes,
                          std::uint32_t value) {
  return guarded([&] {
    const anyplace::Device device(place);
    const anyplace::Stream wrapped = anyplace::Stream::from_native(device, stream);
    const anyplace::Buffer memory = anyplace::Buffer::from_native(device, address, bytes);
    wrapped.memset32(memory, value);
  });
}

/// Reads the other library's memory, after what its stream has been given; waits.
EXPORTED int interop_read(const char* place, std::uint64_t stream, std::uint64_t address, void* to,
                          std::uint64_t bytes) {
  return guarded([&] {
    const anyplace::Device device(place);
    const anyplace::Stream wrapped = anyplace::Stream::from_native(device, stream);
    const anyplace::Stream reader(device);
    reader.wait_stream(wrapped);
    reader.copy(anyplace::HostSpan(to, bytes), anyplace::Buffer::from_native(device, address, bytes));
    reader.synchronize();
  });
}

/// A stream of anyplace's for the other library to work on; and an event of anyplace's recorded on it.
EXPORTED int interop_make_stream(const char* place, std::uint64_t* out) {
  return guarded([&] {
    own_stream.emplace(anyplace::Device(place));
    *out = own_stream->native_handle();
  });
}
EXPORTED int interop_record(std::uint64_t* out) {
  return guarded([&] {
    own_event.emplace(own_stream->device());
    own_event->record(*own_stream);
    *out = own_event->native_handle();
  });
}
EXPORTED int interop_synchronize() {
  return guarded([&] { own_stream->synchronize(); });
}
EXPORTED int interop_end() {
  return guarded([&] {
    own_event.reset();
    own_stream.reset();
  });
}
