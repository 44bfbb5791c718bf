// SPDX-License-Identifier: Apache-2.0
#include "form.h"

const bool levelzero_test::is_behind_loader = ANYPLACE_LEVELZERO_BEHIND_LOADER != 0;
const char* const levelzero_test::double_library = ANYPLACE_LEVELZERO_DOUBLE;
