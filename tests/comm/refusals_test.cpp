// SPDX-License-Identifier: Apache-2.0
// Arguments that don't fit: what is said, and that nothing was submitted.
#include "comm/support.h"
#include "memory/plugins/controls.h"

namespace refusals_test {

using namespace comm_test;
namespace comm = anyplace::comm;

/// The error of a call that is refused, in one line; "" if it isn't, or as another error.
std::string refusal(test::CallRef call) {
  const std::optional<anyplace::Error> error = test::error_of(call);
  return error && error->code() == ErrorCode::invalid_argument ? error->what() : "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Two {
  std::vector<Device> all = devices(2);
  Array a = upload(all[0], counted(6), {2, 3});
  Array b = upload(all[1], counted(6), {2, 3});
  Ints values = counted(6);
  Array of_host = Array::share(host_view(values, {2, 3}), {}, nullptr);
};

TEST_CASE("both or neither of devices and out are refused") {
  const Two two;
  for (const auto& call : {+[](const Array&array, const comm::Targets&to) { comm::broadcast(array, to); },
                           +[](const Array&array, const comm::Targets&to) { comm::scatter(array, to); }}) {
    CHECK(has(refusal([&] { call(two.a, {}); }), "neither `devices` nor `out`"));
    CHECK(has(refusal([&] { call(two.a, {.devices = two.all, .out = {two.b}}); }), "both `devices`, which has 2"));
  }
}

TEST_CASE("broadcast names the rule that its arguments break") {
  const Two two;
  CHECK(has(refusal([&] {
              comm::broadcast(two.a, {.devices = {two.all[1], two.all[0]}});
            }),
            "the first of `devices` is cpu_sim:1"));
  CHECK(has(refusal([&] { comm::broadcast(Array(), {.devices = two.all}); }), "null array"));
  CHECK(has(refusal([&] { comm::broadcast(two.a, {.out = {two.b, two.of_host}}); }), "`out` array 1 is of the host"));
  CHECK(has(refusal([&] { comm::broadcast(two.a, {.out = {two.b.reshape({6})}}); }), "has the shape (6,)"));
  CHECK(has(refusal([&] {
              comm::broadcast(two.a, {.out = {Array(two.all[1], DType::f32, {2, 3})}});
            }),
            "elements of f32"));
  CHECK(has(refusal([&] { comm::broadcast(two.a, {.out = {two.b, two.b}}); }), "0 and 1 share memory"));
  CHECK(has(refusal([&] { comm::broadcast(two.a, {.out = {two.a}}); }), "shares memory with input 0"));
  CHECK(has(refusal([&] { comm::broadcast(two.a, {.out = {two.b.as_read_only()}}); }), "read-only"));
}

TEST_CASE("broadcast_coalesced names the rule that its arguments break") {
  const Two two;
  CHECK(has(refusal([&] { comm::broadcast_coalesced({two.a}, {}); }), "no devices"));
  CHECK(has(refusal([&] { comm::broadcast_coalesced({two.a, two.b}, two.all); }), "array 1 is of cpu_sim:1"));
  CHECK(has(refusal([&] { comm::broadcast_coalesced({two.of_host}, two.all); }), "of the host"));
  CHECK(has(refusal([&] { comm::broadcast_coalesced({Array()}, two.all); }), "null array"));
}

TEST_CASE("reduce_add names the rule that its arguments break") {
  const Two two;
  CHECK(has(refusal([&] { comm::reduce_add({}, two.all[0]); }), "no inputs"));
  CHECK(has(refusal([&] { comm::reduce_add({two.a, two.of_host}, two.all[0]); }), "input 1 is of the host"));
  CHECK(has(refusal([&] { comm::reduce_add({two.a, two.b.reshape({6})}, two.all[0]); }), "input 1 has the shape (6,)"));
  CHECK(has(refusal([&] {
              comm::reduce_add({two.a, Array(two.all[1], DType::f32, {2, 3})}, two.all[0]);
            }),
            "input 1 has elements of f32"));
  CHECK(has(refusal([&] { comm::reduce_add({two.a, two.b}, Device("cpu_sim:5")); }), "none of the 2 inputs is there"));
  CHECK(has(refusal([&] { comm::reduce_add({two.b}); }), "the destination is cpu_sim:0"));
  CHECK(test::code_of([&] { comm::reduce_add({two.a}, Device("cpu_sim:99")); }) == ErrorCode::no_such_device);
}

TEST_CASE("reduce_add_coalesced names the rule that its arguments break") {
  const Two two;
  CHECK(has(refusal([&] { comm::reduce_add_coalesced({}); }), "no inputs"));
  CHECK(has(refusal([&] { comm::reduce_add_coalesced({{two.a}, {two.b, two.b}}); }), "list 1 has 2 arrays"));
  CHECK(has(refusal([&] { comm::reduce_add_coalesced({{two.a, two.b}, {two.b, two.b}}); }), "a list is of one device"));
  CHECK(has(refusal([&] { comm::reduce_add_coalesced({{two.a}, {two.b.reshape({6})}}); }), "array 0 of list 1"));
  CHECK(has(refusal([&] {
              comm::reduce_add_coalesced({{two.a}, {two.b}}, Device("cpu_sim:4"));
            }),
            "none of the 2 inputs"));
}

TEST_CASE("scatter names the rule that its arguments break") {
  const Two two;
  const comm::Targets to{.devices = two.all};
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.chunk_sizes = {1, 2}}); }), "add up to 3"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.chunk_sizes = {2}}); }), "1 chunk_sizes and 2 devices"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.chunk_sizes = {3, -1}}); }), "chunk size -1 is negative"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.chunk_sizes = {INT64_MAX, 3}}); }), "more than 2^63"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.dim = 2}); }), "no dimension 2"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.dim = -3}); }), "go from -2 to 1"));
  CHECK(has(refusal([&] { comm::scatter(upload(two.all[0], Ints{1}, {}), to); }), "no dimension 0"));
  CHECK(has(refusal([&] { comm::scatter(two.a, to, {.streams = {StreamView()}}); }), "1 streams and 2 devices"));
  const Stream wrong(two.all[0]);
  CHECK(has(refusal([&] {
              comm::scatter(two.a, to, {.streams = {StreamView(), wrong}});
            }),
            "stream 1 is of cpu_sim:0, and device 1 is cpu_sim:1"));
  const Array out(two.all[1], DType::i32, {2, 3});
  CHECK(has(refusal([&] { comm::scatter(two.a, {.out = {out}}, {.chunk_sizes = {2}}); }), "together with `out`"));
  CHECK(has(refusal([&] { comm::scatter(two.a, {.out = {out.slice(0, 0, 1)}}); }), "add up to 1"));
  CHECK(has(refusal([&] { comm::scatter(two.a, {.out = {out.slice(1, 0, 1)}}); }), "`out` array 0 has the shape"));
  CHECK(has(refusal([&] { comm::scatter(two.a, {.out = {two.of_host}}); }), "of the host"));
  CHECK(has(refusal([&] {
              comm::scatter(two.a, {.out = {out.slice(0, 0, 1), out.slice(0, 0, 1)}});
            }),
            "0 and 1 share memory"));
}

