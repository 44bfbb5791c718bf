// SPDX-License-Identifier: Apache-2.0
#include "ranks/nccl_group.h"
#include "memory/address_book.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

#include "anyplace/memory.h"
#include "memory/address_book.h"
#include "plugins/device_properties.h"
#include "ranks/call_bounded.h"
#include "ranks/mpi_runtime.h"
#include "ranks/vendor_scope.h"
#include "runtime/call.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "streams/event_state.h"

namespace anyplace::detail {
namespace {

constexpr const char* group_operation = "Communicator";

/// A type of ours as the engine counts it; a negative one that it hasn't.
struct EngineType {
  int type = -1;
  std::uint64_t per_element = 1;
};

EngineType reduced_type(DType type) noexcept {
  switch (type) {
    case DType::f16:
      return {nccl_float16};
    case DType::bf16:
      return {nccl_bfloat16};
    case DType::f32:
      return {nccl_float32};
    case DType::f64:
      return {nccl_float64};
    case DType::c64:
      return {nccl_float32, 2};
    case DType::c128:
      return {nccl_float64, 2};
    case DType::i8:
      return {nccl_int8};
    case DType::i32:
      return {nccl_int32};
    case DType::i64:
      return {nccl_int64};
    case DType::u8:
    case DType::boolean:
      return {nccl_uint8};
    case DType::u32:
      return {nccl_uint32};
    case DType::u64:
      return {nccl_uint64};
    default:
      return {};
  }
}

/// What is only moved goes as bytes.
EngineType type_of(const Part& part) noexcept {
  if (part.reduces()) return reduced_type(part.type);
  return {nccl_int8, size_of(part.type)};
}

int op_of(Reduction reduction) noexcept {
  constexpr int ops[] = {nccl_sum, nccl_prod, nccl_min, nccl_max, nccl_avg};
  return ops[static_cast<std::size_t>(reduction)];
}

class NcclGroup final : public EngineGroup, public std::enable_shared_from_this<NcclGroup> {
 public:
  NcclGroup(const NcclLibrary& nccl, NcclComm* comm, DeviceState& device, int rank, int size,
            std::chrono::nanoseconds timeout)
      : EngineGroup(device, rank, size, timeout), nccl_(nccl), comm_(comm), scratch_(Device(&device), scratch_bytes) {}
  ~NcclGroup() override;

  void require(const Part& part, const char* operation) const override;
  void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) override;
  std::shared_ptr<EngineGroup> split(int color, int key, const char* operation) override;
  bool idle() override { return wait(Deadline(0)); }
  bool wait(const Deadline& deadline) override;
  void end(const Error& error) noexcept override;

 private:
  struct Pending {
    std::shared_ptr<EventState> before, after;
    std::string what;
    std::uint64_t stream_id = 0;
    bool begun = false;
    Deadline::Clock::time_point deadline{};
  };

  /// `remedy`: what may have caused it, if that is known.
  Error error_of(int result, std::string remedy = {}) const;
  void check(int result) const {
    if (result != nccl_success && result != nccl_in_progress) throw error_of(result);
  }
  void require_device_memory(const Part& part, const char* operation) const;
  std::string advice_on_memory(const std::vector<Part>& parts) const;
  void enqueue(std::uint64_t native, const std::vector<Part>& parts);
  int enqueue_part(const Part& part, void* stream);
  int enqueue_all_to_all(const Part& part, void* stream);
  void watch(Pending pending);
  bool look() noexcept;
  void look_closely();
  void abort_comm() noexcept;

