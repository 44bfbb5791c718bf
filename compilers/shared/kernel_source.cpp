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

/// Passes over what is in parentheses, of which the first is read.
void skip_parentheses(Tokens& tokens) {
  std::string_view token;
  for (int depth = 1; depth > 0 && !(token = tokens.next()).empty();) depth += token == "(" ? 1 : token == ")" ? -1 : 0;
}

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
    skip_parentheses(tokens);
    name = {};
  }
  return {};
}

/// Whether what is declared behind `extern "C"` is a kernel; then the tokens are behind its __global__.
bool reach_global(Tokens& tokens) {
  const bool in_directive = tokens.in_directive();
  for (std::string_view token; !(token = tokens.next()).empty() && tokens.in_directive() == in_directive;) {
    if (token == "__global__") return true;
    if (token == "{" || token == ";" || token == "=") return false;
    if (token == "(") skip_parentheses(tokens);
  }
  return false;
}

/// The name of the namespace that begins behind `namespace`: "a::b"; empty if it has none, or none begins.
std::string namespace_name(Tokens tokens) {
  std::string name;
  for (std::string_view token; (token = tokens.next()) != "{";) {
    if (token != ":" && (token.empty() || !is_word(token.front()))) return {};
    if (token != "inline") name += token;
  }
  return name;
}

std::string macro_of(const std::string& kernel) { return "ANYPLACE_SOURCE_HAS_" + kernel; }

/// The names in the parentheses behind ANYPLACE_EXPORT_KERNELS.
std::vector<std::string> exported_names(Tokens& tokens) {
  std::vector<std::string> names;
  for (std::string_view token; !(token = tokens.next()).empty() && token != ")";) {
    if (is_word(token.front())) names.emplace_back(token);
  }
  return names;
}

/// Reads a source once from its beginning to its end, and copies it.
class Finder {
 public:
  Finder(std::string_view source, std::string_view name_in_messages)
      : source_(source), tokens_(source), copy_(source, name_in_messages) {}

  KernelSource read() {
    while (!(token_ = tokens_.next()).empty()) {
      follow_scopes();
      if (token_ == "extern" && shared_.replace(tokens_, copy_)) token_ = {};
      shared_.convert(tokens_, token_, copy_);
      if (last_ == "#" && token_ == "line" && tokens_.in_directive()) follow_line();
      if (token_ == "ANYPLACE_EXPORT_KERNELS" && !tokens_.in_directive()) read_list();
      if (last_ == "extern" && token_ == "\"C\"") read_c_declaration();
      if (token_ == "__global__") read_kernel();
      before_ = last_;
      last_ = token_;
    }
    copy_.advance(source_.size());
    found_.text = std::move(copy_.text);
    for (const auto& [name, full] : kernels_) {
      const std::string one = full == name
                                  ? "ANYPLACE_EXPORT_KERNEL(" + name + ")"
                                  : "ANYPLACE_EXPORT_NAMED_KERNEL(" + name + ", \"" + name + "\", " + full + ")";
      found_.exports += "#ifdef " + macro_of(name) + "\n" + one + "\n#endif\n";
    }
    return std::move(found_);
  }

 private:
  struct Scope {
    bool is_c;         ///< extern "C" is in front of its brace
    std::string name;  ///< of the namespace; "" for any other
  };

  std::size_t place(std::string_view of) const { return static_cast<std::size_t>(of.data() - source_.data()); }

  void follow_scopes() {
    if (token_ == "namespace" && !tokens_.in_directive()) next_namespace_ = namespace_name(tokens_);
    if (token_ == "{") scopes_.push_back({before_ == "extern" && last_ == "\"C\"", std::exchange(next_namespace_, "")});
    if (token_ == "}" && !scopes_.empty()) scopes_.pop_back();
  }

  void follow_line() {
    const std::string_view number = tokens_.next();
    Tokens ahead = tokens_;
    const std::string_view file = ahead.next();
    copy_.advance(place(token_));
    copy_.renumber(number, ahead.in_directive() ? file : std::string_view());
  }

  void read_list() {
    copy_.advance(place(token_));
    for (const std::string& name : exported_names(tokens_)) add(name);
    found_.has_kernel = found_.has_list = true;
  }

