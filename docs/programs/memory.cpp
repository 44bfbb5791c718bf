// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  const anyplace::Device here("cpu_sim:0"), there("cpu_sim:1");
  const anyplace::Stream stream(here);
  constexpr std::uint64_t count = 1 << 18;

  // A copy from or to it doesn't block the caller, and it may go before the copy is done.
  const anyplace::HostBuffer pinned(here, count * sizeof(std::uint32_t));
  const auto numbers = pinned.as<std::uint32_t>();
  std::iota(numbers.begin(), numbers.end(), 0u);

  const anyplace::Buffer near = anyplace::Buffer::of<std::uint32_t>(stream, count);
  const anyplace::Buffer back(stream, near.size_bytes());
  const anyplace::Buffer far(there, near.size_bytes());  // belongs to the current stream of `there`
  far.record_stream(stream);
  stream.copy(near, pinned);
  stream.fill(near.as<std::uint32_t>().last(count / 2), 0u);
  stream.copy(far, near);  // between devices, in the order of `stream`

  std::vector<std::uint32_t> result(count);
  stream.copy(back, far);
  stream.copy(result, back);
  stream.synchronize();

  const auto middle = result.begin() + static_cast<std::ptrdiff_t>(result.size() / 2);
  const bool kept = std::equal(result.begin(), middle, numbers.begin());
  const bool cleared = std::all_of(middle, result.end(), [](std::uint32_t number) { return number == 0; });
  std::printf("first half %s, second half %s\n", kept ? "kept" : "lost", cleared ? "cleared" : "not cleared");
  return kept && cleared ? 0 : 1;
}
