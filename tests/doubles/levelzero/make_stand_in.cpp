// SPDX-License-Identifier: Apache-2.0
//
// Makes a stand-in (README.md) of a host image:
//   make_levelzero_stand_in --spirv|--native [--shared KERNEL:INDEX]... HOST.so OUT
// Exit status: 0; 1 if a file can't be read or written; 2 for other arguments.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "stand_in.h"

namespace {

namespace ze = anyplace::doubles::levelzero;

int usage() {
  std::fputs("usage: make_levelzero_stand_in --spirv|--native [--shared KERNEL:INDEX]... HOST.so OUT\n", stderr);
  return 2;
}

int write(const std::string& from, const std::string& to, ze::StandIn stand_in, bool native) {
  std::ifstream in(from, std::ios::binary);
  stand_in.image.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in || stand_in.image.empty()) {
    std::fprintf(stderr, "make_levelzero_stand_in: %s can't be read or is empty\n", from.c_str());
    return 1;
  }
  const std::string made = ze::make_stand_in(stand_in, native);
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out.write(made.data(), static_cast<std::streamsize>(made.size()));
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "make_levelzero_stand_in: %s can't be written\n", to.c_str());
  return 1;
}

}  // namespace

int main(int count, char** values) {
  const std::string kind = count > 1 ? values[1] : "";
  if (kind != "--spirv" && kind != "--native") return usage();
  ze::StandIn stand_in;
  int next = 2;
  for (; next + 1 < count && std::string(values[next]) == "--shared"; next += 2) {
    const std::string shared = values[next + 1];
    const auto colon = shared.find(':');
    if (colon == std::string::npos) return usage();
    stand_in.shared_arguments[shared.substr(0, colon)] = static_cast<uint32_t>(std::atoi(shared.c_str() + colon + 1));
  }
  if (count - next != 2) return usage();
  return write(values[next], values[next + 1], std::move(stand_in), kind == "--native");
}
