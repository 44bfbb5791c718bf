// SPDX-License-Identifier: Apache-2.0
#include "thread_function.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "addresses.h"
#include "llvm_support.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

// A variable in shared memory becomes a variable on the stack of the worker, which has megabytes.
constexpr uint64_t most_shared_bytes = 256 << 10;
constexpr int most_inlined_calls = 2000;
constexpr unsigned small_function = 300;  // instructions
constexpr uint64_t most_alignment = 64;   // of what a thread keeps across barriers, in bytes
constexpr uint64_t most_input_bytes = 4096;

/// `__shared__` variables are thread_local on the host, and have no value to begin with.
bool is_shared_variable(const GlobalVariable& variable) {
  if (!variable.isThreadLocal() || !variable.hasInitializer()) return false;
  return variable.getInitializer()->isNullValue() || isa<UndefValue>(variable.getInitializer());
}

/// All functions, constants and variables through which a block's state, a barrier or shared memory can be reached.
SmallPtrSet<const Value*, 32> users_of_the_block(Module& module) {
  SmallVector<Value*> work;
  if (GlobalVariable* state = module.getNamedGlobal(block_state_name)) work.push_back(state);
  if (Function* barrier = module.getFunction(barrier_name)) work.push_back(barrier);
  if (Function* warp = module.getFunction(warp_name)) work.push_back(warp);
  for (GlobalVariable& variable : module.globals()) {
    if (is_shared_variable(variable)) work.push_back(&variable);
  }
  SmallPtrSet<const Value*, 32> users;
  while (!work.empty()) {
    for (User* user : work.pop_back_val()->users()) {
      auto* instruction = dyn_cast<Instruction>(user);
      Value* next = instruction != nullptr ? static_cast<Value*>(instruction->getFunction()) : user;
      if (users.insert(next).second) work.push_back(next);
    }
  }
  return users;
}

// -- Inlining.

/// Whether both are compiled for the same processor. A function for another one must stay apart.
bool same_processor(const Function& a, const Function& b) {
  return all_of(ArrayRef<StringRef>{"target-cpu", "target-features"},
                [&](StringRef name) { return a.getFnAttribute(name) == b.getFnAttribute(name); });
}

/// Inlines all calls of `users`, and of small functions. Returns what can't be inlined and would have to be.
class Inliner {
 public:
  explicit Inliner(const SmallPtrSet<const Value*, 32>& users) : users_(users) {}

  std::string run(Function& function) {
    SmallVector<CallBase*> work;
    for (Instruction& i : instructions(function)) {
      if (auto* call = dyn_cast<CallBase>(&i)) work.push_back(call);
    }
    for (int left = most_inlined_calls; !work.empty();) {
      CallBase* const call = work.pop_back_val();
      Function* const callee = call->getCalledFunction();
      if (callee == nullptr || callee->isDeclaration() || callee->isInterposable()) continue;
      const bool needed = users_.count(callee) != 0;
      if (!needed && !is_worth_it(*callee, left)) continue;
      InlineFunctionInfo info;
      if (!same_processor(function, *callee) || --left == 0 || !InlineFunction(*call, info).isSuccess()) {
        if (needed) {
          return "a function that is recursive, very large or for another processor uses the thread's position, shared "
                 "memory or barriers";
        }
        continue;
      }
      append_range(work, info.InlinedCallSites);
    }
    return {};
  }

 private:
  /// Whether a function that needn't be inlined is: a call in a loop keeps it from being vectorised.
  static bool is_worth_it(const Function& callee, int left) {
    return callee.getInstructionCount() <= small_function && left > most_inlined_calls / 10 &&
           !callee.hasFnAttribute(Attribute::NoInline);
  }

  const SmallPtrSet<const Value*, 32>& users_;
};

/// Whether a function that uses the block could be called over `constant`: it is its address, or a table that holds it.
bool leads_to_user(const Constant* constant, const SmallPtrSet<const Value*, 32>& users) {
  const Value* const base = getUnderlyingObject(constant);
  return (isa<Function>(base) || isa<GlobalVariable>(base)) && users.count(base) != 0;
}

