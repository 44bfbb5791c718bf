// SPDX-License-Identifier: Apache-2.0
// Communicators: one rank alone, whose operations are copies, and two ranks in two processes with the backend's own
// engine. Communicators over MPI need its launcher, so no case has them.
#include <cstdlib>
#include <filesystem>

#include "second_process.h"
#include "support.h"

namespace anyplace::conformance::ranks_cases {
namespace {

using Numbers = std::vector<std::int32_t>;

constexpr std::uint64_t count = 20'011;  // a multiple of nothing

Buffer upload(const Stream& stream, const Numbers& numbers) {
  Buffer buffer = CALL(Buffer::of<std::int32_t>(stream, numbers.size()));
  CALL(stream.copy(buffer, numbers));
  CALL(stream.synchronize());
  return buffer;
}
Numbers read(const Stream& stream, const Buffer& buffer) {
  Numbers numbers(buffer.size_bytes() / sizeof(std::int32_t));
  CALL(stream.copy(numbers, buffer));
  CALL(stream.synchronize());
  return numbers;
}
Numbers counted(std::int32_t first, std::uint64_t size = count) {
  Numbers numbers(size);
  for (std::int32_t& each : numbers) each = first++;
  return numbers;
}

ANYPLACE_CASE("collectives", "collectives.ranks", "each operation of a rank that is alone gives it its own values") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Communicator alone = CALL(Communicator(device, Bootstrap::alone()));
  CHECK_EQUAL(alone.rank(), 0);
  CHECK_EQUAL(alone.size(), 1);
  const Numbers numbers = counted(7);
  const Buffer source = upload(stream, numbers);
  const auto from = source.as<std::int32_t>();
  std::vector<Buffer> out;
  for (int i = 0; i < 6; ++i) out.push_back(upload(stream, counted(0)));
  const auto to = [&](std::size_t i) { return out[i].as<std::int32_t>(); };
  CALL(alone.all_reduce(stream, to(0), from, Reduction::max));
  CALL(alone.reduce(stream, to(1), from, 0));
  CALL(alone.all_gather(stream, to(2), from));
  CALL(alone.reduce_scatter(stream, to(3), from));
  CALL(alone.all_to_all(stream, to(4), from));
  CALL(alone.group_start());
  CALL(alone.send(stream, from, 0));
  CALL(alone.recv(stream, to(5), 0));
  CALL(alone.group_end());
  CALL(alone.barrier(stream));
  for (const Buffer& each : out) CHECK(read(stream, each) == numbers);
  CALL(alone.broadcast(stream, from, 0));
  CHECK(read(stream, source) == numbers);
  CALL(alone.synchronize());
  CHECK(alone.query());
}

ANYPLACE_CASE("collectives", "collectives.ranks",
              "an operation of a communicator comes after its stream's earlier work, and before its later work",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Communicator alone = CALL(Communicator(device, Bootstrap::alone()));
  const Buffer source = upload(stream, counted(1)), out = upload(stream, counted(2));
  HostGate gate;
  gate.hold(stream);
  CALL(stream.fill(source.as<std::int32_t>(), 5));
  CALL(alone.all_reduce(stream, out.as<std::int32_t>(), source.as<std::int32_t>()));
  CALL(stream.fill(source.as<std::int32_t>(), 6));
  CHECK_STAYS_FALSE(alone.query());
  gate.open();
  CHECK(read(stream, out) == Numbers(count, 5));
  CHECK(read(stream, source) == Numbers(count, 6));
}

/// The backend's own engine; skips the case if there is none, or its library is missing.
std::string own_engine(const Run& run) {
  for (const CommunicatorEngine& engine : communicator_engines()) {
    if (engine.serves != run.backend()) continue;
    if (!engine.usable) skip("a library of " + engine.name);
    return engine.name;
  }
  skip("an engine of the backend's own between processes");
}

ANYPLACE_CASE("collectives", "collectives.ranks", "the backend's engine does the operations of one rank") {
  const std::string engine = own_engine(run);
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Communicator alone = CALL(Communicator(device, Bootstrap::alone(), {.engine = engine}));
  CHECK_EQUAL(alone.engine(), engine);
  const Buffer data = upload(stream, counted(3)), out = upload(stream, counted(0));
  CALL(alone.all_reduce(stream, out.as<std::int32_t>(), data.as<std::int32_t>()));
  CALL(alone.all_reduce(stream, data.as<std::int32_t>(), data.as<std::int32_t>()));
  CHECK(read(stream, out) == counted(3));
  CHECK(read(stream, data) == counted(3));
}

/// A folder that both processes see, and that the first of them removes.
class Meeting {
 public:
  Meeting() {
    std::string name = (std::filesystem::temp_directory_path() / "anyplace-ranks-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string file() const { return (folder_ / "meeting").string(); }

 private:
  std::filesystem::path folder_;
};

/// Rank 0 has numbers from 0 on, rank 1 from 1000 on.
void do_as_rank(int rank, const Device& device, const std::string& file, const std::string& engine) {
  const Communicator both = CALL(
      Communicator(device, Bootstrap::file(rank, 2, file), {.timeout = std::chrono::minutes(1), .engine = engine}));
  CHECK_EQUAL(both.rank(), rank);
  CHECK_EQUAL(both.size(), 2);
  const Stream stream = CALL(Stream(device));
  const Buffer mine = upload(stream, counted(rank * 1000)), sum = upload(stream, counted(0));
  const Buffer all = upload(stream, counted(0, 2 * count));
  CALL(both.all_reduce(stream, sum.as<std::int32_t>(), mine.as<std::int32_t>()));
  CALL(both.all_gather(stream, all.as<std::int32_t>(), mine.as<std::int32_t>()));
  CALL(both.broadcast(stream, mine.as<std::int32_t>(), 1));
  Numbers expected = counted(0), joined = counted(0);
  for (std::int32_t& each : expected) each = 2 * each + 1000;
  CHECK(read(stream, sum) == expected);
  const Numbers others = counted(1000);
  joined.insert(joined.end(), others.begin(), others.end());
  CHECK(read(stream, all) == joined);
  CHECK(read(stream, mine) == others);
  CALL(both.synchronize());
}

ANYPLACE_CASE("collectives", "collectives.ranks",
              "the backend's engine does the operations of two processes, each with a device of its own",
              second_device) {
  const Meeting meeting;
  Second second([&](const Talk& talk) {
    const std::vector<std::byte> said = talk.receive();
    const std::string engine(reinterpret_cast<const char*>(said.data()), said.size());
    do_as_rank(1, run.second(), meeting.file(), engine);
  });
  const std::string engine = own_engine(run);
  const auto* const letters = reinterpret_cast<const std::byte*>(engine.data());
  second.talk().send({letters, letters + engine.size()});
  do_as_rank(0, run.device(), meeting.file(), engine);
  second.must_end_well();
}

ANYPLACE_CASE("collectives", "collectives.arguments",
              "operations of a communicator with ranks, counts, types or memory that don't fit are refused") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Communicator alone = CALL(Communicator(device, Bootstrap::alone()));
  const Buffer data = upload(stream, counted(1, 10)), five = upload(stream, counted(100, 5));
  const auto ten = data.as<std::int32_t>();
  CHECK_ERROR(invalid_argument, alone.broadcast(stream, ten, 1));
  CHECK_ERROR(invalid_argument, alone.reduce(stream, ten, ten, -1));
  CHECK_ERROR(invalid_argument, alone.all_reduce(stream, five.as<std::int32_t>(), ten));
  CHECK_ERROR(invalid_argument, alone.all_reduce(stream, ten, ten, Reduction::avg));
  CHECK_ERROR(invalid_argument, alone.reduce_scatter(stream, ten, ten));
  CHECK_ERROR(invalid_argument,
              alone.all_reduce(stream, data.address(), data.address(), 10, DType::i32, Reduction::avg));
  CHECK_ERROR(invalid_argument, alone.all_reduce(stream, ten, ten, static_cast<Reduction>(9)));
  CHECK_ERROR(invalid_argument, alone.all_reduce(stream, Address(), data.address(), 10, DType::i32));
  CHECK_ERROR(invalid_argument, alone.all_gather(stream, data.address(), data.address(), UINT64_MAX, DType::i32));
  CHECK_ERROR(invalid_argument, alone.group_end());
  CHECK_ERROR(invalid_argument, Communicator(device, Bootstrap::alone(), {.engine = "none of them"}));
  CHECK_ERROR(invalid_argument, Communicator(device, Bootstrap::file(2, 2, "x")));
  CALL(alone.abort());
  CHECK_ERROR(invalid_handle, alone.barrier(stream));
  CHECK(read(stream, data) == counted(1, 10));
  CHECK(read(stream, five) == counted(100, 5));
}

ANYPLACE_CASE("collectives", "collectives.arguments", "a communicator refuses the streams and memory of another device",
              second_device) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device)), other = CALL(Stream(run.second()));
  const Communicator alone = CALL(Communicator(device, Bootstrap::alone()));
  const Buffer here = upload(stream, counted(1, 10)), there = upload(other, counted(100, 10));
  CHECK_ERROR(invalid_argument, alone.barrier(other));
  CHECK_ERROR(invalid_argument, alone.all_reduce(other, here.as<std::int32_t>(), here.as<std::int32_t>()));
  CHECK_ERROR(invalid_argument, alone.all_reduce(stream, here.address(), there.address(), 10, DType::i32));
  CHECK(read(stream, here) == counted(1, 10));
}

}  // namespace
}  // namespace anyplace::conformance::ranks_cases
