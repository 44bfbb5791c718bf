// SPDX-License-Identifier: Apache-2.0
// Makes LLVM's text of a program for OpenCL one for the host, whose kernels cpu_sim calls.
#pragma once

#include <string>
#include <string_view>

namespace anyplace::compilers {

/// `text` is what Clang writes (-S -emit-llvm) of llvm-spirv's bitcode. In what comes out there is one address space,
/// local memory is a variable of the host's thread, and each kernel is a function of the form of anyplace_host_kernel
/// beside its NAME_parameters (docs/cpu_sim.md). OpenCL's functions are called, but not there: they are those of
/// functions/, by their names without address spaces.
/// `has_pointer_types` says whether `text` has the types of pointers, as Clang 14 and 15 write them, or `ptr`.
std::string host_ir_of(std::string_view text, bool has_pointer_types);

}  // namespace anyplace::compilers
