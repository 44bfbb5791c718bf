// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes are a shared object that the dynamic linker can be given. It trusts what it is given: it maps what the
// headers say and reads where the dynamic section points, so an image that is cut short would end the process with
// SIGBUS. So everything that leads it outside the image is refused here first, with the reason.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_ELF_IMAGE_H
#define ANYPLACE_BACKENDS_CPU_SIM_ELF_IMAGE_H

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::cpu_sim {

/// Throws Failure(INVALID_IMAGE) with the reason unless `image` is a shared object for this machine.
void check_shared_object(const void* image, uint64_t bytes);

/// Some of the functions that a checked image exports, for messages: at most `most`, none that begins with '_'.
std::vector<std::string> exported_functions(const void* image, uint64_t bytes, std::size_t most);

/// "x86-64" and the like: the machine this plugin was compiled for.
const char* architecture() noexcept;

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_ELF_IMAGE_H
