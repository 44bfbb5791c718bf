// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <fmt/color.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace anyplace::tool {
namespace {

constexpr std::size_t narrowest = 40;

fmt::text_style style_of(Paint how) {
  switch (how) {
    case Paint::heading:
      return fmt::emphasis::bold;
    case Paint::name:
      return fmt::fg(fmt::terminal_color::cyan);
    case Paint::good:
      return fmt::fg(fmt::terminal_color::green);
    case Paint::doubtful:
      return fmt::fg(fmt::terminal_color::yellow);
    case Paint::bad:
      return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);
  }
  return {};
}

std::string paint(bool wanted, Paint how, std::string_view text) {
  return wanted ? fmt::format(style_of(how), "{}", text) : std::string(text);
}

/// The columns that text is broken to. A terminal that claims fewer than `narrowest` isn't believed.
std::size_t columns_for_text(int descriptor) {
  const std::size_t columns = columns_of(descriptor);
  return columns == 0 ? 0 : std::max(columns, narrowest);
}

/// The size of the character that begins at `at`. The escape sequence of a colour counts as one that takes no column.
struct Character {
  std::size_t bytes;
  std::size_t columns;
};
Character character_at(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  if (line[at] == '\x1b') {
    end = line.find('m', at);
    return {end == std::string_view::npos ? line.size() - at : end + 1 - at, 0};
  }
  while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) ++end;
  return {end - at, 1};
}

/// The indent of a broken line's continuation: where the text of the line begins behind "  label:   ", else two columns
/// further in than the line.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t label = line.find(":  ");
  if (label != std::string_view::npos) {
    const std::size_t text = line.find_first_not_of(' ', label + 1);
    if (text != std::string_view::npos && text < columns / 2) return text;
  }
  return std::min(start + 2, columns / 2);
}

void append_fitted(std::string& out, std::string_view line, std::size_t columns) {
  const std::size_t indent = hanging_indent(line, columns);
  std::size_t from = 0;   // the beginning of what isn't written yet
  std::size_t blank = 0;  // the last blank at which the line may be broken; `from` if there is none
  std::size_t column = 0;
  std::size_t text_from = std::min(line.find_first_not_of(' '), line.size());
  for (std::size_t at = 0; at < line.size();) {
    const Character next = character_at(line, at);
    if (line[at] == ' ' && at > text_from) blank = at;
    if (column + next.columns > columns && blank > from) {
      const std::size_t last = line.find_last_not_of(' ', blank);
      out.append(line.substr(from, last + 1 - from)).append("\n").append(indent, ' ');
      from = std::min(line.find_first_not_of(' ', blank), line.size());
      text_from = from;
      blank = from;
      at = from;
      column = indent;
      continue;
    }
    column += next.columns;
    at += next.bytes;
  }
  out.append(line.substr(from));
}

}  // namespace

bool colour_wanted(int descriptor) {
  const char* const refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* const kind = std::getenv("TERM");
  if (kind == nullptr || *kind == '\0' || std::string_view(kind) == "dumb") return false;
  return isatty(descriptor) != 0;
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string painted(Paint how, std::string_view text) {
  static const bool wanted = colour_wanted(STDOUT_FILENO);
  return paint(wanted, how, text);
}

std::string painted_note(Paint how, std::string_view text) {
  static const bool wanted = colour_wanted(STDERR_FILENO);
  return paint(wanted, how, text);
}

std::string on_lines(const std::string& text, int descriptor) {
  if (isatty(descriptor) == 0) return text;
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find("; "); at != std::string::npos; at = text.find("; ", from)) {
    out.append(text, from, at - from).append("\n  ");
    from = at + 2;
  }
  return out.append(text, from);
}

std::string fitted(const std::string& text, int descriptor) {
  const std::size_t columns = columns_for_text(descriptor);
  if (columns == 0) return text;
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    append_fitted(out, std::string_view(text).substr(from, end - from), columns);
    if (end < text.size()) out += '\n';
    from = end + 1;
  }
  return out;
}

}  // namespace anyplace::tool
