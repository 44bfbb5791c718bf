// SPDX-License-Identifier: Apache-2.0
//
// Reading a file or standard input, also what gzip packed. Line by line, never more of it is held than a line and a
// buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace anyplace::tool {

/// What stands for standard input where a file's name is expected.
inline constexpr const char* standard_input = "-";

/// What is wrong with the file, and what would be right; without its name.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Unpacks what begins as gzip does, whatever its name. A name that ends in .gz promises that.
class InputFile {
 public:
  /// Throws InputError if it can't be opened, is a directory, or is named .gz and isn't gzip. "-" is standard input.
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;  // it owns the descriptor
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// The next line without its end ("\n" or "\r\n"); false at the end of the file. Throws InputError when reading or
  /// unpacking fails, and for a line of more than max_line bytes.
  bool next_line(std::string& line);
  /// How it begins: up to so many bytes, fewer only if there are no more. They are still to be read.
  std::string_view beginning(std::size_t bytes);
  /// All that wasn't read yet. Throws InputError when reading or unpacking fails, and if there are more than max_whole
  /// bytes.
  std::string take_rest();
  /// Of the line that next_line returned last, or failed in; from 1.
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
