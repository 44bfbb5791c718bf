// SPDX-License-Identifier: Apache-2.0
// A file with a given text, in a directory of its own, until the end of the scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace anyplace::test {

class TextFile {
 public:
  explicit TextFile(const std::string& text, const std::string& name = "trace.csv") {
    std::string folder = std::filesystem::temp_directory_path() / "anyplace-replay-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary directory");
    folder_ = folder;
    path_ = folder_ / name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace anyplace::test