  static constexpr std::uint64_t scratch_bytes = 256;
  const NcclLibrary& nccl_;
  ServiceRoom room_{group_operation};
  std::mutex comm_mutex_;     // guards comm_ and every call with it; pending_mutex_ is taken after it
  NcclComm* comm_;            ///< null once it was aborted
  const Buffer scratch_;      ///< what a barrier reduces
  std::mutex pending_mutex_;  // guards what follows; the backend's event_query is called under it
  std::deque<Pending> pending_;
  bool watched_ = false;  ///< the polling thread looks
};

NcclGroup::~NcclGroup() {
  NcclComm* const comm = std::exchange(comm_, nullptr);
  if (comm == nullptr || !backends_callable()) return;
  // It may wait for what the engine still does, which whoever ends this mustn't.
  struct Ending {
    const NcclLibrary* nccl;
    DeviceState* device;
    NcclComm* comm;
  };
  const Ending ending{&nccl_, &device(), comm};
  post_to_service([ending] {
    try {
      const VendorScope scope(*ending.device);
      ending.nccl->ncclCommDestroy(ending.comm);
    } catch (const std::exception&) {  // the device is lost
    }
  });
}

/// Memory that is known to be the host's is refused; of memory that nobody knows, NCCL says so.
void NcclGroup::require_device_memory(const Part& part, const char* operation) const {
  for (const bool is_source : {true, false}) {
    const std::uint64_t bytes = is_source ? part.source_bytes(rank(), size()) : part.destination_bytes(rank(), size());
    const AddressKind kind =
        bytes == 0 ? AddressKind::device : find_address(is_source ? part.source : part.destination, &device()).kind;
    if (kind != AddressKind::pinned && kind != AddressKind::registered) continue;
    fail(ErrorCode::invalid_argument, device().place, operation,
         fmt::format("the {} is memory of the host, and {} takes its device's alone\nmake the communicator with the "
                     "engine mpi, or copy to a buffer of {}\nsee docs/ranks.md",
                     is_source ? "source" : "destination", nccl_.flavor->engine, device().place));
  }
}

/// Empty unless an address is of no memory that anyplace knows.
std::string NcclGroup::advice_on_memory(const std::vector<Part>& parts) const {
  for (const Part& part : parts) {
    for (const bool is_source : {true, false}) {
      const std::uint64_t bytes =
          is_source ? part.source_bytes(rank(), size()) : part.destination_bytes(rank(), size());
      const anyplace_address address = is_source ? part.source : part.destination;
      if (bytes == 0 || find_address(address, &device()).kind != AddressKind::unknown) continue;
      return fmt::format(
          "the {} {:#x} of {} is of no memory that was made here: if it is the host's, make the "
          "communicator with the engine mpi, or copy to a buffer of {}",
          is_source ? "source" : "destination", address, describe(part), device().place);
    }
  }
  return "";
}

void NcclGroup::require(const Part& part, const char* operation) const {
  require_device_memory(part, operation);
  const bool missing = reduced_type(part.type).type < 0;
  const bool complex_product =
      (part.type == DType::c64 || part.type == DType::c128) && part.reduction == Reduction::prod;
  if (!part.reduces() || (!missing && !complex_product)) return;
  fail(ErrorCode::unsupported, device().place, operation,
       fmt::format("{} has no {} of {} elements\nconvert them, or make the communicator with the engine mpi\nsee "
                   "docs/ranks.md",
                   nccl_.flavor->engine, anyplace::to_string(part.reduction), anyplace::to_string(part.type)));
}

Error NcclGroup::error_of(int result, std::string remedy) const {
  ErrorDetails details;
  details.code = result == nccl_remote_error    ? ErrorCode::peer_gone
                 : result == nccl_invalid_usage ? ErrorCode::invalid_argument
                                                : ErrorCode::backend_failed;
  details.place = device().place;
  details.operation = group_operation;
  details.text = fmt::format("{} failed", nccl_.flavor->engine);
  details.vendor_code = result;
  details.vendor_name = nccl_.ncclGetErrorString(result);
  const char* const last = nccl_.ncclGetLastError == nullptr ? nullptr : nccl_.ncclGetLastError(comm_);
  if (last != nullptr) details.vendor_text = last;
  if (!remedy.empty()) {
    details.remedy = std::move(remedy);
    details.see = "docs/ranks.md";
  }
  return Error(std::move(details));
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

int NcclGroup::enqueue_all_to_all(const Part& part, void* stream) {
  const std::uint64_t bytes = part.count * size_of(part.type);
  for (int rank = 0; rank < size(); ++rank) {
    const std::uint64_t offset = static_cast<std::uint64_t>(rank) * bytes;
    if (const int result = nccl_.ncclSend(pointer(part.source + offset), bytes, nccl_int8, rank, comm_, stream)) {
      return result;
    }
    if (const int result = nccl_.ncclRecv(pointer(part.destination + offset), bytes, nccl_int8, rank, comm_, stream)) {
      return result;
    }
  }
  return nccl_success;
}

int NcclGroup::enqueue_part(const Part& part, void* stream) {
  const EngineType type = type_of(part);
  const std::size_t count = part.count * type.per_element;
  const int op = op_of(part.reduction);
  const void* const from = pointer(part.source);
  void* const to = pointer(part.destination);
  switch (part.what) {
    case Collective::all_reduce:
      return nccl_.ncclAllReduce(from, to, count, type.type, op, comm_, stream);
    case Collective::reduce:
      return nccl_.ncclReduce(from, to, count, type.type, op, part.root, comm_, stream);
    case Collective::broadcast:
      return nccl_.ncclBroadcast(from, to, count, type.type, part.root, comm_, stream);
    case Collective::all_gather:
      return nccl_.ncclAllGather(from, to, count, type.type, comm_, stream);
    case Collective::reduce_scatter:
      return nccl_.ncclReduceScatter(from, to, count, type.type, op, comm_, stream);
    case Collective::all_to_all:
      return enqueue_all_to_all(part, stream);
    case Collective::send:
      return nccl_.ncclSend(from, count, type.type, part.root, comm_, stream);
    case Collective::recv:
      return nccl_.ncclRecv(to, count, type.type, part.root, comm_, stream);
    case Collective::barrier:
      break;
  }
  void* const scratch = pointer(scratch_.address());
  return nccl_.ncclAllReduce(scratch, scratch, 1, nccl_int8, nccl_sum, comm_, stream);
}

void NcclGroup::enqueue(std::uint64_t native, const std::vector<Part>& parts) {
  const std::lock_guard lock(comm_mutex_);
  if (comm_ == nullptr) return;  // it has failed meanwhile, which the stream has as its fault
  const VendorScope scope(device());
  void* const stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(native));
  check(nccl_.ncclGroupStart());
  int result = nccl_success;
  for (const Part& part : parts) {
    if (result == nccl_success) result = enqueue_part(part, stream);
  }
  const int ended = nccl_.ncclGroupEnd();
  if (result == nccl_unhandled_cuda_error || ended == nccl_unhandled_cuda_error) {
    throw error_of(nccl_unhandled_cuda_error, advice_on_memory(parts));
  }
  check(result);
  check(ended);
}

void NcclGroup::submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) {
  DeviceState& state = device();
  std::uint64_t native = 0;
  detail::check(state.table->stream_native(state.self, stream->handle, &native), state, operation);
  Pending pending;
  pending.what = "do " + describe(parts.front());
  pending.stream_id = stream->id;
  pending.before = make_event(state, 0, operation);
  pending.after = make_event(state, 0, operation);
  record(*pending.before, *stream, operation);
  const auto self = shared_from_this();
  const bool held = stream->held.load(std::memory_order_acquire) && hold_back(*stream, [self, native, parts] {
                      self->enqueue(native, parts);
                      return anyplace_status{ANYPLACE_STATUS_OK};
                    });
  if (!held) enqueue(native, parts);
  record(*pending.after, *stream, operation);
  watch(std::move(pending));
}

