// SPDX-License-Identifier: Apache-2.0
//
// The modes of ranks_worker that are about numbers: what each rank gets, bit by bit, whichever way an operation is
// done.
#include <cstring>

#include "mpi/pieces.h"
#include "worker.h"

namespace ranks_worker {

namespace {

/// The elements of all ranks, reduced. Every rank gets the same bits; here, those of rank 0 are compared.
template <class T>
std::vector<T> reduced(const Rank& me, const std::vector<T>& mine, DType type, Reduction reduction) {
  const std::uint64_t bytes = mine.size() * sizeof(T);
  const Buffer data(me.stream, bytes);
  me.stream.copy(data, mine);
  me.stream.synchronize();
  me.all.all_reduce(me.stream, data.address(), data.address(), mine.size(), type, reduction);
  std::vector<T> host(mine.size()), first(mine.size());
  me.stream.copy(host, data);
  me.all.broadcast(me.stream, data.address(), bytes, DType::u8, 0);
  me.stream.copy(first, data);
  me.stream.synchronize();
  require(std::memcmp(host.data(), first.data(), bytes) == 0, "the same bits at every rank");
  return host;
}

/// So many elements that an all_reduce of them is a few bytes, is the engine's, and is done in pieces.
constexpr std::size_t few = 100, many = 20'000, very_many = 9 << 20;

/// Numbers of `Bits` that are floating point: NaNs of different payloads and signs at some ranks, and zeros of
/// different signs. `nan` is the one that min and max give.
template <class Bits>
void check_extremes(const Rank& me, DType type, Bits nan, std::size_t count) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto rank = static_cast<Bits>(me.all.rank());
  const auto number = static_cast<Bits>(nan >> 1);  // 1.75
  const Bits payload = static_cast<Bits>(nan + rank + 1);
  std::vector<Bits> mine(count);
  for (std::size_t i = 0; i < count; ++i) {
    switch (i % 5) {
      case 0:  // a NaN at rank 1 alone
        mine[i] = rank == 1 ? payload : Bits{0};
        break;
      case 1:  // at every rank
        mine[i] = rank % 2 == 0 ? payload : static_cast<Bits>(payload | sign);
        break;
      case 2:
        mine[i] = rank % 2 == 0 ? sign : Bits{0};
        break;
      case 3:
        mine[i] = rank % 2 == 0 ? Bits{0} : sign;
        break;
      default:
        mine[i] = number;
    }
  }
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    const std::vector<Bits> out = reduced(me, mine, type, reduction);
    const Bits zero = reduction == Reduction::min ? sign : Bits{0};
    for (std::size_t i = 0; i < count; ++i) {
      const Bits expected = i % 5 < 2 ? nan : i % 5 < 4 ? zero : number;
      if (out[i] != expected)
        std::fprintf(stderr, "element %zu of %zu is %llx\n", i, count, static_cast<unsigned long long>(out[i]));
      require(out[i] == expected, to_string(reduction));
    }
  }
  for (const Reduction reduction : {Reduction::sum, Reduction::prod, Reduction::avg})
    reduced(me, mine, type, reduction);
}

}  // namespace

void extremes(const Rank& me) {
  for (const std::size_t count : {few, many}) {
    check_extremes<std::uint16_t>(me, DType::f16, 0x7e00, count);
    check_extremes<std::uint16_t>(me, DType::bf16, 0x7fc0, count);
    check_extremes<std::uint32_t>(me, DType::f32, 0x7fc00000, count);
    check_extremes<std::uint64_t>(me, DType::f64, 0x7ff8000000000000, count);
  }
}

namespace {

template <class T>
void check_wraps(const Rank& me, DType type, T each, const std::vector<std::size_t>& counts = {few, many}) {
  T sum = 0, product = 1;
  for (int rank = 0; rank < me.all.size(); ++rank) {
    sum = static_cast<T>(static_cast<unsigned>(sum) + static_cast<unsigned>(each));
    product = static_cast<T>(static_cast<unsigned>(product) * static_cast<unsigned>(each));
  }
  for (const std::size_t count : counts) {
    const std::vector<T> mine(count, each);
    require(reduced(me, mine, type, Reduction::sum) == std::vector<T>(count, sum), "every sum wraps");
    require(reduced(me, mine, type, Reduction::prod) == std::vector<T>(count, product), "every product wraps");
  }
}

}  // namespace

