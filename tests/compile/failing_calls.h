// SPDX-License-Identifier: Apache-2.0
//
// System calls that fail on demand, those on files below one folder. A program that is linked with failing_calls.cpp
// has its own open, read and so on, which libraries that are loaded later use, too; they pass on to the system's.
#pragma once

#include <string>

namespace failing_calls {

/// From now on calls are counted, from 1; the one numbered `first` fails with the error, and with `all_later` each one
/// behind it, too.
void arm(const std::string& folder, long first, bool all_later, int error) noexcept;
/// No call fails any more. Returns how many were made since arm().
long disarm() noexcept;
/// The name of the first call that failed; "" if none did.
const char* failed() noexcept;

}  // namespace failing_calls
