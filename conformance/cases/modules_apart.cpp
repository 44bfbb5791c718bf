// SPDX-License-Identifier: Apache-2.0
//
// Modules are separate: their names, their variables, their kernels' shared memory, and what is left of unloaded ones.
// Images that are cut off, at any length, aren't read beyond their end.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include "table_module.h"

namespace anyplace::conformance::modules_apart_cases {
namespace {

anyplace_module load(const TableBackend& backend, const TableImage& image, Caller caller = {}) {
  anyplace_module module = 0;
  const anyplace_module_desc desc = image.desc();
  TableBackend::require(ENTRY(backend, module_load, backend.device(), &desc, &module), "module_load", caller);
  return module;
}

anyplace_kernel kernel_of(const TableBackend& backend, anyplace_module module, const char* name, Caller caller = {}) {
  anyplace_kernel kernel = 0;
  TableBackend::require(ENTRY(backend, module_kernel, module, name, &kernel), "module_kernel", caller);
  return kernel;
}

// ---- Names

bool has_variables(const TableBackend& backend, const TableImage& image, anyplace_module module) {
  if (image.format() == ANYPLACE_IMAGE_OPENCL_C || backend.table().module_global == nullptr) return false;
  anyplace_global found{};
  found.struct_size = sizeof(found);
  const anyplace_status status = ENTRY(backend, module_global, module, "numbers", &found);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) return false;
  // An image that is made of kernels.cl has no variable.
  if (status == ANYPLACE_STATUS_NO_SUCH_GLOBAL && image.format() == ANYPLACE_IMAGE_SPIRV) return false;
  TableBackend::require(status, "module_global", {__FILE__, __LINE__});
  return true;
}

ANYPLACE_CASE("modules", "kernels.images", "a name that is nearly a kernel's, or a variable's, is no_such_kernel",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_module module = load(backend, image);
  std::vector<const char*> names{"fil", "ill", "filll", "fill_", "fill ", " fill", "Fill", "FILL", "fill()", "numbers"};
  if (image.format() == ANYPLACE_IMAGE_SHARED_OBJECT) names.push_back("fill_parameters");  // kernels.c exports it
  for (const char* const name : names) {
    anyplace_kernel kernel = 77;
    const anyplace_status status = ENTRY(backend, module_kernel, module, name, &kernel);
    CHECK_EQUAL(name + (": " + std::string(to_string(static_cast<ErrorCode>(status)))),
                name + std::string(": no_such_kernel"));
    CHECK(kernel == 77 || kernel == 0);
  }
  CHECK(kernel_of(backend, module, "fill") != 0);
  MUST(backend, module_unload, module);
}

ANYPLACE_CASE("modules", "kernels.globals", "a name that is nearly a variable's, or a kernel's, is no_such_global",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_module module = load(backend, image);
  if (!has_variables(backend, image, module)) skip("where the variables of modules are");
  for (const char* const name : {"number", "umbers", "numberss", "numbers_", "numbers ", " numbers", "Numbers",
                                 "NUMBERS", "numbers[0]", "fill"}) {
    anyplace_global found{};
    found.struct_size = sizeof(found);
    const anyplace_status status = ENTRY(backend, module_global, module, name, &found);
    CHECK_EQUAL(name + (": " + std::string(to_string(static_cast<ErrorCode>(status)))),
                name + std::string(": no_such_global"));
    CHECK(found.address == 0 && found.bytes == 0);
  }
  MUST(backend, module_unload, module);
}

// ---- Variables

/// The variable of one module, and its contents.
class Numbers {
 public:
  Numbers(const TableBackend& backend, anyplace_module module) : backend_(backend) {
    found_.struct_size = sizeof(found_);
    MUST(backend, module_global, module, "numbers", &found_);
    CHECK_EQUAL(found_.bytes, 16u);
  }

  anyplace_address address() const noexcept { return found_.address; }
  void set(anyplace_stream stream, std::uint8_t value) const {
    backend_.write(stream, found_.address, Bytes(found_.bytes, value));
  }
  void check(anyplace_stream stream, std::uint8_t value, Caller caller = {}) const {
    check_bytes(backend_.read(stream, found_.address, found_.bytes), Bytes(found_.bytes, value), caller.file,
                caller.line, "a module's variable");
  }
  void check_new(anyplace_stream stream, Caller caller = {}) const {
    const std::uint32_t first[] = {2, 3, 5, 7};
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(first);
    check_bytes(backend_.read(stream, found_.address, found_.bytes), Bytes(bytes, bytes + sizeof(first)), caller.file,
                caller.line, "a new module's variable");
  }

