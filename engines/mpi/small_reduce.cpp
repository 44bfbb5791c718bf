// SPDX-License-Identifier: Apache-2.0
#include "small_reduce.h"

#include <cstring>

namespace anyplace::mpi {

void SmallReduce::begin(const Operation& operation, std::uint64_t bytes) {
  if (received_.size() < bytes) received_.resize(bytes);
  operation_ = operation;
  bytes_ = bytes;
  next_ = 0;
  has_received_ = false;
}

int SmallReduce::test(MpiHandle& request, bool& is_open) noexcept {
  if (!is_open) return mpi_success;
  int done = 0;
  const int code = mpi_.Test(&request, &done, mpi_.status_ignore());
  if (code == mpi_success && done != 0) is_open = false;
  return code;
}

int SmallReduce::start(const backend::RecursiveDoublingStep& step) noexcept {
  const Operation& o = operation_;
  int code = mpi_success;
  if (step.receive_from >= 0) {
    void* const to = step.reduces ? received_.data() : o.data;
    code = mpi_.Irecv(to, o.count, o.type, step.receive_from, o.tag, o.comm, &receive_);
    is_receiving_ = code == mpi_success;
    has_received_ = is_receiving_ && step.reduces;
  }
  if (code == mpi_success && step.send_to >= 0) {
    code = mpi_.Isend(o.data, o.count, o.type, step.send_to, o.tag, o.comm, &send_);
    is_sending_ = code == mpi_success;
  }
  return code;
}

/// MPI writes the result over the second operand.
int SmallReduce::combine(const backend::RecursiveDoublingStep& step) noexcept {
  const Operation& o = operation_;
  if (step.comes_first) return mpi_.Reduce_local(received_.data(), o.data, o.count, o.type, o.op);
  const int code = mpi_.Reduce_local(o.data, received_.data(), o.count, o.type, o.op);
  std::memcpy(o.data, received_.data(), bytes_);
  return code;
}

bool SmallReduce::look(int& code) noexcept {
  while (true) {
    code = test(receive_, is_receiving_);
    // Each MPI_Test makes progress with all requests, so one test is enough while the receive is open.
    if (code == mpi_success && !is_receiving_) code = test(send_, is_sending_);
    if (code != mpi_success) return true;
    if (is_pending()) return false;
    if (has_received_) {
      code = combine(plan_[next_ - 1]);
      has_received_ = false;
      if (code != mpi_success) return true;
    }
    if (next_ == plan_.size()) return true;
    code = start(plan_[next_++]);
    if (code != mpi_success) return true;
  }
}

}  // namespace anyplace::mpi
