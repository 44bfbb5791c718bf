// SPDX-License-Identifier: Apache-2.0
//
// Every operator that isn't about memory: its tensors are copied to the host, the CPU's kernel runs, and what it made
// or changed is copied back, in the order of the current stream.
//
// A random operator draws from the CPU generator behind the device's, so that a seed of the device decides what comes
// out.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/enum_tag.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generator.h"
#include "places.h"

namespace anyplace_torch {
namespace {

using c10::IValue;

/// Calls `visit` with each tensor among the arguments, also those in lists.
template <class Visit>
void each_tensor(c10::ArrayRef<IValue> arguments, Visit visit) {
  for (const IValue& argument : arguments) {
    if (argument.isTensor()) {
      if (argument.toTensor().defined()) visit(argument.toTensor());
    } else if (argument.isTensorList()) {
      for (const at::Tensor& tensor : argument.toTensorList()) {
        if (tensor.defined()) visit(tensor);
      }
    } else if (argument.isList()) {  // of tensors or None, as indices are
      for (const IValue& element : argument.toListRef()) {
        if (element.isTensor() && element.toTensor().defined()) visit(element.toTensor());
      }
    }
  }
}

/// The device of the operator's first tensor of ours; nothing if there is none.
std::optional<at::Device> device_of(c10::ArrayRef<IValue> arguments) {
  std::optional<at::Device> found;
  each_tensor(arguments, [&](const at::Tensor& tensor) {
    if (!found && tensor.is_privateuseone()) found = tensor.device();
  });
  return found;
}

c10::DeviceIndex index_of(c10::ArrayRef<IValue> arguments) {
  const auto device = device_of(arguments);
  return device ? device->index() : current_index();
}

/// Operators that take tensors of the CPU beside the device's, on torch's own devices too: indices.
bool takes_cpu_tensors(const std::string& name) {
  static const std::unordered_set<std::string> names{"aten::index",         "aten::index_put",
                                                     "aten::index_put_",    "aten::_index_put_impl_",
                                                     "aten::_unsafe_index", "aten::_unsafe_index_put"};
  return names.contains(name);
}

/// The CPU would compute with tensors of any devices. A program that mixes them by mistake is told, as on other
/// devices.
void check_devices(const c10::OperatorHandle& op, c10::ArrayRef<IValue> arguments) {
  if (takes_cpu_tensors(op.operator_name().name)) return;
  std::optional<at::Device> first;
  each_tensor(arguments, [&](const at::Tensor& tensor) {
    if (tensor.is_cpu() && tensor.dim() == 0) return;  // as a number
    if (!first) first = tensor.device();
    TORCH_CHECK(tensor.device() == *first,
                "Expected all tensors to be on the same device, but found at least two devices, ", *first, " and ",
                tensor.device(), "! (when checking the arguments of ", op.operator_name(), ")");
  });
}

/// Puts the CPU's generators in the place of the device's. False if the operator takes none.
bool replace_generators(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  bool takes_one = false;
  const std::size_t count = schema.arguments().size();
  const std::size_t first = stack.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto type = schema.arguments()[i].real_type();
    const auto* optional = type->castRaw<c10::OptionalType>();
    if ((optional != nullptr ? optional->getElementType() : type)->kind() != c10::TypeKind::GeneratorType) continue;
    takes_one = true;
    IValue& value = stack[first + i];
    if (value.isNone()) {
      value = cpu_generator_behind(default_generator(index_of(c10::ArrayRef<IValue>(&stack[first], count))));
    } else if (value.toGenerator().device().is_privateuseone()) {
      value = cpu_generator_behind(value.toGenerator());
    }
  }
  return takes_one;
}

/// Lends the CPU's default generator the state of the device's for a scope, for operators that take no generator.
class LentState {
 public:
  explicit LentState(c10::DeviceIndex index)
      : guard_(lock()),
        cpu_(at::detail::getDefaultCPUGenerator()),
        device_(cpu_generator_behind(default_generator(index))) {
    before_ = exchange(cpu_, get(device_));
  }
  LentState(const LentState&) = delete;  // a scope
  LentState& operator=(const LentState&) = delete;
  ~LentState() { exchange(device_, exchange(cpu_, before_)); }

 private:
  using State = c10::intrusive_ptr<c10::TensorImpl>;

  static std::mutex& lock() {
    static std::mutex one_at_a_time;
    return one_at_a_time;
  }
  static State get(at::Generator& generator) {
    const std::lock_guard guard(generator.mutex());
    return generator.unsafeGetGeneratorImpl()->get_state();
  }
  static State exchange(at::Generator& generator, const State& state) {
    const std::lock_guard guard(generator.mutex());
    State before = generator.unsafeGetGeneratorImpl()->get_state();
    generator.unsafeGetGeneratorImpl()->set_state(*state);
    return before;
  }

  std::lock_guard<std::mutex> guard_;
  at::Generator cpu_;
  at::Generator device_;
  State before_;
};

/// torch's fallback puts the results where the first tensor is, and that may be a number: `1 - x`.
void move_results(const at::Device& device, std::size_t count, torch::jit::Stack& stack) {
  const auto moved = [&](const at::Tensor& tensor) {
    return tensor.defined() && tensor.is_cpu() ? tensor.to(device) : tensor;
  };
  for (std::size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      stack[i] = moved(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      std::vector<at::Tensor> tensors = stack[i].toTensorVector();
      for (at::Tensor& tensor : tensors) tensor = moved(tensor);
      stack[i] = std::move(tensors);
    }
  }
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  constexpr bool kErrorOnViews = true;  // a copy where a view is promised would lose writes
  const std::size_t count = op.schema().arguments().size();
  const c10::ArrayRef<IValue> arguments(stack->data() + (stack->size() - count), count);
  check_devices(op, arguments);
  const std::optional<at::Device> device = device_of(arguments);
  if (op.hasTag(at::Tag::nondeterministic_seeded) && !replace_generators(op.schema(), *stack)) {
    const LentState lent(index_of(arguments));
    at::native::cpu_fallback(op, stack, kErrorOnViews);
  } else {
    at::native::cpu_fallback(op, stack, kErrorOnViews);
  }
  if (device) move_results(*device, op.schema().returns().size(), *stack);
}

/// The operators that torch makes from their form with an output ("add.Tensor" from "add.out") for devices without a
/// kernel. Called themselves they cost a copy to the device and one back less, since no output exists before.
std::vector<c10::OperatorName> made_from_out_forms() {
  std::vector<c10::OperatorName> result;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op && name.getNamespace() == std::optional<std::string_view>("aten") &&
        op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) &&
        op->hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
      result.push_back(name);
    }
  }
  return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const c10::OperatorName& name : made_from_out_forms()) {
    const std::string text = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
    m.impl(text.c_str(), torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>()); }

}  // namespace
}  // namespace anyplace_torch
