// SPDX-License-Identifier: Apache-2.0
#include "ir_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace anyplace::compilers {
namespace {

/// Where the type that begins at `at` ends: at the first blank, comma or parenthesis outside of brackets and quotes.
std::size_t end_of_type(std::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = end_of_quoted(text, i) - 1;
    } else if (c == '<' || c == '[' || c == '{') {
      ++depth;
    } else if (c == '>' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && (c == ' ' || c == ',' || c == '(' || c == ')')) {
      return i;
    }
  }
  return text.size();
}

/// The texts between commas outside of brackets and quotes.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> all;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i == list.size() ? ',' : list[i];
    if (c == '"') {
      i = end_of_quoted(list, i) - 1;
    } else if (c == '<' || c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == '>' || c == ']' || c == '}' || c == ')') {
      --depth;
    } else if (c == ',' && (depth == 0 || i == list.size())) {
      std::string_view one = list.substr(begin, i - begin);
      while (one.starts_with(' ')) one.remove_prefix(1);
      if (!one.empty()) all.push_back(one);
      begin = i + 1;
    }
  }
  return all;
}

/// Where a type with address spaces ends, as `i32 addrspace(1)* addrspace(3)*`.
std::size_t end_of_device_type(std::string_view text) {
  std::size_t end = end_of_type(text, 0);
  while (text.substr(end).starts_with(" addrspace(")) end = end_of_type(text, text.find(')', end) + 1);
  return end;
}

/// `i32 addrspace(3)* nocapture %0`
IrParameter read_parameter(std::string_view text) {
  const std::size_t end = end_of_device_type(text);
  const std::string_view type = text.substr(0, end);
  const bool is_local = type.ends_with(" addrspace(3)*") || type == "ptr addrspace(3)";
  IrParameter parameter{without_address_spaces(type), "", is_local};
  std::string_view attributes = text.substr(std::min(end + 1, text.size()));
  // The name, which a declaration lacks, comes last.
  const std::size_t last = attributes.rfind('%');
  if (last != attributes.npos && (last == 0 || attributes[last - 1] == ' ')) {
    attributes = attributes.substr(0, last == 0 ? 0 : last - 1);
  }
  parameter.attributes = without_address_spaces(attributes);
  return parameter;
}

/// Where the type at the text's end begins: "void (ptr)" is one, and so is "[2 x i32]".
std::size_t begin_of_last_type(std::string_view text) {
  int depth = 0;
  std::size_t begin = text.size();
  while (begin > 0) {
    const char c = text[begin - 1];
    if (c == '"') {
      const std::size_t open = text.rfind('"', begin - 2);
      if (begin < 2 || open == text.npos) return 0;
      begin = open;
      continue;
    }
    const bool opens = c == '<' || c == '[' || c == '{' || c == '(';
    if (depth == 0 && (opens || c == ',')) return begin;
    // A function's parameters stand behind its result and a blank.
    if (depth == 0 && c == ' ' && (begin == text.size() || text[begin] != '(')) return begin;
    if (c == '>' || c == ']' || c == '}' || c == ')') ++depth;
    if (opens) --depth;
    --begin;
  }
  return begin;
}

}  // namespace

std::string without_pointer_types(std::string_view text) {
  constexpr std::string_view of_intrinsic = ".p0i8";
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      const std::size_t end = end_of_quoted(text, i);
      plain += text.substr(i, end - i);
      i = end;
    } else if (text[i] == '*') {
      plain.resize(begin_of_last_type(plain));
      plain += "ptr";
      i = std::min(text.find_first_not_of('*', i), text.size());
    } else if (text.substr(i).starts_with(of_intrinsic)) {
      plain += ".p0";
      i += of_intrinsic.size();
    } else {
      plain += text[i++];
    }
  }
  return plain;
}

std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('"', at + 1);
  return end == text.npos ? text.size() : end + 1;
}

std::string_view global_name_at(std::string_view text, std::size_t at) {
  if (at + 1 < text.size() && text[at + 1] == '"') return text.substr(at, end_of_quoted(text, at + 1) - at);
  std::size_t end = at + 1;
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '-';
  };
  while (end < text.size() && is_part(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string with_suffix(const std::string& name, std::string_view suffix) {
  const bool is_quoted = name.ends_with('"');
  return (is_quoted ? name.substr(0, name.size() - 1) : name) + std::string(suffix) + (is_quoted ? "\"" : "");
}

std::string with_prefix(const std::string& name, std::string_view prefix) {
  const std::size_t at = name.starts_with("@\"") ? 2 : 1;
  return name.substr(0, at) + std::string(prefix) + name.substr(at);
}

std::string without_address_spaces(std::string_view text) {
  constexpr std::string_view word = " addrspace(";
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      const std::size_t end = end_of_quoted(text, i);
      plain += text.substr(i, end - i);
      i = end;
    } else if (text.substr(i).starts_with(word)) {
      const std::size_t end = text.find(')', i);
      i = end == text.npos ? text.size() : end + 1;
    } else {
      plain += text[i++];
    }
  }
  return plain;
}

IrFunction read_function(std::string_view line) {
  IrFunction function;
  function.is_kernel = line.find(" spir_kernel ") < line.find('@');
  const std::size_t at = line.find('@');
  const std::string front = without_address_spaces(line.substr(0, at));
  // The result's type is the last one in front of the name.
  for (std::size_t i = 0; i < front.size();) {
    const std::size_t end = std::max(end_of_type(front, i), i + 1);
    if (front[i] != ' ') function.result = front.substr(i, end - i);
    i = end;
  }
  const std::string_view name = global_name_at(line, at);
  function.name = name;
  const std::size_t open = at + name.size();
  int depth = 0;
  std::size_t close = open;
  for (; close < line.size(); ++close) {
    if (line[close] == '"') close = end_of_quoted(line, close) - 1;
    if (line[close] == '(') ++depth;
    if (line[close] == ')' && --depth == 0) break;
  }
  for (const std::string_view one : split(line.substr(open + 1, close - open - 1))) {
    if (one == "...") {
      function.is_variadic = true;
    } else {
      function.parameters.push_back(read_parameter(one));
    }
  }
  return function;
}

unsigned lanes_of(std::string_view type) {
  return type.starts_with('<') && type.ends_with('>')
             ? static_cast<unsigned>(std::strtoul(std::string(type.substr(1)).c_str(), nullptr, 10))
             : 0;
}

std::string element_of(std::string_view type) {
  const std::size_t times = type.find(" x ");
  return std::string(type.substr(times + 3, type.size() - times - 4));
}

}  // namespace anyplace::compilers
