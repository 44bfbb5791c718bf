// SPDX-License-Identifier: Apache-2.0
//
// Modules: shared objects from bytes, good and bad ones.
#include <elf.h>
#include <link.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "plugin.h"

namespace test_modules_cases {

using namespace cpu_sim_test;

namespace {

std::vector<char> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const std::vector<char>& image() {
  static const std::vector<char> bytes = read(CPU_SIM_MODULE);
  return bytes;
}

anyplace_module load(Plugin& plugin, const void* bytes, std::uint64_t count,
                     std::uint32_t format = ANYPLACE_IMAGE_SHARED_OBJECT) {
  anyplace_module_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.format = format;
  desc.image = bytes;
  desc.image_bytes = count;
  anyplace_module module = 0;
  check(plugin->module_load(plugin.self(), 0, &desc, &module));
  return module;
}

class Module {
 public:
  explicit Module(Plugin& plugin) : plugin_(plugin) {
    std::vector<char> copy = image();
    handle_ = load(plugin, copy.data(), copy.size());
    std::fill(copy.begin(), copy.end(), '\0');  // the image is the caller's again
  }
  ~Module() { unload(); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  anyplace_kernel kernel(const char* name) {
    anyplace_kernel kernel = 0;
    check(plugin_->module_kernel(plugin_.self(), handle_, name, &kernel));
    return kernel;
  }
  void unload() {
    if (handle_ != 0) check(plugin_->module_unload(plugin_.self(), handle_));
    handle_ = 0;
  }

 private:
  Plugin& plugin_;
  anyplace_module handle_ = 0;
};

/// Of the host's memory, and so as a number: as an address it would be refused.
anyplace_argument address_of(const anyplace_address& address) { return {ANYPLACE_ARGUMENT_VALUE, 8, &address}; }

/// Why the image isn't taken; "" if it is.
std::string refusal(Plugin& plugin, const std::vector<char>& bytes) {
  std::string text;
  const anyplace_status status =
      status_of([&] { check(plugin->module_unload(plugin.self(), load(plugin, bytes.data(), bytes.size()))); }, &text);
  if (status == ANYPLACE_STATUS_OK) return "";
  CHECK(status == ANYPLACE_STATUS_INVALID_IMAGE);
  return text;
}

template <class T>
std::vector<char> changed(std::size_t offset, T value) {
  std::vector<char> bytes = image();
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

}  // namespace

TEST_CASE("Given an unknown name, a name of data, or one of a library it uses, Then it is NO_SUCH_KERNEL naming some") {
  Plugin plugin;
  Module module(plugin);
  for (const char* name : {"subtract", "", "some_data", "malloc", "printf", "_ZTVN10__cxxabiv117__class_type_infoE"}) {
    CAPTURE(name);
    std::string text;
    CHECK(status_of([&] { module.kernel(name); }, &text) == ANYPLACE_STATUS_NO_SUCH_KERNEL);
    CHECK_THAT(text, Catch::Contains("add"));
  }
  CHECK(status_of([&] { module.kernel(nullptr); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given a module's kernel that throws, Then the fault is KERNEL_FAILED with what it threw, and work goes on") {
  Plugin plugin;
  Module module(plugin);
  Stream stream(plugin);
  std::atomic<bool> ran{false};
  stream.launch(module.kernel("throws"), {16, 1, 1});
  stream.run([&] { ran = true; });
  CHECK(stream.synchronize());
  CHECK(ran);
  const std::vector<Fault> faults = plugin.host().faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].cookie == stream.cookie);
  CHECK(faults[0].status == ANYPLACE_STATUS_KERNEL_FAILED);
  CHECK_THAT(faults[0].text, Catch::Contains("the module's kernel threw this") && Catch::Contains("throws"));
}

TEST_CASE("Given a module's kernel that returns a failure, Then that is the fault; but the device isn't lost by it") {
  Plugin plugin;
  Module module(plugin);
  Stream stream(plugin);
  stream.launch(module.kernel("fails"));
  stream.launch(module.kernel("loses_device"));
  CHECK(stream.synchronize());
  const std::vector<Fault> faults = plugin.host().faults();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].status == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(faults[0].text, Catch::Contains("INVALID_ARGUMENT"));
  CHECK(faults[1].status == ANYPLACE_STATUS_KERNEL_FAILED);
}

TEST_CASE("Given a library that can't be unloaded, When another image is loaded after it, Then it isn't taken for it") {
  // The fixture has a unique symbol, so the linker keeps it; a module made of other bytes must still be its own.
  Plugin plugin;
  Stream stream(plugin);
  {
    Module module(plugin);
    int runs = 0;
    const anyplace_address address = reinterpret_cast<std::uint64_t>(&runs);
    stream.launch(module.kernel("count_runs"), {}, {address_of(address)});
    CHECK(stream.synchronize());
    CHECK(runs >= 1);
  }
  std::vector<char> renamed = image();
  const std::string from = "loses_device", to = "wins_devices";
  for (auto at = renamed.begin(); (at = std::search(at, renamed.end(), from.begin(), from.end())) != renamed.end();) {
    at = std::copy(to.begin(), to.end(), at);
  }
  const anyplace_module other = load(plugin, renamed.data(), renamed.size());
  std::string text;
  anyplace_kernel kernel = 0;
  // Its hash table still has the old name's hash: the name is found in neither way, which shows that it is the new one.
  CHECK(plugin->module_kernel(plugin.self(), other, "loses_device", &kernel) == ANYPLACE_STATUS_NO_SUCH_KERNEL);
  CHECK(plugin->module_kernel(plugin.self(), other, "fails", &kernel) == ANYPLACE_STATUS_OK);
  check(plugin->module_unload(plugin.self(), other));
}

TEST_CASE("Given an image cut off anywhere, Then it is INVALID_IMAGE and never a crash") {
  Plugin plugin;
  const std::vector<char>& whole = image();
  REQUIRE(whole.size() > 4096);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += bytes < 1024 ? 1 : 509) {
    CAPTURE(bytes);
    const std::string text =
        refusal(plugin, std::vector<char>(whole.begin(), whole.begin() + static_cast<long>(bytes)));
    REQUIRE(text != "");
    if (bytes >= 4) CHECK_THAT(text, Catch::Contains("truncated"));
  }
  CHECK(refusal(plugin, whole) == "");
}

TEST_CASE("Given images that aren't for this machine, or aren't shared objects, Then the reason says so") {
  Plugin plugin;
  const std::uint16_t foreign = EM_RISCV, executable = ET_EXEC;
  CHECK_THAT(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_machine), foreign)), Catch::Contains("riscv"));
  CHECK_THAT(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_machine), std::uint16_t{190})), Catch::Contains("CUDA"));
  CHECK_THAT(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_type), executable)),
             Catch::Contains("not a shared object"));
  CHECK_THAT(refusal(plugin, changed(EI_CLASS, char{ELFCLASS32})), Catch::Contains("32 bits"));
  CHECK_THAT(refusal(plugin, changed(EI_DATA, char{ELFDATA2MSB})), Catch::Contains("byte order"));
  CHECK_THAT(refusal(plugin, std::vector<char>(5000, 'x')), Catch::Contains("not an ELF file"));
  CHECK_THAT(refusal(plugin, {}), Catch::Contains("empty"));
  CHECK(status_of([&] { load(plugin, nullptr, 100); }) == ANYPLACE_STATUS_INVALID_IMAGE);
  CHECK(status_of([&] { load(plugin, image().data(), image().size(), ANYPLACE_IMAGE_PTX); }) ==
        ANYPLACE_STATUS_INVALID_IMAGE);
}

