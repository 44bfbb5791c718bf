// SPDX-License-Identifier: Apache-2.0
#include "kernel_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "header_copies.h"
#include "plugin.h"
#include "source_text.h"

namespace anyplace::compilers {
namespace {

/// Reads what is between __global__ and the parameters: `void __launch_bounds__(256) name(`. Returns the name; empty if
/// that is no function.
std::string_view function_name(Tokens& tokens) {
  std::string_view name, token;
  while (!(token = tokens.next()).empty() && token != ";" && token != "{") {
    if (token != "(") {
      if (is_word(token.front())) name = token;
      continue;
    }
    if (name != "__launch_bounds__" && name != "__attribute__") return name;
    for (int depth = 1; depth > 0 && !(token = tokens.next()).empty();)
      depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    name = {};
  }
  return {};
}

std::string macro_of(const std::string& kernel) { return "ANYPLACE_SOURCE_HAS_" + kernel; }

void add(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

/// The names in the parentheses behind ANYPLACE_EXPORT_KERNELS.
std::vector<std::string> exported_names(Tokens& tokens) {
  std::vector<std::string> names;
  for (std::string_view token; !(token = tokens.next()).empty() && token != ")";) {
    if (is_word(token.front())) names.emplace_back(token);
  }
  return names;
}

}  // namespace

KernelSource read_kernels(std::string_view source, std::string_view name_in_messages) {
  Copy copy(source, name_in_messages);
  std::vector<std::string> names;
  bool has_kernel = false;
  Tokens tokens(source);
  SharedDeclarations shared;
  std::string_view before, last, token;
  std::vector<bool> c_blocks;  // of each open brace: whether extern "C" is in front of it
  const auto place = [&](std::string_view of) { return static_cast<std::size_t>(of.data() - source.data()); };
  const auto found = [&](const std::string& name) {
    copy.define(macro_of(name));
    add(names, name);
  };
  while (!(token = tokens.next()).empty()) {
    const bool is_c = before == "extern" && last == "\"C\"";
    if (token == "{") c_blocks.push_back(is_c);
    if (token == "}" && !c_blocks.empty()) c_blocks.pop_back();
    if (token == "extern" && shared.replace(tokens, copy)) token = {};
    shared.convert(tokens, token, copy);
    if (last == "#" && token == "line" && tokens.in_directive()) {
      const std::string_view number = tokens.next();
      Tokens ahead = tokens;
      const std::string_view file = ahead.next();
      copy.advance(place(token));
      copy.renumber(number, ahead.in_directive() ? file : std::string_view());
    }
    if (token == "ANYPLACE_EXPORT_KERNELS" && !tokens.in_directive()) {
      copy.advance(place(token));
      for (const std::string& name : exported_names(tokens)) found(name);
      has_kernel = true;
    }
    const bool in_c = std::find(c_blocks.begin(), c_blocks.end(), true) != c_blocks.end();
    if (token == "__global__" && (is_c || in_c)) {
      has_kernel = true;
      const std::size_t end = place(token) + token.size();
      copy.advance(place(is_c ? before : token));
      if (!tokens.in_directive()) {  // not of a macro
        Tokens ahead = tokens;
        if (const std::string_view name = function_name(ahead); !name.empty()) found(std::string(name));
      }
      copy.replace(end, "__kernel__");
    }
    before = last;
    last = token;
  }
  copy.advance(source.size());
  std::string exports;
  for (const std::string& name : names) {
    exports += "#ifdef " + macro_of(name) + "\nANYPLACE_EXPORT_KERNEL(" + name + ")\n#endif\n";
  }
  return {std::move(copy.text), std::move(exports), has_kernel};
}

void warn_without_kernel(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  if (request.expression_count != 0) return;
  if (read_kernels({request.source, request.source_bytes}, request.name).has_kernel) return;
  const std::string text = std::string(request.name) +
                           ": warning: there is no kernel in it that can be launched: it begins with extern \"C\" "
                           "__global__, or is named by a name expression\n";
  sink.log(sink.context, text.data(), text.size());
}

std::string unit_with_exports(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string source = source_with_header_copies(request, sink);
  const KernelSource kernels = read_kernels(source, request.name);
  std::string unit = "#include <anyplace/device_code.h>\n#line 1 \"" + std::string(request.name) + "\"\n";
  if (!kernels.has_kernel) warn_without_kernel(request, sink);
  unit += kernels.text + "\n#line 1 \"exported kernels\"\n" + kernels.exports;
  std::size_t number = 0;
  for (const char* const expression : expressions_of(request)) {
    const std::string name = "anyplace_expression_" + std::to_string(number++);
    unit += "#line 1 \"the name expression " + in_literal(expression) + "\"\n";
    unit += "ANYPLACE_EXPORT_NAMED_KERNEL(" + name + ", \"" + name + "\", " + expression + ")\n";
    sink.lowered(sink.context, expression, name.c_str());
  }
  return unit;
}

}  // namespace anyplace::compilers
