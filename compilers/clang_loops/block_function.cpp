// SPDX-License-Identifier: Apache-2.0
#include "block_function.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>

#include "llvm_support.h"
#include "region_function.h"
#include "rows.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

/// How many threads a block is known to have along each axis; 0 where it may have any number.
using KnownSize = std::array<unsigned, 3>;

constexpr uint64_t most_threads = 1024;  // of a block
constexpr uint64_t cache_line = 64;      // bytes
constexpr unsigned tile_row = 16;        // threads
constexpr KnownSize of_tile{tile_row, 0, 0}, of_line{256, 1, 1}, of_any{};

/// A void(BlockState*, const void* values, uint32_t blocks) without a body.
Function* create_function(const ThreadFunction& given) {
  Function& thread = *given.function;
  LLVMContext& context = thread.getContext();
  Type* const types[] = {byte_pointer(context), byte_pointer(context), Type::getInt32Ty(context)};
  auto* const type = FunctionType::get(Type::getVoidTy(context), types, false);
  Function* const made = Function::Create(type, GlobalValue::InternalLinkage, "anyplace.block", thread.getParent());
  made->addFnAttrs(AttrBuilder(context, thread.getAttributes().getFnAttrs()));
  if (thread.hasPersonalityFn()) made->setPersonalityFn(thread.getPersonalityFn());
  if (DISubprogram* subprogram = thread.getSubprogram()) {
    made->setSubprogram(MDNode::replaceWithDistinct(subprogram->clone()));
  }
  return made;
}

/// The threads of a row in `region` that fit into a vector, by its widest element, as the vectoriser counts.
unsigned threads_in_vector(Function& region, unsigned vector_bits) {
  const DataLayout& layout = region.getParent()->getDataLayout();
  uint64_t widest = 8;
  for (Instruction& i : instructions(region)) {
    if (getLoadStorePointerOperand(&i) == nullptr) continue;
    widest = std::max<uint64_t>(widest, layout.getTypeSizeInBits(getLoadStoreType(&i)->getScalarType()));
  }
  return std::max(1u, static_cast<unsigned>(vector_bits / widest));
}

/// Loads the block's number of threads along an axis.
Value* load_size(IRBuilder<>& builder, Value* state, unsigned axis) {
  return builder.CreateLoad(builder.getInt32Ty(),
                            address_at(builder, state, block_size_offset + 4 * axis, builder.getInt32Ty()));
}

class BlockFunction {
 public:
  BlockFunction(const ThreadFunction& thread, const Regions& regions, const LiveAcross& live, bool joins,
                KnownSize known, unsigned vector_bits)
      : given_(thread),
        regions_(regions),
        live_(live),
        joins_(joins),
        known_(known),
        vector_bits_(vector_bits),
        context_(thread.function->getContext()),
        builder_(context_) {}

  Function* make() {
    made_ = create_function(given_);
    continue_in(add_block("begin"));
    builder_.SetCurrentDebugLocation(debug_location_of(*made_));
    load_inputs();
    for (unsigned n = 0; n < regions_.list().size(); ++n)
      functions_.push_back(make_region_function(regions_, live_, n));
    make_variables();
    for (size_t n = 0; n < functions_.size(); ++n) starts_.push_back(add_block("region"));
    end_ = add_block("end");
    ReturnInst::Create(context_, end_);
    builder_.CreateBr(starts_[0]);
    if (may_part_) apart_ = add_block("apart");
    for (unsigned n = 0; n < functions_.size(); ++n) run_together(n);
    if (may_part_) run_apart();
    inline_regions();
    return made_;
  }

 private:
  /// A slot's memory: an array for all threads, or a variable that is read and one that is written.
  struct Place {
    Value* array = nullptr;
    Value* read = nullptr;
    Value* write = nullptr;
  };

  BasicBlock* add_block(const char* name) { return BasicBlock::Create(context_, name, made_); }
  void continue_in(BasicBlock* block) { builder_.SetInsertPoint(block); }
  Value* load_number(Value* from) { return builder_.CreateLoad(builder_.getInt32Ty(), from); }
  unsigned first_slot() const { return static_cast<unsigned>(given_.function->arg_size()); }

