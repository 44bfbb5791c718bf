// SPDX-License-Identifier: Apache-2.0
// The layers `outer` and `inner` (WATCHER_NAME): pass all calls on, and say which they saw (watched.h). With the
// variable WATCHER_REFUSES one of that name can't be put over a backend.
#include <anyplace/backend/kit/layer.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "watched.h"

namespace {

using anyplace::backend::EntryOf;
using anyplace::backend::Failure;
using anyplace::backend::Host;
using anyplace::backend::Layer;

const std::string name = WATCHER_NAME;

class Watcher : public Layer {
 public:
  Watcher(Host host, const anyplace_backend_table& next) : Layer(host, next), watched_(test::Watched::published()) {
    const char* const refuses = std::getenv("WATCHER_REFUSES");
    if (refuses != nullptr && name == refuses) throw Failure(ANYPLACE_STATUS_UNSUPPORTED, "it was told to refuse");
    say("over " + std::string(next.name));
  }

  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    say(std::string(EntryOf<Entry>::name) + " begins");
    const anyplace_status status = pass_on<Entry>(args...);
    say(std::string(EntryOf<Entry>::name) + " ends");
    return status;
  }
  /// An entry that the layer has by name.
  anyplace_status event_query(anyplace_event event, std::int32_t* done) {
    say("asks");
    return pass_on<&anyplace_backend_table::event_query>(event, done);
  }
  void begin(anyplace_backend_table& table) {
    say(table.event_record == nullptr ? "no records" : "the table is whole");
  }

  /// At exit the test's list may be gone.
  void end() {
    const std::string line = name + " ends\n";
    if (std::getenv("WATCHER_SAYS_END") != nullptr) static_cast<void>(!::write(2, line.data(), line.size()));
  }

  static void annotation(const anyplace_annotation& what) {
    test::Watched* const watched = test::Watched::published();
    if (watched == nullptr) return;
    const std::string text(what.name, what.name_bytes);
    if (text == "throw") throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, "it was told to throw");
    watched->add(name + ": annotation " + std::to_string(what.kind) + " '" + text + "', depth " +
                 std::to_string(what.depth) + (*what.domain == '\0' ? "" : std::string(", domain ") + what.domain));
  }

  static std::string command(std::string_view command, std::string_view argument) {
    if (command != "repeat") throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, "it knows repeat only\nask it that");
    return std::string(argument) + std::string(argument);
  }

 private:
  void say(const std::string& what) {
    if (watched_ != nullptr) watched_->add(name + ": " + what);
  }

  test::Watched* const watched_;
};

}  // namespace

ANYPLACE_EXPORT_LAYER(Watcher, WATCHER_NAME, "1.0", "Says what it sees", "WATCHED WATCHER_REFUSES")
