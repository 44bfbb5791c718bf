// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <iterator>

#include "anyplace/backend/kit/half.h"

namespace anyplace::doubles::nccl {

using namespace anyplace::nccl;

std::string text_of(const Call& call) {
  constexpr const char* names[] = {"ncclAllReduce",     "ncclReduce", "ncclBroadcast", "ncclAllGather",
                                   "ncclReduceScatter", "ncclSend",   "ncclRecv"};
  constexpr const char* types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                   "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  constexpr const char* ops[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};
  std::string text = names[static_cast<int>(call.what)];
  text += " of " + std::to_string(call.count) + " " + types[call.type];
  if (call.what == What::all_reduce || call.what == What::reduce || call.what == What::reduce_scatter) {
    text += std::string(" (") + ops[call.op] + ")";
  }
  if (call.what == What::reduce || call.what == What::broadcast) text += ", root " + std::to_string(call.root);
  return text;
}

std::size_t size_of_type(int type) noexcept {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type >= static_cast<int>(std::size(sizes)) ? 0 : sizes[type];
}

namespace {

struct Plain {
  template <class T>
  static T load(T value) noexcept {
    return value;
  }
  template <class T>
  static T store(T value) noexcept {
    return value;
  }
};

template <class T, class As>
struct Elements {
  template <class Function>
  static void each(void* data, const void* other, std::uint64_t count, Function&& function) {
    auto* const to = static_cast<T*>(data);
    const auto* const from = static_cast<const T*>(other);
    for (std::uint64_t i = 0; i < count; ++i) {
      to[i] = As::store(function(As::load(to[i]), As::load(from == nullptr ? to[i] : from[i])));
    }
  }
};

template <class Function>
void each(void* data, const void* other, std::uint64_t count, int type, Function&& function) noexcept {
  switch (type) {
    case nccl_int8:
      return Elements<std::int8_t, Plain>::each(data, other, count, function);
    case nccl_uint8:
      return Elements<std::uint8_t, Plain>::each(data, other, count, function);
    case nccl_int32:
      return Elements<std::int32_t, Plain>::each(data, other, count, function);
    case nccl_uint32:
      return Elements<std::uint32_t, Plain>::each(data, other, count, function);
    case nccl_int64:
      return Elements<std::int64_t, Plain>::each(data, other, count, function);
    case nccl_uint64:
      return Elements<std::uint64_t, Plain>::each(data, other, count, function);
    case nccl_float16:
      return Elements<std::uint16_t, backend::Binary16>::each(data, other, count, function);
    case nccl_float32:
      return Elements<float, Plain>::each(data, other, count, function);
    case nccl_float64:
      return Elements<double, Plain>::each(data, other, count, function);
    case nccl_bfloat16:
      return Elements<std::uint16_t, backend::Bfloat16>::each(data, other, count, function);
    default:
      return;
  }
}

}  // namespace

void combine(void* inout, const void* in, std::uint64_t count, int type, int op) noexcept {
  each(inout, in, count, type, [op]<class T>(T a, T b) -> T {
    switch (op) {
      case nccl_prod:
        return static_cast<T>(a * b);
      case nccl_max:
        return a < b ? b : a;
      case nccl_min:
        return b < a ? b : a;
      default:
        return static_cast<T>(a + b);
    }
  });
}

void divide(void* data, std::uint64_t count, int type, int by) noexcept {
  each(data, nullptr, count, type, [by]<class T>(T a, T /*b*/) -> T { return static_cast<T>(a / static_cast<T>(by)); });
}

}  // namespace anyplace::doubles::nccl
