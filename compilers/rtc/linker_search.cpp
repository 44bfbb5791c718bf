// SPDX-License-Identifier: Apache-2.0
#include "linker_search.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::compilers {
namespace {

constexpr int include_limit = 8;  ///< files of ld.so.conf that include each other

/// LD_LIBRARY_PATH, as it was when the process began, and the folders that the linker always searches.
std::vector<std::string> own_folders() {
  std::vector<std::string> folders;
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (program != nullptr && ::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::max_align_t> room(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const info = reinterpret_cast<Dl_serinfo*>(room.data());
    *info = size;
    if (::dlinfo(program, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
    }
  }
  if (program != nullptr) ::dlclose(program);
  return folders;
}

void add_configured(const std::string& file, int depth, std::vector<std::string>& folders) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      folders.push_back(word);
      continue;
    }
    while (depth > 0 && words >> word) {
      glob_t found{};
      if (::glob(word.c_str(), 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) add_configured(found.gl_pathv[i], depth - 1, folders);
      }
      ::globfree(&found);
    }
  }
}

}  // namespace

bool is_library(const std::string& path) {
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  return file.good() && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
         header.e_ident[EI_CLASS] == backend::own_elf.bits && header.e_machine == backend::own_elf.machine;
}

std::string find_library(const std::string& name) {
  if (void* const loaded = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    const link_map* map = nullptr;
    const bool is_known = ::dlinfo(loaded, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name == '/';
    const std::string path = is_known ? map->l_name : "";
    ::dlclose(loaded);
    if (!path.empty()) return path;
  }
  std::vector<std::string> folders = own_folders();
  add_configured("/etc/ld.so.conf", include_limit, folders);
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + name;
    if (path.front() == '/' && is_library(path)) return path;
  }
  return "";
}

}  // namespace anyplace::compilers
