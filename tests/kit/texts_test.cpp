// SPDX-License-Identifier: Apache-2.0
//
// ImageBytes and the ELF files of GPUs, VendorLibrary, properties, and what every backend refuses.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "anyplace/backend/kit/elf.h"
#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/refusals.h"
#include "anyplace/backend/kit/vendor_library.h"

namespace texts_test {

using namespace anyplace::backend;
using Catch::Contains;

namespace {

/// With one section and one segment, each of 16 bytes.
std::vector<char> gpu_image() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shnum = header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shoff = sizeof(header);
  header.e_phoff = header.e_shoff + sizeof(Elf64_Shdr);
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  Elf64_Phdr segment{};
  section.sh_offset = segment.p_offset = header.e_phoff + sizeof(segment);
  section.sh_size = segment.p_filesz = 16;
  std::vector<char> image(section.sh_offset + 16);
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + header.e_shoff, &section, sizeof(section));
  std::memcpy(image.data() + header.e_phoff, &segment, sizeof(segment));
  return image;
}

std::string problem(const std::vector<char>& image, std::size_t bytes) {
  return gpu_elf_problem({image.data(), bytes}, "cubin", "CUDA");
}

}  // namespace

TEST_CASE("A text is cut to its room between two characters") {
  const std::string characters[] = {"e", "\u00e9", "\u20ac", "\U0001f600"};
  for (const std::string& character : characters) {
    std::string text;
    while (text.size() < 40) text += character;
    for (std::size_t ahead = 0; ahead < 4; ++ahead) {
      char room[16];
      set_text(room, std::string(ahead, 'a') + text);
      const std::string cut = room;
      CHECK(cut.size() <= 15);
      CHECK(cut.size() + character.size() > 15);
      CHECK((cut.size() - ahead) % character.size() == 0);
    }
    char room[16];
    set_text(room, character);
    CHECK(room == character);
    end_whole(room);
    CHECK(room == character);
  }
  char none[4];
  set_text(none, "");
  end_whole(none);
  CHECK(std::string(none).empty());
}

TEST_CASE("An ELF file has no problem as a whole and one at every length that cuts it off") {
  const std::vector<char> image = gpu_image();
  CHECK(problem(image, image.size()).empty());
  for (std::size_t bytes = 0; bytes < image.size(); ++bytes) {
    INFO(bytes);
    CHECK_THAT(problem(image, bytes), Contains("cut off"));
  }
}

TEST_CASE("An ELF file with offsets near the end of all numbers is refused") {
  std::vector<char> image = gpu_image();
  const std::uint64_t far = UINT64_MAX - 8;
  std::memcpy(image.data() + offsetof(Elf64_Ehdr, e_shoff), &far, sizeof(far));
  CHECK_THAT(problem(image, image.size()), Contains("section table"));
  image = gpu_image();
  std::memcpy(image.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Shdr, sh_size), &far, sizeof(far));
  CHECK_THAT(problem(image, image.size()), Contains("section"));
  image = gpu_image();
  image[EI_CLASS] = ELFCLASS32;
  CHECK_THAT(problem(image, image.size()), Contains("the cubin is not a 64-bit"));
}

TEST_CASE("This process's own machine has a name and a number that is none has not") {
  CHECK(elf_machine_name(own_elf.machine) != nullptr);
  CHECK(elf_machine_name(60000) == nullptr);
}

TEST_CASE("A library that isn't there gives the linker's reason and one that is there its path") {
  std::string reason;
  CHECK_FALSE(VendorLibrary::open("libno_such_vendor.so.1", reason));
  CHECK_THAT(reason, Contains("libno_such_vendor.so.1"));
  CHECK_FALSE(VendorLibrary::loaded("libno_such_vendor.so.1"));
  const VendorLibrary library = VendorLibrary::open("libc.so.6", reason);
  REQUIRE(library);
  CHECK_THAT(library.path(), Contains("/libc.so.6"));
  std::size_t (*length)(const char*) = nullptr;
  library.read("strlen", length);
  REQUIRE(length != nullptr);
  CHECK(length("four") == 4);
  CHECK(library.find("no_such_function_of_libc") == nullptr);
}

TEST_CASE("Properties are shown as the kernel shows them") {
  CHECK(pci_text("0000:AF:00.0") == "0000:af:00.0");
  const char bytes[] = {0, 15, static_cast<char>(0xf0)};
  CHECK(hex_text(bytes) == "000ff0");
  CHECK(at_least_one(0) == 1);
  CHECK(at_least_one(-3) == 1);
  CHECK(not_negative(-3) == 0);
  anyplace_device_properties properties{};
  set_launch_limits(properties, {1, 2, 3}, {4, 5, 0}, [](int attribute) { return 10 * attribute; });
  CHECK(properties.max_grid[2] == 30);
  CHECK(properties.max_block[0] == 40);
  CHECK(properties.max_block[2] == 1);
}

TEST_CASE("A refusal names what was asked for and what there is") {
  anyplace_launch launch{};
  launch.block[0] = 70000;
  launch.block[1] = launch.block[2] = 65536;
  launch.argument_count = 2000;
  CHECK(threads_of(launch) == 70000ull * 65536 * 65536);
  CHECK_THROWS_WITH(refuse_threads("blur", launch, 256), Contains("70000 x 65536 x 65536") && Contains("256"));
  CHECK_THROWS_WITH(refuse_argument_count(launch, 1024), Contains("2000") && Contains("1024"));
  CHECK_THROWS_WITH(refuse_fill_width("CUDA", 3), Contains("3 bytes; CUDA"));
  CHECK_THROWS_WITH(refuse_copy_kind("HIP", 9), Contains("HIP has no copy of kind 9"));
  CHECK_THROWS_WITH(refuse_memory_kind("HIP", ANYPLACE_MEMORY_MANAGED), Contains("no managed memory"));
}

TEST_CASE("An argument is found by the stride of the caller") {
  struct Later {
    anyplace_argument argument;
    std::uint64_t more;
  } later[2] = {};
  later[1].argument.size = 12;
  anyplace_launch launch{};
  launch.arguments = &later[0].argument;
  launch.argument_stride = sizeof(Later);
  CHECK(argument_at(launch, 1).size == 12);
}

}  // namespace texts_test
