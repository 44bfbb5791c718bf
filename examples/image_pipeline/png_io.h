// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing PNG files with libpng. Every way in which a file can be bad ends in an FileError that says which
// file and what is wrong with it; nothing is leaked then, and no half-written output stays behind.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "picture.h"

namespace image_pipeline {

class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The picture in the file, brought to 8 bits a channel: 16-bit samples are scaled, 1, 2 and 4-bit ones expanded, a
/// palette becomes RGB, a transparent colour an alpha channel. Grey stays grey, RGB stays RGB, RGBA stays RGBA.
Picture read_png(const std::string& path);

/// A file that appears under its name only when it is complete: it is written beside it, and renamed by commit().
/// The constructor fails if the file can't be written, before any work was done for it. An existing file is replaced;
/// something that isn't a regular file is refused.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;  // the file has one owner
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  std::FILE* stream() const { return stream_; }
  const std::string& path() const { return path_; }
  /// Flushes, closes and gives the file its name.
  void commit();

 private:
  std::string path_;
  std::string target_;     ///< path_ with symbolic links followed
  std::string temporary_;  ///< empty after commit
  std::FILE* stream_ = nullptr;
};

/// Writes to `file`, without committing it.
void write_png(OutputFile& file, const Picture& picture);

}  // namespace image_pipeline