  void load_inputs();
  void make_variables();
  void take_scratch(ArrayRef<std::pair<Value**, Type*>> arrays);
  SmallVector<Value*> arguments(IRBuilder<>& builder, const ThreadLoop& thread, bool together) const;
  bool is_uniform_slot(const Argument& argument) const;
  MDNode* mark_parallel(Function& region) const;
  void run_together(unsigned number);
  MDNode* loop_metadata(Function& region, MDNode* group) const;
  void call_in_loop(const ThreadLoop& loop, Function* function, const Region& region, MDNode* group);
  void publish_uniform_values(const Region& region);
  void go_on(const Region& region);
  void run_apart();
  void spread_uniform_values();
  void run_own_regions(const Rows& rows, AllocaInst* some, bool up_to_barrier);
  void inline_regions();

  const ThreadFunction& given_;
  const Regions& regions_;
  const LiveAcross& live_;
  const bool joins_;
  const KnownSize known_;
  const unsigned vector_bits_;
  LLVMContext& context_;
  IRBuilder<> builder_;
  Function* made_ = nullptr;
  SmallVector<Value*> inputs_;
  SmallVector<Value*> shared_;
  std::array<Value*, 3> size_{};      // of what is run: the block, or the blocks that are joined
  SmallVector<Function*> functions_;  // by region
  SmallVector<BasicBlock*> starts_;   // by region
  SmallVector<Place> places_;         // by slot
  bool may_part_ = false;
  Value* next_of_each_ = nullptr;    // an array: the region that each thread goes on with, if they may part
  AllocaInst* next_ = nullptr;       // the region that all go on with, where they agree
  AllocaInst* all_bits_ = nullptr;   // of the next regions of all threads: and
  AllocaInst* some_bits_ = nullptr;  // or; equal to the former if all name the same
  BasicBlock *end_ = nullptr, *apart_ = nullptr;
  SmallVector<CallInst*> calls_;    // to be inlined
  SmallVector<Function*> decided_;  // functions for parts of rows
};

/// Loads what is the same for all threads once for the block, and its size.
void BlockFunction::load_inputs() {
  Value* const bases[] = {made_->getArg(0), made_->getArg(1)};
  for (const Input& input : given_.inputs) {
    Value* const from = address_at(builder_, bases[input.base - state_address], input.offset, input.type);
    inputs_.push_back(builder_.CreateAlignedLoad(input.type, from, Align(1)));
  }
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (known_[axis] != 0) {
      size_[axis] = builder_.getInt32(known_[axis]);
    } else {
      size_[axis] = load_size(builder_, bases[0], axis);
      builder_.CreateAssumption(builder_.CreateICmpNE(size_[axis], builder_.getInt32(0)));
      builder_.CreateAssumption(builder_.CreateICmpULE(size_[axis], builder_.getInt32(most_threads)));
    }
    // What the kernel read as blockDim is the same number, of which the same is known.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = given_.inputs[i];
      const bool same = input.base == state_address && input.offset == block_size_offset + 4 * axis;
      if (same && input.type == builder_.getInt32Ty()) inputs_[i] = size_[axis];
    }
  }
  if (joins_) size_[0] = builder_.CreateMul(size_[0], made_->getArg(2), "", true, true);
}

/// Makes room for shared memory, which is a variable of the block here, for slots, and for what threads go on with.
void BlockFunction::make_variables() {
  for (GlobalVariable* variable : given_.shared) {
    AllocaInst* const local = builder_.CreateAlloca(variable->getValueType(), nullptr, variable->getName());
    local->setAlignment(std::max(Align(cache_line), variable->getAlign().valueOrOne()));
    shared_.push_back(local);
  }
  may_part_ = regions_.threads_may_part();
  Type* const number = builder_.getInt32Ty();
  next_ = builder_.CreateAlloca(number, nullptr, "next");
  all_bits_ = builder_.CreateAlloca(number, nullptr, "all");
  some_bits_ = builder_.CreateAlloca(number, nullptr, "some");
  places_.resize(live_.slots().size());
  SmallVector<std::pair<Value**, Type*>> arrays;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Slot& slot = live_.slots()[i];
    if (slot.uniform) {
      places_[i].read = builder_.CreateAlloca(slot.type);
      places_[i].write = builder_.CreateAlloca(slot.type);
    }
    if (!slot.uniform || may_part_) arrays.emplace_back(&places_[i].array, slot.type);
  }
  if (may_part_) arrays.emplace_back(&next_of_each_, number);
  if (!arrays.empty()) take_scratch(arrays);
}