/// Whether `constant` is the mark that a thread_local variable has been constructed. It is no shared memory, but it
/// looks like some.
bool is_mark_of_constructor(const Constant* constant) {
  const auto* const variable = dyn_cast<GlobalVariable>(getUnderlyingObject(constant));
  return variable != nullptr && variable->isThreadLocal() && variable->getName().take_front(4) == "_ZGV";
}

/// Why the inlined kernel can't be cut; empty if it can. What is called by an address could meet a barrier.
std::string refusal_of(Function& function, const SmallPtrSet<const Value*, 32>& users) {
  bool barriers = false;
  bool unbounded = false;
  bool aligned = false;
  for (Instruction& i : instructions(function)) {
    barriers |= is_barrier(&i);
    if (auto* local = dyn_cast<AllocaInst>(&i)) {
      unbounded |= !local->isStaticAlloca();
      aligned |= local->getAlign().value() > most_alignment;
    }
    auto* const call = dyn_cast<CallBase>(&i);
    const bool jumps = isa<IndirectBrInst>(i) || isa<CallBrInst>(i);
    if (jumps || (call != nullptr && call->hasFnAttr(Attribute::ReturnsTwice))) return "it jumps to addresses";
    if (call != nullptr && call->isIndirectCall() && !call->isInlineAsm()) return "it calls a function by its address";
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == warp_name) {
      return "it uses the functions of a warp";
    }
    if (call != nullptr && call->getCalledFunction() != nullptr && users.count(call->getCalledFunction()) != 0) {
      return "it calls a function that can't be inlined";
    }
    for (const Use& operand : i.operands()) {
      const auto* constant = dyn_cast<Constant>(operand.get());
      if (constant == nullptr || (call != nullptr && call->isCallee(&operand))) continue;
      if (leads_to_user(constant, users)) return "it takes the address of a function that uses the block";
      if (is_mark_of_constructor(constant)) return "it has shared memory with a constructor";
    }
  }
  if (barriers && unbounded) return "it has barriers and local memory of a size that isn't constant";
  if (barriers && aligned) return "it has barriers and local memory that is aligned to more than 64 bytes";
  return {};
}

// -- Shared memory and the block's state become arguments.

bool mentions(const Value* value, const GlobalVariable* global) {
  if (value == global) return true;
  auto* const expression = dyn_cast<ConstantExpr>(value);
  return expression != nullptr &&
         any_of(expression->operands(), [&](const Use& o) { return mentions(o.get(), global); });
}

/// `value`, with `with` instead of `global` in it; instructions that a constant expression becomes go before `before`.
Value* expand(Value* value, GlobalVariable* global, Value* with, Instruction* before) {
  if (!mentions(value, global)) return value;
  if (value == global) return with;
  Instruction* const made = cast<ConstantExpr>(value)->getAsInstruction();
  made->insertBefore(before);
  for (Use& operand : made->operands()) operand.set(expand(operand.get(), global, with, made));
  return made;
}

void replace_global(Function& function, GlobalVariable* global, Value* with) {
  SmallVector<Instruction*> all;
  for (Instruction& i : instructions(function)) all.push_back(&i);
  for (Instruction* i : all) {
    if (is_thread_local_address(i) && cast<CallInst>(i)->getArgOperand(0) == global) {
      i->replaceAllUsesWith(with);
      i->eraseFromParent();
      continue;
    }
    auto* const phi = dyn_cast<PHINode>(i);
    for (Use& operand : i->operands()) {
      Instruction* const before = phi != nullptr ? phi->getIncomingBlock(operand)->getTerminator() : i;
      operand.set(expand(operand.get(), global, with, before));
    }
  }
}