  /// Takes extern "C" away from a kernel.
  void read_c_declaration() {
    Tokens ahead = tokens_;
    if (!reach_global(ahead)) return;
    copy_.advance(place(last_));
    add_function(ahead);
    copy_.replace(tokens_.place(), "");
    is_c_kernel_ = true;
  }

  void read_kernel() {
    const bool in_c = std::any_of(scopes_.begin(), scopes_.end(), [](const Scope& one) { return one.is_c; });
    const bool is_c_kernel = std::exchange(is_c_kernel_, false);
    copy_.advance(place(token_));
    if (tokens_.in_directive() && last_ != "define") found_.hidden.push_back({copy_.place(), ""});
    if (is_c_kernel || in_c) {
      found_.has_kernel = true;
      if (!is_c_kernel) add_function(tokens_);
      copy_.replace(place(token_) + token_.size(), "__kernel__");
    } else if (!tokens_.in_directive()) {
      Tokens ahead = tokens_;
      if (const std::string_view name = function_name(ahead); !name.empty()) {
        found_.hidden.push_back({copy_.place(), std::string(name)});
      }
    }
  }

  /// Adds the function whose __global__ has just been read, unless it is in a macro.
  void add_function(Tokens behind) {
    if (tokens_.in_directive()) return;
    if (const std::string_view name = function_name(behind); !name.empty()) add(std::string(name));
  }

  void add(const std::string& name) {
    copy_.define(macro_of(name));
    const auto is_it = [&](const auto& one) { return one.first == name; };
    if (std::any_of(kernels_.begin(), kernels_.end(), is_it)) return;
    std::string full;
    for (const Scope& one : scopes_) full += one.name.empty() ? "" : one.name + "::";
    kernels_.emplace_back(name, full + name);
  }

  const std::string_view source_;
  Tokens tokens_;
  Copy copy_;
  SharedDeclarations shared_;
  std::string_view before_, last_, token_;
  std::vector<Scope> scopes_;  ///< of each open brace
  std::string next_namespace_;
  bool is_c_kernel_ = false;                                  ///< the next __global__ had an extern "C" of its own
  std::vector<std::pair<std::string, std::string>> kernels_;  ///< names, and the same with their namespaces
  KernelSource found_;
};

void say(const anyplace_compile_sink& sink, const std::string& text) {
  sink.log(sink.context, text.data(), text.size());
}

constexpr const char* how = "a kernel begins with extern \"C\" __global__, or is named by a name expression";

bool is_named(const anyplace_compile_request& request, const std::string& kernel) {
  for (const char* const expression : expressions_of(request)) {
    Tokens tokens(expression);
    for (std::string_view token; !(token = tokens.next()).empty();) {
      if (token == kernel) return true;
    }
  }
  return false;
}

/// `needs_list`: the compiler doesn't know the kernels of macros, unless ANYPLACE_EXPORT_KERNELS names them.
void warn_of_kernels(const KernelSource& kernels, bool needs_list, const anyplace_compile_request& request,
                     const anyplace_compile_sink& sink) {
  if (!kernels.has_kernel && request.expression_count == 0) {
    say(sink, std::string(request.name) + ": warning: there is no kernel in it that can be launched: " + how + "\n");
    return;
  }
  for (const KernelSource::Hidden& one : kernels.hidden) {
    if (one.name.empty() && needs_list && !kernels.has_list) {
      say(sink, one.place +
                    ": warning: kernels of this macro aren't exported: name them in "
                    "ANYPLACE_EXPORT_KERNELS(name, ...); behind them\n");
    } else if (!one.name.empty() && !is_named(request, one.name)) {
      say(sink, one.place + ": warning: " + one.name + " isn't exported: " + how + "\n");
    }
  }
}

}  // namespace

KernelSource read_kernels(std::string_view source, std::string_view name_in_messages) {
  return Finder(source, name_in_messages).read();
}

void warn_of_kernels(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  warn_of_kernels(read_kernels({request.source, request.source_bytes}, request.name), false, request, sink);
}

std::string unit_with_exports(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string source = source_with_header_copies(request, sink);
  const KernelSource kernels = read_kernels(source, request.name);
  std::string unit = "#include <anyplace/device_code.h>\n#line 1 \"" + std::string(request.name) + "\"\n";
  warn_of_kernels(kernels, true, request, sink);
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
