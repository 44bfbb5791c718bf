// SPDX-License-Identifier: Apache-2.0
//
// The name of the function that has an address, also of one that its file doesn't export: the symbol table that strip
// would take away is read from the file.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::validate {

struct Symbol {
  std::string function;      ///< demangled; empty if it isn't known
  std::string module;        ///< the file's name without its folder; empty if no file has the address
  std::uint64_t offset = 0;  ///< of the address in the file's image
};

Symbol symbol_at(std::uintptr_t address);

}  // namespace anyplace::validate