/// Arrays with an element for each thread, one behind the other, each at the beginning of a cache line.
void BlockFunction::take_scratch(ArrayRef<std::pair<Value**, Type*>> arrays) {
  const DataLayout& layout = made_->getParent()->getDataLayout();
  Value* const plane = builder_.CreateMul(size_[0], size_[1], "", true, true);
  Value* const threads =
      builder_.CreateZExt(builder_.CreateMul(plane, size_[2], "", true, true), builder_.getInt64Ty());
  SmallVector<Value*> offsets;
  Value* bytes = builder_.getInt64(0);
  for (auto& [place, type] : arrays) {
    offsets.push_back(bytes);
    Value* const used = builder_.CreateMul(threads, builder_.getInt64(layout.getTypeAllocSize(type)));
    Value* const padded = builder_.CreateAdd(used, builder_.getInt64(cache_line - 1));
    bytes = builder_.CreateAdd(bytes, builder_.CreateAnd(padded, builder_.getInt64(~(cache_line - 1))));
  }
  auto* const type = FunctionType::get(byte_pointer(context_), {builder_.getInt64Ty()}, false);
  FunctionCallee scratch = made_->getParent()->getOrInsertFunction(scratch_name, type);
  CallInst* const base = builder_.CreateCall(scratch, {bytes});
  base->addRetAttr(Attribute::NoAlias);
  base->addRetAttr(Attribute::getWithAlignment(context_, Align(cache_line)));
  for (size_t i = 0; i < arrays.size(); ++i) {
    Value* const at = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), base, offsets[i]);
    *arrays[i].first = builder_.CreateBitCast(at, PointerType::get(arrays[i].second, 0));
  }
}

/// The arguments of a region's function for a thread. Together, uniform slots are variables; apart, each thread has its
/// own.
SmallVector<Value*> BlockFunction::arguments(IRBuilder<>& builder, const ThreadLoop& thread, bool together) const {
  SmallVector<Value*> values{thread.x, thread.y, thread.z, made_->getArg(0), made_->getArg(1)};
  append_range(values, shared_);
  append_range(values, inputs_);
  for (size_t i = 0; i < places_.size(); ++i) {
    const Slot& slot = live_.slots()[i];
    if (slot.uniform && together) {
      values.append({places_[i].read, places_[i].write});
      continue;
    }
    Value* const element = builder.CreateInBoundsGEP(slot.type, places_[i].array, thread.linear);
    values.append(slot.uniform ? 2 : 1, element);
  }
  return values;
}

bool BlockFunction::is_uniform_slot(const Argument& argument) const {
  unsigned at = first_slot();
  for (const Slot& slot : live_.slots()) {
    const unsigned taken = slot.uniform ? 2 : 1;
    if (argument.getArgNo() >= at && argument.getArgNo() < at + taken) return slot.uniform;
    at += taken;
  }
  return false;
}

// -- All threads together.

/// Threads don't depend on each other between barriers, by the rules of CUDA: what they read and write may be reordered
/// among threads. That isn't so of variables that they share here, and of atomic operations.
MDNode* BlockFunction::mark_parallel(Function& region) const {
  MDNode* const group = MDNode::getDistinct(context_, {});
  for (Instruction& i : instructions(region)) {
    const Value* const pointer = getLoadStorePointerOperand(&i);
    if (pointer == nullptr || i.isAtomic() || isa<AllocaInst>(getUnderlyingObject(pointer))) continue;
    auto* const slot = dyn_cast<Argument>(pointer);
    if (slot == nullptr || !is_uniform_slot(*slot)) i.setMetadata(LLVMContext::MD_access_group, group);
  }
  return group;
}

/// Adds the region's loops over all threads, and what comes behind them.
void BlockFunction::run_together(unsigned number) {
  const Region& region = regions_.list()[number];
  continue_in(starts_[number]);
  if (!region.threads_agree) {
    builder_.CreateStore(builder_.getInt32(~0u), all_bits_);
    builder_.CreateStore(builder_.getInt32(0), some_bits_);
  }
  MDNode* const group = mark_parallel(*functions_[number]);
  const Rows rows = add_rows(*made_, starts_[number], size_);
  RowParts parts(
      rows, first_slot(), [this](const Argument& argument) { return is_uniform_slot(argument); },
      [this](IRBuilder<>& builder, const ThreadLoop& thread) { return arguments(builder, thread, true); },
      [&](const ThreadLoop& loop, Function* function) { call_in_loop(loop, function, region, group); });
  parts.add(functions_[number], {builder_.getInt32(0), size_[0]});
  append_range(decided_, parts.made());
  continue_in(rows.done);
  publish_uniform_values(region);
  go_on(region);
}

