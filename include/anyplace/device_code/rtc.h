// SPDX-License-Identifier: Apache-2.0
// What NVRTC lacks of the dialect: the integers of <stdint.h>.
#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef signed short int16_t;
typedef unsigned short uint16_t;
typedef signed int int32_t;
typedef unsigned int uint32_t;
typedef signed long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
typedef signed long intptr_t;
