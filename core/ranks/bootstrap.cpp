// SPDX-License-Identifier: Apache-2.0
// Finds out which rank this process is from the environment, and meets other ranks over a file or over an engine's
// world.
#include "ranks/bootstrap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "anyplace/communicator.h"
#include "ranks/engine_error.h"
#include "ranks/engine_group.h"
#include "ranks/host_runtime.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {

namespace {

std::shared_ptr<const detail::BootstrapPlan> share(detail::BootstrapPlan plan) {
  return std::make_shared<const detail::BootstrapPlan>(std::move(plan));
}

}  // namespace

using Kind = detail::BootstrapPlan::Kind;

Bootstrap Bootstrap::automatic() { return Bootstrap(share({})); }
Bootstrap Bootstrap::mpi() { return Bootstrap(share({.kind = Kind::launcher, .engine = "mpi"})); }
Bootstrap Bootstrap::environment() {
  return Bootstrap(share(detail::plan_of_environment("", "Bootstrap::environment")));
}
Bootstrap Bootstrap::tcp(int rank, int size, std::string address, std::uint16_t port) {
  return Bootstrap(share({.kind = Kind::tcp, .rank = rank, .size = size, .address = std::move(address), .port = port}));
}
Bootstrap Bootstrap::file(int rank, int size, std::string path) {
  return Bootstrap(share({.kind = Kind::file, .rank = rank, .size = size, .path = std::move(path)}));
}
Bootstrap Bootstrap::alone() { return Bootstrap(share({.kind = Kind::alone})); }

namespace detail {
namespace {

constexpr const char* see_launchers = "\nsee docs/ranks.md for mpirun, torchrun and files";

/// Returns the whole number that the variable has. Throws invalid_argument unless it is from `least` to `most`.
int number_of(const char* name, int least, int most, const std::string& place, const char* operation) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("the variable {} isn't set\nRANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set by torchrun, or "
                     "by hand for each process{}",
                     name, see_launchers));
  }
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error == std::errc::invalid_argument || rest != end) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("the variable {} is {}, which is no whole number\nit is {} to {}{}", name, in_quotes(text), least,
                     most, see_launchers));
  }
  if (error != std::errc() || value < least || value > most) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("the variable {} is {}, which is out of range\nit is {} to {}{}", name, in_quotes(text), least,
                     most, see_launchers));
  }
  return value;
}

constexpr int most_ranks = 1 << 20;

/// Returns the engine whose launcher has started this process; null if none has.
const Engine* launched_engine() {
  for (const Engine* const engine : engines()) {
    for (const std::string& variable : engine->launcher_variables) {
      if (std::getenv(variable.c_str()) != nullptr) return engine;
    }
  }
  return nullptr;
}

void require_rank(const BootstrapPlan& plan, const std::string& place, const char* operation) {
  if (plan.size < 1 || plan.size > most_ranks) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("a world of {} ranks can't be\nthe size is 1 to {}", plan.size, most_ranks));
  }
  if (plan.rank < 0 || plan.rank >= plan.size) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("rank {} isn't one of {}\nranks are 0 to {}", plan.rank, plan.size, plan.size - 1));
  }
}

}  // namespace

BootstrapPlan plan_of_environment(const std::string& place, const char* operation) {
  BootstrapPlan plan;
  plan.kind = BootstrapPlan::Kind::tcp;
  plan.size = number_of("WORLD_SIZE", 1, most_ranks, place, operation);
  plan.rank = number_of("RANK", 0, plan.size - 1, place, operation);
  const char* const address = std::getenv("MASTER_ADDR");
  if (address == nullptr || *address == '\0') {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("the variable MASTER_ADDR isn't set\nit is the name or the address of the machine of rank 0{}",
                     see_launchers));
  }
  plan.address = address;
  // torchrun's agent listens on MASTER_PORT itself, so rank 0 takes the next port.
  const char* const agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  const bool taken = agent != nullptr && std::strcmp(agent, "True") == 0;
  plan.port = static_cast<std::uint16_t>(number_of("MASTER_PORT", 1, taken ? 65534 : 65535, place, operation) +
                                         (taken ? 1 : 0));
  return plan;
}

BootstrapPlan decide(const BootstrapPlan& plan, const std::string& place, const char* operation) {
  BootstrapPlan decided = plan;
  if (plan.kind == BootstrapPlan::Kind::automatic) {
    if (const Engine* const engine = launched_engine()) {
      decided.kind = BootstrapPlan::Kind::launcher;
      decided.engine = engine->name;
      return decided;
    }
    if (std::getenv("RANK") == nullptr && std::getenv("WORLD_SIZE") == nullptr) {
      fail(ErrorCode::invalid_argument, place, operation,
           fmt::format("nothing says which rank this process is: neither mpirun started it, nor is RANK set\nstart it "
                       "with mpirun or torchrun, or pass a Bootstrap: Bootstrap::alone() is one rank{}",
                       see_launchers));
    }
    decided = plan_of_environment(place, operation);
  }
  if (decided.kind != BootstrapPlan::Kind::launcher) require_rank(decided, place, operation);
  return decided;
}

