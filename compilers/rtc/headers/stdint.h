// SPDX-License-Identifier: Apache-2.0
// For compilers that have no standard library of their own: everything is in device_code.h, which is included first.
#pragma once
