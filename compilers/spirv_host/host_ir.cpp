// SPDX-License-Identifier: Apache-2.0
//
// Works on lines, because LLVM writes each function's head, each variable and each instruction on one of its own.
// Quoted texts are names and strings, and stay as they are.
#include "host_ir.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "ir_text.h"
#include "mangled.h"
#include "vectors.h"

namespace anyplace::compilers {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// llvm.memcpy.p4i8.p1i8.i64 is llvm.memcpy.p0i8.p0i8.i64 where there is one address space.
std::string without_spaces_of_intrinsic(std::string_view name) {
  std::string plain(name);
  for (std::size_t at = 0; (at = plain.find(".p", at)) != plain.npos; ++at) {
    if (at + 2 < plain.size() && std::isdigit(static_cast<unsigned char>(plain[at + 2])) != 0) plain[at + 2] = '0';
  }
  return plain;
}

bool is_intrinsic(std::string_view name) { return name.starts_with("@llvm."); }

void replace_word(std::string& line, std::string_view word, std::string_view by) {
  for (std::size_t at; (at = line.find(word)) != line.npos;) line.replace(at, word.size(), by);
}

/// What stands between a variable's name and its type before `thread_local` may: its linkage and visibility.
bool is_linkage(std::string_view word) {
  static const std::set<std::string_view> words = {
      "private",     "internal", "available_externally", "linkonce", "weak",   "common",  "appending",
      "extern_weak", "external", "linkonce_odr",         "weak_odr", "hidden", "default", "protected",
      "dso_local"};
  return words.count(word) != 0;
}

class HostIr {
 public:
  HostIr(std::string_view text, bool has_pointer_types)
      : has_pointer_types_(has_pointer_types), lines_(lines_of(text)) {
    for (const std::string_view line : lines_) {
      if (line.starts_with("define ")) find_kernel(line);
      if (line.starts_with("declare ")) find_declared(line);
    }
  }

  std::string made() {
    std::string text;
    for (const std::string_view line : lines_) text += line_of(line);
    std::set<std::string> called;
    std::string functions;
    for (const auto& [name, function] : declared_) {
      const std::string own = is_intrinsic(name) ? "" : vector_function(function, called);
      if (own.empty()) {
        called.insert(declaration_of(function));
      } else {
        functions += own;
      }
    }
    for (const IrFunction& kernel : kernels_) functions += entry_of(kernel);
    if (!kernels_.empty()) {
      called.insert("declare void @llvm.memcpy.p0i8.p0i8.i64(i8*, i8*, i64, i1 immarg)");
      called.insert("declare i32 @anyplace_run_kernel(i8*, i8**, i32*, i32, i32*, void (i8**)*)");
      called.insert("declare i8* @anyplace_local_memory()");
    }
    // Declarations that differ in the types of pointers alone are one without these.
    std::set<std::string> declarations;
    for (const std::string& declaration : called) declarations.insert(in_form_of_text(declaration));
    text += in_form_of_text(functions);
    for (const std::string& declaration : declarations) text += declaration + "\n";
    return text;
  }

 private:
  /// What is written here has the types of pointers, which must not be mixed with `ptr`.
  std::string in_form_of_text(const std::string& written) const {
    return has_pointer_types_ ? written : without_pointer_types(written);
  }
  void find_kernel(std::string_view line) {
    const IrFunction function = read_function(line);
    if (!function.is_kernel) return;
    kernels_.push_back(function);
    renamed_[function.name] = with_prefix(function.name, "anyplace.kernel.");
  }
  void find_declared(std::string_view line) {
    IrFunction function = read_function(line);
    const std::string name = is_intrinsic(function.name)
                                 ? without_spaces_of_intrinsic(function.name)
                                 : "@" + host_name_of(std::string_view(function.name).substr(1));
    if (name != function.name) renamed_[function.name] = name;
    function.name = name;
    declared_.emplace(name, std::move(function));
  }