 private:
  const TableBackend& backend_;
  anyplace_global found_{};
};

void check_fill(const TableBackend& backend, anyplace_stream stream, anyplace_address memory, anyplace_module module,
                std::uint8_t value, Caller caller = {}) {
  constexpr std::uint32_t elements = 100;
  FillLaunch fill(memory, elements, value * 0x01010101u);
  TableBackend::require(
      ENTRY(backend, kernel_launch, stream, kernel_of(backend, module, "fill", caller), &fill.launch()),
      "kernel_launch", caller);
  check_bytes(backend.read(stream, memory, elements * 4), Bytes(elements * 4, value), caller.file, caller.line,
              "what a module's kernel wrote");
}

ANYPLACE_CASE("modules", "kernels.globals", "each load of an image has variables of its own, as long as it is loaded",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(400);
  const anyplace_module first = load(backend, image);
  if (!has_variables(backend, image, first)) skip("where the variables of modules are");
  const Numbers one(backend, first);
  one.set(stream, 11);
  const anyplace_module second = load(backend, image);
  const Numbers other(backend, second);
  CHECK(one.address() != other.address());
  other.check_new(stream);
  other.set(stream, 22);
  one.check(stream, 11);
  check_fill(backend, stream, memory, first, 1);
  check_fill(backend, stream, memory, second, 2);
  // Unloading one module leaves the other alone, and a module that is loaded next starts with fresh variables.
  MUST(backend, module_unload, first);
  other.check(stream, 22);
  check_fill(backend, stream, memory, second, 3);
  const anyplace_module third = load(backend, image);
  const Numbers last(backend, third);
  last.check_new(stream);
  last.set(stream, 33);
  other.check(stream, 22);
  CHECK_EQUAL(Numbers(backend, second).address(), other.address());
  MUST(backend, module_unload, second);
  last.check(stream, 33);
  check_fill(backend, stream, memory, third, 4);
  MUST(backend, module_unload, third);
}

/// Checks what look_up computes from the four numbers.
void check_look_up(const TableBackend& backend, anyplace_stream stream, anyplace_module module,
                   const std::array<std::uint32_t, 4>& numbers, Caller caller = {}) {
  constexpr std::uint32_t elements = 100;
  const anyplace_address out = backend.allocate(elements * 4);
  const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_ADDRESS, sizeof(out), &out},
                                         {ANYPLACE_ARGUMENT_VALUE, sizeof(elements), &elements}};
  anyplace_launch launch = launch_of(4);
  launch.block[0] = 32;
  launch.argument_count = 2;
  launch.arguments = arguments;
  const anyplace_kernel kernel = kernel_of(backend, module, "look_up", caller);
  TableBackend::require(ENTRY(backend, kernel_launch, stream, kernel, &launch), "kernel_launch", caller);
  Bytes expected(elements * 4);
  for (std::uint32_t i = 0; i < elements; ++i) {
    const std::uint32_t number = numbers[i % 4] * 1000 + i;
    std::memcpy(expected.data() + std::size_t{i} * 4, &number, 4);
  }
  check_bytes(backend.read(stream, out, elements * 4), expected, caller.file, caller.line, "what look_up wrote");
  backend.free(out);
}

ANYPLACE_CASE("modules", "kernels.globals",
              "a kernel reads the variable of its module, by a function of its module, as the host wrote it",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_module first = load(backend, image);
  const anyplace_module second = load(backend, image);
  constexpr std::array<std::uint32_t, 4> at_first{2, 3, 5, 7};
  constexpr std::uint32_t fours = 0x04040404;
  check_look_up(backend, stream, first, at_first);
  check_look_up(backend, stream, second, at_first);
  if (!has_variables(backend, image, first)) return;
  Numbers(backend, first).set(stream, 4);
  check_look_up(backend, stream, first, {fours, fours, fours, fours});
  check_look_up(backend, stream, second, at_first);
  MUST(backend, module_unload, first);
  check_look_up(backend, stream, second, at_first);
  MUST(backend, module_unload, second);
}

// ---- Repetition

