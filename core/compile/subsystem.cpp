// SPDX-License-Identifier: Apache-2.0
#include "compile/subsystem.h"

#include "compile/translate.h"

namespace anyplace::detail {

constinit const Subsystem compile_subsystem{.translate_spirv = translate_spirv};

}  // namespace anyplace::detail