// ---- Over a file ---------------------------------------------------------------------------------------------------
//
// PATH.N says that rank N is there; PATH holds rank 0's bytes; PATH.N.read says that rank N has them. Rank 0 removes
// all once all have met; a rank that doesn't meet the others removes what is its own, so that it may try again.
// PATH.refused says why nobody can meet here, to those who are there and to those who come later: it stays.
namespace {

constexpr std::chrono::milliseconds file_pause{2};

class MeetingFiles {
 public:
  MeetingFiles(const BootstrapPlan& plan, const Meeting& meeting)
      : plan_(plan), meeting_(meeting), deadline_(to_timeout_ns(meeting.timeout)) {}

  MeetingFiles(const MeetingFiles&) = delete;  // the files are its own
  MeetingFiles& operator=(const MeetingFiles&) = delete;
  ~MeetingFiles() {
    if (!arrived_) return;
    ::unlink(own("").c_str());
    ::unlink(own(".read").c_str());
    if (plan_.rank == 0) ::unlink(plan_.path.c_str());
  }

  Bytes meet() {
    arrive();
    return plan_.rank == 0 ? gather() : visit();
  }

 private:
  std::string of(int rank, const char* suffix) const { return fmt::format("{}.{}{}", plan_.path, rank, suffix); }
  std::string own(const char* suffix) const { return of(plan_.rank, suffix); }

