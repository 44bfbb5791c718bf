// SPDX-License-Identifier: Apache-2.0
// What is refused, whatever the engine: on one rank alone.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/environment.h"
#include "support/errors.h"

namespace bad_input_test {

using namespace anyplace;

struct Alone {
  Device device{"cpu_sim:0"};
  Communicator all{device, Bootstrap::alone()};
  Stream stream{device};
  Buffer ten = Buffer::of<float>(stream, 10);
  Buffer five = Buffer::of<float>(stream, 5);

  /// What is said of an invalid_argument.
  std::string refusal(test::CallRef call) const {
    return test::required_error(ErrorCode::invalid_argument, call).what();
  }
};

bool says(const std::string& text, const char* part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("Given one rank alone then every operation gives it what it gave") {
  const Alone me;
  CHECK(me.all.engine() == "none");
  CHECK(me.all.rank() == 0);
  CHECK(me.all.size() == 1);
  me.stream.fill(me.ten.as<float>(), 3.0f);
  const auto holds_three = [&](const Buffer& buffer) {
    std::vector<float> host(buffer.size_bytes() / sizeof(float));
    me.stream.copy(host, buffer);
    me.stream.synchronize();
    return host == std::vector<float>(host.size(), 3.0f);
  };
  const auto fresh = [&] {
    Buffer buffer = Buffer::of<float>(me.stream, 10);
    me.stream.fill(buffer.as<float>(), 0.0f);
    return buffer;
  };
  const auto from = me.ten.as<float>();
  const Buffer out[] = {fresh(), fresh(), fresh(), fresh(), fresh(), fresh()};
  me.all.all_reduce(me.stream, out[0].as<float>(), from, Reduction::avg);
  me.all.reduce(me.stream, out[1].as<float>(), from, 0, Reduction::prod);
  me.all.all_gather(me.stream, out[2].as<float>(), from);
  me.all.reduce_scatter(me.stream, out[3].as<float>(), from, Reduction::min);
  me.all.all_to_all(me.stream, out[4].as<float>(), from);
  me.all.broadcast(me.stream, me.ten.as<float>(), 0);
  me.all.group_start();
  me.all.recv(me.stream, out[5].as<float>(), 0);
  me.all.send(me.stream, from, 0);
  me.all.group_end();
  me.all.barrier(me.stream);
  me.all.synchronize();
  CHECK(me.all.query());
  for (const Buffer& buffer : out) CHECK(holds_three(buffer));
  CHECK_FALSE(me.all.split(1, 0).is_null());
  CHECK(me.all.split(-1, 0).is_null());
}

TEST_CASE("Given a buffer that is smaller than the count then the operation is refused") {
  const Alone me;
  const auto ten = me.ten.as<float>(), five = me.five.as<float>();
  CHECK(says(me.refusal([&] { me.all.all_reduce(me.stream, five, ten); }),
             "the buffer has 20 bytes, and the operation needs 40"));
  CHECK(says(me.refusal([&] { me.all.reduce(me.stream, five, ten, 0); }), "needs 40"));
  CHECK(says(me.refusal([&] { me.all.all_gather(me.stream, five, ten); }), "needs 40"));
  CHECK(says(me.refusal([&] { me.all.reduce_scatter(me.stream, ten, five); }), "needs 40"));
  CHECK(says(me.refusal([&] { me.all.all_to_all(me.stream, five, ten); }), "needs 40"));
  // By address, as far as is known of it.
  CHECK(test::code_of([&] { me.all.all_reduce(me.stream, me.ten.address(), me.five.address(), 10, DType::f32); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { me.all.broadcast(me.stream, me.five.address(), 6, DType::f32, 0); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { me.all.all_gather(me.stream, me.five.address(), me.ten.address(), 10, DType::f32); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("Given null addresses then the operation is refused") {
  const Alone me;
  CHECK(says(me.refusal([&] { me.all.all_reduce(me.stream, Address(), me.ten.address(), 10, DType::f32); }), "null"));
  CHECK(says(me.refusal([&] { me.all.all_reduce(me.stream, me.ten.address(), Address(), 10, DType::f32); }), "null"));
  CHECK(says(me.refusal([&] { me.all.recv(me.stream, Address(), 10, DType::f32, 0); }), "null"));
  me.all.all_reduce(me.stream, Address(), Address(), 0, DType::f32);  // nothing of it is used
}

TEST_CASE("Given a root or a peer that is no rank then the operation is refused") {
  const Alone me;
  const auto ten = me.ten.as<float>();
  CHECK(says(me.refusal([&] { me.all.broadcast(me.stream, ten, 1); }), "the root 1 isn't a rank; ranks are 0 to 0"));
  CHECK(says(me.refusal([&] { me.all.broadcast(me.stream, ten, -1); }), "the root -1 isn't a rank"));
  CHECK(says(me.refusal([&] { me.all.send(me.stream, ten, 7); }), "the peer 7 isn't a rank"));
  CHECK(says(me.refusal([&] { me.all.reduce(me.stream, ten, ten, 2); }), "the root 2 isn't a rank"));
}

TEST_CASE("Given a stream of another device then the operation names both") {
  const Alone me;
  const Stream other(Device("cpu_sim:1"));
  CHECK(says(me.refusal([&] { me.all.barrier(other); }),
             "the stream is of cpu_sim:1, and the communicator is of cpu_sim:0"));
  CHECK(says(me.refusal([&] { me.all.all_reduce(other, me.ten.as<float>(), me.ten.as<float>()); }),
             "the stream is of cpu_sim:1"));
  const Buffer elsewhere = Buffer::of<float>(other, 10);
  CHECK(says(me.refusal([&] { me.all.all_reduce(me.stream, me.ten.address(), elsewhere.address(), 10, DType::f32); }),
             "the source is memory of cpu_sim:1"));
}

TEST_CASE("Given a type that hasn't the reduction then the Error says which it has") {
  const Alone me;
  const auto reduce = [&](DType type, Reduction reduction) {
    me.all.all_reduce(me.stream, me.ten.address(), me.ten.address(), 1, type, reduction);
  };
  CHECK(says(me.refusal([&] { reduce(DType::i32, Reduction::avg); }),
             "i32 elements have no avg; they have sum, prod, min and max"));
  CHECK(says(me.refusal([&] { reduce(DType::c64, Reduction::max); }), "they have sum, prod and avg"));
  CHECK(says(me.refusal([&] { reduce(DType::boolean, Reduction::sum); }), "they have min (all of them) and max"));
  const auto none = static_cast<Reduction>(9);
  CHECK(says(me.refusal([&] { reduce(DType::f32, none); }),
             "9 is no Reduction; f32 elements have sum, prod, min, max and avg"));
  CHECK(
      says(me.refusal([&] { me.all.reduce(me.stream, me.ten.as<float>(), me.ten.as<float>(), 0, none); }), "9 is no"));
  CHECK(says(
      me.refusal([&] { me.all.reduce_scatter(me.stream, me.five.address(), me.ten.address(), 1, DType::i32, none); }),
      "9 is no Reduction; i32 elements have sum, prod, min and max"));
  CHECK(says(me.refusal([&] { reduce(static_cast<DType>(99), Reduction::sum); }), "the type is no DType"));
}

TEST_CASE("Given sides that overlap then the operation is refused") {
  const Alone me;
  const std::uint64_t at = me.ten.address();
  CHECK(says(me.refusal([&] { me.all.all_reduce(me.stream, at + 4, at, 5, DType::f32); }), "overlap"));
  CHECK(says(me.refusal([&] { me.all.reduce_scatter(me.stream, at, at, 5, DType::f32); }), "isn't done in place"));
}

TEST_CASE("Given a communicator that was aborted or is null then its members say so") {
  const Alone me;
  me.all.abort();
  const std::string text = test::required_error(ErrorCode::invalid_handle, [&] { me.all.barrier(me.stream); }).what();
  CHECK(says(text, "the communicator was aborted; make another one"));
  CHECK(test::code_of([&] { static_cast<void>(me.all.size()); }) == ErrorCode::invalid_handle);
  CHECK(me.all.async_error()->code() == ErrorCode::invalid_handle);
  me.all.abort();  // once more does nothing
  CHECK(me.all.async_error()->operation() == "Communicator::abort");
  const Communicator null;
  CHECK(null.is_null());
  CHECK(test::code_of([&] { null.barrier(me.stream); }) == ErrorCode::invalid_handle);
  CHECK(test::code_of([&] { null.abort(); }) == ErrorCode::invalid_handle);
}

TEST_CASE("Given a group then it is of one stream and needs a beginning") {
  const Alone me;
  const Stream second(me.device);
  CHECK(says(me.refusal([&] { me.all.group_end(); }), "this thread has no group"));
  me.all.group_start();
  me.all.barrier(me.stream);
  CHECK(says(me.refusal([&] { me.all.barrier(second); }), "of one stream"));
  me.all.group_end();
  me.all.group_start();
  me.all.send(me.stream, me.ten.as<float>(), 0);
  CHECK(says(me.refusal([&] { me.all.group_end(); }), "each send needs a recv"));
}

/// What the call throws on a thread of its own.
template <class Call>
std::string text_elsewhere(Call&& call) {
  std::string text = "nothing";
  std::thread([&] {
    try {
      call();
    } catch (const Error& error) {
      text = error.what();
    }
  }).join();
  return text;
}

TEST_CASE("Given a group then it is its thread's alone") {
  const Alone me;
  const Stream second(me.device);
  me.stream.fill(me.ten.as<float>(), 7.0f);
  me.all.group_start();
  me.all.recv(me.stream, me.five.as<float>(), 0);
  CHECK(says(text_elsewhere([&] { me.all.group_end(); }), "this thread has no group"));
  // Of another stream: it would be refused within the group.
  CHECK(text_elsewhere([&] { me.all.barrier(second); }) == "nothing");
  CHECK(text_elsewhere([&] {
          me.all.group_start();
          me.all.barrier(second);
          me.all.group_end();
        }) == "nothing");
  me.all.send(me.stream, me.ten.as<float>().first(5), 0);
  me.all.group_end();
  std::vector<float> host(5);
  me.stream.copy(host, me.five);
  me.stream.synchronize();
  CHECK(host == std::vector<float>(5, 7.0f));
  CHECK(says(me.refusal([&] { me.all.group_end(); }), "this thread has no group"));
}

TEST_CASE("Given a thread that ends within a group then no other thread is in it") {
  const Alone me;
  for (int round = 0; round < 20; ++round) {  // the system gives a thread's id to the next one
    CHECK(text_elsewhere([&] { me.all.group_start(); }) == "nothing");
    CHECK(says(text_elsewhere([&] { me.all.group_end(); }), "this thread has no group"));
  }
}

TEST_CASE("Given a group of one communicator then another's operations aren't in it") {
  const Alone me;
  const Communicator other = me.all.split(0, 0);
  const Stream second(me.device);
  me.all.group_start();
  me.all.barrier(me.stream);
  other.barrier(second);
  CHECK(test::code_of([&] { other.group_end(); }) == ErrorCode::invalid_argument);
  me.all.group_end();
}

TEST_CASE("Given a guard's scope then its operations begin at its end, and are dropped when an exception leaves it") {
  const Alone me;
  const auto sum_to_five = [&](float value) {
    me.stream.fill(me.ten.as<float>(), value);
    me.all.all_reduce(me.stream, me.five.as<float>(), me.ten.as<float>().first(5));
  };
  const auto is_five = [&](float value) {
    std::vector<float> host(5);
    me.stream.copy(host, me.five);
    me.stream.synchronize();
    return host == std::vector<float>(5, value);
  };
  {
    const GroupGuard group(me.all);
    sum_to_five(1);
    CHECK_FALSE(is_five(1));
  }
  CHECK(is_five(1));
  CHECK_THROWS_AS(
      [&] {
        const GroupGuard group(me.all);
        sum_to_five(2);
        throw std::runtime_error("between");
      }(),
      std::runtime_error);
  CHECK(is_five(1));
  CHECK(says(me.refusal([&] { me.all.group_end(); }), "this thread has no group"));
  {  // The inner one alone is dropped.
    const GroupGuard outer(me.all);
    sum_to_five(3);
    try {
      const GroupGuard inner(me.all);
      me.all.all_reduce(me.stream, me.five.as<float>(), me.ten.as<float>().first(5));
      me.all.send(me.stream, me.ten.as<float>(), 0);  // which would be refused at the end
      throw std::runtime_error("between");
    } catch (const std::runtime_error&) {
    }
    CHECK(is_five(1));
  }
  CHECK(is_five(3));
  CHECK(says(me.refusal([&] {
    const GroupGuard group(me.all);
    me.all.send(me.stream, me.ten.as<float>(), 0);
  }),
             "each send needs a recv"));
  const Communicator null;
  CHECK(test::code_of([&] { const GroupGuard group(null); }) == ErrorCode::invalid_handle);
}

TEST_CASE("Given a captured stream then an operation is refused with capturing") {
  const Alone me;
  me.stream.begin_capture();
  CHECK(test::code_of([&] { me.all.barrier(me.stream); }) == ErrorCode::capturing);
  CHECK(test::code_of([&] { static_cast<void>(me.stream.end_capture()); }) == ErrorCode::capture_invalidated);
}

TEST_CASE("Given an engine's name that is none, or another backend's, then the Error says which there are") {
  const Alone me;
  const auto make = [&](const char* engine) { Communicator(me.device, Bootstrap::alone(), {.engine = engine}); };
  CHECK(says(me.refusal([&] { make("gloo"); }), "there is no engine \"gloo\"; engines are nccl, rccl and mpi"));
  CHECK(says(me.refusal([&] { make("nccl"); }), "the engine nccl is for cuda alone; use mpi, or leave"));
  CHECK(says(me.refusal([&] { Communicator(me.device, Bootstrap::alone(), {.timeout = std::chrono::seconds(0)}); }),
             "the timeout isn't more than 0"));
}

TEST_CASE("Given the engines then each says what it is, or why it can't be used and which package has it") {
  const std::vector<CommunicatorEngine> engines = communicator_engines();
  REQUIRE(engines.size() == 3);
  CHECK(engines[0].name == "nccl");
  CHECK(engines[1].name == "rccl");
  CHECK(engines[2].name == "mpi");
  for (const CommunicatorEngine& engine : engines) {
    INFO(engine.name << ": " << engine.reason);
    CHECK(engine.usable == engine.reason.empty());
    CHECK(engine.usable == !engine.version.empty());
    CHECK((engine.usable || engine.reason.find("apt-get install") != std::string::npos));
  }
}

}  // namespace bad_input_test