ANYPLACE_CASE("modules", "kernels.images",
              "two images in turn, unloaded while their launches are queued, never have each other's kernels",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  TableImage changed(run);
  changed.make_other();
  const int rounds = image.format() == ANYPLACE_IMAGE_SHARED_OBJECT ? 16 : 3;
  constexpr std::uint32_t elements = 1000;
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(elements * 4);
  for (int round = 0; round < rounds; ++round) {
    const bool is_other = round % 2 == 1;
    const auto value = static_cast<std::uint8_t>(round + 1);
    const anyplace_module module = load(backend, is_other ? changed : image);
    FillLaunch fill(memory, elements, value * 0x01010101u);
    backend.fill(stream, memory, 0, elements * 4);
    const anyplace_kernel kernel = kernel_of(backend, module, "fill");
    CHECK(kernel != kernel_of(backend, module, "axpy"));
    const anyplace_status status = ENTRY(backend, kernel_launch, stream, kernel, &fill.launch());
    MUST(backend, module_unload, module);
    // The other image's kernel refuses these arguments, or writes another value.
    if (!is_other) TableBackend::require(status, "kernel_launch", {__FILE__, __LINE__});
    const bool has_value = backend.read(stream, memory, elements * 4) == Bytes(elements * 4, value);
    CHECK_EQUAL(has_value, !is_other);
  }
}

ANYPLACE_CASE("modules", "kernels.launch",
              "launches of one kernel with more and less shared memory each have what they ask for",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const anyplace_device_properties properties = backend.properties(backend.device());
  const anyplace_module module = load(backend, image);
  const anyplace_kernel kernel = kernel_of(backend, module, "block_sum");
  constexpr std::uint32_t blocks = 8;
  constexpr std::uint32_t most_threads = 256;
  const std::uint32_t most = std::min({most_threads, properties.max_threads_per_block, properties.max_block[0]});
  if (properties.max_shared_bytes < most * 4) skip("1 KiB of shared memory");
  std::vector<std::uint32_t> values(std::size_t{blocks} * most);
  std::iota(values.begin(), values.end(), 1);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  const anyplace_stream streams[2] = {backend.stream(), backend.stream()};
  const anyplace_address input = backend.allocate(values.size() * 4);
  backend.write(streams[0], input, Bytes(bytes, bytes + values.size() * 4));
  const std::uint32_t shapes[] = {most, 1, most / 2, 1, most, most / 4};
  std::vector<anyplace_address> sums;
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    sums.push_back(backend.allocate(blocks * 4));
    const anyplace_argument arguments[] = {{ANYPLACE_ARGUMENT_ADDRESS, 8, &sums.back()},
                                           {ANYPLACE_ARGUMENT_ADDRESS, 8, &input}};
    anyplace_launch launch = launch_of(blocks);
    launch.block[0] = shapes[i];
    launch.shared_bytes = shapes[i] * std::uint64_t{4};
    launch.argument_count = 2;
    launch.arguments = arguments;
    MUST(backend, kernel_launch, streams[i % 2], kernel, &launch);
  }
  for (const anyplace_stream stream : streams) backend.synchronize(stream);
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    const Bytes got = backend.read(streams[0], sums[i], blocks * 4);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      std::uint32_t sum = 0;
      std::memcpy(&sum, got.data() + std::size_t{b} * 4, 4);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b) * shapes[i];
      CHECK_EQUAL(sum, std::accumulate(begin, begin + shapes[i], 0u));
    }
  }
  CHECK(TableBackend::faults().empty());
}

// ---- Wrong images

