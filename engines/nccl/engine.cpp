// SPDX-License-Identifier: Apache-2.0
//
// The engines nccl and rccl: operations are enqueued on the vendor's stream. nccl_library.h has the library. The core
// decides who waits and for how long, and what becomes of a failure.
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "anyplace/backend/engine.h"
#include "anyplace/version.h"
#include "nccl_library.h"
#include "part.h"
#include "vendor_scope.h"

namespace anyplace::nccl {
namespace {

using engines::bytes_of;
using engines::guarded;
using engines::part_of;
using engines::pointer;
using engines::reduces;
using engines::VendorScope;

constinit const anyplace_engine_host* host = nullptr;

struct Group {
  NcclComm* comm = nullptr;
  anyplace_engine_device device{};
  int size = 0;
};
Group& of(anyplace_group group) noexcept { return *reinterpret_cast<Group*>(group); }

// ---- Outcomes ------------------------------------------------------------------------------------------------------

anyplace_status refuse(anyplace_status status, const std::string& text) noexcept {
  host->leave_message(host->context, 0, nullptr, text.c_str());
  return status;
}

/// Returns the status of a result, and leaves what the library says of it as the message. `comm` may be null.
anyplace_status outcome(int result, NcclComm* comm) noexcept {
  if (result == nccl_success || result == nccl_in_progress) return ANYPLACE_STATUS_OK;
  const char* const last = nccl->ncclGetLastError == nullptr ? nullptr : nccl->ncclGetLastError(comm);
  host->leave_message(host->context, result, nccl->ncclGetErrorString(result), last == nullptr ? "" : last);
  return result == nccl_remote_error    ? ANYPLACE_STATUS_PEER_GONE
         : result == nccl_invalid_usage ? ANYPLACE_STATUS_INVALID_ARGUMENT
                                        : ANYPLACE_STATUS_BACKEND_FAILED;
}

// ---- Types ---------------------------------------------------------------------------------------------------------

/// An element's type as the library has it: each element is `per_element` elements of the library's `type`, which is
/// negative if the library hasn't the type.
struct Counted {
  int type = -1;
  std::uint64_t per_element = 1;
};

Counted reduced_type(std::uint32_t type) noexcept {
  switch (type) {
    case ANYPLACE_DTYPE_F16:
      return {nccl_float16};
    case ANYPLACE_DTYPE_BF16:
      return {nccl_bfloat16};
    case ANYPLACE_DTYPE_F32:
      return {nccl_float32};
    case ANYPLACE_DTYPE_F64:
      return {nccl_float64};
    case ANYPLACE_DTYPE_C64:
      return {nccl_float32, 2};
    case ANYPLACE_DTYPE_C128:
      return {nccl_float64, 2};
    case ANYPLACE_DTYPE_I8:
      return {nccl_int8};
    case ANYPLACE_DTYPE_I32:
      return {nccl_int32};
    case ANYPLACE_DTYPE_I64:
      return {nccl_int64};
    case ANYPLACE_DTYPE_U8:
    case ANYPLACE_DTYPE_BOOLEAN:
      return {nccl_uint8};
    case ANYPLACE_DTYPE_U32:
      return {nccl_uint32};
    case ANYPLACE_DTYPE_U64:
      return {nccl_uint64};
    default:
      return {};
  }
}

const char* name_of_type(std::uint32_t type) noexcept {
#define ANYPLACE_NAME(upper, lower, number, bytes) #lower,
  constexpr const char* names[] = {ANYPLACE_DTYPE_LIST(ANYPLACE_NAME)};
#undef ANYPLACE_NAME
  return type == ANYPLACE_DTYPE_BOOLEAN ? "bool" : names[type];
}

const char* name_of_reduction(std::uint32_t reduction) noexcept {
#define ANYPLACE_NAME(upper, lower, number) #lower,
  constexpr const char* names[] = {ANYPLACE_REDUCTION_LIST(ANYPLACE_NAME)};
#undef ANYPLACE_NAME
  return names[reduction];
}

/// Data that is only moved goes as bytes, so that it may have any type.
Counted type_of(const anyplace_engine_part& part) noexcept {
  if (reduces(part)) return reduced_type(part.type);
  return {nccl_int8, bytes_of(part.type)};
}

int op_of(std::uint32_t reduction) noexcept {
  constexpr int ops[] = {nccl_sum, nccl_prod, nccl_min, nccl_max, nccl_avg};
  return ops[reduction];
}

// ---- Life ----------------------------------------------------------------------------------------------------------

anyplace_status library(void* /*self*/, anyplace_engine_library* out) {
  return guarded([&]() -> anyplace_status {
    std::string reason;
    if (!open_nccl(reason)) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason);
    static std::string* const text = new std::string(version_text(nccl->version));
    out->path = nccl->path.c_str();
    out->version = text->c_str();
    return ANYPLACE_STATUS_OK;
  });
}

anyplace_status identify(void* /*self*/, const anyplace_engine_device* device, anyplace_engine_id* out) {
  const VendorScope scope(*device);
  NcclUniqueId id{};
  static_assert(sizeof(id) <= sizeof(out->bytes));
  const anyplace_status status = outcome(nccl->ncclGetUniqueId(&id), nullptr);
  std::memcpy(out->bytes, &id, sizeof(id));
  out->byte_count = sizeof(id);
  return status;
}

anyplace_status group_create(void* /*self*/, const anyplace_engine_group_desc* desc, anyplace_engine_group* out) {
  auto made = std::unique_ptr<Group>(new (std::nothrow) Group{nullptr, *desc->device, desc->size});
  if (!made) return ANYPLACE_STATUS_OUT_OF_MEMORY;
  const VendorScope scope(made->device);
  NcclUniqueId id{};
  std::memcpy(&id, desc->id->bytes, sizeof(id));
  const anyplace_status status = outcome(nccl->ncclCommInitRank(&made->comm, desc->size, id, desc->rank), nullptr);
  if (status != ANYPLACE_STATUS_OK) return status;
  out->rank = desc->rank;
  out->size = desc->size;
  out->group = reinterpret_cast<anyplace_group>(made.release());
  return ANYPLACE_STATUS_OK;
}

anyplace_status group_split(void* /*self*/, anyplace_group group, std::int32_t color, std::int32_t key,
                            anyplace_engine_group* out) {
  return guarded([&]() -> anyplace_status {
    Group& whole = of(group);
    if (nccl->ncclCommSplit == nullptr) {
      return refuse(ANYPLACE_STATUS_UNSUPPORTED, std::string("this ") + flavor.engine +
                                                     " has no ncclCommSplit\n2.18.1 or newer has; " + flavor.package);
    }
    auto made = std::make_unique<Group>(Group{nullptr, whole.device, 0});
    const VendorScope scope(whole.device);
    const int result = nccl->ncclCommSplit(whole.comm, color < 0 ? -1 : color, key, &made->comm, nullptr);
    if (const anyplace_status status = outcome(result, nullptr); status != ANYPLACE_STATUS_OK) return status;
    if (made->comm == nullptr) return ANYPLACE_STATUS_OK;
    // NCCL orders the new group's ranks by key, then by the old rank, as engine.h asks, and tells this rank's number.
    nccl->ncclCommUserRank(made->comm, &out->rank);
    nccl->ncclCommCount(made->comm, &made->size);
    out->size = made->size;
    out->group = reinterpret_cast<anyplace_group>(made.release());
    return ANYPLACE_STATUS_OK;
  });
}

anyplace_status group_destroy(void* /*self*/, anyplace_group group) {
  const std::unique_ptr<Group> ending(&of(group));
  const VendorScope scope(ending->device);
  return outcome(nccl->ncclCommDestroy(ending->comm), nullptr);
}

anyplace_status group_abort(void* /*self*/, anyplace_group group) {
  const std::unique_ptr<Group> ending(&of(group));
  const VendorScope scope(ending->device);
  return outcome(nccl->ncclCommAbort(ending->comm), nullptr);
}

anyplace_status part_check(void* /*self*/, const anyplace_engine_part* part) {
  const bool is_complex = part->type == ANYPLACE_DTYPE_C64 || part->type == ANYPLACE_DTYPE_C128;
  const bool is_there =
      reduced_type(part->type).type >= 0 && !(is_complex && part->reduction == ANYPLACE_REDUCTION_PROD);
  if (!reduces(*part) || is_there) return ANYPLACE_STATUS_OK;
  return guarded([&] {
    return refuse(ANYPLACE_STATUS_UNSUPPORTED,
                  std::string(flavor.engine) + " has no " + name_of_reduction(part->reduction) + " of " +
                      name_of_type(part->type) +
                      " elements\nconvert them, or make the communicator with the engine mpi\nsee docs/ranks.md");
  });
}

// ---- Operations ----------------------------------------------------------------------------------------------------

int enqueue_all_to_all(const Group& group, const anyplace_engine_part& part, void* stream) noexcept {
  const std::uint64_t bytes = part.count * bytes_of(part.type);
  for (int rank = 0; rank < group.size; ++rank) {
    const std::uint64_t offset = static_cast<std::uint64_t>(rank) * bytes;
    if (const int result = nccl->ncclSend(pointer(part.source + offset), bytes, nccl_int8, rank, group.comm, stream)) {
      return result;
    }
    if (const int result =
            nccl->ncclRecv(pointer(part.destination + offset), bytes, nccl_int8, rank, group.comm, stream)) {
      return result;
    }
  }
  return nccl_success;
}

int enqueue(const Group& group, const anyplace_engine_part& part, void* stream) noexcept {
  const Counted type = type_of(part);
  const std::size_t count = part.count * type.per_element;
  const int op = op_of(part.reduction);
  NcclComm* const comm = group.comm;
  const void* const from = pointer(part.source);
  void* const to = pointer(part.destination);
  switch (part.collective) {
    case ANYPLACE_COLLECTIVE_ALL_REDUCE:
      return nccl->ncclAllReduce(from, to, count, type.type, op, comm, stream);
    case ANYPLACE_COLLECTIVE_REDUCE:
      return nccl->ncclReduce(from, to, count, type.type, op, part.root, comm, stream);
    case ANYPLACE_COLLECTIVE_BROADCAST:
      return nccl->ncclBroadcast(from, to, count, type.type, part.root, comm, stream);
    case ANYPLACE_COLLECTIVE_ALL_GATHER:
      return nccl->ncclAllGather(from, to, count, type.type, comm, stream);
    case ANYPLACE_COLLECTIVE_REDUCE_SCATTER:
      return nccl->ncclReduceScatter(from, to, count, type.type, op, comm, stream);
    case ANYPLACE_COLLECTIVE_ALL_TO_ALL:
      return enqueue_all_to_all(group, part, stream);
    case ANYPLACE_COLLECTIVE_SEND:
      return nccl->ncclSend(from, count, type.type, part.root, comm, stream);
    case ANYPLACE_COLLECTIVE_RECV:
      return nccl->ncclRecv(to, count, type.type, part.root, comm, stream);
    default:  // a barrier is a sum of a byte of every rank, so it ends when all have come
      return nccl->ncclAllReduce(from, to, 1, nccl_int8, nccl_sum, comm, stream);
  }
}

anyplace_status group_enqueue(void* /*self*/, anyplace_group group, std::uint64_t native_stream,
                              const anyplace_engine_part* parts, std::uint32_t count, std::uint32_t stride) {
  const Group& mine = of(group);
  const VendorScope scope(mine.device);
  void* const stream = pointer(native_stream);
  if (const int result = nccl->ncclGroupStart()) return outcome(result, mine.comm);
  int result = nccl_success;
  for (std::uint32_t i = 0; i < count && result == nccl_success; ++i) {
    result = enqueue(mine, part_of(parts, i, stride), stream);
  }
  const int ended = nccl->ncclGroupEnd();
  // Either call may be the one that reports an address that the driver doesn't know; that result is the one to return.
  return outcome(ended == nccl_unhandled_cuda_error || result == nccl_success ? ended : result, mine.comm);
}

anyplace_status group_error(void* /*self*/, anyplace_group group) {
  const Group& mine = of(group);
  int error = nccl_success;
  if (nccl->ncclCommGetAsyncError(mine.comm, &error) != nccl_success) return ANYPLACE_STATUS_OK;
  return outcome(error, mine.comm);
}

}  // namespace
}  // namespace anyplace::nccl

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_engine_entry(const anyplace_engine_host* offered,
                                                                        anyplace_engine_table* table) {
  using namespace anyplace::nccl;
  host = offered;
  table->struct_size = sizeof(*table);
  table->abi_major = ANYPLACE_ENGINE_ABI_MAJOR;
  table->abi_minor = ANYPLACE_ENGINE_ABI_MINOR;
  table->kind = ANYPLACE_ENGINE_ON_STREAM;
  std::strncpy(table->name, flavor.engine, sizeof(table->name) - 1);
  std::strncpy(table->title, flavor.engine, sizeof(table->title) - 1);
  std::strncpy(table->version, ANYPLACE_VERSION, sizeof(table->version) - 1);
  std::strncpy(table->description, "NCCL's interface, on the device's streams", sizeof(table->description) - 1);
  std::strncpy(table->library_file, flavor.library, sizeof(table->library_file) - 1);
  std::strncpy(table->backends, flavor.backend, sizeof(table->backends) - 1);
  table->library = library;
  table->identify = identify;
  table->group_create = group_create;
  table->group_split = group_split;
  table->group_destroy = group_destroy;
  table->part_check = part_check;
  table->group_enqueue = group_enqueue;
  table->group_error = group_error;
  table->group_abort = group_abort;
  return ANYPLACE_STATUS_OK;
}