SmallVector<GlobalVariable*> shared_variables_of(Function& function) {
  SmallVector<GlobalVariable*> found;
  uint64_t bytes = 0;
  for (GlobalVariable& variable : function.getParent()->globals()) {
    if (!is_shared_variable(variable)) continue;
    const bool used = any_of(instructions(function), [&](Instruction& i) {
      return any_of(i.operands(), [&](const Use& operand) { return mentions(operand.get(), &variable); });
    });
    if (!used) continue;
    bytes += function.getParent()->getDataLayout().getTypeAllocSize(variable.getValueType());
    if (bytes <= most_shared_bytes) found.push_back(&variable);
  }
  return found;
}

/// `from` with another list of arguments, in which its own begin at `first`. `map` says what became of its
/// instructions.
Function* clone_with_arguments(Function& from, ArrayRef<Type*> types, unsigned first, ValueToValueMapTy& map) {
  auto* const type = FunctionType::get(Type::getVoidTy(from.getContext()), types, false);
  Function* const made = Function::Create(type, GlobalValue::InternalLinkage, "anyplace.thread", from.getParent());
  for (Argument& argument : from.args()) map[&argument] = made->getArg(argument.getArgNo() + first);
  SmallVector<ReturnInst*> returns;
  CloneFunctionInto(made, &from, map, CloneFunctionChangeType::LocalChangesOnly, returns);
  return made;
}

/// Of a thread's own copy of BlockState, in which its position is written, SROA leaves only what is read.
void give_own_state(Function& thread, GlobalVariable* state) {
  IRBuilder<> builder(&*thread.getEntryBlock().getFirstInsertionPt());
  AllocaInst* const own = builder.CreateAlloca(state->getValueType(), nullptr, "state");
  const uint64_t bytes = thread.getParent()->getDataLayout().getTypeAllocSize(state->getValueType());
  builder.CreateMemCpy(own, own->getAlign(), thread.getArg(state_address), Align(8), bytes);
  for (unsigned axis = 0; axis < 3; ++axis) {
    Value* const at = address_at(builder, own, thread_offset + 4 * axis, builder.getInt32Ty());
    builder.CreateStore(thread.getArg(thread_x + axis), at);
  }
  replace_global(thread, state, own);
}

// -- Simplification, and inputs.

void simplify(Function& thread, FunctionAnalysisManager& analyses) {
  FunctionPassManager passes;
  passes.addPass(sroa());
  passes.addPass(EarlyCSEPass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  passes.addPass(sroa());
  passes.addPass(SimplifyCFGPass());
  passes.run(thread, analyses);
  analyses.clear(thread, thread.getName());
}

/// Loads from memory that no thread writes become arguments behind those that are there. A load from beyond the largest
/// parameters, as of an element that a table doesn't have, stays where it is: no thread may ever come to it.
Function* take_inputs(Function& thread, SmallVector<Input>& inputs) {
  const DataLayout& layout = thread.getParent()->getDataLayout();
  SmallVector<std::pair<LoadInst*, size_t>> loads;
  for (Instruction& i : instructions(thread)) {
    auto* const load = dyn_cast<LoadInst>(&i);
    if (load == nullptr || !load->isSimple()) continue;
    APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperand()->getType()), 0);
    auto* const base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    for (unsigned from : {state_address, values_address}) {
      if (base != thread.getArg(from) || offset.uge(most_input_bytes)) continue;
      const Input input{from, offset.getZExtValue(), load->getType()};
      const auto* same = find_if(inputs, [&](const Input& other) {
        return other.base == input.base && other.offset == input.offset && other.type == input.type;
      });
      loads.emplace_back(load, same - inputs.begin());
      if (same == inputs.end()) inputs.push_back(input);
    }
  }
  SmallVector<Type*> types;
  for (Argument& argument : thread.args()) types.push_back(argument.getType());
  for (const Input& input : inputs) types.push_back(input.type);
  ValueToValueMapTy map;
  Function* const made = clone_with_arguments(thread, types, 0, map);
  for (auto& [load, index] : loads) {
    auto* const copy = cast<Instruction>(map[load]);
    copy->replaceAllUsesWith(made->arg_begin() + static_cast<std::ptrdiff_t>(thread.arg_size() + index));
    RecursivelyDeleteTriviallyDeadInstructions(copy);  // with the computation of its address
  }
  thread.eraseFromParent();
  return made;
}