TEST_CASE("Given an image whose headers lead outside it, Then it is INVALID_IMAGE and never a crash") {
  Plugin plugin;
  ElfW(Ehdr) header;
  std::memcpy(&header, image().data(), sizeof(header));
  CHECK(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_phoff), UINT64_MAX - 10)) != "");
  CHECK(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_phnum), std::uint16_t{0})) != "");
  CHECK(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_phnum), std::uint16_t{65535})) != "");
  CHECK(refusal(plugin, changed(offsetof(ElfW(Ehdr), e_phentsize), std::uint16_t{8})) != "");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
    ElfW(Phdr) segment;
    std::memcpy(&segment, image().data() + at, sizeof(segment));
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    CHECK(refusal(plugin, changed(at + offsetof(ElfW(Phdr), p_offset), UINT64_MAX - 4)) != "");
    CHECK(refusal(plugin, changed(at + offsetof(ElfW(Phdr), p_filesz), std::uint64_t{1} << 40)) != "");
    if (segment.p_type == PT_LOAD) {
      CHECK(refusal(plugin, changed(at + offsetof(ElfW(Phdr), p_vaddr), UINT64_MAX - 0xfff)) != "");
      if (segment.p_vaddr != 0)
        CHECK(refusal(plugin, changed(at + offsetof(ElfW(Phdr), p_vaddr), std::uint64_t{0})) != "");
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t entry = 0; entry < segment.p_filesz / sizeof(ElfW(Dyn)); ++entry) {
      ElfW(Dyn) dynamic;
      const std::size_t where = segment.p_offset + entry * sizeof(dynamic);
      std::memcpy(&dynamic, image().data() + where, sizeof(dynamic));
      if (dynamic.d_tag == DT_STRTAB || dynamic.d_tag == DT_SYMTAB || dynamic.d_tag == DT_GNU_HASH) {
        CHECK_THAT(refusal(plugin, changed(where + sizeof(dynamic.d_tag), std::uint64_t{1} << 40)),
                   Catch::Contains("points outside"));
      }
    }
  }
}

// Run by a case of virtual memory, in a process that has the limit from its beginning.
TEST_CASE("a module in a process with a limit on the size of files", "[.limited_files]") {
  Plugin plugin;
  std::string text;
  CHECK(status_of([&] { load(plugin, image().data(), image().size()); }, &text) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK_THAT(text, Catch::Contains("RLIMIT_FSIZE"));
}

}  // namespace test_modules_cases
