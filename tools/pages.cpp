// SPDX-License-Identifier: Apache-2.0
#include "pages.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <vector>

#include "anyplace/version.h"

namespace anyplace::tool {
namespace {

std::vector<const CLI::App*> listed_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return is_listed(*command); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

bool is_positional(const CLI::Option& option) { return option.get_lnames().empty() && option.get_snames().empty(); }
bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size_max() > 0; }

/// The name of an option's value: "TEXT" of "TEXT:{vmm,classic}".
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

/// The values that an option takes: {"vmm", "classic"} of "TEXT:{vmm,classic}"; empty where any text is allowed.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

/// All spellings of one option: "-h", "--help".
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames()) all.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

std::string spaced(const std::vector<std::string>& words) { return CLI::detail::join(words, " "); }

// ---- The manual page -----------------------------------------------------------------------------------------------

/// Escapes text so that roff prints it as it is.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      if ((escaped.empty() || escaped.back() == '\n') && (c == '.' || c == '\'')) escaped += "\\&";
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// An option in the synopsis: "[--json]", "PLACE".
std::string synopsis_of(const CLI::Option& option) {
  if (is_positional(option)) {
    const std::string name = italic(option.get_name(true));
    return option.get_required() ? name : "[" + name + "]";
  }
  std::string text = bold(spellings(option).back());
  if (takes_value(option)) text += " " + italic(value_name(option));
  return option.get_required() ? text : "[" + text + "]";
}

std::string description_of(const CLI::Option& option) {
  std::string names;
  if (is_positional(option)) {
    names = italic(option.get_name(true));
  } else {
    for (const std::string& name : spellings(option)) names += (names.empty() ? "" : ", ") + bold(name);
  }
  if (takes_value(option) && !is_positional(option)) names += " " + italic(value_name(option));
  std::string text = roff(option.get_description());
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) text += "\n.br\nOne of: " + roff(CLI::detail::join(choices, ", "));
  return ".TP\n" + names + "\n" + text + "\n";
}

/// The last part of --help as sections: a line that ends in a colon begins a section, and the others stay as they are.
std::string footer_sections(const std::string& footer) {
  std::string text;
  for (const std::string& line : CLI::detail::split(footer, '\n')) {
    if (!line.empty() && line.front() != ' ' && line.back() == ':') {
      std::string title = line.substr(0, line.size() - 1);
      std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
      text += (text.empty() ? "" : ".fi\n") + std::string(".SH ") + roff(title) + "\n.nf\n";
    } else if (!line.empty() && !text.empty()) {
      text += roff(line) + "\n";
    }
  }
  return text.empty() ? text : text + ".fi\n";
}

std::string manual_page(const CLI::App& app) {
  const std::string about = app.get_description();
  const std::size_t colon = about.find(": ");
  std::string text = std::string(".\\\" Made by `anyplace pages man`.\n.TH ANYPLACE 1 \"\" \"anyplace ") +
                     ANYPLACE_VERSION + "\" \"User Commands\"\n.SH NAME\nanyplace \\- " +
                     roff(colon == std::string::npos ? about : about.substr(colon + 2)) + "\n.SH SYNOPSIS\n.nf\n";
  for (const CLI::App* command : listed_commands(app)) {
    text += bold("anyplace " + command->get_name());
    for (const CLI::Option* option : options_of(*command)) {
      if (option != command->get_help_ptr()) text += " " + synopsis_of(*option);
    }
    text += "\n";
  }
  for (const CLI::Option* option : options_of(app)) text += bold("anyplace " + spellings(*option).back()) + "\n";
  text += ".fi\n.SH COMMANDS\n";
  for (const CLI::App* command : listed_commands(app)) {
    text += ".SS " + roff(command->get_name()) + "\n" + roff(command->get_description()) + ".\n";
    for (const CLI::Option* option : options_of(*command)) text += description_of(*option);
  }
  return text + footer_sections(app.get_footer());
}

// ---- Completion ----------------------------------------------------------------------------------------------------

std::vector<std::string> completions_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : options_of(app)) {
    for (std::string& spelling : spellings(*option)) words.push_back(std::move(spelling));
  }
  return words;
}

/// The completion for bash: it knows commands, options, and the values of options that have a choice. For other values
/// and for positional arguments it leaves the shell its own, which is file names.
std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> first;
  for (const CLI::App* command : listed_commands(app)) first.push_back(command->get_name());
  for (std::string& word : completions_of(app)) first.push_back(std::move(word));
  std::string cases;
  std::string values;
  for (const CLI::App* command : listed_commands(app)) {
    cases += "    " + command->get_name() + ") words='" + spaced(completions_of(*command)) + "' ;;\n";
    for (const CLI::Option* option : options_of(*command)) {
      if (is_positional(*option) || !takes_value(*option)) continue;
      for (const std::string& spelling : spellings(*option)) {
        values += "    " + command->get_name() + ":" + spelling + ") words='" + spaced(choices_of(*option)) + "' ;;\n";
      }
    }
  }
  return "# bash completion for anyplace. Made by `anyplace pages bash`.\n"
         "_anyplace() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    [[ $word == -* ]] || { command=$word; break; }\n"
         "  done\n"
         "  case $command in\n"
         "    '') words='" +
         spaced(first) + "' ;;\n" + cases +
         "  esac\n"
         "  case $command:$previous in\n" +
         values +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _anyplace anyplace\n";
}

}  // namespace

PagesCommand::PagesCommand(CLI::App& app)
    : app_(app), command_(app.add_subcommand("pages", "Prints the manual page or the shell's completion")) {
  command_->group("");  // hidden, because only the build runs it, which installs the pages
  command_->add_option("PAGE", page_, "man or bash")->required()->check(CLI::IsMember({"man", "bash"}));
  command_->add_option("FILE", file_, "Where to write it (default standard output)");
}

bool PagesCommand::chosen() const { return command_->parsed(); }

Answer PagesCommand::run() const {
  const std::string text = page_ == "man" ? manual_page(app_) : bash_completion(app_);
  if (file_.empty()) return {text, "", exit_ok};
  std::ofstream file(file_, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.fail()) return {"", "anyplace: '" + file_ + "' can't be written\n", exit_failed};
  return {"", "", exit_ok};
}

bool is_listed(const CLI::App& command) { return !command.get_group().empty(); }

}  // namespace anyplace::tool
