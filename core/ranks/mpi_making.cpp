// SPDX-License-Identifier: Apache-2.0
// How communicators over MPI are made.
#include <fmt/format.h>

#include <memory>

#include "ranks/call_bounded.h"
#include "ranks/mpi_group.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

/// Makes a communicator with `make`, which is given where to put it and waits for the others of `comm`. They have all
/// come when it is called, but may end in it: so it is left to itself where it takes longer than the timeout. `make`
/// keeps what it uses. Where MPI allows one thread at a time, the call is made here and has no limit.
template <class Make>
MpiHandle make_comm(MpiRuntime& runtime, MpiHandle comm, std::chrono::nanoseconds timeout, const std::string& place,
                    const char* operation, const Make& make) {
  const Deadline deadline(to_timeout_ns(timeout));
  const MpiLibrary& mpi = runtime.mpi();
  constexpr const char* what = "make the communicator";
  runtime.run([&](MpiHandle* request) { return mpi.Ibarrier(comm, request); }, deadline, place, operation, what,
              timeout);
  struct Made {
    MpiHandle comm;
    int code = mpi_success;
  };
  const auto made = std::make_shared<Made>(Made{mpi.comm_null});
  if (runtime.is_multiple()) {
    if (!call_bounded(deadline, [made, make] { made->code = make(&made->comm); })) {
      runtime.give_up();
      throw timeout_error(place, operation, what, timeout);
    }
  } else {
    MpiRuntime::Calls calls(runtime);
    runtime.require_open(place, operation);
    made->code = make(&made->comm);
  }
  runtime.check(made->code, place, operation);
  return made->comm;
}

}  // namespace

std::shared_ptr<EngineGroup> MpiGroup::split(int color, int key, const char* operation) {
  const MpiLibrary& mpi = runtime_.mpi();
  const MpiHandle made = make_comm(runtime_, comm_, timeout(), device().place, operation,
                                   [&mpi, comm = comm_, color, key](MpiHandle* out) {
                                     return mpi.Comm_split(comm, color < 0 ? mpi_undefined : color, key, out);
                                   });
  if (made == mpi.comm_null) return nullptr;
  int rank = 0, size = 0;
  runtime_.check(mpi.Comm_rank(made, &rank), device().place, operation);
  runtime_.check(mpi.Comm_size(made, &size), device().place, operation);
  return std::make_shared<MpiGroup>(runtime_, made, device(), rank, size, timeout());
}

std::shared_ptr<EngineGroup> make_mpi_group(DeviceState& device, int rank, int size, std::chrono::nanoseconds timeout,
                                            const char* operation) {
  MpiRuntime& runtime = MpiRuntime::get(device.place, operation, timeout);
  if (size >= 0 && (size != runtime.world_size() || rank != runtime.world_rank())) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("this is rank {} of {}, but to MPI it is rank {} of {}\nthe engine mpi has its ranks from MPI's "
                     "launcher: start the program with mpirun -n {}\nsee docs/ranks.md",
                     rank, size, runtime.world_rank(), runtime.world_size(), size));
  }
  const MpiLibrary& mpi = runtime.mpi();
  const MpiHandle made =
      make_comm(runtime, runtime.world(), timeout, device.place, operation,
                [&mpi, world = runtime.world()](MpiHandle* out) { return mpi.Comm_dup(world, out); });
  return std::make_shared<MpiGroup>(runtime, made, device, runtime.world_rank(), runtime.world_size(), timeout);
}

}  // namespace anyplace::detail