void BlockFunction::call_in_loop(const ThreadLoop& loop, Function* function, const Region& region, MDNode* group) {
  continue_in(loop.body);
  CallInst* const next = builder_.CreateCall(function, arguments(builder_, loop, true));
  calls_.push_back(next);
  if (!region.threads_agree) {
    Value* const own = builder_.CreateInBoundsGEP(builder_.getInt32Ty(), next_of_each_, loop.linear);
    builder_.CreateStore(next, own)->setMetadata(LLVMContext::MD_access_group, group);
    builder_.CreateStore(builder_.CreateAnd(load_number(all_bits_), next), all_bits_);
    builder_.CreateStore(builder_.CreateOr(load_number(some_bits_), next), some_bits_);
  } else if (region.next.size() > 1) {
    builder_.CreateStore(next, next_);
  }
  builder_.CreateBr(loop.latch);
  loop.back->setMetadata(LLVMContext::MD_loop, loop_metadata(*function, group));
}

/// The vectors of a tile's row are computed side by side; one after the other, each would keep the same factors in
/// registers, which there aren't enough of.
MDNode* BlockFunction::loop_metadata(Function& region, MDNode* group) const {
  Metadata* const parallel[] = {MDString::get(context_, "llvm.loop.parallel_accesses"), group};
  SmallVector<Metadata*> all{nullptr, MDNode::get(context_, parallel)};
  const unsigned vectors = known_[0] == tile_row ? tile_row / threads_in_vector(region, vector_bits_) : 1;
  if (vectors > 1) {
    auto* const count = ConstantInt::get(Type::getInt32Ty(context_), vectors);
    Metadata* const interleaved[] = {MDString::get(context_, "llvm.loop.interleave.count"),
                                     ConstantAsMetadata::get(count)};
    all.push_back(MDNode::get(context_, interleaved));
  }
  MDNode* const metadata = MDNode::getDistinct(context_, all);
  metadata->replaceOperandWith(0, metadata);
  return metadata;
}

/// What the region wrote into uniform slots is what the next one reads. Every thread that wrote has written the same.
void BlockFunction::publish_uniform_values(const Region& region) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const Slot& slot = live_.slots()[i];
    const auto is_here = [&](Instruction* value) { return region.blocks.count(value->getParent()) != 0; };
    if (!slot.uniform || none_of(slot.values, is_here)) continue;
    builder_.CreateStore(builder_.CreateLoad(slot.type, places_[i].write), places_[i].read);
  }
}

/// Goes on with the region that all threads name; apart, if they name different ones.
void BlockFunction::go_on(const Region& region) {
  const auto start_of = [&](unsigned next) { return next == end_of_kernel ? end_ : starts_[next]; };
  if (region.next.empty()) {
    builder_.CreateUnreachable();
    return;
  }
  if (region.next.size() == 1) {
    builder_.CreateBr(start_of(*region.next.begin()));
    return;
  }
  Value* next = nullptr;
  if (region.threads_agree) {
    next = load_number(next_);
  } else {
    next = load_number(all_bits_);
    BasicBlock* const agree = add_block("agree");
    builder_.CreateCondBr(builder_.CreateICmpEQ(next, load_number(some_bits_)), agree, apart_);
    continue_in(agree);
  }
  BasicBlock* const nowhere = add_block("nowhere");
  new UnreachableInst(context_, nowhere);
  SwitchInst* const choice = builder_.CreateSwitch(next, nowhere);
  for (unsigned number : region.next) choice->addCase(builder_.getInt32(number), start_of(number));
}

// -- Threads apart.

/// Until all threads have ended. What each goes on with is in next_of_each_.
void BlockFunction::run_apart() {
  continue_in(apart_);
  spread_uniform_values();
  AllocaInst* const some = new AllocaInst(builder_.getInt32Ty(), 0, "left", &*made_->getEntryBlock().begin());
  const Rows before = add_rows(*made_, builder_.GetInsertBlock(), size_);
  run_own_regions(before, some, true);
  continue_in(before.done);
  BasicBlock* const round = add_block("round");
  builder_.CreateBr(round);
  continue_in(round);
  builder_.CreateStore(builder_.getInt32(0), some);
  const Rows rows = add_rows(*made_, round, size_);
  run_own_regions(rows, some, false);
  continue_in(rows.done);
  builder_.CreateCondBr(builder_.CreateICmpNE(load_number(some), builder_.getInt32(0)), round, end_);
}

