// SPDX-License-Identifier: Apache-2.0
#include "memory/figures/pickle.h"

#include <utility>

namespace anyplace::detail {
namespace {

constexpr unsigned char op_proto = 0x80;
constexpr unsigned char op_frame = 0x95;
constexpr unsigned char op_stop = '.';
constexpr unsigned char op_mark = '(';
constexpr unsigned char op_empty_dict = '}';
constexpr unsigned char op_setitems = 'u';
constexpr unsigned char op_empty_list = ']';
constexpr unsigned char op_appends = 'e';
constexpr unsigned char op_short_text = 0x8c;
constexpr unsigned char op_text = 'X';
constexpr unsigned char op_memoize = 0x94;
constexpr unsigned char op_get = 'h';
constexpr unsigned char op_long_get = 'j';
constexpr unsigned char op_int1 = 'K';
constexpr unsigned char op_int2 = 'M';
constexpr unsigned char op_int4 = 'J';
constexpr unsigned char op_long = 0x8a;
constexpr unsigned char op_true = 0x88;
constexpr unsigned char op_false = 0x89;

constexpr std::size_t frame_bytes = 64 * 1024;  ///< the first opcode beyond it begins a new frame
constexpr std::size_t items_at_once = 1000;
constexpr std::size_t longest_short_text = 255;

void append_bytes(std::string& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

PickleWriter::PickleWriter() {
  written_.push_back(static_cast<char>(op_proto));
  written_.push_back(4);
}

void PickleWriter::put_bytes(std::uint64_t value, std::size_t bytes) { append_bytes(frame_, value, bytes); }

void PickleWriter::end_frame() {
  written_.push_back(static_cast<char>(op_frame));
  append_bytes(written_, frame_.size(), 8);
  written_ += frame_;
  frame_.clear();
}

/// Called before each value of a list, each key of a dictionary, and the tree itself.
void PickleWriter::begin_item() {
  if (frame_.size() >= frame_bytes) end_frame();
  if (open_.empty()) return;
  Open& into = open_.back();
  if (into.items == items_at_once) {
    put(into.is_dict ? op_setitems : op_appends);
    into.items = 0;
  }
  if (into.items++ == 0) put(op_mark);
}

void PickleWriter::begin(bool is_dict) {
  if (open_.empty() || !open_.back().is_dict) begin_item();
  put(is_dict ? op_empty_dict : op_empty_list);
  open_.push_back({is_dict, 0});
}

void PickleWriter::end() {
  const Open ended = open_.back();
  open_.pop_back();
  if (ended.items != 0) put(ended.is_dict ? op_setitems : op_appends);
}

void PickleWriter::begin_dict() { begin(true); }
void PickleWriter::end_dict() { end(); }
void PickleWriter::begin_list() { begin(false); }
void PickleWriter::end_list() { end(); }

void PickleWriter::put_text(std::string_view value) {
  if (value.size() > longest_short_text) {
    put(op_text);
    put_bytes(value.size(), 4);
    frame_ += value;
    return;
  }
  const auto known = memo_.find(value);
  if (known == memo_.end()) {
    put(op_short_text);
    put_bytes(value.size(), 1);
    frame_ += value;
    put(op_memoize);
    memo_.emplace(value, static_cast<std::uint32_t>(memo_.size()));
  } else if (known->second <= 0xff) {
    put(op_get);
    put_bytes(known->second, 1);
  } else {
    put(op_long_get);
    put_bytes(known->second, 4);
  }
}

void PickleWriter::key(std::string_view name) {
  begin_item();
  put_text(name);
}

void PickleWriter::text(std::string_view value) {
  if (open_.empty() || !open_.back().is_dict) begin_item();
  put_text(value);
}

void PickleWriter::number(std::int64_t value) {
  if (value >= 0) {
    unsigned_number(static_cast<std::uint64_t>(value));
    return;
  }
  if (open_.empty() || !open_.back().is_dict) begin_item();
  if (value >= INT32_MIN) {
    put(op_int4);
    put_bytes(static_cast<std::uint64_t>(value), 4);
  } else {
    put_long(static_cast<std::uint64_t>(value), true);
  }
}

void PickleWriter::unsigned_number(std::uint64_t value) {
  if (open_.empty() || !open_.back().is_dict) begin_item();
  if (value <= INT32_MAX) {
    put_small(value);
  } else {
    put_long(value, false);
  }
}

void PickleWriter::put_small(std::uint64_t value) {
  if (value <= 0xff) {
    put(op_int1);
    put_bytes(value, 1);
  } else if (value <= 0xffff) {
    put(op_int2);
    put_bytes(value, 2);
  } else {
    put(op_int4);
    put_bytes(value, 4);
  }
}

/// Writes as few bytes of two's complement as show the sign; numbers from 2^63 on take nine.
void PickleWriter::put_long(std::uint64_t low, bool negative) {
  const std::uint64_t filler = negative ? 0xff : 0;
  std::size_t bytes = 8;
  while (bytes > 1 && (low >> (8 * (bytes - 1)) & 0xff) == filler) --bytes;
  const bool shows_negative = (low >> (8 * bytes - 1) & 1) != 0;
  const bool needs_sign = shows_negative != negative;
  put(op_long);
  put_bytes(bytes + (needs_sign ? 1 : 0), 1);
  put_bytes(low, bytes);
  if (needs_sign) put_bytes(filler, 1);
}

void PickleWriter::truth(bool value) {
  if (open_.empty() || !open_.back().is_dict) begin_item();
  put(value ? op_true : op_false);
}

std::string PickleWriter::take() {
  put(op_stop);
  end_frame();
  return std::exchange(written_, {});
}

}  // namespace anyplace::detail
