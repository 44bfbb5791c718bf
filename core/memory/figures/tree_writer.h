// SPDX-License-Identifier: Apache-2.0
//
// TreeWriter: takes a tree of dictionaries, lists, texts, integers and booleans in order, and writes it in some
// notation. So a tree is described once for all notations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// Every begin_ needs its end_, each value in a dictionary is preceded by its key, and the tree is one value. Texts are
/// UTF-8.
class TreeWriter {
 public:
  virtual ~TreeWriter() = default;
  virtual void begin_dict() = 0;
  virtual void end_dict() = 0;
  virtual void begin_list() = 0;
  virtual void end_list() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void number(std::int64_t value) = 0;
  virtual void unsigned_number(std::uint64_t value) = 0;
  virtual void truth(bool value) = 0;
  /// Ends the tree and returns what was written. It is the last call.
  virtual std::string take() = 0;

  // -- These write a key and its value.
  void text_entry(std::string_view name, std::string_view value) { key(name), text(value); }
  void number_entry(std::string_view name, std::int64_t value) { key(name), number(value); }
  void unsigned_entry(std::string_view name, std::uint64_t value) { key(name), unsigned_number(value); }
  void truth_entry(std::string_view name, bool value) { key(name), truth(value); }
  void empty_list_entry(std::string_view name) { key(name), begin_list(), end_list(); }
};

}  // namespace anyplace::detail
