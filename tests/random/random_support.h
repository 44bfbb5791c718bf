// SPDX-License-Identifier: Apache-2.0
// A fill's elements on the host, and the words that they are made of.
#pragma once

#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "random/distributions.h"
#include "support/errors.h"

namespace test {

/// Where cases with the tag [place] run: cpu_sim, or what the environment says.
inline std::string place() {
  const char* const named = std::getenv("ANYPLACE_TEST_PLACE");
  return named != nullptr ? named : "cpu_sim:0";
}

/// What `fill` leaves in memory for `count` elements, and what was there where it left it.
template <class T>
std::vector<T> filled(const anyplace::Device& device, std::int64_t count, anyplace::DType type,
                      const std::function<void(const anyplace::StreamView&, const anyplace::RandomTarget&)>& fill) {
  const anyplace::Stream stream(device);
  const anyplace::Buffer buffer(stream, static_cast<std::uint64_t>(count) * sizeof(T) + 64);
  stream.memset8(buffer, 0xa5);
  fill(stream, anyplace::RandomTarget(buffer, type, count));
  std::vector<T> host(static_cast<std::size_t>(count) + 64 / sizeof(T));
  stream.copy(host, buffer);
  stream.synchronize();
  // Nothing behind them was written.
  const std::vector<unsigned char> untouched(64, 0xa5);
  CHECK(std::memcmp(host.data() + count, untouched.data(), 64) == 0);
  host.resize(static_cast<std::size_t>(count));
  return host;
}

/// Of an element of a distribution that makes `per` of each counter: its counter's words, and which of the `per` it is.
struct Source {
  anyplace::random::Words<1> words;
  int element;
};
inline Source source_of(std::uint64_t seed, std::uint64_t offset, std::uint64_t index, int per) {
  const std::uint64_t group_size = 16 * static_cast<std::uint64_t>(per);
  const std::uint64_t within = index % group_size;
  Source source{};
  source.element = static_cast<int>(within / 16);
  anyplace::random::philox_from(source.words, offset / 4 + index / group_size * 16 + within % 16, seed);
  return source;
}

/// The elements of a fill, one by one, by the distribution's own code.
template <class Distribution>
std::vector<typename Distribution::Element> expected(std::uint64_t seed, std::uint64_t offset, std::int64_t count,
                                                     const Distribution& distribution) {
  std::vector<typename Distribution::Element> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const Source source = source_of(seed, offset, static_cast<std::uint64_t>(i), Distribution::per);
    typename Distribution::Element made[Distribution::per][1];
    distribution.make(source.words, made);
    all.push_back(made[source.element][0]);
  }
  return all;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace test
