// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace vendor_test {

/// An exported function of a library that is loaded.
template <class Function>
Function* function_of(const char* library_name, const char* symbol) {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  if (found == nullptr) throw std::runtime_error(std::string(library_name) + " has no " + symbol);
  return reinterpret_cast<Function*>(found);
}

}  // namespace vendor_test
