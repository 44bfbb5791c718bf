// SPDX-License-Identifier: Apache-2.0
//
// PickleWriter: writes Python's pickle, protocol 4, with only dict, list, str, int and bool, so that reading it runs no
// code and looks up no class. The sources are the description of opcodes in Python's pickletools, and PEP 3154 for
// frames.
//
// It uses only opcodes that PyTorch's memory viewer can read, and appends at most 1,000 items to a list at once, as
// Python's own pickler does, because the viewer passes the items of each step as arguments of one call.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "memory/figures/tree_writer.h"

namespace anyplace::detail {

class PickleWriter final : public TreeWriter {
 public:
  PickleWriter();
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
  struct Open {
    bool is_dict;
    std::size_t items;  ///< since the last MARK
  };

  void begin_item();
  void begin(bool is_dict);
  void end();
  void put_text(std::string_view value);
  void put_small(std::uint64_t value);
  void put_long(std::uint64_t low, bool negative);
  void put(unsigned char opcode) { frame_.push_back(static_cast<char>(opcode)); }
  void put_bytes(std::uint64_t value, std::size_t bytes);  ///< the lowest byte first
  void end_frame();

  std::string written_;
  std::string frame_;  ///< opcodes whose frame isn't in written_ yet
  std::vector<Open> open_;
  /// Short texts, most of which occur thousands of times.
  std::map<std::string, std::uint32_t, std::less<>> memo_;
};

}  // namespace anyplace::detail
