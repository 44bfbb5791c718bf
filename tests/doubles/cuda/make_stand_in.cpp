// SPDX-License-Identifier: Apache-2.0
//
// Makes stand-ins (README.md, and those of the HIP and Level Zero doubles) of a host image:
//   make_stand_in --ptx [--append REAL.ptx] HOST.so OUT.ptx
//   make_stand_in --cubin SM HOST.so OUT.cubin
//   make_stand_in --fatbin HOST.so OUT.fatbin SM|ptx...
//   make_stand_in --hsaco GFX HOST.so OUT.hsaco
//   make_stand_in --bundle HOST.so OUT.hsaco GFX...
//   make_stand_in --spirv MAJOR.MINOR [--shared KERNEL:INDEX]... HOST.so OUT.spv
//   make_stand_in --native [--shared KERNEL:INDEX]... HOST.so OUT
// --append keeps the text of a true PTX and appends the host image; --shared says which argument is a kernel's dynamic
// shared memory. Exit status: 0; 1 if a file can't be read or
// written or is no shared object for the host; 2 for other arguments.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../hip/stand_in.h"
#include "../levelzero/stand_in.h"
#include "stand_in.h"

namespace {

namespace cuda = anyplace::doubles::cuda;
namespace hip = anyplace::doubles::hip;
namespace levelzero = anyplace::doubles::levelzero;
using Arguments = std::vector<std::string>;

std::optional<std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file && !bytes.empty()) return bytes;
  std::fprintf(stderr, "make_stand_in: %s can't be read or is empty\n", path.c_str());
  return std::nullopt;
}

int write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "make_stand_in: %s can't be written\n", path.c_str());
  return 1;
}

std::optional<std::string> read_host_image(const std::string& path) {
  auto image = read(path);
  if (image && !cuda::make_cubin(*image, 0)) {
    std::fprintf(stderr, "make_stand_in: %s is no shared object for the host\n", path.c_str());
    return std::nullopt;
  }
  return image;
}

/// The number in "90" or "sm_90"; 0 if it is none.
unsigned architecture(std::string text) {
  if (text.rfind("sm_", 0) == 0) text.erase(0, 3);
  char* end = nullptr;
  const unsigned long number = std::strtoul(text.c_str(), &end, 10);
  return *end == '\0' && number > 0 && number < 256 ? static_cast<unsigned>(number) : 0;
}

int make_ptx(Arguments arguments) {
  std::string real;
  if (arguments.size() == 4 && arguments[0] == "--append") {
    auto text = read(arguments[1]);
    if (!text) return 1;
    real = std::move(*text);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.size() != 2) return 2;
  const auto host = read_host_image(arguments[0]);
  return host ? write(arguments[1], cuda::make_ptx(real, *host)) : 1;
}

int make_cubin(const Arguments& arguments) {
  if (arguments.size() != 3 || architecture(arguments[0]) == 0) return 2;
  const auto host = read_host_image(arguments[1]);
  return host ? write(arguments[2], *cuda::make_cubin(*host, architecture(arguments[0]))) : 1;
}

int make_fatbin(const Arguments& arguments) {
  if (arguments.size() < 3) return 2;
  const auto host = read_host_image(arguments[0]);
  if (!host) return 1;
  std::vector<cuda::FatbinEntry> entries;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (arguments[i] == "ptx") {
      entries.push_back({true, 52, cuda::make_ptx({}, *host)});
    } else if (const unsigned sm = architecture(arguments[i]); sm != 0) {
      entries.push_back({false, sm, *cuda::make_cubin(*host, sm)});
    } else {
      return 2;
    }
  }
  return write(arguments[1], cuda::make_fatbin(entries));
}

int make_hsaco(const Arguments& arguments) {
  if (arguments.size() != 3 || hip::machine_of(arguments[0]) == 0) return 2;
  const auto host = read_host_image(arguments[1]);
  return host ? write(arguments[2], *hip::make_code_object(*host, arguments[0])) : 1;
}

int make_bundle(const Arguments& arguments) {
  if (arguments.size() < 3) return 2;
  const auto host = read_host_image(arguments[0]);
  if (!host) return 1;
  std::vector<std::pair<std::string, std::string>> images;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (hip::machine_of(arguments[i]) == 0) return 2;
    images.emplace_back(arguments[i], *hip::make_code_object(*host, arguments[i]));
  }
  return write(arguments[1], hip::make_bundle(images));
}

/// What is left of the arguments begins with pairs of --shared and KERNEL:INDEX.
int make_levelzero(Arguments arguments, bool native, uint32_t spirv_version) {
  levelzero::StandIn stand_in;
  stand_in.spirv_version = spirv_version;
  while (arguments.size() > 2 && arguments[0] == "--shared") {
    const std::size_t colon = arguments[1].find(':');
    if (colon == std::string::npos) return 2;
    const unsigned long index = std::strtoul(arguments[1].c_str() + colon + 1, nullptr, 10);
    stand_in.shared_arguments[arguments[1].substr(0, colon)] = static_cast<uint32_t>(index);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.size() != 2) return 2;
  auto host = read_host_image(arguments[0]);
  if (!host) return 1;
  stand_in.image = std::move(*host);
  return write(arguments[1], levelzero::make_stand_in(stand_in, native));
}

int make_spirv(Arguments arguments) {
  unsigned major = 0, minor = 0;
  if (arguments.empty() || std::sscanf(arguments[0].c_str(), "%3u.%3u", &major, &minor) != 2) return 2;
  if (major < 1 || major > 255 || minor > 255) return 2;
  arguments.erase(arguments.begin());
  return make_levelzero(std::move(arguments), false, major << 16 | minor << 8);
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments(values + 1, values + count);
  const std::string kind = arguments.empty() ? "" : arguments[0];
  if (!arguments.empty()) arguments.erase(arguments.begin());
  int result = 2;
  if (kind == "--ptx") result = make_ptx(arguments);
  if (kind == "--cubin") result = make_cubin(arguments);
  if (kind == "--fatbin") result = make_fatbin(arguments);
  if (kind == "--hsaco") result = make_hsaco(arguments);
  if (kind == "--bundle") result = make_bundle(arguments);
  if (kind == "--spirv") result = make_spirv(arguments);
  if (kind == "--native") result = make_levelzero(arguments, true, 0);
  if (result == 2) {
    std::fputs(
        "usage: make_stand_in --ptx [--append REAL.ptx] HOST.so OUT.ptx\n"
        "       make_stand_in --cubin SM HOST.so OUT.cubin\n"
        "       make_stand_in --fatbin HOST.so OUT.fatbin SM|ptx...\n"
        "       make_stand_in --hsaco GFX HOST.so OUT.hsaco\n"
        "       make_stand_in --bundle HOST.so OUT.hsaco GFX...\n"
        "       make_stand_in --spirv MAJOR.MINOR [--shared KERNEL:INDEX]... HOST.so OUT.spv\n"
        "       make_stand_in --native [--shared KERNEL:INDEX]... HOST.so OUT\n",
        stderr);
  }
  return result;
}
