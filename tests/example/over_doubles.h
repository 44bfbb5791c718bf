// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline over the tests' doubles of vendors' libraries, one or several at once: the environment in which its
// backends find them, and what the doubles have to say in the end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "png_files.h"
#include "run_program.h"

namespace example_test {

/// How Level Zero's double is found: as a driver, behind the real loader, or in the loader's place. Its command lists
/// have no order of their own in the former form, and one in the latter.
enum class LevelZero { behind_loader, as_loader };

struct Over {
  std::vector<std::string> backends;  ///< "cuda", "hip", "levelzero"
  LevelZero form = LevelZero::as_loader;
  std::string seed = "0";  ///< of the order in which the doubles run what has none
};

/// Whether all of them were built, and what they need is here; says that the case is skipped if not.
bool is_built(const Over& over);

/// The variables that bring a process over them; each double writes its report into the folder.
test::Variables variables_of(const Over& over, const Folder& folder);

/// The doubles themselves, for a process that loads them before its backends look for theirs.
std::vector<std::string> libraries_of(const Over& over);

/// Nothing of any of them is left and nothing was misused, and each launched a kernel.
void check_reports(const Over& over, const Folder& folder);

/// Runs image_pipeline, which has to succeed. Its output file's bytes.
std::string blur(const Folder& folder, const std::string& in, const std::vector<std::string>& options,
                 const RunOptions& how = {});

/// The same over the doubles, whose reports are checked.
std::string blur_over(const Over& over, const Folder& folder, const std::string& in,
                      const std::vector<std::string>& options);

/// With each of the options, and each seed of the doubles' order, the pixels are those that cpu_sim makes.
void check_pixels(Over over, const Stored& picture, const std::vector<std::vector<std::string>>& options,
                  const std::vector<std::string>& seeds = {"0"});

}  // namespace example_test