// ---- Watching ------------------------------------------------------------------------------------------------------

void NcclGroup::watch(Pending pending) {
  auto self = std::make_unique<std::shared_ptr<NcclGroup>>(shared_from_this());
  const std::lock_guard lock(pending_mutex_);
  pending_.push_back(std::move(pending));
  if (std::exchange(watched_, true)) return;
  poll_in_service([group = self.release()] {
    if (!(*group)->look()) return false;
    delete group;
    return true;
  });
}

/// True if there is nothing to look at any more.
bool NcclGroup::look() noexcept {
  try {
    look_closely();
  } catch (const Error& error) {
    // The engine's abort may wait for its own threads, which the polling thread mustn't.
    if (fail_with(error)) {
      if (MpiRuntime* const mpi = MpiRuntime::existing()) mpi->give_up();  // the ranks that it started
      auto* const group = new (std::nothrow) std::shared_ptr<NcclGroup>(shared_from_this());
      if (group == nullptr) return false;
      post_to_service([group] {
        (*group)->abort_comm();
        delete group;
      });
    }
  } catch (const std::exception&) {  // there is no memory: it looks again
  }
  const std::lock_guard lock(pending_mutex_);
  if (!pending_.empty() && !failure()) return false;
  watched_ = false;
  return true;
}

