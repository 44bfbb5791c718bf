// SPDX-License-Identifier: Apache-2.0
//
// Reads a file or standard input, and unpacks it if gzip packed it. When it is read line by line, only a line and a
// buffer are held in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace anyplace::tool {

/// The name that means standard input where a file's name is expected.
inline constexpr const char* standard_input = "-";

/// The text says what is wrong with the file, and what would be right; it doesn't name the file.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that is unpacked if it begins as gzip's files do, whatever its name. A file whose name ends in .gz has to
/// begin so.
class InputFile {
 public:
  /// Opens the file; "-" is standard input. Throws InputError if it can't be opened, is a directory, or is named .gz
  /// and isn't packed by gzip.
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;  // it owns the descriptor
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// The next line without its end ("\n" or "\r\n"); false at the end of the file. Throws InputError when reading or
  /// unpacking fails, and for a line of more than max_line bytes.
  bool next_line(std::string& line);
  /// The first bytes of the file: `bytes` of them, or fewer if there are no more. They are still to be read.
  std::string_view beginning(std::size_t bytes);
  /// Everything that wasn't read yet. Throws InputError when reading or unpacking fails, and if there are more than
  /// max_whole bytes.
  std::string take_rest();
  /// The number, from 1, of the line that next_line returned last or failed in.
  std::uint64_t line_number() const noexcept { return line_number_; }

  static constexpr std::size_t max_line = 4096;
  static constexpr std::size_t max_whole = std::size_t{1} << 30;

 private:
  class Source;
  class PlainSource;
  class GzipSource;

  bool fill();

  std::unique_ptr<Source> source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t line_number_ = 0;
};

}  // namespace anyplace::tool
