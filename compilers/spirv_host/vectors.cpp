// SPDX-License-Identifier: Apache-2.0
//
// Most functions of OpenCL do with each element what the function of the same name does with a number. The others are
// vload and vstore, and those that make a number of a vector, or mix the elements: those are functions of C++
// (functions/vectors.cpp), which get the vectors' addresses, because how vectors are passed depends on the compiler.
#include "vectors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "mangled.h"

namespace anyplace::compilers {
namespace {

constexpr std::array mixing = {"dot",           "length",         "distance", "normalize", "cross",   "fast_length",
                               "fast_distance", "fast_normalize", "any",      "all",       "shuffle", "shuffle2"};
constexpr std::array comparing = {"isnan",     "isinf",       "isfinite",      "isnormal",      "signbit",
                                  "isequal",   "isnotequal",  "isless",        "islessequal",   "isgreater",
                                  "isordered", "isunordered", "islessgreater", "isgreaterequal"};

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Writes the lines of a function's body and numbers its values.
class Body {
 public:
  std::string value(const std::string& what) {
    const std::string name = "%v" + std::to_string(count_++);
    text_ += "  " + name + " = " + what + "\n";
    return name;
  }
  void line(const std::string& what) { text_ += "  " + what + "\n"; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  unsigned count_ = 0;
};

std::string argument(std::size_t index) { return "%a" + std::to_string(index); }

std::string in_function(const IrFunction& function, const Body& body) {
  std::string head = "define internal " + function.result + " " + function.name + "(";
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    head += (i == 0 ? "" : ", ") + function.parameters[i].type + " " + argument(i);
  }
  return head + ") alwaysinline {\n" + body.text() + "}\n";
}

/// convert_uint4_sat becomes convert_uint_sat; all others keep their names.
std::string name_for_elements(const std::string& name) {
  if (!name.starts_with("convert_")) return name;
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    if (!is_number) plain += name[i];
  }
  return plain;
}

std::string pointer_to(const std::string& type) { return type + "*"; }

/// The types of a call's arguments, of one element.
struct Element {
  std::vector<std::string> types;
  std::string result;
};

std::string each_element(const IrFunction& function, const MangledFunction& name, std::set<std::string>& called) {
  MangledFunction scalar{name_for_elements(name.name), {}};
  for (const std::string& type : name.parameters) scalar.parameters.push_back(element_of_mangled(type));
  unsigned lanes = lanes_of(function.result);
  Element element;
  element.result = lanes != 0 ? element_of(function.result) : function.result;
  const bool is_comparison = is_in(comparing, name.name);
  if (is_comparison) element.result = "i32";
  for (const IrParameter& parameter : function.parameters) {
    const bool is_pointer = parameter.type.ends_with('*');
    const std::string pointee = is_pointer ? parameter.type.substr(0, parameter.type.size() - 1) : parameter.type;
    lanes = std::max(lanes, lanes_of(pointee));
    const std::string type = lanes_of(pointee) != 0 ? element_of(pointee) : pointee;
    element.types.push_back(is_pointer ? pointer_to(type) : type);
  }
  const std::string scalar_name = "@" + mangled(scalar);
  std::string declaration = "declare " + element.result + " " + scalar_name + "(";
  for (std::size_t i = 0; i < element.types.size(); ++i) declaration += (i == 0 ? "" : ", ") + element.types[i];
  called.insert(declaration + ")");
  Body body;
  std::string made = "undef";
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const std::string at = std::to_string(lane);
    std::string arguments;
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const std::string& type = function.parameters[i].type;
      std::string value = argument(i);
      if (lanes_of(type) != 0) {
        value = body.value("extractelement " + type + " " + value + ", i32 " + at);
      } else if (type != element.types[i]) {  // a pointer to a vector
        value = body.value("bitcast " + type + " " + value + " to " + element.types[i]);
        const std::string one = element.types[i].substr(0, element.types[i].size() - 1);
        value = body.value("getelementptr " + one + ", " + element.types[i] + " " + value + ", i32 " + at);
      }
      arguments += (i == 0 ? "" : ", ") + element.types[i] + " " + value;
    }
    std::string result = body.value("call " + element.result + " " + scalar_name + "(" + arguments + ")");
    std::string type = element.result;
    if (is_comparison) {  // of vectors, true is -1
      type = element_of(function.result);
      result = body.value("icmp ne i32 " + result + ", 0");
      result = body.value("sext i1 " + result + " to " + type);
    }
    made = body.value("insertelement " + function.result + " " + made + ", " + type + " " + result + ", i32 " + at);
  }
  body.line("ret " + function.result + " " + made);
  return in_function(function, body);
}

