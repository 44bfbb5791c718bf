// SPDX-License-Identifier: Apache-2.0
//
// A shared object for the host whose ELF header says to be code for a vendor's device. What that overwrites is kept in
// the padding of e_ident, which the dynamic linker ignores. Needs nothing of a vendor.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace anyplace::doubles {

/// nullopt if it is no 64-bit ELF file, or is for that machine already.
std::optional<std::string> mark_elf(std::string_view host_image, uint16_t machine, uint32_t flags);
/// The host image of what mark_elf made; nullopt if it wasn't made by that.
std::optional<std::string> unmark_elf(std::string_view image);
/// Whether mark_elf made it, by its header.
bool is_marked(const Elf64_Ehdr& header) noexcept;
Elf64_Ehdr elf_header(const void* image) noexcept;
/// Whether the bytes begin like an ELF file for that machine; at least 64 of them are there.
bool is_elf_for(const void* image, uint16_t machine) noexcept;
/// The length of the ELF file at `image`, by its own tables.
uint64_t elf_bytes(const void* image) noexcept;

}  // namespace anyplace::doubles
