// SPDX-License-Identifier: Apache-2.0
// The grammar is that of the Itanium C++ ABI, section 5.1, as far as OpenCL's functions need it.
#include "mangled.h"

#include <algorithm>
#include <cctype>

namespace anyplace::compilers {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<MangledFunction> function() {
    if (!skip("_Z")) return std::nullopt;
    MangledFunction function;
    function.name = named();
    while (at_ < text_.size() && good_) function.parameters.push_back(type());
    if (function.parameters.size() == 1 && function.parameters[0] == "v") function.parameters.clear();
    return good_ && !function.name.empty() ? std::optional(std::move(function)) : std::nullopt;
  }

 private:
  bool skip(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::size_t number() {
    std::size_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_]))
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    return std::min(value, text_.size());
  }
  std::string named() {
    const std::size_t length = number();
    if (length == 0 || length > text_.size() - at_) return good_ = false, "";
    const std::string name(text_.substr(at_, length));
    at_ += length;
    return name;
  }
  std::string known(std::string type) {
    known_.push_back(type);
    return type;
  }
  std::string type() {
    if (at_ >= text_.size()) return good_ = false, "";
    if (skip("P")) return known("P" + qualified());
    if (skip("Dv")) {
      const std::string lanes = std::to_string(number());
      if (!skip("_")) return good_ = false, "";
      return known("Dv" + lanes + "_" + type());
    }
    if (skip("Dh")) return "Dh";
    if (skip("S")) {
      const std::size_t index = skip("_") ? 0 : number() + 1;
      if (index != 0 && !skip("_")) return good_ = false, "";
      return index < known_.size() ? known_[index] : (good_ = false, "");
    }
    if (is_digit(text_[at_])) {
      std::string name = named();
      return known(std::to_string(name.size()) + name);
    }
    if (std::islower(static_cast<unsigned char>(text_[at_])) == 0) return good_ = false, "";
    return std::string(1, text_[at_++]);
  }
  std::string qualified() {
    std::string qualifiers;
    const bool has_space = skip("U3AS");
    if (has_space) ++at_;  // its digit
    while (at_ < text_.size() && (text_[at_] == 'V' || text_[at_] == 'K')) qualifiers += text_[at_++];
    std::string whole = qualifiers + type();
    return !qualifiers.empty() || has_space ? known(std::move(whole)) : whole;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> known_;  ///< what S_, S0_ and so on stand for
  bool good_ = true;
};

/// The type, or what stands for it if it has been there before.
std::string encoded(const std::string& type, std::vector<std::string>& known) {
  if (type.size() == 1 || type == "Dh") return type;
  if (const auto before = std::find(known.begin(), known.end(), type); before != known.end()) {
    const auto index = before - known.begin();
    return index == 0 ? "S_" : "S" + std::to_string(index - 1) + "_";
  }
  const std::size_t front = type[0] == 'P' ? 1 : std::min(type.find_first_not_of("VK"), type.size());
  std::string all = front == 0 ? type : type.substr(0, front) + encoded(type.substr(front), known);
  known.push_back(type);
  return all;
}

}  // namespace

std::optional<MangledFunction> read_mangled(std::string_view name) { return Reader(name).function(); }

std::string mangled(const MangledFunction& function) {
  std::string name = "_Z" + std::to_string(function.name.size()) + function.name;
  std::vector<std::string> known;
  for (const std::string& parameter : function.parameters) name += encoded(parameter, known);
  return function.parameters.empty() ? name + "v" : name;
}

std::string host_name_of(std::string_view name) {
  std::optional<MangledFunction> function = read_mangled(name);
  if (!function) return std::string(name);
  // The one function that does something else with other address spaces.
  const bool copies_out =
      function->name == "async_work_group_strided_copy" && name.find("PU3AS1") < name.find("PU3AS3");
  if (copies_out) function->name += "_out";
  return mangled(*function);
}

std::string ir_pointer_of_mangled(std::string_view type) {
  type.remove_prefix(std::min(type.find_first_not_of("PKV"), type.size()));
  std::string lanes;
  if (type.starts_with("Dv")) {
    const std::size_t end = std::min(type.find('_'), type.size() - 1);
    lanes = type.substr(2, end - 2);
    type.remove_prefix(end + 1);
  }
  std::string number = "i8";
  if (type == "Dh") number = "half";
  if (type == "s" || type == "t") number = "i16";
  if (type == "i" || type == "j") number = "i32";
  if (type == "l" || type == "m") number = "i64";
  if (type == "f") number = "float";
  if (type == "d") number = "double";
  return lanes.empty() ? number + "*" : "<" + lanes + " x " + number + ">*";
}

std::string element_of_mangled(const std::string& type) {
  const std::size_t vector = type.find("Dv");
  if (vector == type.npos) return type;
  const std::size_t end = type.find('_', vector);
  return type.substr(0, vector) + type.substr(end + 1);
}

}  // namespace anyplace::compilers
