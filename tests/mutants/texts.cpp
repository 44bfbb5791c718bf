// SPDX-License-Identifier: Apache-2.0
// Mutations of texts: without an end, in another encoding, cut in the midst of a character.
#include <algorithm>
#include <cstring>
#include <string>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

constexpr const char* called = "texts: the names of a backend and its devices are UTF-8 that ends with NUL";
constexpr const char* unknown_name =
    "texts: the message for a name that isn't there is UTF-8, however long the name is";

/// As much of the text as there is room for, whatever that does to the last character.
template <std::size_t N>
void cut_into(char (&room)[N], const std::string& text) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(room, text.data(), length);
  room[length] = '\0';
}

/// So many times, and the last one is cut.
std::string repeated(const char* character, std::size_t bytes) {
  std::string text("nn");
  while (text.size() < bytes) text += character;
  return text;
}

template <void (*Change)(anyplace_device_properties&)>
void change_properties(Table& table) {
  table.device_properties = [](void* self, int32_t device, anyplace_device_properties* out) {
    const Status status = real.device_properties(self, device, out);
    if (status == ok) Change(*out);
    return status;
  };
}

/// Says which name isn't there, in the room of a message of somebody's.
Status kernel_with_cut_message(void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
  const Status status = real.module_kernel(self, module, name, out);
  if (status == ok) return ok;
  char room[256];
  cut_into(room, std::string("there is no kernel ") + name);
  core_host->leave_message(core_host->context, 0, nullptr, room);
  return status;
}

void leave_latin(void* context, int64_t code, const char* name, const char* text) {
  const std::string latin = text == nullptr ? "" : std::string(text) + ": Ger\xe4t";
  core_host->leave_message(context, code, name, text == nullptr ? nullptr : latin.c_str());
}

const Mutation mutations[] = {
    {"device_name_cut", "a device's long name is cut in the midst of a character", called,
     change_properties<[](anyplace_device_properties& out) { cut_into(out.name, repeated("\u00e9", 300)); }>},
    {"vendor_in_latin_1", "a vendor's name is in Latin-1", called,
     change_properties<[](anyplace_device_properties& out) { std::strcpy(out.vendor, "Ger\xe4te AG"); }>},
    {"uuid_without_end", "a uuid fills its room and doesn't end", called,
     change_properties<[](anyplace_device_properties& out) { std::fill_n(out.uuid, sizeof(out.uuid), 'a'); }>},
    {"uuid_as_bytes", "a uuid is its bytes", called,
     change_properties<[](anyplace_device_properties& out) { std::strcpy(out.uuid, "\x8f\x32\xf9\x37"); }>},
    {"version_in_two_lines", "the version is two lines", called,
     [](Table& table) { std::strcpy(table.version, "1.0\nbeta"); }},
    {"sample_source_cut", "where figures come from is cut in the midst of a character",
     "texts: the source of a device's figures is UTF-8 that ends with NUL",
     [](Table& table) {
       table.device_sample = [](void* self, int32_t device, anyplace_device_sample* out) {
         const Status status = real.device_sample(self, device, out);
         if (status == ok) cut_into(out->source, repeated("\u20ac", 600));
         return status;
       };
     }},
    {"message_cut", "a message is cut in the midst of a character", unknown_name,
     [](Table& table) { table.module_kernel = kernel_with_cut_message; }},
    {"image_message_in_latin_1", "what is said of an image is in Latin-1",
     "texts: the message for an image that is refused is UTF-8, whatever is in the image",
     [](Table&) { cpu_sim_host.leave_message = leave_latin; }},
    {"fault_in_latin_1", "a stream's fault is told in Latin-1",
     "texts: the message for a call or a stream's work that failed is UTF-8",
     [](Table&) {
       cpu_sim_host.stream_fault = [](void* context, uint64_t cookie, anyplace_status status, int64_t code,
                                      const char* name, const char*) {
         core_host->stream_fault(context, cookie, status, code, name, "Ger\xe4t");
       };
     }},
};

}  // namespace

std::span<const Mutation> text_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
