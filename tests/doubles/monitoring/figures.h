// SPDX-License-Identifier: Apache-2.0
//
// What the doubles of management libraries (NVML, ROCm SMI) have in common: the figures that they tell, which the
// environment or a test sets; counts of calls and failures on demand, as the other doubles have them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../engine/call_book.h"

namespace anyplace::doubles::monitoring {

/// One of each device, by its physical index; the default of all.
struct Figure {
  const char* name;
  uint64_t otherwise;
};

// Each double defines these.
extern const char* const figures_variable;  ///< "0.power=65000,1.lost=1" in it
// Never destroyed: threads of the process may ask while it exits.
extern const std::vector<Figure>& figures;           ///< that it knows
extern const std::vector<const char*>& entry_names;  ///< that it exports
int number_of_devices();
extern const char* const device_library;  ///< whose devices these are: "libcuda.so.1"

/// The figure now. Ends the process for a name that the double doesn't know.
uint64_t figure(int device, std::string_view name);

/// Counts a call of an entry; what it is to fail with, or 0.
int count(const char* entry) noexcept;

/// What the double of the driver that this process has says of a device: -1 if it has no context of it, else the bytes
/// of its memory that are allocated.
int64_t use_of_device(int physical) noexcept;

}  // namespace anyplace::doubles::monitoring
