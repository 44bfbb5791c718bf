// SPDX-License-Identifier: Apache-2.0
//
// The entries of Paddle's device interface, a file for each of its parts. Each function here puts the addresses of its
// file's entries into the table. What every entry has in common: it may be called from any thread, reports what goes
// wrong (report.h), and returns C_SUCCESS or the status that Paddle raises.
#pragma once

#include "paddle/phi/backends/device_ext.h"

namespace anyplace_paddle {

void fill_devices(C_DeviceInterface& table);      ///< devices.cpp
void fill_streams(C_DeviceInterface& table);      ///< streams.cpp: streams and events
void fill_memory(C_DeviceInterface& table);       ///< memory.cpp: allocation
void fill_copies(C_DeviceInterface& table);       ///< copies.cpp: copies and fills
void fill_information(C_DeviceInterface& table);  ///< information.cpp: statistics and properties
void fill_profiler(C_DeviceInterface& table);     ///< profiler.cpp

}  // namespace anyplace_paddle
