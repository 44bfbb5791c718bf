// SPDX-License-Identifier: Apache-2.0
//
// Autocast: torch's own lists of which operator runs in which precision, for this device type.
#include <ATen/autocast_mode.h>

namespace {

// torch's lists name these without their namespace.
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;

at::Tensor refuse_binary_cross_entropy(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                                       std::int64_t) {
  TORCH_CHECK(false,
              "binary_cross_entropy can't be autocast: its gradient overflows in 16 bits; use "
              "binary_cross_entropy_with_logits (BCEWithLogitsLoss) and leave out the sigmoid before it");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define ANYPLACE_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(ANYPLACE_LOWER_PRECISION)
#define ANYPLACE_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(ANYPLACE_FP32)
#define ANYPLACE_FP32_UNLESS_SAID(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(ANYPLACE_FP32_UNLESS_SAID)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
#define ANYPLACE_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_PROMOTE(ANYPLACE_PROMOTE)
  m.impl(TORCH_SELECTIVE_NAME("aten::binary_cross_entropy"), TORCH_FN(refuse_binary_cross_entropy));
}

}  // namespace