/// Bytes that end where a page ends, with an inaccessible page behind them: reading further ends the process.
class Edge {
 public:
  explicit Edge(std::size_t most) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    room_ = (most + page_ - 1) / page_ * page_;
    begin_ =
        static_cast<char*>(mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (begin_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    mprotect(begin_ + room_, page_, PROT_NONE);
  }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  ~Edge() { munmap(begin_, room_ + page_); }

  const char* put(const std::string& bytes, std::size_t count) noexcept {
    return static_cast<const char*>(std::memcpy(begin_ + room_ - count, bytes.data(), count));
  }

 private:
  std::size_t page_;
  std::size_t room_ = 0;
  char* begin_ = nullptr;
};

bool is_elf(const std::string& bytes) {
  return bytes.size() > sizeof(Elf64_Ehdr) && bytes.compare(0, SELFMAG, ELFMAG) == 0 && bytes[EI_CLASS] == ELFCLASS64;
}

/// Loads the image, which has to be refused if `is_bad`, and unloads it.
void try_image(const TableBackend& backend, const TableImage& image, const char* bytes, std::size_t count, bool is_bad,
               const std::string& what) {
  anyplace_module_desc desc = image.desc();
  desc.image = bytes;
  desc.image_bytes = count;
  anyplace_module module = 0;
  step(__FILE__, __LINE__, ("module_load of an image " + what).c_str());
  const auto status =
      static_cast<ErrorCode>(backend.table().module_load(backend.self(), backend.device(), &desc, &module));
  TableBackend::message();
  const bool is_loaded = status == ErrorCode::ok;
  if (is_loaded) MUST(backend, module_unload, module);
  if (status == ErrorCode::invalid_image || (is_loaded && !is_bad)) return;
  check_failed(__FILE__, __LINE__, "an image " + what + " is " + to_string(status) + ", not invalid_image");
}

/// Whether the image is text, which may end anywhere and still be right.
bool is_text(const TableImage& image) {
  return image.format() == ANYPLACE_IMAGE_PTX || image.format() == ANYPLACE_IMAGE_OPENCL_C;
}

ANYPLACE_CASE("modules", "kernels.images", "an image that is cut off is invalid_image, wherever that is",
              Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  const std::string& whole = image.bytes();
  MUST(backend, module_unload, load(backend, image));
  Edge edge(whole.size());
  std::vector<std::size_t> lengths{1, 3, 4, 5, 15, 16, 17, 19, 20, 21, 63, 64, 65, 119, 120, 121};
  const std::size_t parts = is_text(image) ? 8 : 48;
  for (std::size_t i = 1; i < parts; ++i) lengths.push_back(whole.size() / parts * i + i % 7);
  for (const std::size_t less : {1, 2, 7, 8, 63, 64, 65}) lengths.push_back(whole.size() - less);
  for (const std::size_t length : lengths) {
    if (length >= whole.size()) continue;
    const bool is_bad = !is_text(image) && is_elf(whole);
    try_image(backend, image, edge.put(whole, length), length, is_bad,
              "of " + std::to_string(whole.size()) + " bytes that breaks off after " + std::to_string(length));
  }
  try_image(backend, image, edge.put(whole, whole.size()), whole.size(), false, "that is whole");
  MUST(backend, module_unload, load(backend, image));
}

struct Damage {
  std::string label;
  void (*damage)(std::string& bytes, Elf64_Ehdr& header);
};

template <class T>
void with_table(std::string& bytes, std::uint64_t offset, std::size_t count, void (*change)(T&)) {
  for (std::size_t i = 0; i < count; ++i) {
    T entry;
    std::memcpy(&entry, bytes.data() + offset + i * sizeof(T), sizeof(T));
    change(entry);
    std::memcpy(bytes.data() + offset + i * sizeof(T), &entry, sizeof(T));
  }
}

constexpr std::uint64_t far_off = std::uint64_t{1} << 62;
const std::vector<Damage> damages = {
    {"segments at its end", [](std::string& bytes, Elf64_Ehdr& header) { header.e_phoff = bytes.size() - 8; }},
    {"segments beyond all memory", [](std::string&, Elf64_Ehdr& header) { header.e_phoff = ~std::uint64_t{0} - 55; }},
    {"sections at its end", [](std::string& bytes, Elf64_Ehdr& header) { header.e_shoff = bytes.size() - 8; }},
    {"sections beyond all memory", [](std::string&, Elf64_Ehdr& header) { header.e_shoff = ~std::uint64_t{0} - 63; }},
    {"contents beyond it",
     [](std::string& bytes, Elf64_Ehdr& header) {
       const auto change = [](Elf64_Phdr& segment) { segment.p_offset += far_off; };
       with_table<Elf64_Phdr>(bytes, header.e_phoff, header.e_phnum, change);
       const auto move = [](Elf64_Shdr& section) { section.sh_offset += far_off; };
       with_table<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum, move);
     }},
    {"contents larger than it", [](std::string& bytes, Elf64_Ehdr& header) {
       const auto change = [](Elf64_Phdr& segment) { segment.p_filesz = segment.p_memsz = far_off; };
       with_table<Elf64_Phdr>(bytes, header.e_phoff, header.e_phnum, change);
       const auto grow = [](Elf64_Shdr& section) { section.sh_size = far_off; };
       with_table<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum, grow);
     }}};

ANYPLACE_CASES(damages, "modules", "kernels.images", "an image whose headers say {} is invalid_image",
               Capability::modules, test_module) {
  const TableBackend backend(run);
  const TableImage image(run);
  if (!is_elf(image.bytes())) skip("an image that is an ELF file");
  std::string bytes = image.bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_phnum == 0 || header.e_shnum == 0) skip("an image with segments and sections");
  parameter.damage(bytes, header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  Edge edge(bytes.size());
  try_image(backend, image, edge.put(bytes, bytes.size()), bytes.size(), true, "with " + parameter.label);
  MUST(backend, module_unload, load(backend, image));
}

}  // namespace
}  // namespace anyplace::conformance::modules_apart_cases
