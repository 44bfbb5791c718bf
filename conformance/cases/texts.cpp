// SPDX-License-Identifier: Apache-2.0
// Every text of a backend is UTF-8 that ends with NUL, and consists of whole characters also where it was cut to fit.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "table_module.h"
#include "utf8.h"

namespace anyplace::conformance::texts_cases {
namespace {

// ---- UTF-8

/// The last bytes before the first wrong one, as numbers.
std::string shown_until(std::string_view text, std::size_t at) {
  std::string shown;
  for (std::size_t i = at < 8 ? 0 : at - 8; i < std::min(text.size(), at + 4); ++i) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(text[i]);
    shown += {' ', digits[byte >> 4], digits[byte & 15]};
  }
  return shown;
}

void check_utf8(std::string_view text, const std::string& what, Caller caller = {}) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      check_failed(caller.file, caller.line,
                   what + " is no UTF-8 at byte " + std::to_string(at) + " of " + std::to_string(text.size()) + ":" +
                       shown_until(text, at));
    }
    at += length;
  }
}

void check_array(std::span<const char> array, const char* what, Caller caller = {}) {
  step(caller.file, caller.line, what);
  const auto end = std::find(array.begin(), array.end(), '\0');
  if (end == array.end()) check_failed(caller.file, caller.line, std::string(what) + " doesn't end with NUL");
  const std::string_view text(array.data(), static_cast<std::size_t>(end - array.begin()));
  check_utf8(text, what, caller);
}

void check_line(std::span<const char> array, const char* what, Caller caller = {}) {
  check_array(array, what, caller);
  for (const char* at = array.data(); *at != '\0'; ++at) {
    if (static_cast<unsigned char>(*at) < 0x20 || *at == 0x7f) {
      check_failed(caller.file, caller.line, std::string(what) + " has a control character");
    }
  }
}

/// Checks all texts that were left, reported or logged so far.
void check_all_texts(Caller caller = {}) {
  for (const std::string& text : TableBackend::texts()) check_utf8(text, "a text of the backend's", caller);
}

// ---- Texts of fixed size

/// For each device: `body` gets its number, and a struct to be filled in which nothing is zero.
template <class Filled, class Body>
void for_each_device(const TableBackend& backend, const Body& body) {
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t device = 0; device < count; ++device) {
    Filled filled;
    std::memset(&filled, 0xa5, sizeof(filled));
    filled.struct_size = sizeof(filled);
    body(device, filled);
  }
}

ANYPLACE_CASE("texts", "texts.whole", "the names of a backend and its devices are UTF-8 that ends with NUL") {
  TableBackend::note_texts();
  const TableBackend backend(run);
  check_line(backend.table().name, "the table's name");
  check_line(backend.table().version, "the table's version");
  check_line(backend.table().description, "the table's description");
  for_each_device<anyplace_device_properties>(backend,
                                              [&](std::int32_t device, anyplace_device_properties& properties) {
                                                MUST(backend, device_properties, device, &properties);
                                                check_line(properties.name, "a device's name");
                                                check_line(properties.vendor, "a device's vendor");
                                                check_line(properties.architecture, "a device's architecture");
                                                check_line(properties.driver_version, "a device's driver version");
                                                check_line(properties.uuid, "a device's uuid");
                                                check_line(properties.pci, "a device's PCI address");
                                              });
  check_all_texts();
}

ANYPLACE_CASE("texts", "texts.whole", "the source of a device's figures is UTF-8 that ends with NUL",
              Capability::monitoring) {
  TableBackend::note_texts();
  const TableBackend backend(run);
  for_each_device<anyplace_device_sample>(backend, [&](std::int32_t device, anyplace_device_sample& taken) {
    MUST(backend, device_sample, device, &taken);
    check_array(taken.source, "the source of a device's figures");
  });
  check_all_texts();
}

// ---- Error messages

/// Names with sizes around those of likely buffers, so that a character of two, three or four bytes can be cut at each
/// place.
std::vector<std::string> long_names() {
  std::vector<std::string> names;
  for (const std::string character : {"\u00e9", "\u20ac", "\U0001f600"}) {
    for (const std::size_t bytes : {60u, 124u, 250u, 500u, 1000u, 2000u, 4090u, 9000u}) {
      for (std::size_t ahead = 0; ahead < character.size(); ++ahead) {
        std::string name(ahead, 'n');
        while (name.size() < bytes) name += character;
        names.push_back(name);
      }
    }
  }
  return names;
}

ANYPLACE_CASE("texts", "texts.whole", "the message for a name that isn't there is UTF-8, however long the name is",
              Capability::modules, test_module) {
  TableBackend::note_texts();
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  for (const std::string& name : long_names()) {
    anyplace_kernel kernel = 0;
    CHECK_STATUS(NO_SUCH_KERNEL, backend, module_kernel, module, name.c_str(), &kernel);
    check_utf8(TableBackend::message(), "the text of NO_SUCH_KERNEL");
    if (backend.table().module_global == nullptr) continue;
    anyplace_global global{};
    global.struct_size = sizeof(global);
    static_cast<void>(ENTRY(backend, module_global, module, name.c_str(), &global));
    check_utf8(TableBackend::message(), "the text of NO_SUCH_GLOBAL");
  }
  MUST(backend, module_unload, module);
  check_all_texts();
}

ANYPLACE_CASE("texts", "texts.whole", "the message for an image that is refused is UTF-8, whatever is in the image",
              Capability::modules, test_module) {
  TableBackend::note_texts();
  const TableBackend backend(run);
  const std::vector<std::string> names = long_names();
  for (std::size_t i = 0; i < names.size(); i += 5) {
    for (const std::size_t kept : {16u, 64u, 400u}) {
      TableImage image(run);
      image.need_no_compiler();
      image.bytes().resize(std::min(image.bytes().size(), kept));
      image.bytes() += names[i];
      const anyplace_module_desc desc = image.desc();
      anyplace_module module = 0;
      CHECK_STATUS(INVALID_IMAGE, backend, module_load, backend.device(), &desc, &module);
    }
  }
  check_all_texts();
}

ANYPLACE_CASE("texts", "texts.whole", "the message for a call or a stream's work that failed is UTF-8") {
  TableBackend::note_texts();
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  constexpr std::uint32_t kinds[] = {ANYPLACE_MEMORY_DEVICE, ANYPLACE_MEMORY_PINNED, ANYPLACE_MEMORY_MANAGED,
                                     ANYPLACE_MEMORY_SHAREABLE, 77};
  for (const std::uint32_t kind : kinds) {
    anyplace_address address = 0;
    CHECK(ENTRY(backend, memory_allocate, backend.device(), kind, std::uint64_t{1} << 62, &address) !=
          ANYPLACE_STATUS_OK);
  }
  if (backend.has(Capability::host_kernels)) {
    const anyplace_kernel kernel = backend.kernel(fail);
    const anyplace_launch launch = launch_of(4);
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    MUST(backend, kernel_destroy, kernel);
  }
  if (backend.has(Capability::timed_events)) {
    const anyplace_event event = backend.event(ANYPLACE_EVENT_TIMING);
    double milliseconds = 0;
    CHECK(ENTRY(backend, event_elapsed, event, event, &milliseconds) != ANYPLACE_STATUS_OK);
    MUST(backend, event_destroy, event);
  }
  backend.destroy(stream);
  check_all_texts();
}

}  // namespace
}  // namespace anyplace::conformance::texts_cases
