// SPDX-License-Identifier: Apache-2.0
// What the headers refuse: each mistake with what Clang must say of it, in its line, and of a template with our own
// words. tests/refusals checks that with -verify: a mistake that is taken is a failure, and so is an error that isn't
// expected.
#include <anyplace/anyplace.h>

#include <cstdint>
#include <vector>

using anyplace::Block;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Dim3;
using anyplace::Kernel;
using anyplace::KernelView;
using anyplace::Stream;

// A vector that is gone before the copy has read it, or writes to it. What is deleted says in its parameter why.
void copy_from_temporary(const Stream& stream, const Buffer& buffer) {
  stream.copy(buffer, std::vector<float>(16));  // expected-error {{deleted}}
  // expected-note@anyplace/memory.h:* {{'ConstHostSpan<std::vector<float>>' has been explicitly marked deleted here}}
}
void copy_to_temporary(const Stream& stream, const Buffer& buffer) {
  stream.copy(std::vector<float>(16), buffer);  // expected-error {{deleted}}
  // expected-note@anyplace/memory.h:* {{'HostSpan<std::vector<float>>' has been explicitly marked deleted here}}
}

// A callable whose parameters have no types.
Kernel generic_lambda(const Device& device) {
  return Kernel(device, [](const Block& block, auto* data) { data[block.index().x] = 0; });
  // expected-note@-1 {{requested here}}
  // expected-error@anyplace/kernel.h:* {{one call operator whose parameters have types}}
}

// A callable with two call operators.
struct Overloaded {
  void operator()(const Block&, float*) const {}
  void operator()(const Block&, int*) const {}
};
Kernel overloaded_call(const Device& device) {
  return Kernel(device, Overloaded());  // expected-note {{requested here}}
  // expected-error@anyplace/kernel.h:* {{one call operator whose parameters have types}}
}

// A callable that doesn't take the block.
Kernel without_block(const Device& device) {
  return Kernel(device, [](float* data) { *data = 0; });  // expected-note {{requested here}}
  // expected-error@anyplace/kernel.h:* {{takes the block first}}
}

// A callable that would change its copy of an argument. Behind our words Clang also shows the call that can't be.
Kernel parameter_by_reference(const Device& device) {
  return Kernel(device, [](const Block&, float& sum) { sum += 1; });  // expected-note 1+ {{requested here}}
  // expected-error@anyplace/kernel.h:* {{passed by value or by reference to const}}
  // expected-error@anyplace/kernel.h:* 0-1 {{no matching function for call to object of type}}
}

// Grid, block and shared memory as arguments of their own: without the last, an argument would be taken for it.
void launch_positional(const Stream& stream, KernelView kernel) {
  stream.launch(kernel, Dim3{4}, Dim3{64}, 0, 1u);  // expected-error {{no matching member function}}
  // expected-note-re@anyplace/stream.h:* {{no known conversion from '{{.*}}Dim3' to 'const {{.*}}LaunchConfig'}}
}

// Numbers of blocks and threads that might not fit, and a fraction where a size is whole.
void launch_wide_grid(const Stream& stream, KernelView kernel, std::uint64_t blocks) {
  stream.launch(kernel, {blocks, 64}, 1u);  // expected-note {{requested here}}
  // expected-error@anyplace/kernel.h:* {{sizes of grids and blocks have 32 bits}}
}
void launch_wide_block(const Stream& stream, KernelView kernel, std::size_t threads) {
  stream.launch(kernel, {4, {16, threads}}, 1u);  // expected-note {{requested here}}
  // expected-error@anyplace/kernel.h:* {{sizes of grids and blocks have 32 bits}}
}
anyplace::LaunchConfig wide_dim(double blocks) {
  return {.grid = blocks, .block = 256};  // expected-note {{requested here}}
  // expected-error@anyplace/kernel.h:* {{sizes of grids and blocks have 32 bits}}
}

// A comparison that would load the plugin that the text names, and one that would throw for a text that is no place.
bool device_equals_text(const Device& device) {
  return device == "cuda:0";  // expected-error {{invalid operands}} expected-warning 0-1 {{string literal}}
}
bool place_equals_text(const anyplace::Place& place) {
  return place == "cuda 0";  // expected-error {{invalid operands}} expected-warning 0-1 {{string literal}}
}

// A text where a device is wanted: what loads a plugin says Device.
Stream text_for_device() {
  return Stream("cpu_sim:0");  // expected-error {{no matching conversion}}
}

// A fill of bits with a number that has a fraction: its bits would be those of the integer 1.
void memset_of_float(const Stream& stream, const Buffer& buffer) {
  stream.memset8(buffer, 1.0f);   // expected-error {{deleted}}
  stream.memset16(buffer, 1.0f);  // expected-error {{deleted}}
  stream.memset32(buffer, 1.0f);  // expected-error {{deleted}}
}

// A fraction for elements that are whole numbers.
void fill_of_fraction(const Stream& stream, const Buffer& buffer) {
  stream.fill(buffer.as<int>(), 1.5);  // expected-error {{deleted}}
}

// A value for a buffer whose elements are of no type.
void fill_of_bytes(const Stream& stream, const Buffer& buffer) {
  stream.fill(buffer, 1.0f);  // expected-error {{no matching member function}}
}

// Guards without a name: each has ended before the next line.
void guard_dropped(const Device& device) {
  anyplace::DeviceGuard{device};  // expected-warning {{nodiscard}}
}
void guard_of_stream_dropped(const Stream& stream) {
  anyplace::StreamGuard{stream};  // expected-warning {{nodiscard}}
}
void guard_of_pool_dropped(const anyplace::MemoryPool& pool) {
  anyplace::MemoryPoolGuard{pool};  // expected-warning {{nodiscard}}
}
void guard_of_listener_dropped(anyplace::annotate::Listener& listener) {
  anyplace::annotate::ListenerGuard{listener};  // expected-warning {{nodiscard}}
}
void range_dropped() {
  anyplace::annotate::Range("step");  // expected-warning {{nodiscard}}
}
void guard_of_group_dropped(const anyplace::Communicator& communicator) {
  anyplace::GroupGuard{communicator};  // expected-warning {{nodiscard}}
}
