// SPDX-License-Identifier: Apache-2.0
#include "lowered_names.h"

#include <elf.h>

#include <cstdint>
#include <map>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::compilers {
namespace {

using backend::ImageBytes;

std::string variable(std::size_t number) { return "anyplace_expression_" + std::to_string(number); }

/// The dynamic symbols of a code object, and what its relocations write.
struct Symbols {
  std::map<std::string, std::uint64_t> variables;  ///< the address of each
  std::map<std::uint64_t, std::string> functions;  ///< by address
  std::map<std::uint64_t, std::uint64_t> written;  ///< an address, by that of the word which it is written to
  std::vector<std::uint64_t> addresses;            ///< of all symbols, in the order of the table

  void add_symbols(const ImageBytes& elf, const Elf64_Shdr& table, const Elf64_Shdr& names) {
    for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = elf.get<Elf64_Sym>(table.sh_offset, i);
      std::string name;
      if (symbol.st_name < names.sh_size) {
        name = elf.text(names.sh_offset + symbol.st_name, names.sh_offset + names.sh_size);
      }
      addresses.push_back(symbol.st_value);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) functions.emplace(symbol.st_value, name);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) variables.emplace(name, symbol.st_value);
    }
  }
  void add_relocations(const ImageBytes& elf, const Elf64_Shdr& table) {
    for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); ++i) {
      const auto one = elf.get<Elf64_Rela>(table.sh_offset, i);
      const std::uint64_t symbol = ELF64_R_SYM(one.r_info);  // 0: the addend is the whole address
      const std::uint64_t base = symbol != 0 && symbol < addresses.size() ? addresses[symbol] : 0;
      written.emplace(one.r_offset, base + static_cast<std::uint64_t>(one.r_addend));
    }
  }
};

Symbols symbols_of(const ImageBytes& elf) {
  Symbols symbols;
  const auto header = elf.get<Elf64_Ehdr>(0);
  const auto section = [&](std::uint64_t i) { return elf.get<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize); };
  for (const std::uint32_t type : {SHT_DYNSYM, SHT_RELA}) {
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != type) continue;
      if (type == SHT_RELA) symbols.add_relocations(elf, table);
      if (type == SHT_DYNSYM && table.sh_link < header.e_shnum) {
        symbols.add_symbols(elf, table, section(table.sh_link));
      }
    }
  }
  return symbols;
}

}  // namespace

std::optional<std::vector<std::string>> names_in_ptx(std::string_view ptx, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < count; ++number) {
    const std::string before = " " + variable(number) + " = ";
    const std::size_t at = ptx.find(before);
    if (at == ptx.npos) return std::nullopt;
    const std::size_t begin = at + before.size(), end = ptx.find_first_of(";\n", begin);
    const std::string_view name = ptx.substr(begin, end == ptx.npos ? end : end - begin);
    if (name.empty() || name.find_first_of(" (),") != name.npos) return std::nullopt;
    names.emplace_back(name);
  }
  return names;
}

std::optional<std::vector<std::string>> names_in_code_object(std::string_view image, std::size_t count) {
  const ImageBytes elf(image.data(), image.size());
  if (!backend::gpu_elf_problem(elf, "code object", "AMD").empty()) return std::nullopt;
  const Symbols symbols = symbols_of(elf);
  std::vector<std::string> names;
  for (std::size_t number = 0; number < count; ++number) {
    const auto address = symbols.variables.find(variable(number));
    if (address == symbols.variables.end()) return std::nullopt;
    const auto target = symbols.written.find(address->second);
    if (target == symbols.written.end()) return std::nullopt;
    const auto kernel = symbols.functions.find(target->second);
    if (kernel == symbols.functions.end()) return std::nullopt;
    names.push_back(kernel->second);
  }
  return names;
}

}  // namespace anyplace::compilers
