// SPDX-License-Identifier: Apache-2.0
#include "run_program.h"

#include <linux/capability.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace example_test {

bool has_terminals() {
  int master = -1, slave = -1;
  if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return false;
  close(master);
  close(slave);
  return true;
}

Run run_program(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words{IMAGE_PIPELINE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto run = [&] {
    if (options.file_size_limit > 0) {
      const rlimit limit{static_cast<rlim_t>(options.file_size_limit), static_cast<rlim_t>(options.file_size_limit)};
      setrlimit(RLIMIT_FSIZE, &limit);
      signal(SIGXFSZ, SIG_IGN);  // writing then fails instead
    }
    // Fails for others than root, who need no such thing.
    if (options.obeys_permissions) prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
    test::execute(words, options.variables, {"ANYPLACE_"});
  };
  return test::Process(run, {.err = options.terminal ? test::Streams::terminal : test::Streams::kept}).end();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace example_test
