// SPDX-License-Identifier: Apache-2.0
#include "plugins/elf_check.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "anyplace/backend/kit/elf.h"
#include "runtime/shortage.h"

namespace anyplace::detail {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

constexpr std::size_t segment_limit = 1024;

using backend::own_elf;

std::string machine_name(unsigned machine) {
  const char* const name = backend::elf_machine_name(machine);
  return name == nullptr ? fmt::format("machine number {}", machine) : name;
}

std::string described(unsigned machine, unsigned char elf_class, unsigned char order) {
  return fmt::format("{} ({} bits, {} endian)", machine_name(machine), elf_class == ELFCLASS64 ? 64 : 32,
                     order == ELFDATA2LSB ? "little" : "big");
}

std::string machine_problem(const unsigned char* begin) {
  const unsigned char elf_class = begin[EI_CLASS];
  const unsigned char order = begin[EI_DATA];
  if ((elf_class != ELFCLASS32 && elf_class != ELFCLASS64) || (order != ELFDATA2LSB && order != ELFDATA2MSB)) {
    return "its ELF header is damaged";
  }
  // e_machine has the same offset in both classes; its bytes are in the file's byte order, which may not be this
  // machine's.
  const unsigned first = begin[offsetof(Header, e_machine)];
  const unsigned second = begin[offsetof(Header, e_machine) + 1];
  const unsigned machine = order == ELFDATA2LSB ? first | second << 8 : first << 8 | second;
  if (machine == own_elf.machine && elf_class == own_elf.bits && order == own_elf.order) return "";
  return fmt::format("it is built for {}, and this process runs on {}: get the plugin built for this machine",
                     described(machine, elf_class, order), described(own_elf.machine, own_elf.bits, own_elf.order));
}

std::string type_problem(const Header& header) {
  switch (header.e_type) {
    case ET_DYN:
      return "";
    case ET_REL:
      return "it is an object file, not a shared object: link it with -shared";
    case ET_EXEC:
      return "it is a program, not a shared object";
    case ET_CORE:
      return "it is a core dump, not a shared object";
    default:
      return fmt::format("its ELF type is {}, and a shared object has {}", header.e_type, ET_DYN);
  }
}

std::string truncated(std::uint64_t size, std::uint64_t needed) {
  return fmt::format("it is truncated: its headers speak of {} bytes and it has {}: copy or install it again", needed,
                     size);
}

/// Whether [offset, offset + bytes) lies within `size`.
bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/// offset + bytes, or the greatest number if that wraps around.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  return bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
}

std::string segments_problem(std::uint64_t size, const Header& header, const ReadAt& read) {
  if (header.e_phentsize != sizeof(Segment) || header.e_phnum == 0 || header.e_phnum > segment_limit) {
    return fmt::format("its ELF header is damaged: {} program headers of {} bytes", header.e_phnum, header.e_phentsize);
  }
  const std::uint64_t table_bytes = std::uint64_t{header.e_phnum} * sizeof(Segment);
  if (!fits(header.e_phoff, table_bytes, size)) return truncated(size, end_of(header.e_phoff, table_bytes));
  std::vector<Segment> segments(header.e_phnum);
  if (!read(header.e_phoff, segments.data(), table_bytes)) return "it can't be read to its end";
  bool loads = false;
  bool dynamic = false;
  for (const Segment& segment : segments) {
    if (segment.p_filesz != 0 && !fits(segment.p_offset, segment.p_filesz, size)) {
      return truncated(size, end_of(segment.p_offset, segment.p_filesz));
    }
    loads = loads || segment.p_type == PT_LOAD;
    dynamic = dynamic || segment.p_type == PT_DYNAMIC;
  }
  if (!loads || !dynamic) return "it has nothing that a dynamic linker could load";
  return "";
}

std::string sections_problem(std::uint64_t size, const Header& header) {
  if (header.e_shoff == 0) return "";
  const std::uint64_t table_bytes = std::uint64_t{header.e_shnum} * header.e_shentsize;
  return fits(header.e_shoff, table_bytes, size) ? "" : truncated(size, end_of(header.e_shoff, table_bytes));
}

/// A descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(const File&) = delete;  // closed once
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

bool read_all(int descriptor, std::uint64_t offset, void* out, std::size_t bytes) {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string kind_problem(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return "";
  if (S_ISDIR(status.st_mode)) return "it is a directory, not a file";
  if (S_ISFIFO(status.st_mode)) return "it is a FIFO, not a regular file";
  if (S_ISSOCK(status.st_mode)) return "it is a socket, not a regular file";
  return "it is a device, not a regular file";
}

}  // namespace

std::string elf_problem(std::uint64_t size, const ReadAt& read) {
  if (size == 0) return "the file is empty: copy or install it again";
  Header header{};
  auto* const begin = reinterpret_cast<unsigned char*>(&header);
  const auto available = static_cast<std::size_t>(std::min<std::uint64_t>(size, sizeof(header)));
  if (!read(0, &header, available)) return "it can't be read to its end";
  if (std::memcmp(begin, ELFMAG, std::min<std::size_t>(available, SELFMAG)) != 0) {
    return "it is not a shared object: it doesn't begin as an ELF file does";
  }
  if (available < offsetof(Header, e_version)) return truncated(size, sizeof(header));
  if (std::string problem = machine_problem(begin); !problem.empty()) return problem;
  if (available < sizeof(header)) return truncated(size, sizeof(header));
  if (std::string problem = type_problem(header); !problem.empty()) return problem;
  if (std::string problem = segments_problem(size, header, read); !problem.empty()) return problem;
  return sections_problem(size, header);
}

std::string file_problem(const std::string& path, int* shortage) {
  // The file's type is checked before opening it, since opening a device file can have effects; and again after, in
  // case the file was replaced.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    struct stat link {};
    const int error = errno;
    if (is_shortage(error)) *shortage = error;
    const bool dangling = error == ENOENT && ::lstat(path.c_str(), &link) == 0;
    return dangling ? "it is a symbolic link to a file that isn't there"
                    : fmt::format("it can't be looked at: {}", std::strerror(error));
  }
  if (std::string problem = kind_problem(status); !problem.empty()) return problem;
  const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (file.descriptor() < 0) {
    if (is_shortage(errno)) *shortage = errno;
    return fmt::format("it can't be opened: {}", std::strerror(errno));
  }
  if (::fstat(file.descriptor(), &status) != 0) return fmt::format("it can't be looked at: {}", std::strerror(errno));
  if (std::string problem = kind_problem(status); !problem.empty()) return problem;
  return elf_problem(static_cast<std::uint64_t>(status.st_size),
                     [&](std::uint64_t offset, void* out, std::size_t bytes) {
                       return read_all(file.descriptor(), offset, out, bytes);
                     });
}

}  // namespace anyplace::detail
