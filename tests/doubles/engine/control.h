// SPDX-License-Identifier: Apache-2.0
//
// What a double says of itself to control.cpp, which makes the exported controls (double_control.h) of it. Each double
// defines these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "address_space.h"
#include "call_book.h"
#include "engine.h"
#include "settings.h"

namespace anyplace::doubles {

/// What was made and not given back.
struct Thing {
  const char* kind;
  std::string text;
};

/// The book of this library's entries. Made at the first call, with the failures that the environment asks for.
CallBook& call_book();
/// What is alive. What a device has that failed can't be given back any more, so it doesn't count.
std::vector<Thing> live_things();
uint64_t left_behind();
/// Null before the double has begun.
Engine* engine_if_any() noexcept;
int device_count();
/// What fails together when the device does.
std::vector<std::shared_ptr<FaultDomain>> domains_of_device(int device);
/// The nth kernel from now on that begins on the device faults with `code`.
void set_kernel_fault(int device, uint64_t nth, int code);

/// "host", "registered", "mapping" or "memory".
const char* kind_of(const Block& block) noexcept;

}  // namespace anyplace::doubles