/// Gives each thread an element of its own for what had one variable while all were together.
void BlockFunction::spread_uniform_values() {
  const Rows rows = add_rows(*made_, apart_, size_);
  const ThreadLoop loop = add_row_loop(rows, rows.body, rows.latch, {builder_.getInt32(0), size_[0]}, false);
  continue_in(loop.body);
  for (size_t i = 0; i < places_.size(); ++i) {
    const Slot& slot = live_.slots()[i];
    if (!slot.uniform) continue;
    Value* const own = builder_.CreateInBoundsGEP(slot.type, places_[i].array, loop.linear);
    builder_.CreateStore(builder_.CreateLoad(slot.type, places_[i].read), own);
  }
  builder_.CreateBr(loop.latch);
  continue_in(rows.done);
}

/// Runs each thread's own next region, and what follows it up to a barrier. With `up_to_barrier` a thread that waits in
/// one stays there: so they all come to one first.
void BlockFunction::run_own_regions(const Rows& rows, AllocaInst* some, bool up_to_barrier) {
  const ThreadLoop loop = add_row_loop(rows, rows.body, rows.latch, {builder_.getInt32(0), size_[0]}, false);
  continue_in(loop.body);
  Value* const own = builder_.CreateInBoundsGEP(builder_.getInt32Ty(), next_of_each_, loop.linear);
  BasicBlock* const again = add_block("again");
  SwitchInst* first = nullptr;
  if (up_to_barrier) {
    builder_.CreateBr(again);
  } else {
    first = builder_.CreateSwitch(load_number(own), loop.latch);
  }
  continue_in(again);
  SwitchInst* const without_waiting = builder_.CreateSwitch(load_number(own), loop.latch);
  for (unsigned n = 1; n < functions_.size(); ++n) {
    const bool waits = regions_.list()[n].behind_barrier;
    if (up_to_barrier && waits) continue;
    BasicBlock* const at = add_block("own");
    if (first != nullptr) first->addCase(builder_.getInt32(n), at);
    if (!waits) without_waiting->addCase(builder_.getInt32(n), at);
    continue_in(at);
    CallInst* const next = builder_.CreateCall(functions_[n], arguments(builder_, loop, false));
    next->setIsNoInline();
    builder_.CreateStore(next, own);
    builder_.CreateStore(builder_.CreateOr(load_number(some), next), some);
    builder_.CreateBr(again);
  }
}

/// Regions that run together are inlined into their loops; else nothing would be vectorised. Those that run apart are
/// called.
void BlockFunction::inline_regions() {
  for (CallInst* call : calls_) {
    InlineFunctionInfo info;
    InlineFunction(*call, info);
  }
  append_range(decided_, functions_);
  for (Function* function : decided_) {
    if (function->use_empty()) function->eraseFromParent();
  }
}

/// What calls the function of blocks of that size where a block has it, else that of any.
Function* make_choice(const ThreadFunction& thread, KnownSize known, Function* of_known, Function* of_other) {
  Function* const made = create_function(thread);
  LLVMContext& context = made->getContext();
  const auto add = [&](const char* name) { return BasicBlock::Create(context, name, made); };
  BasicBlock *const begin = add("begin"), *const is_known = add("known"), *const is_other = add("other");
  IRBuilder<> builder(begin);
  builder.SetCurrentDebugLocation(debug_location_of(*made));
  Value* fits = builder.getTrue();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (known[axis] == 0) continue;
    Value* const size = load_size(builder, made->getArg(0), axis);
    fits = builder.CreateAnd(fits, builder.CreateICmpEQ(size, builder.getInt32(known[axis])));
  }
  builder.CreateCondBr(fits, is_known, is_other);
  Value* const arguments[] = {made->getArg(0), made->getArg(1), made->getArg(2)};
  for (auto& [block, function] : {std::pair{is_known, of_known}, std::pair{is_other, of_other}}) {
    builder.SetInsertPoint(block);
    builder.CreateCall(function, arguments);
    builder.CreateRetVoid();
  }
  return made;
}

}  // namespace

Function* make_block_function(const ThreadFunction& thread, const Regions& regions, const LiveAcross& live,
                              bool joins) {
  return BlockFunction(thread, regions, live, joins, of_any, 0).make();
}

Function* make_block_function_of_usual_size(const ThreadFunction& thread, const Regions& regions,
                                            const LiveAcross& live, unsigned vector_bits) {
  const bool has_rows = !thread.function->getArg(thread_y)->use_empty();
  const KnownSize known = has_rows ? of_tile : of_line;
  Function* const of_other = BlockFunction(thread, regions, live, false, of_any, 0).make();
  Function* const of_known = BlockFunction(thread, regions, live, false, known, vector_bits).make();
  return make_choice(thread, known, of_known, of_other);
}

}  // namespace anyplace::clang_loops
