// SPDX-License-Identifier: Apache-2.0
#include "host_image.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::doubles {
namespace {

constexpr uint32_t most_parameters = 4096;
constexpr uint64_t shared_alignment = 64;

/// A name that no earlier image had: the dynamic linker takes two libraries of one name for the same, and descriptors
/// are reused. Each load spells the folder in its own way, "/./" or "//" for each bit of a counter.
std::string unique_path(int descriptor) {
  static std::atomic<uint64_t> loads{0};
  std::string path = "/proc/self/fd";
  for (uint64_t number = loads.fetch_add(1, std::memory_order_relaxed); number != 0; number >>= 1U) {
    path += (number & 1U) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(descriptor);
}

int make_file() {
  constexpr unsigned executable = 0x0010U;  // MFD_EXEC, since Linux 6.3
  const int file = memfd_create("host image of a double", MFD_CLOEXEC | executable);
  return file >= 0 ? file : memfd_create("host image of a double", MFD_CLOEXEC);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct Symbol {
  void* address = nullptr;
  ElfW(Sym) symbol{};
};

/// What the image itself defines, not what it depends on.
std::optional<Symbol> find(void* handle, const std::string& name, unsigned type) {
  void* const address = dlsym(handle, name.c_str());
  link_map* own = nullptr;
  if (address == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0) return std::nullopt;
  Dl_info info{};
  void* detail = nullptr;
  if (dladdr1(address, &info, &detail, RTLD_DL_LINKMAP) == 0 || detail != own) return std::nullopt;
  if (dladdr1(address, &info, &detail, RTLD_DL_SYMENT) == 0 || detail == nullptr) return std::nullopt;
  Symbol found;
  found.address = address;
  std::memcpy(&found.symbol, detail, sizeof(found.symbol));
  if ((found.symbol.st_info & 0xfU) != type) return std::nullopt;
  return found;
}

bool run_block(const HostKernel& kernel, const anyplace_block& block, const KernelArguments& arguments) {
  try {
    return kernel.function(nullptr, &block, arguments.pointers(), kernel.sizes.data(), arguments.count()) ==
           ANYPLACE_STATUS_OK;
  } catch (...) {
    return false;
  }
}

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

}  // namespace

std::shared_ptr<HostImage> HostImage::load(std::string_view bytes, std::string& why) {
  // The dynamic linker believes what the headers say, and the process would end where they lead beyond the file.
  const std::string problem =
      backend::gpu_elf_problem(backend::ImageBytes(bytes.data(), bytes.size()), "host image", "this double");
  if (!problem.empty()) {
    why = problem;
    return nullptr;
  }
  const int file = make_file();
  const bool written = file >= 0 && write_all(file, bytes);
  void* const handle = written ? dlopen(unique_path(file).c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (handle == nullptr) {
    const char* const said = written ? dlerror() : "no file in memory";
    why = std::string("the host image can't be loaded: ") + (said == nullptr ? "?" : said);
  }
  if (file >= 0) close(file);
  return handle == nullptr ? nullptr : std::make_shared<HostImage>(handle);
}

HostImage::~HostImage() { dlclose(handle_); }

std::optional<HostKernel> HostImage::kernel(const std::string& name) const {
  const auto function = find(handle_, name, STT_FUNC);
  const auto parameters = variable(name + "_parameters");
  if (!function || !parameters || parameters->bytes < sizeof(uint32_t)) return std::nullopt;
  uint32_t count = 0;
  std::memcpy(&count, parameters->address, sizeof(count));
  if (count > most_parameters || parameters->bytes < (count + uint64_t{1}) * sizeof(uint32_t)) return std::nullopt;
  HostKernel kernel;
  kernel.function = reinterpret_cast<anyplace_host_kernel>(function->address);
  kernel.sizes.resize(count);
  if (count != 0) {
    std::memcpy(kernel.sizes.data(), static_cast<const uint32_t*>(parameters->address) + 1, count * sizeof(uint32_t));
  }
  return kernel;
}

std::optional<HostImage::Variable> HostImage::variable(const std::string& name) const {
  const auto found = find(handle_, name, STT_OBJECT);
  if (!found) return std::nullopt;
  return Variable{found->address, found->symbol.st_size};
}

KernelArguments::KernelArguments(const std::vector<uint32_t>& sizes, const void* const* values) : sizes_(sizes) {
  std::size_t lines = 0;
  for (const uint32_t size : sizes) lines += (size + sizeof(Line) - 1) / sizeof(Line);
  storage_.resize(lines);
  Line* next = storage_.data();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pointers_.push_back(next);
    if (sizes[i] != 0) std::memcpy(next, values[i], sizes[i]);
    next += (sizes[i] + sizeof(Line) - 1) / sizeof(Line);
  }
}

std::vector<uint64_t> KernelArguments::addresses() const {
  std::vector<uint64_t> found;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] != sizeof(uint64_t)) continue;
    found.push_back(0);
    std::memcpy(&found.back(), pointers_[i], sizeof(uint64_t));
  }
  return found;
}

bool run_kernel(const HostKernel& kernel, const KernelShape& shape, const KernelArguments& arguments,
                bool (*stopped)()) {
  constexpr uint64_t ask_every = 1024;
  std::unique_ptr<void, Free> shared;
  if (shape.shared_bytes != 0) {
    void* memory = nullptr;
    if (posix_memalign(&memory, shared_alignment, shape.shared_bytes) != 0) return false;
    shared.reset(memory);
  }
  anyplace_block block{};
  block.struct_size = sizeof(block);
  std::copy_n(shape.grid, 3, block.grid);
  std::copy_n(shape.block, 3, block.block);
  block.shared = shared.get();
  block.shared_bytes = shape.shared_bytes;
  uint64_t run = 0;
  for (block.index[2] = 0; block.index[2] < shape.grid[2]; ++block.index[2]) {
    for (block.index[1] = 0; block.index[1] < shape.grid[1]; ++block.index[1]) {
      for (block.index[0] = 0; block.index[0] < shape.grid[0]; ++block.index[0]) {
        if (++run % ask_every == 0 && stopped()) return true;
        if (!run_block(kernel, block, arguments)) return false;
      }
    }
  }
  return true;
}

}  // namespace anyplace::doubles
