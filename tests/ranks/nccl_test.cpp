// SPDX-License-Identifier: Apache-2.0
// Ranks over the doubles of NCCL and RCCL, which are processes of the case's.
#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>
#include <random>

#include "anyplace/anyplace.h"
#include "ranks/launch.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/temp_dir.h"
#include "support/turn.h"

namespace nccl_test {

using namespace anyplace;
using test::Ended;
using test::Process;
using test::run_ranks;
using test::Variables;

const Variables with_nccl{{"LD_LIBRARY_PATH", RANKS_CUDA_DOUBLE ":" RANKS_NCCL_DOUBLE}};

bool has_doubles() {
  if (!std::string(RANKS_CUDA_DOUBLE).empty()) return true;
  std::cout << "ANYPLACE_TEST_SKIPPED: the double of the CUDA driver is not built\n";
  return false;
}

void require_right(const std::vector<Ended>& ends) {
  for (const Ended& ended : ends) {
    INFO(ended.out);
    CHECK_FALSE(ended.hung);
    CHECK(ended.status == 0);
  }
}

std::vector<Ended> work(int size, const char* mode) {
  return run_ranks(size, {RANKS_WORKER, "cuda:0", "nccl", mode}, with_nccl);
}

TEST_CASE("Given 2 and 4 ranks on cuda then every operation that NCCL has is right") {
  if (!has_doubles()) return;
  for (const int size : {2, 4}) {
    const std::vector<Ended> ends = run_ranks(size, {RANKS_DEMO, "--place", "cuda:0", "--check"}, with_nccl);
    require_right(ends);
    CHECK(ends[0].out.find("over nccl: 260 operations right, 40 left out") != std::string::npos);
  }
}

TEST_CASE("Given 2 ranks on hip then every operation that RCCL has is right") {
  if (std::string(RANKS_HIP_DOUBLE).empty()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: the double of the HIP runtime is not built\n";
    return;
  }
  const Variables with_rccl{{"LD_LIBRARY_PATH", RANKS_HIP_DOUBLE ":" RANKS_RCCL_DOUBLE}};
  const std::vector<Ended> ends = run_ranks(2, {RANKS_DEMO, "--place", "hip:0", "--check"}, with_rccl);
  require_right(ends);
  CHECK(ends[0].out.find("over rccl: 260 operations right, 40 left out") != std::string::npos);
}

TEST_CASE("Given work before and behind then an NCCL operation is between them") {
  if (has_doubles()) require_right(work(2, "order"));
}

TEST_CASE("Given two NCCL communicators that ranks use in opposite orders then neither blocks the other") {
  if (has_doubles()) require_right(work(2, "opposite"));
}

TEST_CASE("Given colors and keys then split makes NCCL communicators of them") {
  if (has_doubles()) require_right(work(4, "split"));
}

TEST_CASE("Given ranks that call different NCCL operations then the Error names both") {
  if (!has_doubles()) return;
  const std::vector<Ended> ends = work(2, "mismatch");
  require_right(ends);
  CHECK(ends[0].out.find("rank 0 calls ncclAllReduce of 1000 ncclFloat32 (ncclSum), rank 1 calls ncclBroadcast of "
                         "4000 ncclInt8, root 0") != std::string::npos);
}

TEST_CASE("Given an NCCL rank that is killed then the other gets a timeout", "[alone]") {
  if (!has_doubles()) return;
  const std::vector<Ended> ends = work(2, "killed");
  INFO(ends[0].out);
  CHECK_FALSE(ends[0].hung);
  CHECK(ends[0].status == 0);
  CHECK(ends[0].out.find("not all ranks came to do all_reduce of 20000 f32 (max) within 5 s") != std::string::npos);
}

TEST_CASE("Given memory of the host then NCCL isn't handed it, and the Error says what takes it") {
  if (has_doubles()) require_right(work(2, "of_host"));
}

TEST_CASE("Given NCCL operations that wait then abort ends them at once") {
  if (has_doubles()) require_right(work(2, "aborted"));
}

TEST_CASE("Given a split that a rank doesn't come to in time then the communicator has failed, and nothing waits",
          "[alone]") {
  if (has_doubles()) require_right(work(2, "late_to_split"));
}

TEST_CASE("Given a rank that is killed at 100 random points then the other one gets an Error each time", "[alone]") {
  if (!has_doubles()) return;
  constexpr std::size_t kills = 100;
  const test::Turn turn = test::turn();
  std::cout << turn.text() << ": " << turn.part(kills) << " of " << kills << " kills\n";
  test::set_env("NCCL_DOUBLE_NOTICES", "1");  // as a network tells; the time that silence takes is another case's
  const Device device("cuda:0");
  const Stream stream(device);
  const Buffer data = Buffer::of<float>(stream, 100);
  const test::TempDir folder;
  std::mt19937 random(7);  // the moments differ anyway
  for (std::size_t i = 0; i < kills; ++i) {
    const auto moment = std::chrono::microseconds(random() % 3000);
    if (!turn.takes(i)) continue;
    const std::string file = (folder.path() / std::to_string(i)).string();
    Process peer({RANKS_PEER, file}, with_nccl);
    const Communicator all(device, Bootstrap::file(0, 2, file), {.timeout = std::chrono::minutes(2)});
    std::thread killer([&] {
      std::this_thread::sleep_for(moment);
      peer.kill();  // and waits for its end: until then its number is still a process's
    });
    const Error error = test::required_error([&] {
      while (true) {
        all.all_reduce(stream, data.as<float>(), data.as<float>(), Reduction::max);
        stream.synchronize();
      }
    });
    killer.join();
    INFO(error.what());
    REQUIRE(error.code() == ErrorCode::peer_gone);
    REQUIRE(test::code_of([&] { all.synchronize(); }) == ErrorCode::peer_gone);
    static_cast<void>(test::code_of([&] { stream.synchronize(); }));
  }
}

TEST_CASE("Given an NCCL that isn't there or is too old then the Error names it and its package") {
  if (!has_doubles()) return;
  test::set_env("NCCL_DOUBLE_VERSION", "2708");
  const Device device("cuda:0");
  const Error error = test::required_error(ErrorCode::library_missing,
                                           [&] { Communicator(device, Bootstrap::alone(), {.engine = "nccl"}); });
  CHECK(std::string(error.what()).find("is version 2.7.8, which is too old: 2.10.0 or newer is needed") !=
        std::string::npos);
  CHECK(std::string(error.what()).find("libnccl2") != std::string::npos);
}

TEST_CASE("Given one rank and NCCL then operations are done by it") {
  if (!has_doubles()) return;
  const Device device("cuda:0");
  const Communicator one(device, Bootstrap::alone(), {.engine = "nccl"});
  CHECK(one.engine() == "nccl");
  const Stream stream(device);
  const Buffer data = Buffer::of<std::int32_t>(stream, 3);
  stream.fill(data.as<std::int32_t>(), 5);
  one.all_reduce(stream, data.as<std::int32_t>(), data.as<std::int32_t>());
  std::vector<std::int32_t> host(3);
  stream.copy(host, data);
  stream.synchronize();
  CHECK(host == std::vector<std::int32_t>{5, 5, 5});
  CHECK(test::code_of([&] { one.all_reduce(stream, data.address(), data.address(), 3, DType::i16); }) ==
        ErrorCode::unsupported);
}

}  // namespace nccl_test
