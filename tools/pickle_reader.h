// SPDX-License-Identifier: Apache-2.0
//
// Pickle: a file that Python's pickle wrote, protocols 2 to 5, as a tree of dict, list, tuple, str, bytes, int, float,
// bool and None. Nothing of it is executed and no class is looked up: an opcode that names, makes or calls an object is
// refused. The source is the description of the opcodes in Python's own pickletools.
//
// Every length is compared with what the file has left before anything is allocated for it, so that a file takes memory
// in proportion to its size alone. The tree may have cycles: a container may hold itself.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anyplace::tool {

/// The text says what is wrong with the file, and where; it doesn't name the file.
class PickleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value: a number is in it, and of anything else the place in the Pickle.
struct PickleValue {
  enum class Kind : std::uint8_t { none, truth, integer, too_large, real, text, bytes, list, tuple, dict };
  Kind kind = Kind::none;
  bool negative = false;      ///< the sign of an integer
  std::uint64_t content = 0;  ///< an integer without its sign, or an index
};

class Pickle {
 public:
  /// Reads the tree from the file's bytes. Throws PickleError.
  explicit Pickle(std::string file);
  Pickle(const Pickle&) = delete;  // its texts are views of its file
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const noexcept { return root_; }
  /// The text of a str; "" for anything else.
  std::string_view text(const PickleValue& value) const noexcept;
  /// The items of a list or tuple, or the keys and values by turns of a dict; empty for anything else.
  const std::vector<PickleValue>& items(const PickleValue& value) const noexcept;
  /// The last value of that key in a dict; nothing if the key isn't there, or `dict` is no dict.
  std::optional<PickleValue> find(const PickleValue& dict, std::string_view key) const noexcept;

 private:
  friend class PickleMachine;

  std::string file_;
  std::vector<std::string_view> texts_;
  std::vector<std::vector<PickleValue>> containers_;
  PickleValue root_;
};

}  // namespace anyplace::tool
