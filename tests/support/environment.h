// SPDX-License-Identifier: Apache-2.0
// Environment variables for a test. Each case is a process of its own, so set them before the first use of a backend.
#pragma once

#include <cstdlib>
#include <string>

namespace test {

inline void set_env(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
inline void unset_env(const char* name) { ::unsetenv(name); }

}  // namespace test
