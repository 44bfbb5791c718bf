// SPDX-License-Identifier: Apache-2.0
//
// The entries that the adapter has, declared as UR declares them, in a namespace of their own: the loader has functions
// of the same names.
#pragma once

#include <unified-runtime/ur_api.h>

namespace anyplace_ur {

#define ENTRY(table, member, function) decltype(::function) function;
#include "entries.def"
#undef ENTRY

}  // namespace anyplace_ur