  /// `declare` with its types alone, since attributes may be wrong for the host's function.
  static std::string declaration_of(const IrFunction& function) {
    std::string text = "declare " + function.result + " " + function.name + "(";
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const IrParameter& parameter = function.parameters[i];
      text += (i == 0 ? "" : ", ") + parameter.type;
      // Some intrinsics aren't valid without.
      if (parameter.attributes.find("immarg") != std::string::npos) text += " immarg";
    }
    if (function.is_variadic) text += function.parameters.empty() ? "..." : ", ...";
    return text + ")";
  }

  std::string line_of(std::string_view line) {
    if (line.starts_with("target ") || line.starts_with("declare ") || line.starts_with("source_filename")) return "";
    std::string host = renamed(without_address_spaces(line));
    const bool is_of_thread = line.starts_with("@anyplace_builtin_") || line.find(" addrspace(3) ") != line.npos;
    if (line.starts_with("@") && is_of_thread) host = thread_variable(host);
    if (line.starts_with("define ")) host = internal_function(host);
    // A barrier throws if there is no memory for another stack.
    if (line.starts_with("attributes ")) replace_word(host, " nounwind", " uwtable");
    return host + "\n";
  }

  /// Gives names and words of the line outside of quotes their host's form.
  std::string renamed(const std::string& line) const {
    std::string host;
    for (std::size_t i = 0; i < line.size();) {
      const std::string_view rest = std::string_view(line).substr(i);
      if (line[i] == '@') {
        const std::string name(global_name_at(line, i));
        const auto other = renamed_.find(name);
        host += other == renamed_.end() ? name : other->second;
        i += name.size();
      } else if (line[i] == '"') {
        const std::size_t end = end_of_quoted(line, i);
        host += line.substr(i, end - i);
        i = end;
      } else if (rest.starts_with("addrspacecast ")) {
        host += "bitcast ";
        i += std::string_view("addrspacecast ").size();
      } else if (rest.starts_with("spir_func ") || rest.starts_with("spir_kernel ")) {
        i += rest.find(' ') + 1;
      } else {
        host += line[i++];
      }
    }
    return host;
  }

  /// Local memory belongs to the host's thread, which runs one block at a time, and so does what says where a work item
  /// is.
  static std::string thread_variable(const std::string& line) {
    std::size_t at = line.find(" = ") + 3;
    while (is_linkage(std::string_view(line).substr(at, line.find(' ', at) - at))) at = line.find(' ', at) + 1;
    return line.substr(0, at) + "thread_local " + line.substr(at);
  }

  /// Kernels are seen outside by their entries alone, and other functions not at all.
  static std::string internal_function(const std::string& line) {
    std::size_t at = std::string_view("define ").size();
    while (is_linkage(std::string_view(line).substr(at, line.find(' ', at) - at))) at = line.find(' ', at) + 1;
    return "define internal " + line.substr(at);
  }

  std::string entry_of(const IrFunction& kernel) const;

  const bool has_pointer_types_;
  const std::vector<std::string_view> lines_;
  std::vector<IrFunction> kernels_;
  std::map<std::string, IrFunction> declared_;  ///< by the host's name
  std::map<std::string, std::string> renamed_;  ///< global names, and the host's
};

/// The bytes that a type takes in memory, as a constant.
std::string size_of(const std::string& type, const std::string& as) {
  return "ptrtoint (" + type + "* getelementptr (" + type + ", " + type + "* null, i32 1) to " + as + ")";
}

/// The type of a parameter that is passed by value, `byval(%struct.S)`; "" for another.
std::string type_by_value(const IrParameter& parameter) {
  constexpr std::string_view word = "byval(";
  const std::size_t at = parameter.attributes.find(word);
  if (at == parameter.attributes.npos) return "";
  std::size_t end = at + word.size();
  for (int depth = 1; end < parameter.attributes.size(); ++end) {
    if (parameter.attributes[end] == '(') ++depth;
    if (parameter.attributes[end] == ')' && --depth == 0) break;
  }
  return parameter.attributes.substr(at + word.size(), end - at - word.size());
}

