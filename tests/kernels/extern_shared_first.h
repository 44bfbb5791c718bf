// SPDX-License-Identifier: Apache-2.0
// Has nothing itself: the header that it includes has.
#pragma once

#include "extern_shared.h"
