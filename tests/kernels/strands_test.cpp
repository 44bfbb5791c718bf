// SPDX-License-Identifier: Apache-2.0
//
// The change of stacks in a barrier (cmake/kernels/host_threads.cpp), straight: with kernels as loops, or on a GPU,
// none happens.
#include <anyplace/device_code/host_block.h>

#include <catch2/catch.hpp>
#include <new>

namespace strands_test_cases {
namespace {

using namespace anyplace::device_code;

struct Values {
  int rounds;
  int throws_from;  // the first thread that throws behind its barriers
  int* wrong;
};

/// Holds more whole numbers and fractions across barriers than a processor has registers that a call leaves alone.
__attribute__((noinline)) void hold(const Values& values) {
  const unsigned own = block_state.thread.x;
  unsigned long a = own, b = own + 1, c = own + 2, d = own + 3, e = own + 4, f = own + 5, g = own + 6, h = own + 7;
  unsigned long i = own + 8, j = own + 9, k = own + 10, l = own + 11;
  double p = own * 0.5, q = own * 1.5, r = own * 2.5, s = own * 3.5, t = own * 4.5, u = own * 5.5, v = own * 6.5;
  double w = own * 7.5, x = own * 8.5, y = own * 9.5;
  for (int round = 0; round < values.rounds; ++round) {
    barrier();
    if (block_state.thread.x != own) ++*values.wrong;
    ++a, ++b, ++c, ++d, ++e, ++f, ++g, ++h, ++i, ++j, ++k, ++l;
    ++p, ++q, ++r, ++s, ++t, ++u, ++v, ++w, ++x, ++y;
  }
  const auto rounds = static_cast<unsigned long>(values.rounds);
  const unsigned long whole[] = {a, b, c, d, e, f, g, h, i, j, k, l};
  const double fractions[] = {p, q, r, s, t, u, v, w, x, y};
  for (unsigned n = 0; n < 12; ++n) *values.wrong += whole[n] != own + n + rounds ? 1 : 0;
  for (unsigned n = 0; n < 10; ++n) *values.wrong += fractions[n] != own * (n + 0.5) + values.rounds ? 1 : 0;
  if (static_cast<int>(own) >= values.throws_from) throw std::bad_alloc();
}

void run_threads(const void* values) {
  try {
    while (begin_next_thread(block_state)) hold(*static_cast<const Values*>(values));
  } catch (...) {
    fail_block_with_what_was_thrown();
  }
}

anyplace_status run_block(std::uint32_t threads, const Values& values) {
  anyplace_block block{};
  block.block[0] = threads;
  block.block[1] = block.block[2] = block.grid[0] = block.grid[1] = block.grid[2] = 1;
  begin_block(block, &run_threads, &values);
  run_threads(&values);
  if (block_state.parted) finish_parted_block();
  return block_state.status;
}

}  // namespace

TEST_CASE("What a thread has in registers stays its own across barriers") {
  for (const std::uint32_t threads : {1u, 2u, 3u, 32u, 257u, 1024u}) {
    CAPTURE(threads);
    int wrong = 0;
    CHECK(run_block(threads, {20, 2000, &wrong}) == ANYPLACE_STATUS_OK);
    CHECK(wrong == 0);
  }
}

TEST_CASE("A thread that throws behind a barrier fails its block, and the others come to their ends") {
  for (const int first : {0, 1, 63}) {
    CAPTURE(first);
    int wrong = 0;
    CHECK(run_block(64, {3, first, &wrong}) == ANYPLACE_STATUS_OUT_OF_MEMORY);
    CHECK(wrong == 0);
    CHECK(run_block(64, {3, 64, &wrong}) == ANYPLACE_STATUS_OK);
  }
}

}  // namespace strands_test_cases
