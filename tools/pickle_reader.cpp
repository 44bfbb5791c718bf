// SPDX-License-Identifier: Apache-2.0
#include "pickle_reader.h"

#include <array>
#include <utility>

#include "text.h"

namespace anyplace::tool {
namespace {

using Kind = PickleValue::Kind;

constexpr std::uint64_t oldest_protocol = 2;
constexpr std::uint64_t newest_protocol = 5;

struct Opcode {
  unsigned char code;
  const char* name;
};

/// Opcodes that aren't read, with their names in Python's pickletools.
constexpr Opcode refused_opcodes[] = {
    {'I', "INT"},
    {'L', "LONG"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'F', "FLOAT"},
    {'l', "LIST"},
    {'d', "DICT"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {'0', "POP"},
    {'2', "DUP"},
    {'1', "POP_MARK"},
    {'g', "GET"},
    {'p', "PUT"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'c', "GLOBAL"},
    {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

/// Runs the opcodes of a file. Opcodes that would run any other code are refused.
class PickleMachine {
 public:
  explicit PickleMachine(Pickle& pickle) : pickle_(pickle), file_(pickle.file_) {}

  void run() {
    begin();
    while (step()) {
    }
    if (!marks_.empty() || stack_.size() != 1) damaged("STOP", "leaves more or less than one object");
    pickle_.root_ = stack_.back();
  }

 private:
  [[noreturn]] static void fail(const std::string& text) { throw PickleError(text); }
  [[noreturn]] void damaged(const char* opcode, const std::string& why) const {
    fail(std::string("is a damaged pickle: ") + opcode + " at offset " + std::to_string(opcode_at_) + " " + why);
  }

  void begin() {
    if (file_.size() < 2 || take_byte() != 0x80) fail("is no pickle of protocol 2 to 5");
    const std::uint64_t protocol = take_number(1);
    if (protocol < oldest_protocol || protocol > newest_protocol) {
      fail("is a pickle of protocol " + std::to_string(protocol) +
           "; protocols 2 to 5 are read: pickle.dump(snapshot, file, protocol=4)");
    }
  }

  // ---- Bytes

  std::uint64_t left() const noexcept { return file_.size() - at_; }
  void require(std::uint64_t bytes) const {
    if (bytes <= left()) return;
    fail("is cut off: at offset " + std::to_string(at_) + " " + std::to_string(bytes) + " bytes should follow, and " +
         std::to_string(left()) + " are left");
  }
  unsigned char take_byte() {
    require(1);
    return static_cast<unsigned char>(file_[at_++]);
  }
  /// Reads a number of at most 8 bytes, the lowest first.
  std::uint64_t take_number(unsigned bytes) {
    require(bytes);
    std::uint64_t number = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(file_[at_++])) << (8 * i);
    }
    return number;
  }
  std::string_view take_bytes(std::uint64_t bytes) {
    require(bytes);
    const std::string_view taken = file_.substr(at_, bytes);
    at_ += bytes;
    return taken;
  }

  // ---- The stack

  void push(const PickleValue& value) { stack_.push_back(value); }
  void push_container(Kind kind, std::vector<PickleValue> items) {
    pickle_.containers_.push_back(std::move(items));
    push({kind, false, pickle_.containers_.size() - 1});
  }
  void push_text(Kind kind, std::string_view text) {
    pickle_.texts_.push_back(text);
    push({kind, false, pickle_.texts_.size() - 1});
  }
  void push_integer(std::uint64_t magnitude, bool negative) {
    push({Kind::integer, negative && magnitude != 0, magnitude});
  }
  void push_signed(std::int64_t value) {
    push_integer(value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value), value < 0);
  }

  /// The position on the stack where the objects of the innermost open MARK begin; 0 without one.
  std::size_t bottom() const noexcept { return marks_.empty() ? 0 : marks_.back(); }
  void require_objects(const char* opcode, std::size_t count) const {
    if (stack_.size() - bottom() < count) damaged(opcode, "finds too few objects");
  }
  std::vector<PickleValue> take_last(const char* opcode, std::size_t count) {
    require_objects(opcode, count);
    const auto from = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    return items;
  }
  std::vector<PickleValue> take_to_mark(const char* opcode) {
    if (marks_.empty()) damaged(opcode, "has no MARK before it");
    const std::size_t count = stack_.size() - marks_.back();
    std::vector<PickleValue> items = take_last(opcode, count);
    marks_.pop_back();
    return items;
  }
  void add_to(Kind kind, const char* opcode, const std::vector<PickleValue>& items) {
    require_objects(opcode, 1);
    if (stack_.back().kind != kind) damaged(opcode, "has nothing to add to");
    if (kind == Kind::dict && items.size() % 2 != 0) damaged(opcode, "has a key without a value");
    std::vector<PickleValue>& to = pickle_.containers_[stack_.back().content];
    to.insert(to.end(), items.begin(), items.end());
  }

  // ---- The memo. Python numbers it from 0 on without a gap; pickletools.optimize leaves gaps.

  void put(std::uint64_t index) {
    require_objects("a PUT", 1);
    if (index < memo_.size()) {
      memo_[index] = stack_.back();
    } else if (index == memo_.size()) {
      memo_.push_back(stack_.back());
    } else {
      far_memo_[index] = stack_.back();
    }
  }
  void get(std::uint64_t index) {
    if (index < memo_.size()) return push(memo_[index]);
    const auto found = far_memo_.find(index);
    if (found == far_memo_.end())
      damaged("a GET", "asks for object " + std::to_string(index) + ", which was never put");
    push(found->second);
  }

  // ---- Opcodes

  /// Runs one opcode. Returns whether there are more.
  bool step() {
    opcode_at_ = at_;
    const unsigned char code = take_byte();
    if (code == '.') return false;
    if (!step_scalar(code) && !step_text(code) && !step_container(code) && !step_other(code)) refuse(code);
    return true;
  }

  bool step_scalar(unsigned char code) {
    switch (code) {
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        push({Kind::truth, false, code == 0x88});
        return true;
      case 'K':
        push_integer(take_number(1), false);
        return true;
      case 'M':
        push_integer(take_number(2), false);
        return true;
      case 'J':
        push_signed(static_cast<std::int32_t>(take_number(4)));
        return true;
      case 0x8a:
        push_long(take_number(1));
        return true;
      case 0x8b:
        push_long(take_number(4));
        return true;
      case 'G':
        take_number(8);
        push({Kind::real, false, 0});
        return true;
      default:
        return false;
    }
  }

  /// Pushes a number in two's complement, which may have any length. One that needs more than 64 bits and a sign
  /// becomes Kind::too_large, as no number of a snapshot is so large.
  void push_long(std::uint64_t bytes) {
    const std::string_view digits = take_bytes(bytes);
    const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
    const char filler = negative ? '\xff' : '\0';
    std::uint64_t low = negative ? UINT64_MAX : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (i >= 8) {
        if (digits[i] != filler) return push({Kind::too_large, negative, 0});
        continue;
      }
      low &= ~(std::uint64_t{0xff} << (8 * i));
      low |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    if (negative && low == 0) return push({Kind::too_large, true, 0});  // -2^64
    push_integer(negative ? -low : low, negative);
  }

  bool step_text(unsigned char code) {
    switch (code) {
      case 0x8c:
        push_text(Kind::text, take_bytes(take_number(1)));
        return true;
      case 'X':
        push_text(Kind::text, take_bytes(take_number(4)));
        return true;
      case 0x8d:
        push_text(Kind::text, take_bytes(take_number(8)));
        return true;
      case 'U':
      case 'C':
        push_text(Kind::bytes, take_bytes(take_number(1)));
        return true;
      case 'T':
      case 'B':
        push_text(Kind::bytes, take_bytes(take_number(4)));
        return true;
      case 0x8e:
        push_text(Kind::bytes, take_bytes(take_number(8)));
        return true;
      default:
        return false;
    }
  }

  bool step_container(unsigned char code) {
    switch (code) {
      case '}':
        push_container(Kind::dict, {});
        return true;
      case ']':
        push_container(Kind::list, {});
        return true;
      case ')':
        push_container(Kind::tuple, {});
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push_container(Kind::tuple, take_last("a TUPLE", code - 0x84u));
        return true;
      case 't':
        push_container(Kind::tuple, take_to_mark("TUPLE"));
        return true;
      case 'a':
        add_to(Kind::list, "APPEND", take_last("APPEND", 1));
        return true;
      case 'e':
        add_to(Kind::list, "APPENDS", take_to_mark("APPENDS"));
        return true;
      case 's':
        add_to(Kind::dict, "SETITEM", take_last("SETITEM", 2));
        return true;
      case 'u':
        add_to(Kind::dict, "SETITEMS", take_to_mark("SETITEMS"));
        return true;
      default:
        return false;
    }
  }

  bool step_other(unsigned char code) {
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 0x94:
        put(memo_.size());
        return true;
      case 'q':
        put(take_number(1));
        return true;
      case 'r':
        put(take_number(4));
        return true;
      case 'h':
        get(take_number(1));
        return true;
      case 'j':
        get(take_number(4));
        return true;
      case 0x95:
        require(take_number(8));
        return true;
      case 0x80:
        damaged("PROTO", "comes a second time");
      default:
        return false;
    }
  }