TEST_CASE("gather names the rule that its arguments break") {
  const Two two;
  CHECK(has(refusal([&] { comm::gather({}); }), "no arrays"));
  CHECK(has(refusal([&] { comm::gather({two.a, two.of_host}); }), "array 1 is of the host"));
  CHECK(has(refusal([&] { comm::gather({two.a, two.b.slice(1, 0, 2)}); }), "array 1 has the shape (2, 2)"));
  CHECK(has(refusal([&] { comm::gather({two.a, two.b.reshape({6})}); }), "array 1 has the shape (6,)"));
  CHECK(has(refusal([&] { comm::gather({two.a, Array(two.all[1], DType::f32, {2, 3})}); }), "elements of f32"));
  CHECK(has(refusal([&] { comm::gather({two.a}, 2); }), "no dimension 2"));
  CHECK(has(refusal([&] { comm::gather({two.a}, -3); }), "no dimension -3"));
  const Array out(two.all[0], DType::i32, {4, 3});
  CHECK(has(refusal([&] {
              comm::gather({two.a, two.b}, 0, {.destination = two.all[0], .out = out});
            }),
            "both `destination` and `out`"));
  CHECK(has(refusal([&] { comm::gather({two.a, two.b}, 1, {.out = out}); }), "(2, 6) is expected"));
  CHECK(has(refusal([&] { comm::gather({two.a}, 0, {.out = two.a}); }), "shares memory with input 0"));
  CHECK(has(refusal([&] { comm::gather({two.a}, 0, {.out = Array()}); }), "null array"));
}

/// As many elements as the shape says, all rows of which are the first one of `array`.
Array rows_of_one(const Array& array, const Extents& shape) {
  return array.with(anyplace::ArrayView(array.buffer(), array.dtype(), shape, {0, 1}));
}