/// Loops get one latch and exits of their own. An invoke's result is stored at the beginning of its normal destination,
/// where nobody else may come then.
void prepare_control_flow(Function& thread, FunctionAnalysisManager& analyses) {
  SmallVector<InvokeInst*> with_shared_destination;
  for (Instruction& i : instructions(thread)) {
    auto* const invoke = dyn_cast<InvokeInst>(&i);
    if (invoke != nullptr && invoke->getNormalDest()->getSinglePredecessor() == nullptr) {
      with_shared_destination.push_back(invoke);
    }
  }
  for (InvokeInst* invoke : with_shared_destination) SplitEdge(invoke->getParent(), invoke->getNormalDest());
  FunctionPassManager passes;
  passes.addPass(LoopSimplifyPass());
  passes.addPass(LCSSAPass());
  passes.run(thread, analyses);
  analyses.clear(thread, thread.getName());
  for (Instruction& i : make_early_inc_range(instructions(thread))) {
    drop_variable_locations(i);
    if (isa<DbgInfoIntrinsic>(i)) i.eraseFromParent();
  }
}

/// Nothing is thrown by a barrier of loops, and none may be moved to where fewer threads meet it.
void prepare_barriers(Function& thread) {
  SmallVector<CallBase*> barriers;
  for (Instruction& i : instructions(thread)) {
    if (is_barrier(&i)) barriers.push_back(cast<CallBase>(&i));
  }
  for (CallBase* barrier : barriers) {
    barrier->addFnAttr(Attribute::Convergent);
    barrier->addFnAttr(Attribute::NoDuplicate);
    barrier->addFnAttr(Attribute::NoUnwind);
    if (auto* invoke = dyn_cast<InvokeInst>(barrier)) changeToCall(invoke);
  }
}

}  // namespace

bool is_barrier(const Value* value) {
  auto* const call = dyn_cast<CallBase>(value);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName() == barrier_name;
}

ThreadFunction make_thread_function(Function& run_thread, FunctionAnalysisManager& analyses) {
  ThreadFunction result;
  if (run_thread.hasOptNone()) {
    result.refusal = "it is compiled without optimisation";
    return result;
  }
  LLVMContext& context = run_thread.getContext();
  const SmallPtrSet<const Value*, 32> users = users_of_the_block(*run_thread.getParent());
  ValueToValueMapTy map;
  Function* const inlined = CloneFunction(&run_thread, map);
  result.refusal = Inliner(users).run(*inlined);
  removeUnreachableBlocks(*inlined);
  if (result.refusal.empty()) result.refusal = refusal_of(*inlined, users);
  if (!result.refusal.empty()) {
    inlined->eraseFromParent();
    return result;
  }
  prepare_barriers(*inlined);
  result.shared = shared_variables_of(*inlined);

  SmallVector<Type*> types(3, Type::getInt32Ty(context));
  types.append(2, byte_pointer(context));
  for (GlobalVariable* variable : result.shared) types.push_back(variable->getType());
  ValueToValueMapTy arguments;
  Function* thread = clone_with_arguments(*inlined, types, values_address, arguments);
  inlined->eraseFromParent();
  auto* address = thread->arg_begin() + first_shared;
  for (GlobalVariable* variable : result.shared) replace_global(*thread, variable, address++);
  if (auto* state = thread->getParent()->getNamedGlobal(block_state_name)) give_own_state(*thread, state);
  simplify(*thread, analyses);
  widen_sums(*thread);
  thread = take_inputs(*thread, result.inputs);
  prepare_control_flow(*thread, analyses);
  result.function = thread;
  return result;
}

}  // namespace anyplace::clang_loops
