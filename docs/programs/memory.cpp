// SPDX-License-Identifier: Apache-2.0
#include <anyplace/anyplace.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  const anyplace::Device here("cpu_sim:0"), there("cpu_sim:1");
  const anyplace::Stream stream(here);
  constexpr std::uint64_t bytes = 1 << 20;

  const anyplace::HostBuffer pinned(here, bytes);  // a copy from or to it doesn't block the caller
  const auto numbers = pinned.as<std::uint32_t>();
  std::iota(numbers.begin(), numbers.end(), 0u);

  const anyplace::Buffer near(stream, bytes), back(stream, bytes);
  const anyplace::Buffer far(there, bytes);  // belongs to the current stream of `there`
  far.record_stream(stream);
  stream.copy(near, {pinned.data(), pinned.size()});
  stream.memset8(near.sub(bytes / 2), 0);
  stream.copy(far, near);  // between devices, in the order of `stream`

  std::vector<std::uint32_t> result(bytes / sizeof(std::uint32_t));
  stream.copy(back, far);
  stream.copy(result, back);
  stream.synchronize();

  const auto middle = result.begin() + static_cast<std::ptrdiff_t>(result.size() / 2);
  const bool kept = std::equal(result.begin(), middle, numbers.begin());
  const bool cleared = std::all_of(middle, result.end(), [](std::uint32_t number) { return number == 0; });
  std::printf("first half %s, second half %s\n", kept ? "kept" : "lost", cleared ? "cleared" : "not cleared");
  return kept && cleared ? 0 : 1;
}
