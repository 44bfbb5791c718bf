// SPDX-License-Identifier: Apache-2.0
// Names of OpenCL's functions, which are mangled as those of C++ are: _Z5clampDv4_fS_S_ is clamp(float4, float4,
// float4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::compilers {

struct MangledFunction {
  std::string name;                     ///< "clamp"
  std::vector<std::string> parameters;  ///< mangled, each by itself: "Dv4_f", "PDv4_f", "i"
};
/// Reads a mangled name; none for what isn't one, or has types that OpenCL's functions haven't.
std::optional<MangledFunction> read_mangled(std::string_view name);
/// The other way round.
std::string mangled(const MangledFunction& function);
/// The name by which the host's function is called: without the address spaces of pointers, _Z3addPi for
/// _Z3addPU3AS1i. async_work_group_strided_copy from local to global memory ends with _out there.
std::string host_name_of(std::string_view name);
/// The type of a parameter that is a pointer to numbers or vectors, as LLVM writes it: "<4 x float>*" for "PDv4_f".
std::string ir_pointer_of_mangled(std::string_view type);
/// The element's type for a vector's, and a pointer to that for a pointer: "Pf" for "PDv4_f".
std::string element_of_mangled(const std::string& type);

}  // namespace anyplace::compilers
