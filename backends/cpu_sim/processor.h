// SPDX-License-Identifier: Apache-2.0
//
// The levels of x86-64 (System V ABI, AMD64 supplement, section 3.1.1): which of them this machine's processor has, and
// which of them an image asks for. An image that needs instructions the processor lacks would end the process by
// SIGILL, so it is refused before it is loaded. Other machines have no levels, and refuse nothing here.
#pragma once

#include <anyplace/backend/kit/elf.h>

#include <cstdint>
#include <string>

namespace anyplace::cpu_sim {

/// 0 on other machines; 1 for x86-64 itself, to 4 for x86-64-v4.
int processor_level() noexcept;

/// "x86-64" for 1, "x86-64-v3" for 3; words for what has no name yet.
std::string level_name(int level);

/// The number of a level's name; 0 if there is no such level.
int level_of(const std::string& name) noexcept;

/// Images of levels above this one are refused as if the processor had no more; 0 for no limit but the processor's.
void limit_level(int level) noexcept;

/// The level that the linker's property GNU_PROPERTY_X86_ISA_1_NEEDED says in [offset, offset + bytes) of an image, a
/// segment PT_GNU_PROPERTY that the image holds; 0 if it says none.
int needed_level(const backend::ImageBytes& image, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// Throws Failure(INVALID_IMAGE) if the processor, or what it is limited to, is below the level.
void check_level(int needed);

}  // namespace anyplace::cpu_sim
