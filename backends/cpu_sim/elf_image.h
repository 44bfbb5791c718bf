// SPDX-License-Identifier: Apache-2.0
//
// Checks whether bytes are a shared object that the dynamic linker can be given. The linker trusts its input: it maps
// what the headers say and reads where the dynamic section points, so a truncated image would end the process with
// SIGBUS. An image that would lead it outside the image is refused here first, with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::cpu_sim {

/// Throws Failure(INVALID_IMAGE) with the reason unless `image` is a shared object for this machine.
void check_shared_object(const void* image, std::uint64_t bytes);

/// Returns at most `most` functions that a checked image exports, for messages. Names that begin with '_' are left out.
std::vector<std::string> exported_functions(const void* image, std::uint64_t bytes, std::size_t most);

/// Names the machine that this plugin was compiled for: "x86-64" and the like.
const char* architecture() noexcept;

}  // namespace anyplace::cpu_sim