  [[noreturn]] void refuse(const std::string& path, int error) const {
    fail(
        ErrorCode::invalid_argument, meeting_.place, meeting_.operation,
        fmt::format("the ranks can't meet over {}: {}\nit is a file that doesn't exist yet, of a folder that all ranks "
                    "may write\nsee docs/ranks.md",
                    in_quotes(path), std::strerror(error)));
  }
  static std::string text_in(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  static Bytes bytes_of(const std::string& text) {
    const auto* const data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }
  static bool exists(const std::string& path) noexcept { return ::access(path.c_str(), F_OK) == 0; }
  std::string refusal() const { return plan_.path + ".refused"; }

  [[noreturn]] void refuse(const std::string& text) const {
    fail(ErrorCode::invalid_argument, meeting_.place, meeting_.operation, text);
  }
  /// Throws invalid_argument with what another rank has found wrong, if one has.
  void look_for_refusal() const {
    if (exists(refusal())) refuse(text_in(read(refusal())));
  }

  void arrive() {
    look_for_refusal();
    const bool is_old = exists(plan_.path);
    arrived_ = !is_old && write_new(own(""), bytes_of(std::to_string(plan_.size)));
    if (arrived_) return;
    const std::string text = fmt::format(
        "rank {} was there already: two processes have this rank, or {} is of an earlier run\ngive each process a rank "
        "of its own, and each run a file of its own\nsee docs/ranks.md",
        plan_.rank, in_quotes(plan_.path));
    if (!is_old) write_new(refusal(), bytes_of(text));
    refuse(text);
  }

  /// Meets the others as rank 0.
  Bytes gather() {
    const Bytes bytes = meeting_.make();
    for (int rank = 1; rank < plan_.size; ++rank) await(of(rank, ""), rank);
    const std::string wrong = wrong_size();
    Bytes said = wrong.empty() ? bytes : bytes_of(wrong);
    said.insert(said.begin(), wrong.empty() ? std::byte{0} : std::byte{1});
    write_new(plan_.path, said);
    for (int rank = 1; rank < plan_.size; ++rank) await(of(rank, ".read"), rank);
    for (int rank = 1; rank < plan_.size; ++rank) {
      ::unlink(of(rank, "").c_str());
      ::unlink(of(rank, ".read").c_str());
    }
    if (!wrong.empty()) refuse(wrong);
    return bytes;
  }
  /// Meets the others as a rank other than 0.
  Bytes visit() {
    await(plan_.path, 0);
    Bytes bytes = read(plan_.path);
    write_new(own(".read"), {});
    arrived_ = false;  // rank 0 removes the files
    if (bytes.empty()) refuse(plan_.path, EIO);
    const bool refused = bytes[0] != std::byte{0};
    bytes.erase(bytes.begin());
    if (refused) refuse(text_in(bytes));
    return bytes;
  }
  /// Compares the numbers of ranks that the others have written to their files. Returns what is wrong; "" if they
  /// agree.
  std::string wrong_size() const {
    for (int rank = 1; rank < plan_.size; ++rank) {
      const std::string said = text_in(read(of(rank, "")));
      if (said == std::to_string(plan_.size)) continue;
      return fmt::format("rank 0 says that there are {} ranks, and rank {} says {}\nall are given the same size",
                         plan_.size, rank, in_quotes(said));
    }
    return "";
  }
  void await(const std::string& path, int rank) const {
    while (!exists(path)) {
      look_for_refusal();
      if (deadline_.passed()) {
        throw timeout_error(meeting_.place, meeting_.operation,
                            fmt::format("meet over {} (rank {} of {} is missing)", plan_.path, rank, plan_.size),
                            meeting_.timeout);
      }
      std::this_thread::sleep_for(file_pause);
    }
  }
  /// Makes the file appear with all its bytes at once, so that no rank reads a part of them. Returns false if the file
  /// exists.
  bool write_new(const std::string& path, const Bytes& bytes) const {
    // Two threads of one process may meet with the same rank, so the process's id doesn't suffice.
    static std::atomic<unsigned> files{0};
    const std::string other = fmt::format("{}.new.{}.{}.{}", path, plan_.rank, ::getpid(), ++files);
    const int file = ::open(other.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) refuse(path, errno);
    const bool whole = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    int error = errno;
    ::close(file);
    const bool linked = whole && ::link(other.c_str(), path.c_str()) == 0;
    if (whole) error = errno;
    ::unlink(other.c_str());
    if (!linked && error != EEXIST) refuse(path, error);
    return linked;
  }
  Bytes read(const std::string& path) const {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse(path, errno);
    Bytes bytes(4096);
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    ::close(file);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

  const BootstrapPlan& plan_;
  const Meeting& meeting_;
  const Deadline deadline_;
  bool arrived_ = false;  ///< this rank's own files may exist
};

}  // namespace

Bytes meet_by_file(const BootstrapPlan& plan, const Meeting& meeting) { return MeetingFiles(plan, meeting).meet(); }

// ---- Over an engine's world ----------------------------------------------------------------------------------------
namespace {

HostRuntime& runtime_of(const BootstrapPlan& plan, const Meeting& meeting) {
  for (const Engine* const engine : engines()) {
    if (engine->name != plan.engine || !engine->has_world()) continue;
    return HostRuntime::get(*engine, meeting.place, meeting.operation, meeting.timeout);
  }
  fail(
      ErrorCode::library_missing, meeting.place, meeting.operation,
      fmt::format("the engine {}, which counts the ranks, isn't there\ninstall its plugin, {}\n`anyplace doctor` lists "
                  "the engines",
                  plan.engine, plugin_file_name(plan.engine, PluginKind::engine)));
}

Bytes meet_in_world(HostRuntime& runtime, const Meeting& meeting) {
  struct Shared {
    std::uint64_t size = 0;
    std::byte bytes[ANYPLACE_ENGINE_ID_BYTES] = {};
  };
  auto shared = std::make_unique<Shared>();
  if (runtime.world().rank == 0) {
    const Bytes made = meeting.make();
    shared->size = made.size();
    std::copy(made.begin(), made.end(), shared->bytes);  // an id has at most so many bytes
  }
  Part part;
  part.what = Collective::broadcast;
  part.count = sizeof(Shared);
  part.source = part.destination = reinterpret_cast<std::uintptr_t>(shared.get());
  try {
    runtime.run(runtime.world().group, part, Deadline(to_timeout_ns(meeting.timeout)), meeting.place, meeting.operation,
                "meet", meeting.timeout);
  } catch (...) {
    static_cast<void>(shared.release());  // the engine may still write to it
    throw;
  }
  return {shared->bytes, shared->bytes + std::min<std::uint64_t>(shared->size, sizeof(shared->bytes))};
}

}  // namespace

MetRanks meet(const Engine& engine, const anyplace_engine_device& device, const BootstrapPlan& plan, Meeting meeting) {
  meeting.make = [&] {
    anyplace_engine_id id{};
    id.struct_size = sizeof(id);
    const anyplace_status status = engine.table.identify(engine.table.self, &device, &id);
    if (status != ANYPLACE_STATUS_OK) {
      throw engine_error(engine, status, take_message(), meeting.place, meeting.operation,
                         "can't make the communicator");
    }
    const auto* const bytes = reinterpret_cast<const std::byte*>(id.bytes);
    return Bytes(bytes, bytes + std::min<std::size_t>(id.byte_count, sizeof(id.bytes)));
  };
  MetRanks met{plan.rank, plan.size, {}};
  Bytes bytes;
  if (plan.kind == BootstrapPlan::Kind::launcher) {
    HostRuntime& runtime = runtime_of(plan, meeting);
    runtime.allow(meeting.timeout);
    met.rank = runtime.world().rank;
    met.size = runtime.world().size;
    bytes = meet_in_world(runtime, meeting);
  } else if (plan.kind == BootstrapPlan::Kind::alone) {
    bytes = meeting.make();
  } else {
    bytes = plan.kind == BootstrapPlan::Kind::tcp ? meet_by_tcp(plan, meeting) : meet_by_file(plan, meeting);
  }
  met.id.struct_size = sizeof(met.id);
  met.id.byte_count = static_cast<std::uint32_t>(std::min(bytes.size(), sizeof(met.id.bytes)));
  for (std::uint32_t i = 0; i < met.id.byte_count; ++i) met.id.bytes[i] = std::to_integer<std::uint8_t>(bytes[i]);
  return met;
}

}  // namespace detail
}  // namespace anyplace
