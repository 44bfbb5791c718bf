// SPDX-License-Identifier: Apache-2.0
#include "application_kernels.h"
