// SPDX-License-Identifier: Apache-2.0
//
// Operators that torch calls on devices other than the CPU only, so that the CPU has no kernel to fall back to:
// convolutions
// ("overrideable"), fused cells of recurrent networks, and the choice of an attention kernel. They are put together
// here from what the CPU has.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <tuple>

namespace anyplace_torch {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Sizes = at::IntArrayRef;

Tensor host(const Tensor& tensor) { return tensor.defined() ? tensor.cpu() : tensor; }
OptionalTensor host(const OptionalTensor& tensor) { return tensor ? OptionalTensor(host(*tensor)) : std::nullopt; }
Tensor to(const at::Device& device, const Tensor& tensor) { return tensor.defined() ? tensor.to(device) : tensor; }

bool is_there(const OptionalTensor& tensor) { return tensor.has_value() && tensor->defined(); }

// -- Convolutions.

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Sizes stride, Sizes padding,
                   Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups) {
  return to(input.device(), at::convolution(host(input), host(weight), host(bias), stride, padding, dilation,
                                            transposed, output_padding, groups));
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& gradient, const Tensor& input,
                                                        const Tensor& weight, Sizes stride, Sizes padding,
                                                        Sizes dilation, bool transposed, Sizes output_padding,
                                                        std::int64_t groups, std::array<bool, 3> wanted) {
  const std::array<std::int64_t, 1> bias_size{gradient.size(1)};
  const auto [for_input, for_weight, for_bias] =
      at::convolution_backward(host(gradient), host(input), host(weight), Sizes(bias_size), stride, padding, dilation,
                               transposed, output_padding, groups, wanted);
  const at::Device device = input.device();
  return {to(device, for_input), to(device, for_weight), to(device, for_bias)};
}

// -- Cells. `workspace` is what the forward hands to the backward, and nobody else looks into it.

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cell,
                                             const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  Tensor gates = host(input_gates) + host(hidden_gates);
  if (is_there(input_bias)) gates += host(*input_bias);
  if (is_there(hidden_bias)) gates += host(*hidden_bias);
  const auto parts = gates.chunk(4, 1);
  const Tensor in = parts[0].sigmoid(), forget = parts[1].sigmoid(), update = parts[2].tanh(), out = parts[3].sigmoid();
  const Tensor next_cell = forget * host(cell) + in * update;
  const at::Device device = input_gates.device();
  return {to(device, out * next_cell.tanh()), to(device, next_cell), to(device, at::cat({in, forget, update, out}, 1))};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& hidden_gradient,
                                                      const OptionalTensor& cell_gradient, const Tensor& cell,
                                                      const Tensor& next_cell, const Tensor& workspace, bool has_bias) {
  if (!is_there(hidden_gradient) && !is_there(cell_gradient)) return {};
  const auto parts = host(workspace).chunk(4, 1);
  const Tensor &in = parts[0], &forget = parts[1], &update = parts[2], &out = parts[3];
  const Tensor squashed = host(next_cell).tanh();
  const Tensor from_hidden = is_there(hidden_gradient) ? host(*hidden_gradient) : at::zeros_like(squashed);
  Tensor from_cell = from_hidden * out * (1 - squashed * squashed);
  if (is_there(cell_gradient)) from_cell = from_cell + host(*cell_gradient);
  const Tensor gates = at::cat({from_cell * update * in * (1 - in), from_cell * host(cell) * forget * (1 - forget),
                                from_cell * in * (1 - update * update), from_hidden * squashed * out * (1 - out)},
                               1);
  const at::Device device = cell.device();
  return {to(device, gates), to(device, from_cell * forget), has_bias ? to(device, gates.sum(0)) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  Tensor from_input = host(input_gates), from_hidden = host(hidden_gates);
  if (is_there(input_bias)) from_input = from_input + host(*input_bias);
  if (is_there(hidden_bias)) from_hidden = from_hidden + host(*hidden_bias);
  const auto i = from_input.chunk(3, 1), h = from_hidden.chunk(3, 1);
  const Tensor reset = (i[0] + h[0]).sigmoid(), update = (i[1] + h[1]).sigmoid(), fresh = (i[2] + reset * h[2]).tanh();
  const Tensor before = host(hidden);
  const at::Device device = input_gates.device();
  return {to(device, fresh + update * (before - fresh)), to(device, at::cat({reset, update, fresh, before, h[2]}, 1))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& gradient, const Tensor& workspace,
                                                                     bool has_bias) {
  const auto parts = host(workspace).chunk(5, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &before = parts[3], &hidden_part = parts[4];
  const Tensor given = host(gradient);
  const Tensor for_update = given * (before - fresh) * update * (1 - update);
  const Tensor for_fresh = given * (1 - update) * (1 - fresh * fresh);
  const Tensor for_reset = for_fresh * hidden_part * reset * (1 - reset);
  const Tensor input = at::cat({for_reset, for_update, for_fresh}, 1);
  const Tensor hidden = at::cat({for_reset, for_update, for_fresh * reset}, 1);
  const at::Device device = gradient.device();
  return {to(device, input), to(device, hidden), to(device, given * update),
          has_bias ? to(device, input.sum(0)) : Tensor(), has_bias ? to(device, hidden.sum(0)) : Tensor()};
}

// -- Attention.

std::int64_t attention_choice(const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&, double, bool,
                              std::optional<double>, bool) {
  return static_cast<std::int64_t>(at::SDPBackend::math);  // the one that is made of other operators
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", TORCH_FN(convolution));
  m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
  m.impl("_fused_sdp_choice", TORCH_FN(attention_choice));
}

}  // namespace
}  // namespace anyplace_torch