void wraps(const Rank& me) {
  check_wraps<std::int8_t>(me, DType::i8, 100, {few, many, very_many});
  check_wraps<std::int8_t>(me, DType::i8, -100);
  check_wraps<std::uint8_t>(me, DType::u8, 200);
  check_wraps<std::int16_t>(me, DType::i16, 30000);
  check_wraps<std::int16_t>(me, DType::i16, -30000);
  check_wraps<std::uint16_t>(me, DType::u16, 60000);
}

namespace {

using mpi::fits;
using mpi::in_pieces;
using Part = anyplace_engine_part;

/// The part by the public call of it.
void call(const Rank& me, const Part& part) {
  const Address to(part.destination), from(part.source);
  const auto type = static_cast<DType>(part.type);
  const auto reduction = static_cast<Reduction>(part.reduction);
  switch (part.collective) {
    case ANYPLACE_COLLECTIVE_ALL_GATHER:
      return me.all.all_gather(me.stream, to, from, part.count, type);
    case ANYPLACE_COLLECTIVE_ALL_TO_ALL:
      return me.all.all_to_all(me.stream, to, from, part.count, type);
    case ANYPLACE_COLLECTIVE_REDUCE_SCATTER:
      return me.all.reduce_scatter(me.stream, to, from, part.count, type, reduction);
    case ANYPLACE_COLLECTIVE_BROADCAST:
      return me.all.broadcast(me.stream, to, part.count, type, part.root);
    case ANYPLACE_COLLECTIVE_REDUCE:
      return me.all.reduce(me.stream, to, from, part.count, type, part.root, reduction);
    case ANYPLACE_COLLECTIVE_SEND:
      return me.all.send(me.stream, from, part.count, type, part.root);
    case ANYPLACE_COLLECTIVE_RECV:
      return me.all.recv(me.stream, to, part.count, type, part.root);
    default:
      return me.all.all_reduce(me.stream, to, from, part.count, type, reduction);
  }
}

}  // namespace

void pieces(const Rank& me) {
  constexpr std::uint64_t count = 20, most = 7;
  const int rank = me.all.rank(), size = me.all.size();
  const std::uint64_t all = count * static_cast<std::uint64_t>(size);
  std::vector<float> given;
  for (std::uint64_t i = 0; i < all; ++i) given.push_back(static_cast<float>(rank * 1000) + static_cast<float>(i));
  const std::vector<std::pair<std::uint32_t, const char*>> operations{
      {ANYPLACE_COLLECTIVE_ALL_GATHER, "all_gather"},
      {ANYPLACE_COLLECTIVE_ALL_TO_ALL, "all_to_all"},
      {ANYPLACE_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter"},
      {ANYPLACE_COLLECTIVE_BROADCAST, "broadcast"},
      {ANYPLACE_COLLECTIVE_REDUCE, "reduce"},
      {ANYPLACE_COLLECTIVE_ALL_REDUCE, "all_reduce"}};
  for (const auto& [what, name] : operations) {
    std::vector<float> results[2];
    for (const bool cut : {false, true}) {
      const Buffer source = Buffer::of<float>(me.stream, all), out = me.filled(-1, all);
      me.stream.copy(source, given);
      const bool in_place = what == ANYPLACE_COLLECTIVE_BROADCAST;
      const Part whole{what,
                       ANYPLACE_DTYPE_F32,
                       ANYPLACE_REDUCTION_SUM,
                       1,
                       count,
                       in_place ? source.address() : out.address(),
                       source.address()};
      me.all.group_start();
      const std::vector<Part> parts = cut ? in_pieces(whole, most, rank, size) : std::vector<Part>{whole};
      require(parts.size() > 1 || !cut, "it is cut");
      for (const Part& part : parts) {
        require(!cut || fits(part, most, size), "each part fits");
        call(me, part);
      }
      me.all.group_end();
      results[cut ? 1 : 0] = me.read(in_place ? source : out, me.stream);
    }
    require(results[0] == results[1], name);
  }
}

}  // namespace ranks_worker
