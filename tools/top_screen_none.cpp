// SPDX-License-Identifier: Apache-2.0
// Replaces top_screen.cpp where there is no ncurses.
#include "top_screen.h"

namespace anyplace::tool {

std::unique_ptr<TopScreen> TopScreen::open(std::string& why) {
  why =
      "this command was built without ncurses, so that top has no keys and prints its table again and again "
      "(Debian: libncurses-dev, at build time)";
  return nullptr;
}

}  // namespace anyplace::tool
