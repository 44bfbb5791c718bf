// SPDX-License-Identifier: Apache-2.0
//
// A compilation's request and result, as the core and anyplace_compile_helper hand them to each other in files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "anyplace/backend/compiler.h"

namespace anyplace::detail {

/// What is to be compiled, for one target by one compiler.
struct CompileJob {
  std::string plugin;   ///< the path of the compiler's plugin
  std::string library;  ///< what its `library` gave
  std::uint32_t format = 0;
  std::string architecture;
  std::string source;
  std::string name;
  std::uint32_t standard = 20;
  std::uint32_t flags = 0;
  std::uint32_t language = ANYPLACE_SOURCE_DIALECT;
  std::vector<std::string> defines, includes, expressions, options;
};

/// What came of it.
struct CompileResult {
  anyplace_status status = ANYPLACE_STATUS_INTERNAL;
  std::string message;  ///< what the compiler left beside a status other than OK and COMPILE_FAILED
  std::string image;
  std::string log;
  std::vector<std::pair<std::string, std::string>> lowered;  ///< expression, and its name in the image
  std::vector<std::string> headers;                          ///< the files that were included
};

std::string to_records(const CompileJob& job);
std::string to_records(const CompileResult& result);
/// None for a text that isn't one.
std::optional<CompileJob> job_of(std::string_view records);
std::optional<CompileResult> result_of(std::string_view records);

}  // namespace anyplace::detail