TEST_CASE("an `out` whose elements share memory is refused by its number, and nothing is written") {
  const Two two;
  const Array good = upload(two.all[1], counted(6, 100), {2, 3}), other = upload(two.all[1], counted(6, 200), {2, 3});
  const Array twice = rows_of_one(other, {2, 3});
  const auto untouched = [&] { return read(good) == counted(6, 100) && read(other) == counted(6, 200); };
  const std::string broadcast = refusal([&] { comm::broadcast(two.a, {.out = {good, twice}}); });
  INFO(broadcast);
  CHECK(has(broadcast, "comm::broadcast: invalid_argument: elements of `out` array 1 share memory"));
  CHECK(has(broadcast, "shape (2, 3) and the strides (0, 1)"));
  CHECK(untouched());
  const Array four = upload(two.all[0], counted(12), {4, 3});
  CHECK(has(refusal([&] { comm::scatter(four, {.out = {good, twice}}); }), "elements of `out` array 1 share memory"));
  CHECK(untouched());
  // Each piece alone writes nothing twice.
  CHECK(has(refusal([&] {
              comm::gather({two.a.slice(0, 0, 1), two.a.slice(0, 1, 2)}, 0, {.out = twice});
            }),
            "elements of `out` array 0 share memory"));
  CHECK(untouched());
  // What is read may have elements that share memory, and an array of no elements writes nothing.
  CHECK(read(comm::broadcast(rows_of_one(two.a, {2, 3}), {.out = {good}}).front()) == Ints{0, 1, 2, 0, 1, 2});
  CHECK(comm::broadcast(two.a.slice(1, 0, 0), {.out = {rows_of_one(other, {2, 0})}}).front().size() == 0);
}

TEST_CASE("what is refused has submitted nothing") {
  const Two two;
  test::HostGate gate;
  const StreamView stream = anyplace::current_stream(two.all[1]);
  CHECK_FALSE(refusal([&] { comm::broadcast(two.a, {.out = {two.b, two.b.reshape({6})}}); }).empty());
  CHECK_FALSE(refusal([&] { comm::gather({two.b, two.a.reshape({6})}, 0, {.destination = two.all[1]}); }).empty());
  CHECK(stream.query());
}

TEST_CASE("an array whose memory is gone is refused") {
  const Device device("cpu_sim:0");
  Array array;
  {
    const anyplace::Buffer buffer(device, 64);
    array = Array::share(ArrayView(buffer, DType::i32, {16}), anyplace::current_stream(device), nullptr);
  }
  const auto code = [](const auto& call) { return test::code_of(call); };
  CHECK(code([&] { comm::broadcast(array, {.devices = {device, device}}); }) == ErrorCode::invalid_handle);
  CHECK(code([&] { comm::reduce_add({array, array}, device); }) == ErrorCode::invalid_handle);
  CHECK(code([&] { comm::gather({array}); }) == ErrorCode::invalid_handle);
}

TEST_CASE("an array of a lost device is refused, whatever is done with it") {
  const Device device("sim_plain:0"), good("cpu_sim:0");
  const Array array = upload(device, counted(4)), other = upload(good, counted(4));
  const Stream stream(device);
  reinterpret_cast<Controls*>(static_cast<std::uintptr_t>(device.native_context()))->lost = true;
  const anyplace::Event event(good);
  CHECK(test::code_of([&] { stream.record_event(); }) == ErrorCode::device_lost);
  const auto lost = [](const auto& call) { return test::code_of(call) == ErrorCode::device_lost; };
  CHECK(lost([&] { comm::broadcast(array, {.devices = {device, good}}); }));
  CHECK(lost([&] { comm::broadcast(other, {.devices = {good, device}}); }));
  CHECK(lost([&] { comm::broadcast(other, {.out = {array}}); }));
  CHECK(lost([&] { comm::broadcast_coalesced({array}, {device, good}); }));
  CHECK(lost([&] { comm::reduce_add({other, array}, good); }));
  CHECK(lost([&] { comm::reduce_add({other}, device); }));
  CHECK(lost([&] { comm::scatter(array, {.devices = {good}}); }));
  CHECK(lost([&] { comm::gather({other, array}); }));
  CHECK(lost([&] { comm::gather({other}, 0, {.destination = device}); }));
  CHECK(read(comm::reduce_add({other, other}, good)) == Ints{0, 2, 4, 6});
}

TEST_CASE("collectives aren't permitted inside a host function") {
  const Device device("cpu_sim:0");
  const Array array = upload(device, counted(4));
  const Stream stream(device);
  ErrorCode code = ErrorCode::ok;
  stream.launch_host_func([&] { code = test::code_of([&] { comm::reduce_add({array, array}, array.device()); }); });
  stream.synchronize();
  CHECK(code == ErrorCode::not_permitted);
}

}  // namespace refusals_test
