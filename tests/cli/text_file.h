// SPDX-License-Identifier: Apache-2.0
// A file with a given text, in a directory of its own, until the end of the scope.
#pragma once

#include <string>

#include "support/temp_dir.h"

namespace anyplace::test {

class TextFile {
 public:
  explicit TextFile(const std::string& text, const std::string& name = "trace.csv")
      : path_(folder_.write(name, text)) {}
  const std::string& path() const noexcept { return path_; }

 private:
  ::test::TempDir folder_;
  std::string path_;
};

}  // namespace anyplace::test