void NcclGroup::look_closely() {
  {
    const std::unique_lock lock(comm_mutex_, std::try_to_lock);
    int error = nccl_success;
    if (lock && comm_ != nullptr && nccl_.ncclCommGetAsyncError(comm_, &error) == nccl_success) check(error);
  }
  const std::lock_guard lock(pending_mutex_);
  while (!pending_.empty() && query(*pending_.front().after, group_operation)) pending_.pop_front();
  if (pending_.empty()) return;
  Pending& first = pending_.front();
  const auto now = Deadline::Clock::now();
  if (!first.begun && query(*first.before, group_operation)) {
    first.begun = true;
    first.deadline = now + timeout();
  }
  if (first.begun && now >= first.deadline) {
    throw timeout_error(device().place, group_operation, first.what, timeout());
  }
}

/// Gives the failure to the streams, and lets them go on.
void NcclGroup::abort_comm() noexcept {
  const std::optional<Error> error = failure();
  {
    const std::lock_guard lock(pending_mutex_);
    for (const Pending& pending : pending_) {
      bool done = false;  // and not noticed yet
      try {
        done = query(*pending.after, group_operation);
      } catch (const std::exception&) {  // the device is lost
      }
      if (!done) record_fault(pending.stream_id, *error);
    }
    pending_.clear();
  }
  const std::lock_guard lock(comm_mutex_);
  NcclComm* const comm = std::exchange(comm_, nullptr);
  if (comm == nullptr) return;
  try {
    const VendorScope scope(device());
    nccl_.ncclCommAbort(comm);
  } catch (const std::exception&) {  // the device is lost
  }
}

void NcclGroup::end(const Error& error) noexcept {
  fail_with(error);
  abort_comm();
}

bool NcclGroup::wait(const Deadline& deadline) {
  while (true) {
    std::shared_ptr<EventState> first;
    {
      const std::lock_guard lock(pending_mutex_);
      if (pending_.empty() || failure()) return true;
      first = pending_.front().after;
    }
    if (!synchronize(*first, deadline.left(), group_operation)) return failure().has_value();
    const std::lock_guard lock(pending_mutex_);
    if (!pending_.empty() && pending_.front().after == first) pending_.pop_front();
  }
}

// ---- Making --------------------------------------------------------------------------------------------------------

/// What a call of the engine that may wait for ever gives, on its own thread.
struct Made {
  int result = nccl_internal_error;
  NcclComm* comm = nullptr;
};

std::string last_error(const NcclLibrary& nccl) {
  const char* const text = nccl.ncclGetLastError == nullptr ? nullptr : nccl.ncclGetLastError(nullptr);
  return text == nullptr ? "" : text;
}

void require_made(const NcclLibrary& nccl, int result, const std::string& place, const char* operation) {
  if (result == nccl_success) return;
  ErrorDetails details;
  details.code = result == nccl_remote_error ? ErrorCode::peer_gone : ErrorCode::backend_failed;
  details.place = place;
  details.operation = operation;
  details.text = fmt::format("{} can't make the communicator", nccl.flavor->engine);
  details.see = "docs/ranks.md";
  details.vendor_code = result;
  details.vendor_name = nccl.ncclGetErrorString(result);
  details.vendor_text = last_error(nccl);
  throw Error(std::move(details));
}

