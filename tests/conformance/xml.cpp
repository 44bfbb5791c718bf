// SPDX-License-Identifier: Apache-2.0
#include "xml.h"

#include <cctype>
#include <cstring>
#include <stdexcept>

namespace anyplace::test {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Element document() {
    expect("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    Element root = element();
    space();
    if (at_ != text_.size()) fail("more after the root");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("no XML at byte " + std::to_string(at_) + ": " + why);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(const std::string& what) {
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  void expect(const std::string& what) {
    if (!take(what)) fail("'" + what + "' is missing");
  }
  void space() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  std::string name() {
    const std::size_t from = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-') ++at_;
    if (at_ == from) fail("a name is missing");
    return text_.substr(from, at_ - from);
  }

  /// Up to `end`, with the references replaced.
  std::string characters(char end) {
    static const std::map<std::string, char> references{{"amp", '&'},  {"lt", '<'},   {"gt", '>'},
                                                        {"quot", '"'}, {"#10", '\n'}, {"#9", '\t'}};
    std::string out;
    while (peek() != end) {
      const char c = peek();
      if (at_ >= text_.size() || c == '<') fail("'<' or the end within text");
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n') fail("a control character");
      ++at_;
      if (c != '&') {
        out += c;
        continue;
      }
      const std::size_t from = at_;
      while (peek() != ';' && at_ < text_.size()) ++at_;
      const auto known = references.find(text_.substr(from, at_ - from));
      if (known == references.end()) fail("an unknown reference");
      out += known->second;
      ++at_;
    }
    return out;
  }

  Element element() {
    space();
    expect("<");
    Element made;
    made.name = name();
    for (space(); peek() != '>' && peek() != '/'; space()) {
      const std::string key = name();
      expect("=\"");
      if (!made.attributes.emplace(key, characters('"')).second) fail("an attribute twice");
      expect("\"");
    }
    if (take("/>")) return made;
    expect(">");
    for (;;) {
      made.text += characters('<');
      if (take("</")) break;
      made.children.push_back(element());
    }
    if (name() != made.name) fail("the end of another element");
    expect(">");
    return made;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<const Element*> Element::all(const std::string& wanted) const {
  std::vector<const Element*> found;
  for (const Element& child : children) {
    if (child.name == wanted) found.push_back(&child);
    for (const Element* const one : child.all(wanted)) found.push_back(one);
  }
  return found;
}

Element parse_xml(const std::string& text) { return Parser(text).document(); }

}  // namespace anyplace::test
