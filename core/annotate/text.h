// SPDX-License-Identifier: Apache-2.0
// CallText: the text of an annotation for tools, ending with '\0' and bounded. A C string is taken as it is; other text
// is copied, without an allocation if it is short.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "anyplace/annotate.h"
#include "runtime/text.h"

namespace anyplace::detail {

class CallText {
 public:
  /// The text for tools is made only if `for_tools`.
  CallText(annotate::Name name, bool for_tools) noexcept : view_(name.view()) {
    if (!for_tools) return;
    if (name.is_c_string() && view_.size() <= text_limit) {
      text_ = view_.data();
      return;
    }
    const std::string_view shown = view_.substr(0, whole_characters(std::min(view_.size(), text_limit)));
    if (shown.size() >= short_.size()) {
      try {
        text_ = long_.assign(shown).c_str();
        return;
      } catch (const std::bad_alloc&) {  // the beginning is copied instead
      }
    }
    const std::size_t bytes = std::min(shown.size(), short_.size() - 1);
    std::memcpy(short_.data(), shown.data(), bytes);
    short_[bytes] = '\0';
    text_ = short_.data();
  }
  CallText(const CallText&) = delete;  // it refers to itself
  CallText& operator=(const CallText&) = delete;

  std::string_view view() const noexcept { return view_; }
  const char* c_str() const noexcept { return text_; }

 private:
  /// `bytes`, or up to 3 fewer so that no character of UTF-8 is cut in two.
  std::size_t whole_characters(std::size_t bytes) const noexcept {
    if (bytes == view_.size()) return bytes;
    std::size_t cut = bytes;
    while (cut > 0 && bytes - cut < 4 && (static_cast<unsigned char>(view_[cut]) & 0xc0u) == 0x80u) --cut;
    return (static_cast<unsigned char>(view_[cut]) & 0xc0u) == 0x80u ? bytes : cut;
  }

  std::string_view view_;
  const char* text_ = "";
  std::string long_;
  std::array<char, 256> short_;
};

}  // namespace anyplace::detail