  [[noreturn]] void refuse(unsigned char code) const {
    const std::string where = " at offset " + std::to_string(opcode_at_);
    for (const Opcode& refused : refused_opcodes) {
      if (refused.code != code) continue;
      fail(std::string("has the opcode ") + refused.name + where +
           ", which isn't executed: a snapshot has dict, list, tuple, str, bytes, int, float, bool and None in it, and "
           "nothing else is read");
    }
    fail("is a damaged pickle: there is no opcode " + std::to_string(code) + where);
  }

  Pickle& pickle_;
  std::string_view file_;
  std::uint64_t at_ = 0;
  std::uint64_t opcode_at_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  ///< for each open MARK, how many objects were on the stack
  std::vector<PickleValue> memo_;
  std::unordered_map<std::uint64_t, PickleValue> far_memo_;
};

Pickle::Pickle(std::string file) : file_(std::move(file)) { PickleMachine(*this).run(); }

std::string_view Pickle::text(const PickleValue& value) const noexcept {
  return value.kind == Kind::text ? texts_[value.content] : std::string_view();
}

const std::vector<PickleValue>& Pickle::items(const PickleValue& value) const noexcept {
  static const std::vector<PickleValue> none;
  const bool has_items = value.kind == Kind::list || value.kind == Kind::tuple || value.kind == Kind::dict;
  return has_items ? containers_[value.content] : none;
}

std::optional<PickleValue> Pickle::find(const PickleValue& dict, std::string_view key) const noexcept {
  if (dict.kind != Kind::dict) return std::nullopt;
  const std::vector<PickleValue>& all = items(dict);
  for (std::size_t i = all.size(); i >= 2; i -= 2) {
    if (all[i - 2].kind == Kind::text && text(all[i - 2]) == key) return all[i - 1];
  }
  return std::nullopt;
}

}  // namespace anyplace::tool
