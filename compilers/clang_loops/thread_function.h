// SPDX-License-Identifier: Apache-2.0
//
// The function of one thread: the kernel with everything inlined that has to do with the thread's position, barriers
// and shared memory, and with all that the block gives it as arguments. The other files of this room work on that
// function.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/PassManager.h>

#include <string>

namespace llvm {
class Function;
class GlobalVariable;
class Type;
class Value;
}  // namespace llvm

namespace anyplace::clang_loops {

/// The first arguments of the function of one thread. The addresses of `shared` follow, then the values of `inputs`.
enum ThreadArgument : unsigned { thread_x, thread_y, thread_z, state_address, values_address, first_shared };

/// What is the same for all threads of a block and doesn't change: a field of BlockState or a parameter of the kernel.
struct Input {
  unsigned base;  ///< state_address or values_address
  uint64_t offset;
  llvm::Type* type;
};

struct ThreadFunction {
  llvm::Function* function = nullptr;  ///< null if the kernel keeps its stacks
  llvm::SmallVector<llvm::GlobalVariable*> shared;
  llvm::SmallVector<Input> inputs;
  std::string refusal;  ///< why it keeps them
};

/// Makes the function of one thread of `run_thread`, a void(const void* values), which stays as it is.
ThreadFunction make_thread_function(llvm::Function& run_thread, llvm::FunctionAnalysisManager& analyses);

/// Whether `value` is a call of anyplace::device_code::barrier().
bool is_barrier(const llvm::Value* value);

}  // namespace anyplace::clang_loops
