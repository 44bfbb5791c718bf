// SPDX-License-Identifier: Apache-2.0
//
// The form of the double that a program's cases run over. Each program has its own form.cpp; the cases are compiled
// once for both.
#pragma once

namespace levelzero_test {

/// Whether the double is a driver behind the real loader, whose lists have no order of their own, and the validation
/// layer is on; or has the loader's place, with lists that have. By its name it is then found as the loader.
extern const bool is_behind_loader;

/// The double's file.
extern const char* const double_library;

}  // namespace levelzero_test
