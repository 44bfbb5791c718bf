// SPDX-License-Identifier: Apache-2.0
//
// What this room needs of LLVM beyond its own interface: what differs between versions 14 to 19, and the names that are
// shared with device_code/host_block.h.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace anyplace::clang_loops {

/// `bool anyplace_run_as_loops(void (*run_thread)(const void*), const void* values, uint32_t* blocks)`: a call is
/// replaced by the loops.
inline constexpr llvm::StringLiteral hook_name = "anyplace_run_as_loops";
/// `void* anyplace_loops_scratch(size_t bytes)`: memory for what each thread keeps across regions, aligned to 64 bytes.
inline constexpr llvm::StringLiteral scratch_name = "anyplace_loops_scratch";
/// `void anyplace_meet_warp(WarpExchange*)`: lanes of a warp wait there for each other, each on its stack.
inline constexpr llvm::StringLiteral warp_name = "anyplace_meet_warp";
/// anyplace::device_code::block_state and anyplace::device_code::barrier().
inline constexpr llvm::StringLiteral block_state_name = "_ZN8anyplace11device_code11block_stateE";
inline constexpr llvm::StringLiteral barrier_name = "_ZN8anyplace11device_code7barrierEv";

/// Where BlockState has the positions of the thread and the block, and the block's size, three 32-bit numbers each.
inline constexpr unsigned thread_offset = 0;
inline constexpr unsigned block_offset = 12;
inline constexpr unsigned block_size_offset = 24;
/// Where it has the address of dynamic shared memory.
inline constexpr unsigned shared_offset = 48;

inline llvm::PointerType* byte_pointer(llvm::LLVMContext& context) {
  return llvm::PointerType::get(llvm::Type::getInt8Ty(context), 0);
}

/// The address `offset` bytes behind `base`, as a pointer to `type`. LLVM 14 has pointers with types.
inline llvm::Value* address_at(llvm::IRBuilder<>& builder, llvm::Value* base, uint64_t offset, llvm::Type* type) {
  llvm::Value* bytes = builder.CreateBitCast(base, byte_pointer(builder.getContext()));
  bytes = builder.CreateInBoundsGEP(builder.getInt8Ty(), bytes, builder.getInt64(offset));
  return builder.CreateBitCast(bytes, llvm::PointerType::get(type, 0));
}

inline llvm::SROAPass sroa() {
#if LLVM_VERSION_MAJOR >= 16
  return llvm::SROAPass(llvm::SROAOptions::ModifyCFG);
#else
  return llvm::SROAPass();
#endif
}

/// Since LLVM 16 the address of a thread_local variable is the result of an intrinsic.
inline bool is_thread_local_address([[maybe_unused]] const llvm::Value* value) {
#if LLVM_VERSION_MAJOR >= 16
  auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address;
#else
  return false;
#endif
}

/// Where what belongs to no line of the kernel is said to be; nothing if `function` has no debug information.
inline llvm::DebugLoc debug_location_of(const llvm::Function& function) {
  llvm::DISubprogram* const subprogram = function.getSubprogram();
  if (subprogram == nullptr) return {};
  return llvm::DILocation::get(function.getContext(), subprogram->getLine(), 0, subprogram);
}

/// The names and places of variables in debug information; lines stay.
inline void drop_variable_locations([[maybe_unused]] llvm::Instruction& instruction) {
#if LLVM_VERSION_MAJOR >= 19
  instruction.dropDbgRecords();
#endif
}

}  // namespace anyplace::clang_loops
