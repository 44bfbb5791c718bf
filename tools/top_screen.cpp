// SPDX-License-Identifier: Apache-2.0
#include "top_screen.h"

// ncurses is used without its macros, because some have the names of members of other classes.
#define NCURSES_NOMACROS
#include <curses.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "terminal.h"
#include "top_state.h"

namespace anyplace::tool {
namespace {

// A handler may run in any thread, even one of a driver's, so it needn't interrupt wait(). So it writes to a pipe that
// wait() looks at. There is one screen at a time.
std::atomic<int> stop_signal{0};
std::atomic<bool> window_changed{false};
std::array<int, 2> wake_pipe{-1, -1};

extern "C" void top_on_signal(int number) {
  const int kept = errno;
  if (number == SIGWINCH) {
    window_changed = true;
  } else {
    stop_signal = number;
  }
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);  // a full pipe wakes wait(), too
  errno = kept;
}

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGWINCH};

/// Catches the signals before ncurses does, which leaves signals alone that have a handler.
class Signals {
 public:
  Signals() {
    if (pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    stop_signal = 0;
    window_changed = false;
    struct sigaction action {};
    action.sa_handler = top_on_signal;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before_[i]);
    caught_ = true;
  }
  Signals(const Signals&) = delete;  // it restores the former handlers once
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    if (!caught_) return;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
    for (int& end : wake_pipe) {
      close(end);
      end = -1;
    }
  }
  bool caught() const noexcept { return caught_; }

 private:
  bool caught_ = false;
  std::array<struct sigaction, signals.size()> before_{};
};

constexpr short pair_of(Paint paint) noexcept { return static_cast<short>(static_cast<int>(paint) + 1); }

int key_of(int key) {
  switch (key) {
    case KEY_UP:
      return key_up;
    case KEY_DOWN:
      return key_down;
    case KEY_PPAGE:
      return key_page_up;
    case KEY_NPAGE:
      return key_page_down;
    case KEY_HOME:
      return key_home;
    case KEY_BACKSPACE:
      return key_backspace;
    case KEY_ENTER:
      return '\n';
    default:
      return key;
  }
}

class CursesScreen final : public TopScreen {
 public:
  explicit CursesScreen(std::unique_ptr<Signals> caught) : signals_(std::move(caught)) {}
  CursesScreen(const CursesScreen&) = delete;  // one terminal, one owner
  CursesScreen& operator=(const CursesScreen&) = delete;
  ~CursesScreen() override {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }

  /// Takes over the terminal. False if the terminal can't place its cursor.
  bool start() {
    const char* const kind = std::getenv("TERM");
    if (kind == nullptr || *kind == '\0') return false;  // ncurses would take a terminal type without any features
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) return false;
    const char* const address = tigetstr(const_cast<char*>("cup"));
    if (address == nullptr || address == reinterpret_cast<const char*>(-1)) return false;
    set_term(screen_);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    coloured_ = colour_wanted(STDOUT_FILENO) && has_colors();
    if (coloured_) begin_colours();
    return true;
  }

  std::size_t columns() const override { return static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)); }
  std::size_t rows() const override { return static_cast<std::size_t>(std::max(getmaxy(stdscr), 1)); }

  void draw(const std::vector<Line>& lines) override {
    werase(stdscr);
    for (std::size_t row = 0; row < lines.size() && row < rows(); ++row) {
      wmove(stdscr, static_cast<int>(row), 0);
      for (const Span& span : lines[row]) put(span);
    }
    wrefresh(stdscr);
  }

  Waited wait(std::chrono::steady_clock::time_point until) override {
    for (;;) {
      if (stop_signal != 0) return {Event::ended, 0};
      if (window_changed.exchange(false)) {
        fit_window();
        return {Event::resized, 0};
      }
      const int key = wgetch(stdscr);
      if (key == KEY_RESIZE) return {Event::resized, 0};
      if (key != ERR) return {Event::key, key_of(key)};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return {};
      std::array<pollfd, 2> watched{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{wake_pipe[0], POLLIN, 0}};
      poll(watched.data(), watched.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000)));
      std::array<char, 64> bytes;
      while (read(wake_pipe[0], bytes.data(), bytes.size()) > 0) {
      }
      if ((watched[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return {Event::ended, 0};
    }
  }

  int signal() const override { return stop_signal; }

 private:
  void begin_colours() {
    start_color();
    use_default_colors();
    init_pair(pair_of(Paint::name), COLOR_CYAN, -1);
    init_pair(pair_of(Paint::good), COLOR_GREEN, -1);
    init_pair(pair_of(Paint::doubtful), COLOR_YELLOW, -1);
    init_pair(pair_of(Paint::bad), COLOR_RED, -1);
  }

  void put(const Span& span) {
    attr_t attributes = A_NORMAL;
    if (coloured_ && span.paint) {
      const bool bold = *span.paint == Paint::heading || *span.paint == Paint::bad;
      attributes = bold ? A_BOLD : A_NORMAL;
      if (*span.paint != Paint::heading) attributes |= static_cast<attr_t>(COLOR_PAIR(pair_of(*span.paint)));
    }
    wattrset(stdscr, static_cast<int>(attributes));
    waddnstr(stdscr, span.text.data(), static_cast<int>(span.text.size()));
    wattrset(stdscr, A_NORMAL);
  }

  void fit_window() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
      resizeterm(size.ws_row, size.ws_col);
      clearok(stdscr, TRUE);  // the terminal has broken its lines anew, so all of it is drawn again
    }
  }

  std::unique_ptr<Signals> signals_;
  SCREEN* screen_ = nullptr;
  bool coloured_ = false;
};

}  // namespace

std::unique_ptr<TopScreen> TopScreen::open(std::string& why) {
  std::setlocale(LC_CTYPE, "");  // names of processes may have any characters
  auto caught = std::make_unique<Signals>();
  if (!caught->caught()) {
    why = "no pipe can be made";
    return nullptr;
  }
  auto screen = std::make_unique<CursesScreen>(std::move(caught));
  if (screen->start()) return screen;
  const char* const kind = std::getenv("TERM");
  why =
      std::string("the terminal, whose TERM is '") + (kind == nullptr ? "" : kind) +
      "', isn't known to have a cursor that can be moved, so that top has no keys and prints its table again and again";
  return nullptr;
}

}  // namespace anyplace::tool
