// SPDX-License-Identifier: Apache-2.0
//
// The plugin that Clang loads: `clang++ -fpass-plugin=libanyplace_clang_loops_14.so -DANYPLACE_BARRIER_LOOPS=1`. It
// runs before all optimisation, which then finds loops. Each kernel is remarked upon: -Rpass=anyplace-loops says which
// became loops, -Rpass-missed=anyplace-loops which keep their stacks, and why.
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include "block_function.h"
#include "joined_blocks.h"
#include "llvm_support.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

constexpr const char* remark_name = "anyplace-loops";
// The code of a region may be copied thirteen times for parts of rows; a kernel beyond this stays as it is.
constexpr size_t most_regions = 100;
constexpr unsigned most_instructions = 20'000;

/// The kernel's own name, of that of Export<&name>::run_thread.
std::string kernel_name(const Function& run_thread) {
  const std::string full = demangle(run_thread.getName().str());
  const size_t begin = full.find_first_not_of("&(", full.find('<') + 1);
  if (full.find('<') == std::string::npos || begin == std::string::npos) return full;
  return full.substr(begin, full.find_first_of("(,>", begin) - begin);
}

class LoopsPass : public PassInfoMixin<LoopsPass> {
 public:
  static bool isRequired() { return true; }

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& manager) {
    Function* const hook = module.getFunction(hook_name);
    if (hook == nullptr) return PreservedAnalyses::all();
    auto& analyses = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    SmallVector<CallBase*> calls;
    for (User* user : hook->users()) {
      if (auto* call = dyn_cast<CallBase>(user)) calls.push_back(call);
    }
    for (CallBase* call : calls) replace(*call, analyses);
    bool broken_lines = false;  // Clang leaves out debug information that isn't valid
    if (verifyModule(module, &errs(), &broken_lines)) {
      report_fatal_error("anyplace: the loops of a kernel aren't valid; ANYPLACE_BARRIER_LOOPS=OFF keeps stacks");
    }
    return PreservedAnalyses::none();
  }

 private:
  struct Loops {
    Function* block;      ///< null if the kernel keeps its stacks
    bool joins;           ///< it runs as many blocks as it is told
    std::string refusal;  ///< why the kernel keeps them
  };

  /// Replaces a call of the hook by the loops and true, or by false.
  static void replace(CallBase& call, FunctionAnalysisManager& analyses) {
    auto& run_thread = *cast<Function>(call.getArgOperand(0)->stripPointerCasts());
    const Loops loops = make_loops(run_thread, analyses);
    Function* const block = loops.block;
    remark(call, run_thread, loops);
    call.replaceAllUsesWith(ConstantInt::getBool(call.getContext(), block != nullptr));
    IRBuilder<> builder(&call);
    auto* const invoke = dyn_cast<InvokeInst>(&call);
    if (block != nullptr) {
      Module& module = *block->getParent();
      Value* const state = builder.CreateBitCast(address_of_state(module, builder), byte_pointer(call.getContext()));
      Value* const arguments[] = {state, call.getArgOperand(1), number_of_blocks(call, builder, loops.joins)};
      if (invoke != nullptr) {
        builder.CreateInvoke(block, invoke->getNormalDest(), invoke->getUnwindDest(), arguments);
      } else {
        builder.CreateCall(block, arguments);
      }
    } else if (invoke != nullptr) {
      builder.CreateBr(invoke->getNormalDest());
      invoke->getUnwindDest()->removePredecessor(invoke->getParent());
    }
    call.eraseFromParent();
  }

  static Value* address_of_state(Module& module, [[maybe_unused]] IRBuilder<>& builder) {
    GlobalVariable* const state = module.getNamedGlobal(block_state_name);
#if LLVM_VERSION_MAJOR >= 16
    return builder.CreateThreadLocalAddress(state);
#else
    return state;
#endif
  }

  /// What *blocks says when the loops begin: the caller's number, or 1 if blocks aren't joined. The report of a fault
  /// reads it, so it is written before the kernel runs.
  static Value* number_of_blocks(CallBase& call, IRBuilder<>& builder, bool joins) {
    Value* const blocks = call.getArgOperand(2);
    if (joins) return builder.CreateLoad(builder.getInt32Ty(), blocks);
    builder.CreateStore(builder.getInt32(1), blocks, true);
    return builder.getInt32(1);
  }

  static Loops make_loops(Function& run_thread, FunctionAnalysisManager& analyses) {
    const ThreadFunction thread = make_thread_function(run_thread, analyses);
    if (thread.function == nullptr) return {nullptr, false, thread.refusal};
    const TargetTransformInfo& target = analyses.getResult<TargetIRAnalysis>(run_thread);
    const auto bits = target.getRegisterBitWidth(TargetTransformInfo::RGK_FixedWidthVector).getFixedValue();
    const Loops loops = make_loops(thread, static_cast<unsigned>(bits));
    thread.function->eraseFromParent();
    return loops;
  }

  /// Refuses a kernel that would become too large. Finding the regions takes time, too, so it is known before that
  /// there are more of them than barriers.
  static Loops make_loops(const ThreadFunction& thread, unsigned vector_bits) {
    const Loops too_large{nullptr, false, "it is too large"};
    const auto is_large = [&](size_t regions) {
      return regions > most_regions || thread.function->getInstructionCount() * regions > most_instructions;
    };
    if (is_large(1 + count_if(instructions(*thread.function), [](Instruction& i) { return is_barrier(&i); }))) {
      return too_large;
    }
    Regions regions(*thread.function);
    if (is_large(regions.list().size())) return too_large;
    const LiveAcross live(regions);
    if (regions.parted() && !is_large(2 * regions.list().size())) {
      return {make_block_function_of_usual_size(thread, regions, live, vector_bits), false, {}};
    }
    const bool joins = blocks_can_be_joined(thread, regions);
    return {make_block_function(thread, regions, live, joins), joins, {}};
  }

  static void remark(const CallBase& call, const Function& run_thread, const Loops& loops) {
    OptimizationRemarkEmitter emitter(call.getFunction());
    const DiagnosticLocation where(run_thread.getSubprogram());
    const std::string name = kernel_name(run_thread);
    if (loops.block != nullptr) {
      emitter.emit(OptimizationRemark(remark_name, "Loops", where, call.getParent())
                   << "kernel " << name << " runs as loops over the threads of "
                   << (loops.joins ? "neighbouring blocks" : "a block"));
    } else {
      emitter.emit(OptimizationRemarkMissed(remark_name, "Stacks", where, call.getParent())
                   << "kernel " << name << " keeps a stack for each thread: " << loops.refusal);
    }
  }
};

}  // namespace

}  // namespace anyplace::clang_loops

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  const auto add = [](llvm::PassBuilder& builder) {
    builder.registerPipelineStartEPCallback(
        [](llvm::ModulePassManager& passes, auto) { passes.addPass(anyplace::clang_loops::LoopsPass()); });
  };
  return {LLVM_PLUGIN_API_VERSION, "anyplace-loops", LLVM_VERSION_STRING, add};
}
