// SPDX-License-Identifier: Apache-2.0
// CMake wants what targets share to be there for each language of those who share it.
#include <stddef.h>

typedef size_t anyplace_nothing;
