// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

namespace anyplace::validate {
namespace {

struct Function {
  std::uint64_t begin;
  std::uint64_t end;
  std::string name;
};

std::string demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T* out, std::uint64_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(count * sizeof(T))));
}

/// The functions of a file, by their addresses in its image. Empty if it can't be read or was stripped.
std::vector<Function> functions_of(const std::string& path) {
  constexpr std::uint64_t most = std::uint64_t{1} << 26;  // entries or bytes: a damaged file asks for no more
  std::vector<Function> functions;
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header;
  if (!file || !read_at(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return functions;
  if (header.e_shentsize != sizeof(ElfW(Shdr))) return functions;
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  if (!read_at(file, header.e_shoff, sections.data(), sections.size())) return functions;
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& names = sections[section.sh_link];
    if (section.sh_size / sizeof(ElfW(Sym)) > most || names.sh_size > most) continue;
    std::vector<ElfW(Sym)> symbols(section.sh_size / sizeof(ElfW(Sym)));
    std::vector<char> texts(names.sh_size + 1, '\0');
    if (!read_at(file, section.sh_offset, symbols.data(), symbols.size())) continue;
    if (!read_at(file, names.sh_offset, texts.data(), names.sh_size)) continue;
    for (const ElfW(Sym) & symbol : symbols) {
      const bool is_function = (symbol.st_info & 0xf) == STT_FUNC && symbol.st_value != 0;
      if (!is_function || symbol.st_name >= names.sh_size) continue;
      functions.push_back(
          {symbol.st_value, symbol.st_value + std::max<std::uint64_t>(symbol.st_size, 1), &texts[symbol.st_name]});
    }
  }
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return functions;
}

const std::vector<Function>& known_functions_of(const std::string& path) {
  static std::map<std::string, std::vector<Function>>& known = *new std::map<std::string, std::vector<Function>>();
  const auto [found, is_new] = known.try_emplace(path);
  if (is_new) found->second = functions_of(path);
  return found->second;
}

}  // namespace

Symbol symbol_at(std::uintptr_t address) {
  Symbol symbol;
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return symbol;
  }
  const bool is_program = map != nullptr && (map->l_name == nullptr || *map->l_name == '\0');
  const std::string path = is_program ? "/proc/self/exe" : info.dli_fname;
  const std::string shown = info.dli_fname == nullptr ? "" : info.dli_fname;
  symbol.module = shown.substr(shown.rfind('/') + 1);
  symbol.offset = address - (map != nullptr ? map->l_addr : 0);
  if (info.dli_sname != nullptr) symbol.function = demangled(info.dli_sname);
  const std::vector<Function>& functions = known_functions_of(path);
  auto after = std::upper_bound(functions.begin(), functions.end(), symbol.offset,
                                [](std::uint64_t offset, const Function& function) { return offset < function.begin; });
  for (int back = 0; back < 4 && after != functions.begin(); ++back) {
    --after;
    if (symbol.offset >= after->end) continue;
    symbol.function = demangled(after->name.c_str());
    break;
  }
  return symbol;
}

}  // namespace anyplace::validate
