// SPDX-License-Identifier: Apache-2.0
#include "ranks/small_reduce.h"

#include <bit>

namespace anyplace::detail {

SmallReduce::SmallReduce(const MpiLibrary& mpi, const Operation& operation, std::uint64_t bytes, int rank, int size)
    : mpi_(mpi), operation_(operation), received_(bytes) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int extra = size - power;
  const bool folds = rank < 2 * extra;
  if (folds && rank % 2 == 0) {
    steps_ = {{rank + 1, -1, false}, {-1, rank + 1, false}};
    return;
  }
  if (folds) steps_.push_back({-1, rank - 1, true});
  const int place = folds ? rank / 2 : rank - extra;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = place ^ mask;
    const int peer = other < extra ? other * 2 + 1 : other + extra;
    steps_.push_back({peer, peer, true});
  }
  if (folds) steps_.push_back({rank - 1, -1, false});
}

bool SmallReduce::advance(std::vector<MpiHandle>& requests, int& code) {
  if (has_received_) {
    code = mpi_.Reduce_local(received_.data(), operation_.data, operation_.count, operation_.type, operation_.op);
    has_received_ = false;
    if (code != mpi_success) return false;
  }
  if (next_ == steps_.size()) return false;
  const Step& step = steps_[next_++];
  MpiHandle request = 0;
  if (step.receive_from >= 0) {
    void* const to = step.reduces ? received_.data() : operation_.data;
    has_received_ = step.reduces;
    code =
        mpi_.Irecv(to, operation_.count, operation_.type, step.receive_from, operation_.tag, operation_.comm, &request);
    if (code != mpi_success) return false;
    requests.push_back(request);
  }
  if (step.send_to >= 0) {
    code = mpi_.Isend(operation_.data, operation_.count, operation_.type, step.send_to, operation_.tag, operation_.comm,
                      &request);
    if (code != mpi_success) return false;
    requests.push_back(request);
  }
  return true;
}

}  // namespace anyplace::detail
