// SPDX-License-Identifier: Apache-2.0
// Enough of XML to read a JUnit report strictly: elements, attributes, text and character references.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace anyplace::test {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
  std::vector<Element> children;

  /// Every element of that name below this one.
  std::vector<const Element*> all(const std::string& wanted) const;
};

/// Throws std::runtime_error if it isn't well-formed.
Element parse_xml(const std::string& text);

}  // namespace anyplace::test
