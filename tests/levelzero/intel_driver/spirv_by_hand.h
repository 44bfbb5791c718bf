// SPDX-License-Identifier: Apache-2.0
//
// A SPIR-V module for OpenCL kernels, put together word by word, because no compiler of it can be counted on. It
// follows the SPIR-V specification, version 1.0 of the language, sections 2.3 (layout) and 3 (numbers), and the OpenCL
// SPIR-V environment.
//
//   kernel void fill(global uint* to, uint value) { to[get_global_id(0)] = value; }
//   kernel void shared_first(global uint* to, local uint* shared) { shared[0] = 1; to[get_global_id(0)] = shared[0]; }
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace intel_driver {

class SpirvByHand {
 public:
  /// The finished module.
  static std::string make() {
    SpirvByHand module;
    module.declarations();
    module.fill();
    module.shared_first();
    module.words_[3] = id_end;
    return {reinterpret_cast<const char*>(module.words_.data()), module.words_.size() * 4};
  }

 private:
  enum Op : std::uint32_t {
    memory_model = 14,
    entry_point = 15,
    capability = 17,
    type_void = 19,
    type_int = 21,
    type_vector = 23,
    type_pointer = 32,
    type_function = 33,
    constant = 43,
    function = 54,
    parameter = 55,
    function_end = 56,
    variable = 59,
    load = 61,
    store = 62,
    access_chain = 70,
    decorate = 71,
    extract = 81,
    label = 248,
    return_ = 253
  };
  enum Storage : std::uint32_t { input = 1, workgroup = 4, cross_workgroup = 5 };
  enum Id : std::uint32_t {
    fill_id = 1,
    shared_id,
    gid,
    void_,
    uint_,
    ulong_,
    vector,
    input_pointer,
    global_pointer,
    local_pointer,
    fill_type,
    shared_type,
    one,
    zero_long,
    locals,
    id_end = locals + 32
  };

  SpirvByHand() : words_{0x07230203, 0x00010000, 0, 0, 0} {}

  void add(Op op, std::initializer_list<std::uint32_t> operands) {
    words_.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
    words_.insert(words_.end(), operands);
  }
  void add_entry(std::uint32_t id, const std::string& name) {
    std::vector<std::uint32_t> text(name.size() / 4 + 1);
    std::memcpy(text.data(), name.data(), name.size());
    words_.push_back(static_cast<std::uint32_t>(4 + text.size()) << 16 | entry_point);
    words_.insert(words_.end(), {6u, id});  // execution model Kernel
    words_.insert(words_.end(), text.begin(), text.end());
    words_.push_back(gid);
  }

  void declarations() {
    for (const std::uint32_t needed : {4u, 6u, 11u}) add(capability, {needed});  // Addresses, Kernel, Int64
    add(memory_model, {2, 2});                                                   // Physical64, OpenCL
    add_entry(fill_id, "fill");
    add_entry(shared_id, "shared_first");
    add(decorate, {gid, 11, 28});  // BuiltIn GlobalInvocationId
    add(decorate, {gid, 22});      // Constant
    add(type_void, {void_});
    add(type_int, {uint_, 32, 0});
    add(type_int, {ulong_, 64, 0});
    add(type_vector, {vector, ulong_, 3});
    add(type_pointer, {input_pointer, input, vector});
    add(type_pointer, {global_pointer, cross_workgroup, uint_});
    add(type_pointer, {local_pointer, workgroup, uint_});
    add(type_function, {fill_type, void_, global_pointer, uint_});
    add(type_function, {shared_type, void_, global_pointer, local_pointer});
    add(constant, {uint_, one, 1});
    add(constant, {ulong_, zero_long, 0, 0});
    add(variable, {input_pointer, gid, input});
  }
  /// to + get_global_id(0), as `at`.
  void address(std::uint32_t to, std::uint32_t at) {
    const std::uint32_t ids = next(), id = next();
    add(load, {vector, ids, gid, 2, 32});
    add(extract, {ulong_, id, ids, 0});
    add(access_chain, {global_pointer, at, to, id});
  }
  void fill() {
    const std::uint32_t to = next(), value = next(), begin = next(), at = next();
    add(function, {void_, fill_id, 0, fill_type});
    add(parameter, {global_pointer, to});
    add(parameter, {uint_, value});
    add(label, {begin});
    address(to, at);
    add(store, {at, value, 2, 4});
    add(return_, {});
    add(function_end, {});
  }
  void shared_first() {
    const std::uint32_t to = next(), shared = next(), begin = next(), first = next(), value = next(), at = next();
    add(function, {void_, shared_id, 0, shared_type});
    add(parameter, {global_pointer, to});
    add(parameter, {local_pointer, shared});
    add(label, {begin});
    add(access_chain, {local_pointer, first, shared, zero_long});
    add(store, {first, one, 2, 4});
    add(load, {uint_, value, first, 2, 4});
    address(to, at);
    add(store, {at, value, 2, 4});
    add(return_, {});
    add(function_end, {});
  }
  std::uint32_t next() { return next_id_++; }

  std::vector<std::uint32_t> words_;
  std::uint32_t next_id_ = locals;
};

}  // namespace intel_driver