/// What cpu_sim launches, in three parts: the parameters' sizes, a function that calls the kernel with arguments that
/// it reads, and the entry, of the kernel's own name, which has functions/work_items.cpp do so for each thread.
std::string HostIr::entry_of(const IrFunction& kernel) const {
  const std::string head =
      "define i32 " + kernel.name + "(i8* %self, i8* %block, i8** %arguments, i32* %sizes, i32 %count) {\n";
  // A launch has one size of local memory.
  const auto is_local = [](const IrParameter& parameter) { return parameter.is_local; };
  if (std::count_if(kernel.parameters.begin(), kernel.parameters.end(), is_local) > 1) {
    return head + "  ret i32 " + std::to_string(ANYPLACE_STATUS_UNSUPPORTED) + "\n}\n";
  }
  std::string sizes, reads, arguments;
  unsigned count = 0;
  const std::string call_name = with_prefix(kernel.name, "anyplace.call.");
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const IrParameter& parameter = kernel.parameters[i];
    const std::string n = std::to_string(i), value = "%p" + n;
    arguments += (i == 0 ? "" : ", ") + parameter.type + " " + parameter.attributes +
                 (parameter.attributes.empty() ? "" : " ") + value;
    if (parameter.is_local) {
      reads += "  %b" + n + " = call i8* @anyplace_local_memory()\n  " + value + " = bitcast i8* %b" + n + " to " +
               parameter.type + "\n";
      continue;
    }
    const std::string by_value = type_by_value(parameter);
    const bool is_by_value = !by_value.empty();
    const std::string& type = is_by_value ? by_value : parameter.type;
    sizes += ", i32 " + size_of(type, "i32");
    const std::string index = std::to_string(count++);
    reads += "  %s" + n + " = getelementptr i8*, i8** %arguments, i32 " + index + "\n";
    reads += "  %b" + n + " = load i8*, i8** %s" + n + "\n";
    reads += "  %t" + n + " = bitcast i8* %b" + n + " to " + type + "*\n";
    if (is_by_value) {
      reads += "  " + value + " = alloca " + type + ", align 128\n";
      reads += "  %c" + n + " = bitcast " + type + "* " + value + " to i8*\n";
      reads += "  call void @llvm.memcpy.p0i8.p0i8.i64(i8* %c" + n + ", i8* %b" + n + ", i64 " + size_of(type, "i64") +
               ", i1 false)\n";
    } else {
      reads += "  " + value + " = load " + type + ", " + type + "* %t" + n + ", align 1\n";
    }
  }
  const std::string parameters_name = with_suffix(kernel.name, "_parameters");
  const std::string array = "[" + std::to_string(count + 1) + " x i32]";
  std::string text = parameters_name + " = constant " + array + " [i32 " + std::to_string(count) + sizes + "]\n";
  text += "define internal void " + call_name + "(i8** %arguments) {\n" + reads + "  call void " +
          renamed_.at(kernel.name) + "(" + arguments + ")\n  ret void\n}\n";
  text += head;
  text += "  %status = call i32 @anyplace_run_kernel(i8* %block, i8** %arguments, i32* %sizes, i32 %count, i32* " +
          std::string("getelementptr (") + array + ", " + array + "* " + parameters_name + ", i32 0, i32 0), " +
          "void (i8**)* " + call_name + ")\n  ret i32 %status\n}\n";
  return text;
}

}  // namespace

std::string host_ir_of(std::string_view text, bool has_pointer_types) {
  // From version 17 on OpenCL's events have a type of their own, which the host doesn't know. They were pointers.
  constexpr std::string_view event = "target(\"spirv.Event\")";
  std::string plain(text);
  for (std::size_t at = 0; (at = plain.find(event, at)) != plain.npos;) plain.replace(at, event.size(), "ptr");
  return HostIr(plain, has_pointer_types).made();
}

}  // namespace anyplace::compilers
