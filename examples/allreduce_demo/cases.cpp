// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <anyplace/memory.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "elements.h"

namespace demo {

using namespace anyplace;

namespace {

constexpr DType types[] = {DType::f16,  DType::bf16, DType::f32, DType::f64, DType::c64,
                           DType::c128, DType::i8,   DType::i16, DType::i32, DType::i64,
                           DType::u8,   DType::u16,  DType::u32, DType::u64, DType::boolean};
constexpr Reduction reductions[] = {Reduction::sum, Reduction::prod, Reduction::min, Reduction::max, Reduction::avg};
constexpr std::uint64_t count = 37;  // odd, so that nothing fits by chance

bool is_complex(DType type) { return type == DType::c64 || type == DType::c128; }
bool is_floating(DType type) { return type <= DType::c128; }

bool has(DType type, Reduction reduction) {
  if (type == DType::boolean) return reduction == Reduction::min || reduction == Reduction::max;
  if (is_complex(type)) return reduction != Reduction::min && reduction != Reduction::max;
  return reduction != Reduction::avg || is_floating(type);
}

class Checker {
 public:
  Checker(const Communicator& all, const Stream& stream)
      : all_(all), stream_(stream), rank_(all.rank()), size_(static_cast<std::uint64_t>(all.size())) {}

  Outcome all_types() {
    for (const DType type : types) {
      type_ = type;
      for (const Reduction reduction : reductions) {
        if (has(type, reduction)) reduce_all(reduction);
      }
      move_all();
    }
    return outcome_;
  }

 private:
  /// What rank `rank` has at `i`. Products of six of them fit every type.
  double value(int rank, std::uint64_t i) const {
    if (type_ == DType::boolean) return static_cast<double>((static_cast<std::uint64_t>(rank) + i) % 3 == 0);
    return rank > 5 ? 1 : 1 + static_cast<double>((static_cast<std::uint64_t>(rank) * 5 + i) % 2);
  }
  std::vector<double> values(int rank, std::uint64_t from, std::uint64_t how_many) const {
    std::vector<double> all;
    for (std::uint64_t i = 0; i < how_many; ++i) all.push_back(value(rank, from + i));
    return all;
  }
  double reduced(Reduction reduction, std::uint64_t i) const {
    double result = value(0, i);
    for (int rank = 1; rank < all_.size(); ++rank) {
      const double next = value(rank, i);
      switch (reduction) {
        case Reduction::prod:
          result *= next;
          break;
        case Reduction::min:
          result = std::min(result, next);
          break;
        case Reduction::max:
          result = std::max(result, next);
          break;
        default:
          result += next;
      }
    }
    return reduction == Reduction::avg ? result / static_cast<double>(size_) : result;
  }
  std::vector<double> all_reduced(Reduction reduction, std::uint64_t from, std::uint64_t how_many) const {
    std::vector<double> all;
    for (std::uint64_t i = 0; i < how_many; ++i) all.push_back(reduced(reduction, from + i));
    return all;
  }

  Buffer device_copy(const std::vector<double>& numbers) {
    hosts_.push_back(pack(type_, numbers));
    Buffer buffer(stream_, hosts_.back().size());
    stream_.copy(buffer, hosts_.back());
    return buffer;
  }
  Buffer empty(std::uint64_t elements) { return Buffer(stream_, elements * size_of(type_)); }

  /// Runs the operation and compares what is in `result` then. Nothing is expected where `expected` is empty.
  void check(const std::string& name, const Buffer& result, const std::vector<double>& expected,
             const std::function<void()>& operation) {
    try {
      operation();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      ++outcome_.left_out;
      return;
    }
    std::vector<std::byte> host(expected.size() * size_of(type_));
    if (!expected.empty()) stream_.copy(host, result.sub(0, host.size()));
    stream_.synchronize();
    hosts_.clear();
    const std::vector<double> got = unpack(type_, host);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::abs(got[i] - expected[i]) <= std::abs(expected[i]) * precision(type_)) continue;
      outcome_.wrong += std::string(name) + " of " + to_string(type_) + ", element " + std::to_string(i) + ": " +
                        std::to_string(got[i]) + " instead of " + std::to_string(expected[i]) + "\n";
      return;
    }
    ++outcome_.right;
  }

  void reduce_all(Reduction reduction) {
    const std::string suffix = std::string(" (") + to_string(reduction) + ")";
    const Buffer source = device_copy(values(rank_, 0, count));
    const Buffer out = empty(count);
    check("all_reduce" + suffix, out, all_reduced(reduction, 0, count),
          [&] { all_.all_reduce(stream_, out.address(), source.address(), count, type_, reduction); });
    const Buffer in_place = device_copy(values(rank_, 0, count));
    check("all_reduce in place" + suffix, in_place, all_reduced(reduction, 0, count),
          [&] { all_.all_reduce(stream_, in_place.address(), in_place.address(), count, type_, reduction); });
    const int root = all_.size() - 1;
    check("reduce" + suffix, out, rank_ == root ? all_reduced(reduction, 0, count) : std::vector<double>(), [&] {
      all_.reduce(stream_, rank_ == root ? Address(out.address()) : Address(), source.address(), count, type_, root,
                  reduction);
    });
    const Buffer whole = device_copy(values(rank_, 0, count * size_));
    check("reduce_scatter" + suffix, out, all_reduced(reduction, static_cast<std::uint64_t>(rank_) * count, count),
          [&] { all_.reduce_scatter(stream_, out.address(), whole.address(), count, type_, reduction); });
  }

  void move_all() {
    const Buffer source = device_copy(values(rank_, 0, count));
    const Buffer out = empty(count * size_);
    std::vector<double> gathered, exchanged;
    for (int rank = 0; rank < all_.size(); ++rank) {
      const std::vector<double> part = values(rank, 0, count);
      gathered.insert(gathered.end(), part.begin(), part.end());
      const std::vector<double> sent = values(rank, static_cast<std::uint64_t>(rank_) * count, count);
      exchanged.insert(exchanged.end(), sent.begin(), sent.end());
    }
    check("all_gather", out, gathered,
          [&] { all_.all_gather(stream_, out.address(), source.address(), count, type_); });
    const Buffer whole = device_copy(values(rank_, 0, count * size_));
    check("all_to_all", out, exchanged,
          [&] { all_.all_to_all(stream_, out.address(), whole.address(), count, type_); });
    const int root = all_.size() / 2;
    const Buffer data = device_copy(values(rank_, 0, count));
    check("broadcast", data, values(root, 0, count),
          [&] { all_.broadcast(stream_, data.address(), count, type_, root); });
    const int next = (rank_ + 1) % all_.size();
    const int before = (rank_ + all_.size() - 1) % all_.size();
    check("send and recv", out, values(before, 0, count), [&] {
      all_.group_start();
      all_.send(stream_, source.address(), count, type_, next);
      all_.recv(stream_, out.address(), count, type_, before);
      all_.group_end();
    });
  }

  const Communicator& all_;
  const Stream& stream_;
  const int rank_;
  const std::uint64_t size_;
  DType type_ = DType::f32;
  std::vector<std::vector<std::byte>> hosts_;  ///< sources of copies that may not be done
  Outcome outcome_;
};

}  // namespace

Outcome check_all(const Communicator& all, const Stream& stream) { return Checker(all, stream).all_types(); }

}  // namespace demo