/// select(a, b, c) takes b where the highest bit of c is set.
std::string select(const IrFunction& function) {
  Body body;
  const std::string& mask = function.parameters[2].type;
  const std::string is_b = body.value("icmp slt " + mask + " %a2, zeroinitializer");
  const std::string& type = function.result;
  const std::string bits = "<" + std::to_string(lanes_of(mask)) + " x i1>";
  const std::string made = body.value("select " + bits + " " + is_b + ", " + type + " %a1, " + type + " %a0");
  body.line("ret " + type + " " + made);
  return in_function(function, body);
}

/// vloadN(offset, pointer) and vstoreN(vector, offset, pointer): vectors lie one behind the other there, also those of
/// three elements.
std::string load_or_store(const IrFunction& function) {
  Body body;
  const bool is_load = function.result != "void";
  const std::string vector = is_load ? function.result : function.parameters[0].type;
  const std::string element = element_of(vector);
  const std::size_t first = is_load ? 0 : 1;
  const std::string lanes = std::to_string(lanes_of(vector));
  const std::string begin = body.value("mul " + function.parameters[first].type + " " + argument(first) + ", " + lanes);
  std::string made = "undef";
  for (unsigned lane = 0; lane < lanes_of(vector); ++lane) {
    const std::string at = std::to_string(lane);
    const std::string index = body.value("add " + function.parameters[first].type + " " + begin + ", " + at);
    const std::string place = body.value("getelementptr " + element + ", " + element + "* " + argument(first + 1) +
                                         ", " + function.parameters[first].type + " " + index);
    if (is_load) {
      const std::string value = body.value("load " + element + ", " + element + "* " + place);
      made = body.value("insertelement " + vector + " " + made + ", " + element + " " + value + ", i32 " + at);
    } else {
      const std::string value = body.value("extractelement " + vector + " %a0, i32 " + at);
      body.line("store " + element + " " + value + ", " + element + "* " + place);
    }
  }
  body.line(is_load ? "ret " + vector + " " + made : "ret void");
  return in_function(function, body);
}

/// Calls anyplace_NAME_ELEMENTS(result, its lanes, vector, its lanes, ...), all of them by their addresses.
std::string mix(const IrFunction& function, const MangledFunction& name, std::set<std::string>& called) {
  Body body;
  std::string callee = "@anyplace_" + name.name + "_", declared, arguments;
  const auto add = [&](const std::string& type, const std::string& value) {
    const std::string place = body.value("alloca " + type + ", align 128");
    if (!value.empty()) body.line("store " + type + " " + value + ", " + type + "* " + place);
    const std::string bytes = body.value("bitcast " + type + "* " + place + " to i8*");
    const std::string lanes = std::to_string(std::max(lanes_of(type), 1U));
    declared += (declared.empty() ? "" : ", ") + std::string("i8*, i32");
    arguments += (arguments.empty() ? "" : ", ") + ("i8* " + bytes + ", i32 " + lanes);
    return place;
  };
  const std::string result = add(function.result, "");
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    add(function.parameters[i].type, argument(i));
    callee += element_of_mangled(name.parameters[i]);
  }
  called.insert("declare void " + callee + "(" + declared + ")");
  body.line("call void " + callee + "(" + arguments + ")");
  body.line("ret " + function.result + " " +
            body.value("load " + function.result + ", " + function.result + "* " + result));
  return in_function(function, body);
}

}  // namespace

std::string vector_function(const IrFunction& declared, std::set<std::string>& called) {
  const std::optional<MangledFunction> name = read_mangled(std::string_view(declared.name).substr(1));
  if (!name || name->parameters.size() != declared.parameters.size()) return "";
  IrFunction function = declared;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    std::string& type = function.parameters[i].type;
    if (type == "ptr") type = ir_pointer_of_mangled(name->parameters[i]);
  }
  const std::string_view plain = name->name;
  const bool is_load = plain.starts_with("vload") && !plain.starts_with("vload_half") && lanes_of(function.result) != 0;
  const bool is_store = plain.starts_with("vstore") && !plain.starts_with("vstore_half");
  if (is_load || is_store) return load_or_store(function);
  const bool has_vector = std::any_of(name->parameters.begin(), name->parameters.end(),
                                      [](const std::string& type) { return type.find("Dv") != type.npos; });
  if (!has_vector) return "";
  if (is_in(mixing, plain)) return mix(function, *name, called);
  if (lanes_of(function.result) == 0) return "";
  return plain == "select" ? select(function) : each_element(function, *name, called);
}

}  // namespace anyplace::compilers
