// SPDX-License-Identifier: Apache-2.0
// The layer `validate`: what it remembers of a program that runs for long.
#include <optional>
#include <vector>

#include "validate_support.h"

namespace validate_bounds_test {

using namespace anyplace;
using test::kinds;
using test::Kinds;
using test::Validated;

namespace {

nlohmann::json statistics() { return nlohmann::json::parse(layer_command("validate", "statistics")); }

/// Rounds over all buffers, on both streams in turn, which wait for each other. The host waits for neither.
void work(const Validated& v, const std::vector<Buffer>& buffers, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const bool is_first = round % 2 == 0;
    const Stream& stream = is_first ? v.a : v.b;
    stream.wait_stream(is_first ? v.b : v.a);
    for (const Buffer& buffer : buffers) stream.memset8(buffer.sub(is_first ? 0 : 32, 64), 1);
  }
}

}  // namespace

TEST_CASE("what is remembered of a buffer doesn't grow with the operations on it, and takes 100 bytes an access") {
  Validated v;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 1000; ++i) buffers.push_back(v.shared());
  work(v, buffers, 20);
  const nlohmann::json early = statistics();
  work(v, buffers, 80);
  const nlohmann::json late = statistics();
  INFO(early << late);
  CHECK(late.at("accesses") <= early.at("accesses"));
  CHECK(late.at("accesses") >= 1000);
  CHECK(late.at("access_bytes") <= 100 * late.at("accesses").get<std::size_t>());
  CHECK(late.at("operations") <= 100);
  CHECK(kinds() == Kinds());
}

TEST_CASE("operations of streams that are gone are forgotten") {
  Validated v;
  const Buffer x = v.shared();
  for (int i = 0; i < 20'000; ++i) {
    const Stream stream(v.device);
    stream.memset8(x, 1);
    stream.synchronize();
  }
  CHECK(statistics().at("operations") < 17'000);
  CHECK(kinds() == Kinds());
}

}  // namespace validate_bounds_test
