// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins (README.md) for the two formats that Level Zero's modules have. Each is a header, lines of text, and the
// host image:
//
//   SPIR-V   the 20 bytes with which every module begins   then  "anyplace stand-in\n"
//   native   "anyplace native\n"
//   both     "shared KERNEL INDEX\n" for each kernel that has dynamic shared memory as an argument, "image BYTES\n",
//   the
//            image, and zeros up to a whole number of words
//
// No compiler could make anything of the former, and not every one refuses in peace what it can't read. So a stand-in
// that may come before a true driver is of version 255.0, which only a double takes that LEVELZERO_DOUBLE_SPIRV says
// so.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace anyplace::doubles::levelzero {

constexpr uint32_t spirv_magic = 0x07230203, spirv1 = 0x00010000;
constexpr std::size_t spirv_header_bytes = 20;
constexpr std::string_view spirv_mark = "anyplace stand-in\n", native_mark = "anyplace native\n";

struct StandIn {
  std::map<std::string, uint32_t, std::less<>> shared_arguments;  // by kernel
  std::string image;
  uint32_t spirv_version = spirv1;  // as a module has it: 0, major, minor, 0
};

inline std::string make_stand_in(const StandIn& of, bool native) {
  const uint32_t header[] = {spirv_magic, of.spirv_version, 0, 1, 0};
  static_assert(sizeof(header) == spirv_header_bytes);
  std::string made;
  if (!native) made.assign(reinterpret_cast<const char*>(header), sizeof(header));
  made += native ? native_mark : spirv_mark;
  for (const auto& [kernel, index] : of.shared_arguments)
    made += "shared " + kernel + " " + std::to_string(index) + "\n";
  made += "image " + std::to_string(of.image.size()) + "\n" + of.image;
  made.resize((made.size() + 3) / 4 * 4, '\0');
  return made;
}

/// False, with the reason as a compiler would say it.
inline bool read_stand_in(std::string_view text, bool native, StandIn& out, std::string& why) {
  if (!native) {
    if (text.size() < spirv_header_bytes || std::memcmp(text.data(), &spirv_magic, sizeof(spirv_magic)) != 0) {
      why = "error: the input is no SPIR-V module";
      return false;
    }
    std::memcpy(&out.spirv_version, text.data() + 4, sizeof(out.spirv_version));
    text.remove_prefix(spirv_header_bytes);
  }
  const std::string_view mark = native ? native_mark : spirv_mark;
  if (text.substr(0, mark.size()) != mark) {
    why =
        "error: there is no host image in it, and the double compiles nothing; the suite's kernels with one are the "
        "build's tests/doubles/levelzero/kernels.spv";
    return false;
  }
  text.remove_prefix(mark.size());
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    if (line.size() == text.size()) break;
    text.remove_prefix(line.size() + 1);
    const auto last_space = line.rfind(' ');
    if (last_space == std::string::npos) break;
    const uint64_t number = std::strtoull(line.c_str() + last_space + 1, nullptr, 10);
    if (line.substr(0, 7) == "shared ") {
      out.shared_arguments[line.substr(7, last_space - 7)] = static_cast<uint32_t>(number);
    } else if (line.substr(0, 6) == "image " && number <= text.size()) {
      out.image = std::string(text.substr(0, number));
      return true;
    } else {
      break;
    }
  }
  why = "error: the module is damaged";
  return false;
}

}  // namespace anyplace::doubles::levelzero
