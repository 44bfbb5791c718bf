// SPDX-License-Identifier: Apache-2.0
//
// JsonWriter: writes the tree as JSON (RFC 8259), in ASCII except for what texts contain. Integers are written in full,
// also beyond 2^53: readers that convert them to doubles lose the last digits.
//
// It is the core's only writer of JSON. A JSON library would make the library depend on a package for one file that is
// as long as this one, would keep the whole tree in memory, and would end lines elsewhere: a segment and an event begin
// a line here, so that files can be read and compared by line.
#pragma once

#include <vector>

#include "memory/figures/tree_writer.h"

namespace anyplace::detail {

class JsonWriter final : public TreeWriter {
 public:
  void begin_dict() override;
  void end_dict() override;
  void begin_list() override;
  void end_list() override;
  void key(std::string_view name) override;
  void text(std::string_view value) override;
  void number(std::int64_t value) override;
  void unsigned_number(std::uint64_t value) override;
  void truth(bool value) override;
  std::string take() override;

 private:
  void begin_value();
  void end_container(char closing);
  void put_text(std::string_view value);

  std::string written_;
  bool first_ = true;  ///< the container is empty so far
  bool after_key_ = false;
  std::size_t depth_ = 0;
};

}  // namespace anyplace::detail
