// SPDX-License-Identifier: Apache-2.0
// The exported functions: what NCCL checks when it is called, and groups.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm.h"

namespace anyplace::doubles::nccl {

using namespace anyplace::nccl;

namespace {

const Driver* driver() {
  static Driver entries;
  static const bool found = entries.read();
  return found ? &entries : nullptr;
}

thread_local std::string last_text;  ///< of the thread's last failure

int refuse(int result, std::string text) {
  last_text = std::move(text);
  return result;
}

struct Group {
  int depth = 0;
  int failed = nccl_success;
  Comm* comm = nullptr;
  void* stream = nullptr;
  std::vector<Op> ops;
};
thread_local Group group;

int end_group() {
  const Group ended = std::exchange(group, {});
  if (ended.failed != nccl_success) return ended.failed;
  return ended.ops.empty() ? nccl_success : ended.comm->submit(ended.ops, ended.stream);
}

/// Checks the call and adds it to the group, or submits it alone.
int operate(NcclComm* opaque, Call call, const void* source, void* destination, std::size_t source_count,
            std::size_t destination_count, void* stream) {
  auto* const comm = reinterpret_cast<Comm*>(opaque);
  if (comm == nullptr) return refuse(nccl_invalid_argument, "the communicator is null");
  const std::size_t element = size_of_type(call.type);
  int result = nccl_success;
  if (element == 0) result = refuse(nccl_invalid_argument, "there is no such type");
  if (call.op < nccl_sum || call.op > nccl_avg) result = refuse(nccl_invalid_argument, "there is no such operation");
  if (call.root < 0 || call.root >= comm->size()) result = refuse(nccl_invalid_argument, "there is no such root");
  if ((source_count != 0 && source == nullptr) || (destination_count != 0 && destination == nullptr)) {
    result = refuse(nccl_invalid_argument, "an address is null");
  }
  if (group.depth != 0 && group.comm != nullptr && group.comm != comm) {
    result = refuse(nccl_invalid_usage, "a group has calls of two communicators");
  }
  if (comm->error() != nccl_success) result = refuse(comm->error(), comm->error_text());
  if (result != nccl_success) {
    if (group.depth != 0) group.failed = result;
    return result;
  }
  Op op;
  op.call = call;
  op.source = reinterpret_cast<std::uintptr_t>(source);
  op.destination = reinterpret_cast<std::uintptr_t>(destination);
  op.source_bytes = source_count * element;
  op.destination_bytes = destination_count * element;
  if (group.depth == 0) return comm->submit({op}, stream);
  group.comm = comm;
  group.stream = stream;
  group.ops.push_back(op);
  return nccl_success;
}

int version() {
  const char* const asked = std::getenv("NCCL_DOUBLE_VERSION");
  return asked == nullptr ? 22105 : std::atoi(asked);
}

std::size_t by(const Comm& comm, std::size_t count) { return static_cast<std::size_t>(comm.size()) * count; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclGetVersion(int* out) {
  *out = version();
  return nccl_success;
}

int ncclGetUniqueId(NcclUniqueId* id) {
  static std::atomic<unsigned> made{0};
  std::memset(id, 0, sizeof(*id));
  const std::string name = "/nccl-double-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
  name.copy(id->internal, sizeof(id->internal) - 1);
  return nccl_success;
}

int ncclCommInitRank(NcclComm** out, int size, NcclUniqueId id, int rank) {
  *out = nullptr;
  if (size < 1 || size > most_ranks || rank < 0 || rank >= size) {
    return refuse(nccl_invalid_argument, "there is no such rank");
  }
  if (driver() == nullptr) return refuse(nccl_system_error, "the process has no driver loaded");
  void* context = nullptr;
  if (driver()->current(&context) != 0) return refuse(nccl_unhandled_cuda_error, "no device is current");
#ifndef NCCL_DOUBLE_HIP
  if (context == nullptr) return refuse(nccl_unhandled_cuda_error, "no context is current to the thread");
#endif
  auto world = std::make_unique<World>(std::string(id.internal), rank, size);
  if (!*world) return refuse(nccl_system_error, "the shared memory can't be opened");
  if (world->taken()) return refuse(nccl_invalid_usage, "the rank is taken");
  auto comm = std::make_unique<Comm>(*driver(), std::move(world), rank, size);
  if (!comm->wait_for_all()) return refuse(nccl_remote_error, comm->error_text());
  *out = reinterpret_cast<NcclComm*>(comm.release());
  return nccl_success;
}

int ncclCommDestroy(NcclComm* comm) {
  delete reinterpret_cast<Comm*>(comm);
  return nccl_success;
}

int ncclCommAbort(NcclComm* comm) {
  delete reinterpret_cast<Comm*>(comm);
  return nccl_success;
}

int ncclCommGetAsyncError(NcclComm* comm, int* error) {
  *error = reinterpret_cast<Comm*>(comm)->error();
  return nccl_success;
}

const char* ncclGetErrorString(int error) {
  constexpr const char* names[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process exited",  "in progress"};
  return error >= 0 && error < 8 ? names[error] : "unknown result code";
}

const char* ncclGetLastError(NcclComm* comm) {
  thread_local std::string text;
  text = comm == nullptr ? last_text : reinterpret_cast<Comm*>(comm)->error_text();
  if (text.empty()) text = last_text;
  return text.c_str();
}

int ncclCommCount(NcclComm* comm, int* size) {
  *size = reinterpret_cast<Comm*>(comm)->size();
  return nccl_success;
}

int ncclCommUserRank(NcclComm* comm, int* rank) {
  *rank = reinterpret_cast<Comm*>(comm)->rank();
  return nccl_success;
}

int ncclCommSplit(NcclComm* comm, int color, int key, NcclComm** out, void* /*config*/) {
  return reinterpret_cast<Comm*>(comm)->split(color, key, reinterpret_cast<Comm**>(out));
}

int ncclGroupStart() {
  ++group.depth;
  return nccl_success;
}

int ncclGroupEnd() {
  if (group.depth == 0) return refuse(nccl_invalid_usage, "there is no group");
  return --group.depth == 0 ? end_group() : static_cast<int>(nccl_success);
}

int ncclAllReduce(const void* source, void* destination, std::size_t count, int type, int op, NcclComm* comm,
                  void* stream) {
  return operate(comm, {What::all_reduce, type, op, 0, count}, source, destination, count, count, stream);
}

int ncclReduce(const void* source, void* destination, std::size_t count, int type, int op, int root, NcclComm* comm,
               void* stream) {
  const bool receives = comm != nullptr && reinterpret_cast<Comm*>(comm)->rank() == root;
  return operate(comm, {What::reduce, type, op, root, count}, source, destination, count, receives ? count : 0, stream);
}

int ncclBroadcast(const void* source, void* destination, std::size_t count, int type, int root, NcclComm* comm,
                  void* stream) {
  const bool sends = comm != nullptr && reinterpret_cast<Comm*>(comm)->rank() == root;
  return operate(comm, {What::broadcast, type, nccl_sum, root, count}, source, destination, sends ? count : 0, count,
                 stream);
}

int ncclAllGather(const void* source, void* destination, std::size_t count, int type, NcclComm* comm, void* stream) {
  const std::size_t all = comm == nullptr ? 0 : by(*reinterpret_cast<Comm*>(comm), count);
  return operate(comm, {What::all_gather, type, nccl_sum, 0, count}, source, destination, count, all, stream);
}

int ncclReduceScatter(const void* source, void* destination, std::size_t count, int type, int op, NcclComm* comm,
                      void* stream) {
  const std::size_t all = comm == nullptr ? 0 : by(*reinterpret_cast<Comm*>(comm), count);
  return operate(comm, {What::reduce_scatter, type, op, 0, count}, source, destination, all, count, stream);
}

int ncclSend(const void* source, std::size_t count, int type, int peer, NcclComm* comm, void* stream) {
  if (count * size_of_type(type) > letter_bytes) return refuse(nccl_internal_error, "more than the double sends");
  return operate(comm, {What::send, type, nccl_sum, peer, count}, source, nullptr, count, 0, stream);
}

int ncclRecv(void* destination, std::size_t count, int type, int peer, NcclComm* comm, void* stream) {
  return operate(comm, {What::recv, type, nccl_sum, peer, count}, nullptr, destination, 0, count, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace anyplace::doubles::nccl
