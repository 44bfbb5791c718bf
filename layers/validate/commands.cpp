// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <anyplace/backend/device_backend.h>

namespace anyplace::validate {

using backend::Failure;

std::string run_command(Engine& engine, std::string_view name, std::string_view argument) {
  std::string word(name);
  std::string rest(argument);
  if (const std::size_t blank = word.find(' '); blank != std::string::npos && rest.empty()) {
    rest = word.substr(blank + 1);
    word.resize(blank);
  }
  if (word == "mode") {
    engine.reports.set_mode(parse_mode(rest));
    return "";
  }
  if (!rest.empty()) {
    throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                  "the command " + word + " takes no argument, and got '" + rest + "'\nsee docs/layers.md");
  }
  if (word == "flush") {
    engine.reports.flush();
  } else if (word == "reports") {
    return engine.reports.json();
  } else if (word == "sarif") {
    return engine.reports.sarif();
  } else if (word == "statistics") {
    return engine.statistics();
  } else if (word == "clear") {
    engine.reports.clear();
  } else {
    throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                  "there is no command " + word +
                      "\ncommands are flush, reports, sarif, statistics, clear and mode "
                      "log|throw|abort\nsee docs/layers.md");
  }
  return "";
}

}  // namespace anyplace::validate