std::shared_ptr<EngineGroup> NcclGroup::split(int color, int key, const char* operation) {
  if (nccl_.ncclCommSplit == nullptr) {
    fail(ErrorCode::unsupported, device().place, operation,
         fmt::format("this {} has no ncclCommSplit\n2.18.1 or newer has; {}", nccl_.flavor->engine,
                     nccl_.flavor->package));
  }
  const auto made = std::make_shared<Made>();
  const auto self = shared_from_this();
  const Deadline deadline(to_timeout_ns(timeout()));
  const bool done = call_bounded(deadline, [self, made, color, key] {
    const std::lock_guard lock(self->comm_mutex_);
    try {
      const VendorScope scope(self->device());
      made->result = self->nccl_.ncclCommSplit(self->comm_, color < 0 ? -1 : color, key, &made->comm, nullptr);
    } catch (const std::exception&) {  // the device is lost
    }
  });
  if (!done) throw timeout_error(device().place, operation, "split the communicator", timeout());
  require_made(nccl_, made->result, device().place, operation);
  if (made->comm == nullptr) return nullptr;
  // The ranks of the new one: NCCL orders them by key, then by the old rank, as is said here; it tells them itself.
  int rank = 0, size = 0;
  nccl_.ncclCommUserRank(made->comm, &rank);
  nccl_.ncclCommCount(made->comm, &size);
  return std::make_shared<NcclGroup>(nccl_, made->comm, device(), rank, size, timeout());
}

}  // namespace

std::shared_ptr<EngineGroup> make_nccl_group(const char* engine, DeviceState& device, const BootstrapPlan& plan,
                                             std::chrono::nanoseconds timeout, const char* operation) {
  CommunicatorEngine status;
  const NcclLibrary* nccl = nullptr;
  for (const NcclFlavor& flavor : nccl_flavors) {
    if (std::string_view(flavor.engine) == engine) nccl = nccl_library(flavor, status);
  }
  if (nccl == nullptr) {
    fail(ErrorCode::library_missing, device.place, operation,
         fmt::format("the engine {} can't be used: {}\ninstall it, or make the communicator with the engine mpi\n"
                     "`anyplace doctor` lists the engines",
                     engine, status.reason));
  }
  int rank = plan.rank, size = plan.size;
  Meeting meeting{device.place, operation, timeout, [&] {
                    NcclUniqueId id{};
                    const VendorScope scope(device);
                    require_made(*nccl, nccl->ncclGetUniqueId(&id), device.place, operation);
                    Bytes bytes(sizeof(id));
                    std::memcpy(bytes.data(), &id, sizeof(id));
                    return bytes;
                  }};
  Bytes bytes;
  if (plan.kind == BootstrapPlan::Kind::mpi) {
    MpiRuntime& runtime = MpiRuntime::get(device.place, operation, timeout);
    runtime.allow(timeout);
    rank = runtime.world_rank();
    size = runtime.world_size();
    bytes = meet_by_mpi(meeting);
  } else if (plan.kind == BootstrapPlan::Kind::alone) {
    bytes = meeting.make();
  } else {
    bytes = plan.kind == BootstrapPlan::Kind::tcp ? meet_by_tcp(plan, meeting) : meet_by_file(plan, meeting);
  }
  NcclUniqueId id{};
  std::memcpy(&id, bytes.data(), std::min(sizeof(id), bytes.size()));
  const auto made = std::make_shared<Made>();
  DeviceState* const state = &device;
  const bool done = call_bounded(Deadline(to_timeout_ns(timeout)), [made, nccl, size, id, rank, state] {
    try {
      const VendorScope scope(*state);
      made->result = nccl->ncclCommInitRank(&made->comm, size, id, rank);
    } catch (const std::exception&) {  // the device is lost
    }
  });
  if (!done) throw timeout_error(device.place, operation, "make the communicator", timeout);
  require_made(*nccl, made->result, device.place, operation);
  return std::make_shared<NcclGroup>(*nccl, made->comm, device, rank, size, timeout);
}

}  // namespace anyplace::detail
