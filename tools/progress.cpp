// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "text.h"

namespace anyplace::tool {
namespace {

/// How long a line may be. A longer one could wrap on some terminal, and couldn't be overwritten then.
constexpr std::size_t columns = 78;

void write_to_terminal(std::string_view text) {
  // Progress that the terminal doesn't take is lost, which does no harm.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::stage(std::string name) {
  if (!on_terminal_) return;
  stage_ = std::move(name);
  show(stage_);
}

void Progress::at(std::uint64_t done, std::uint64_t total) {
  if (!is_due() || total == 0) return;
  const auto percent = static_cast<unsigned>(static_cast<double>(done) / static_cast<double>(total) * 100);
  show(stage_ + ": " + std::to_string(percent) + " %");
}

void Progress::count(std::uint64_t done, const char* what) {
  if (is_due()) show(stage_ + ": " + std::to_string(done) + " " + what);
}

bool Progress::is_due() {
  using namespace std::chrono_literals;
  return on_terminal_ && std::chrono::steady_clock::now() - last_ >= 100ms;
}

void Progress::show(const std::string& text) {
  std::string line = printable(text);
  if (line.size() > columns) line = line.substr(0, columns - 3) + "...";
  line.resize(columns, ' ');
  write_to_terminal("\r" + line + "\r");
  shown_ = true;
  last_ = std::chrono::steady_clock::now();
}

void Progress::clear() {
  if (!shown_) return;
  write_to_terminal("\r" + std::string(columns, ' ') + "\r");
  shown_ = false;
}

}  // namespace anyplace::tool
