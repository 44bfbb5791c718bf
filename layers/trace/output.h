// SPDX-License-Identifier: Apache-2.0
//
// Output: the file of a trace. Whole packets are appended to it, so a process that dies leaves a file that can be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anyplace::trace {

/// For one thread.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;  // closes the file once
  Output& operator=(const Output&) = delete;
  ~Output() { close(); }

  /// Opens the file anew. Another process that is writing to it keeps it, and this one takes a name with its number
  /// ("run.77.pftrace"). Returns the path, or "" if it can't be opened, for which there is a warning.
  std::string open(const std::string& path, std::uint64_t limit);
  bool is_open() const noexcept { return file_ >= 0; }
  /// Appends whole packets. If they can't be written, or if the file would exceed its limit, there is one warning, and
  /// the file is closed without them.
  void append(std::string_view packets);
  void close() noexcept;

 private:
  int open_file(const std::string& path);
  void give_up(const std::string& reason);

  int file_ = -1;
  bool is_regular_ = false;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace anyplace::trace
